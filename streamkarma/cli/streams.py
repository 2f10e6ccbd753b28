"""The three standard streams, in whatever state the caller left them."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress


def prepare() -> None:
    """Make sure that all three exist, output is UTF-8, and no failed write to standard error ends a run.

    Python has None for a stream that was closed (``>&-``): what is printed to None goes to
    standard output, and its descriptor goes to the next file opened. So they are opened here such
    that reading or writing fails as it would if they were closed.
    """
    if sys.stdin is None:
        sys.stdin = open(os.open(os.devnull, os.O_WRONLY))  # noqa: SIM115  # open until the exit
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w")  # noqa: SIM115  # likewise
    if isinstance(sys.stdout, io.TextIOWrapper):
        # As rows are, in any locale: data may contain any character, and a page declares UTF-8.
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    descriptor = os.open(os.devnull, os.O_WRONLY) if sys.stderr is None else sys.stderr.fileno()
    sys.stderr = io.TextIOWrapper(
        _Forgiving(descriptor, "w", closefd=False),
        encoding=getattr(sys.stderr, "encoding", None),
        errors="backslashreplace",
        line_buffering=True,
        write_through=True,
    )


class _Forgiving(io.FileIO):
    """Writes what it can and ignores errors: there is nowhere to report them."""

    def write(self, text: bytes) -> int:  # type: ignore[override]  # bytes are all it is given
        with suppress(OSError):
            super().write(text)
        return len(text)
