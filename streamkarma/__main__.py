"""``python -m streamkarma``, and the program ``streamkarma``."""

import sys


def main() -> None:
    """Run the program; Ctrl-C ends it without a word, also while it is still being imported."""
    try:
        from streamkarma.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
