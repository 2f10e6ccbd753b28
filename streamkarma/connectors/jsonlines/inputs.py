"""Inputs, opened for reading: a file, compressed or not, or standard input."""

from __future__ import annotations

import gzip
import io
import os
import select
import stat
import sys
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from streamkarma import files
from streamkarma.errors import RunError

if TYPE_CHECKING:
    from types import TracebackType

#: Maximum number of bytes per read. A pipe returns what it has; in a file these are some thousand
#: events, enough that the overhead of a block is negligible.
READ_SIZE = 1 << 20
#: Number of bytes of a .zst file read at once, and of these decompressed at once: a few bytes may
#: expand to 128 KiB, and the result has to fit into memory.
_PACKED_SIZE, _PACKED_PART = 1 << 17, 1 << 10


class LineInput(ABC):
    """Lines of JSON, as they arrive.

    Parameters
    ----------
    path
        A path, or ``-`` for standard input.

    Attributes
    ----------
    unit
        The word for a line of it.
    refused
        Why recently read lines cannot be used regardless of their content, by their numbers from 1.
    """

    unit: ClassVar[str] = "line"
    refused: Mapping[int, str] = MappingProxyType({})

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = "standard input" if path == "-" else path
        self._unread = b""

    def read(self, size: int = READ_SIZE) -> bytes:
        """Return up to ``size`` bytes: those available, after a wait only if there are none.

        Raises
        ------
        RunError
            If it cannot be read, or is damaged; everything before the damage was already returned.
        InterruptedError
            From a signal handler.
        """
        if self._unread:
            unread, self._unread = self._unread, b""
            return unread
        return self._read_on(size)

    @abstractmethod
    def _read_on(self, size: int) -> bytes:
        """``read``, if nothing was put back by ``unread``."""

    def waits_for(self) -> int | None:
        """The descriptor that the next ``read`` waits for if there is no data yet; None if it does not
        wait, or handles signals itself."""
        return None

    def unread(self, read: bytes) -> None:
        """Put back the bytes that were read last, to be read again."""
        self._unread = read

    @property
    @abstractmethod
    def is_file(self) -> bool:
        """Whether it can be read again from its beginning; a pipe continues where it was left."""

    def kept(self) -> dict[str, Any]:
        """What the model file stores about it in addition to its position, by section."""
        return {}

    @abstractmethod
    def close(self) -> None:
        """Close the file; standard input stays open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Input(LineInput):
    """The decompressed content of an input, as it arrives.

    Parameters
    ----------
    path
        A path, decompressed if it ends in .gz or .zst; or ``-`` for standard input.

    Raises
    ------
    RunError
        If it cannot be opened.
    InterruptedError
        From a signal handler, while a named pipe has no writer.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = folder + "/two.jsonl.gz"
    ...     _ = Path(path).write_bytes(gzip.compress(b"{}") + gzip.compress(b"{}"))
    ...     with Input(path) as file:
    ...         file.read(1), file.read(9), file.read(9), file.read(9)
    (b'{', b'}', b'{}', b'')
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        try:
            self._file = _opened(path)
        except InterruptedError:
            raise
        except EOFError as error:
            raise self._damaged(error) from error
        except OSError as error:
            raise _unreadable(self.name, error) from error
        self._read: Callable[[int], bytes | None] = getattr(self._file, "read1", self._file.read)
        self._begun = False

    def _read_on(self, size: int) -> bytes:
        read = self._read_some(size)
        if not self._begun:
            self._begun = True
            check_text(self.name, read)
        return read

    def _read_some(self, size: int) -> bytes:
        try:
            while (read := self._read(size)) is None:
                # The descriptor was created in non-blocking mode.
                select.select([cast(io.RawIOBase, self._file)], [], [])
            return read
        except InterruptedError:
            raise
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self._damaged(error) from error
        except OSError as error:
            raise _unreadable(self.name, error) from error

    def waits_for(self) -> int | None:
        """The descriptor that the next ``read`` waits for if there is no data yet.

        None for a file, compressed input, and bytes that were put back.
        """
        if self._unread or not isinstance(self._file, io.FileIO) or self.is_file:
            return None
        return self._file.fileno()

    @property
    def is_file(self) -> bool:
        """Whether it is neither a pipe nor a device."""
        return stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self.path != "-":
            self._file.close()

    def _damaged(self, error: Exception) -> RunError:
        return RunError(f"{self.name} is damaged: {error}")


