"""The steps by which a run writes its files. There is no other way to them: tests have each one fail."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from typing import cast

READ_SIZE = 1 << 20


def create(path: str) -> io.FileIO:
    """Open a file for writing, made if need be; what is in it stays."""
    return io.FileIO(path, "w", opener=lambda name, flags: os.open(name, flags & ~os.O_TRUNC, 0o666))


def standard_output() -> io.FileIO:
    """Standard output, without the buffer: what could not be written must not be tried again at the end."""
    return cast(io.FileIO, getattr(sys.stdout.buffer, "raw", sys.stdout.buffer))


def is_regular(file: io.FileIO) -> bool:
    """Whether what is written stays there: no pipe, terminal or device."""
    return stat.S_ISREG(os.fstat(file.fileno()).st_mode)


def write(file: io.FileIO, data: bytes) -> None:
    """Write all of it, though the system may take it in parts."""
    rest = memoryview(data)
    while rest:
        rest = rest[write_some(file, rest) :]


def write_some(file: io.FileIO, data: memoryview) -> int:
    """Write what the system takes, and say how many bytes that was."""
    written: int | None = file.write(data)
    if written is None:
        import select

        # Whoever made this descriptor does not have writes wait.
        select.select([], [file], [])
    return written or 0


def cut(file: io.FileIO, size: int) -> None:
    """Leave the first bytes of a file, and write on behind them."""
    file.truncate(size)
    file.seek(size)


def sync(file: io.FileIO) -> None:
    """Have what was written outlive a power failure."""
    os.fsync(file.fileno())


def discard_stdout() -> None:
    """Have nothing more written to standard output, not even what is still buffered."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def reason(error: OSError) -> str:
    """Why something could not be read or written, in words."""
    return "it is closed" if error.errno == errno.EBADF else str(error.strerror or error)
