"""The steps by which a run writes its files. All writes use them, so that tests can make each one fail."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from collections.abc import Callable
from typing import cast

READ_SIZE = 1 << 20


def create(path: str) -> io.FileIO:
    """Open a file for writing, created if necessary, without truncating it."""
    return io.FileIO(path, "w", opener=lambda name, flags: os.open(name, flags & ~os.O_TRUNC, 0o666))


def standard_output() -> io.FileIO:
    """Standard output without its buffer, since failed writes must not be retried at exit."""
    return cast(io.FileIO, getattr(sys.stdout.buffer, "raw", sys.stdout.buffer))


def is_regular(file: io.FileIO) -> bool:
    """Whether written data is kept: not a pipe, terminal or device."""
    return stat.S_ISREG(os.fstat(file.fileno()).st_mode)


def write(file: io.FileIO, data: bytes, wait: Callable[[io.FileIO], None] = lambda file: None) -> None:
    """Write all data, even if the system accepts it only in parts; ``wait`` is called before each."""
    rest = memoryview(data)
    while rest:
        wait(file)
        rest = rest[write_some(file, rest) :]


def write_some(file: io.FileIO, data: memoryview) -> int:
    """Write what the system accepts; returns the number of bytes."""
    written: int | None = file.write(data)
    if written is None:
        import select

        # The descriptor is non-blocking.
        select.select([], [file], [])
    return written or 0


def cut(file: io.FileIO, size: int) -> None:
    """Truncate a file to ``size`` bytes, and continue writing there."""
    file.truncate(size)
    file.seek(size)


def sync(file: io.FileIO) -> None:
    """Sync a file to disk, so that it survives a power failure."""
    os.fsync(file.fileno())


def discard_stdout() -> None:
    """Discard all further standard output, including what is still buffered."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def reason(error: OSError) -> str:
    """The reason for a failed read or write, in words."""
    return "it is closed" if error.errno == errno.EBADF else str(error.strerror or error)