#: The first bytes of files that are not text in UTF-8, what such files are, and what to do.
_NO_TEXTS = {
    b"\xff\xfe": "in UTF-16; convert it: iconv -f utf-16 -t utf-8",
    b"\xfe\xff": "in UTF-16; convert it: iconv -f utf-16 -t utf-8",
    b"\x1f\x8b": "compressed with gzip; decompress it (gunzip -c), or let its name end in .gz",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; decompress it (zstdcat), or let its name end in .zst",
    b"PK\x03\x04": "a zip archive; unpack it (unzip -p)",
}


def check_text(name: str, head: bytes) -> None:
    """Refuse what is evidently not text in UTF-8.

    Parameters
    ----------
    name
        The input in messages.
    head
        Its first bytes.

    Raises
    ------
    RunError
        If these are in UTF-16 or compressed.
    """
    for begin, what in _NO_TEXTS.items():
        if head.startswith(begin):
            raise RunError(f"{name} is {what}")


def check_readable(path: str) -> None:
    """Raise the errors of opening an input early, without reading anything from a pipe.

    Raises
    ------
    RunError
        If it does not exist, or cannot be read.
    """
    try:
        if path == "-":
            with suppress(io.UnsupportedOperation):
                os.read(sys.stdin.fileno(), 0)
        elif not stat.S_ISFIFO(os.stat(path).st_mode):
            Path(path).open("rb", buffering=0).close()
    except OSError as error:
        raise _unreadable("standard input" if path == "-" else path, error) from error


def _unreadable(name: str, error: OSError) -> RunError:
    return RunError(f"cannot read {name}: {files.reason(error)}")


class _Zst:
    """A .zst file, decompressed frame by frame."""

    def __init__(self, path: str) -> None:
        self._file = Path(path).open("rb", buffering=0)  # noqa: SIM115  # close() closes it
        self._pieces = _unpacked(self._file)
        self._rest = b""

    def read(self, size: int) -> bytes:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._rest = piece
        given, self._rest = self._rest[:size], self._rest[size:]
        return given

    def fileno(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        self._file.close()


def _unpacked(file: io.FileIO) -> Iterator[bytes]:
    """The content of a .zst file. zstandard's own reader cannot tell a truncated file from a complete one."""
    from zstandard import ZstdDecompressor, ZstdError

    decompressor = ZstdDecompressor()
    frame, where = None, "it does not begin with"
    while chunk := file.read(_PACKED_SIZE):
        at, parts, size = 0, [], 0
        while at < len(chunk):
            frame = frame or decompressor.decompressobj()
            part = chunk[at : at + _PACKED_PART]
            at += len(part)
            try:
                parts.append(frame.decompress(part))
            except ZstdError as error:
                yield b"".join(parts)
                reason = str(error).removeprefix("zstd decompressor error: ")
                raise EOFError(f"{where} valid zstd data ({reason})") from error
            where = "after a valid part, there is no more"
            if frame.eof:
                at -= len(frame.unused_data)
                frame = None
            size += len(parts[-1])
            if size >= READ_SIZE:
                yield b"".join(parts)
                parts, size = [], 0
        yield b"".join(parts)
    if frame is not None:
        raise EOFError("its end is missing")


def _opened(path: str) -> io.RawIOBase | io.BufferedReader | gzip.GzipFile | _Zst:
    """A file to read bytes from.

    Plain input is unbuffered: a thread waiting for input would still hold the buffer when the
    program ends.
    """
    if path == "-":
        # A pipe holds 64 KiB by default, which will do if its size cannot be changed.
        if sys.platform == "linux":
            import fcntl

            with suppress(OSError):
                fcntl.fcntl(sys.stdin, fcntl.F_SETPIPE_SZ, READ_SIZE)
        return cast(io.RawIOBase, getattr(sys.stdin.buffer, "raw", sys.stdin.buffer))
    if not path.lower().endswith((".gz", ".zst")):
        return Path(path).open("rb", buffering=0)
    found = os.stat(path)
    if stat.S_ISREG(found.st_mode) and found.st_size == 0:
        raise EOFError("it is empty")
    return gzip.GzipFile(path, "rb") if path.lower().endswith(".gz") else _Zst(path)
