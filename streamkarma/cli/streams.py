"""The three standard streams, whatever the caller made of them."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress


def prepare() -> None:
    """Have all three there, and standard error such that what it cannot take ends nothing.

    Python has None for a stream that was closed (``>&-``): what is printed to None goes to
    standard output, and its descriptor goes to the next file opened. So they are opened here, in
    such a way that reading or writing fails as it would if they were closed.
    """
    if sys.stdin is None:
        sys.stdin = open(os.open(os.devnull, os.O_WRONLY))  # noqa: SIM115  # open to the end
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w")  # noqa: SIM115  # as well
    descriptor = os.open(os.devnull, os.O_WRONLY) if sys.stderr is None else sys.stderr.fileno()
    sys.stderr = io.TextIOWrapper(
        _Forgiving(descriptor, "w", closefd=False),
        encoding=getattr(sys.stderr, "encoding", None),
        errors="backslashreplace",
        line_buffering=True,
        write_through=True,
    )


class _Forgiving(io.FileIO):
    """Takes what can be written, and says nothing of the rest: to whom?"""

    def write(self, text: bytes) -> int:  # type: ignore[override]  # bytes are all it is given
        with suppress(OSError):
            super().write(text)
        return len(text)
