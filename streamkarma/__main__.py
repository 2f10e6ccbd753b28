"""``python -m streamkarma``."""

from streamkarma.cli import main

main()
