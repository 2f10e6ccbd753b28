"""``python -m streamkarma``, and the program ``streamkarma``."""

import atexit
import gc
import os
import sys


def main() -> None:
    """Run the program; Ctrl-C ends it silently, even while it is still being imported."""
    # numpy would start a linear-algebra thread for each core, which only costs time and memory here.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Otherwise, on exit, Python searches all its objects for cycles. That takes a quarter of the time of a
    # short run, and the memory is released anyway.
    atexit.register(gc.freeze)
    try:
        from streamkarma.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
