"""JSON lines, written as they arrive."""

from __future__ import annotations

import errno
import hashlib
import io
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from streamkarma import files
from streamkarma.errors import OutputError
from streamkarma.plain_json import dumps
from streamkarma.replacing import check_names_file

#: Number of bytes before a position that identify a file.
_TAIL = 1024


class Mark(NamedTuple):
    """How far a file is written: its size in bytes, and the SHA-256 of the last 1,024 of them."""

    bytes: int
    digest: str


class JsonLinesSink:
    """Writes objects, one a line, to a file or standard output.

    The contents of a file stay until ``restart`` or ``resume`` is called, one of which must come before the
    first ``write``. Nothing is buffered, and nothing is retried.

    Parameters
    ----------
    path
        A path, or ``-`` for standard output.
    create
        Opens the file; that of a named pipe waits for a reader, and may raise InterruptedError.
    wait
        Called before something is written to a pipe or a device; may raise InterruptedError.

    Raises
    ------
    OutputError
        If it cannot be opened or written; from every method.
    BrokenPipeError
        From ``write``: the reader has closed the pipe.
    InterruptedError
        From ``create`` and ``wait``.

    Attributes
    ----------
    is_file
        Whether it is a regular file, and not a pipe, a device or standard output.
    """

    def __init__(
        self,
        path: str,
        create: Callable[[str], io.FileIO] = files.create,
        wait: Callable[[io.FileIO], None] = lambda file: None,
    ) -> None:
        self._path = path
        self._wait = wait
        self._tail = b""
        self._size = 0
        try:
            self._file = files.standard_output() if path == "-" else create(path)
            self.is_file = path != "-" and files.is_regular(self._file)
        except InterruptedError:
            raise
        except OSError as error:
            raise self._failure(error) from error

    def write(self, objects: Iterable[dict[str, Any]]) -> None:
        """Write the objects and hand them to the reader at once."""
        self.write_text(b"".join(dumps(each) + b"\n" for each in objects))

    def write_text(self, text: bytes) -> None:
        """Write lines that are already JSON."""
        try:
            if self.is_file:
                files.write(self._file, text)
            else:
                files.write(self._file, text, self._wait)
        except (BrokenPipeError, InterruptedError):
            raise
        except OSError as error:
            self._cut_torn(text)
            raise self._failure(error) from error
        self._size += len(text)
        self._tail = (self._tail + text[-_TAIL:])[-_TAIL:]

    def restart(self) -> None:
        """Begin with an empty file."""
        self._continue_at(0)

    def holds(self, mark: Mark) -> bool:
        """Whether the file seems to be the one that was marked."""
        try:
            tail = self._read_tail(mark.bytes)
        except OSError as error:
            raise self._failure(error) from error
        return len(tail) == min(mark.bytes, _TAIL) and _digest(tail) == mark.digest

    def resume(self, mark: Mark | None, cut: bool) -> int:
        """Append to the existing content.

        Parameters
        ----------
        mark
            A mark that the file ``holds``; None if everything in it was written by others.
        cut
            Whether to cut off everything after the mark; else only a torn last line is cut off.

        Returns
        -------
        The number of complete lines after the mark.
        """
        try:
            lines, end = self._lines_after(mark.bytes if mark else 0)
            size = os.fstat(self._file.fileno()).st_size
        except OSError as error:
            raise self._failure(error) from error
        if mark is None:
            self._continue_at(size)
            if size > end:
                self.write_text(b"\n")
        else:
            self._continue_at(mark.bytes if cut else end)
        return lines

    def mark(self) -> Mark:
        """How far it is written; that part is synced to disk."""
        try:
            files.sync(self._file)
        except OSError as error:
            raise self._failure(error) from error
        return Mark(self._size, _digest(self._tail))

    def close(self) -> None:
        """Close the file; standard output stays open."""
        if self._path != "-":
            try:
                self._file.close()
            except OSError as error:
                raise self._failure(error) from error

    def _continue_at(self, size: int) -> None:
        if not self.is_file:
            return
        try:
            files.cut(self._file, size)
            self._size, self._tail = size, self._read_tail(size) if size else b""
        except OSError as error:
            raise self._failure(error) from error

    def _read_tail(self, end: int) -> bytes:
        with open(self._path, "rb") as file:
            begin = max(0, end - _TAIL)
            file.seek(begin)
            return file.read(end - begin)

    def _lines_after(self, begin: int) -> tuple[int, int]:
        """The number of complete lines from an offset on, and where they end."""
        lines, end, at = 0, begin, begin
        with open(self._path, "rb") as file:
            file.seek(begin)
            while chunk := file.read(files.READ_SIZE):
                lines += chunk.count(b"\n")
                end = max(end, at + chunk.rfind(b"\n") + 1)
                at += len(chunk)
        return lines, end

    def _cut_torn(self, text: bytes) -> None:
        """Cut off the line that was not written completely."""
        if self.is_file:
            with suppress(OSError):
                written = os.fstat(self._file.fileno()).st_size - self._size
                files.cut(self._file, self._size + text.rfind(b"\n", 0, max(written, 0)) + 1)

    def _failure(self, error: OSError) -> OutputError:
        name = "standard output" if self._path == "-" else self._path
        return OutputError(f"cannot write {name}: {files.reason(error)}")


def check_writable(option: str, path: str | None) -> None:
    """Check early whether a file can be written at the end; it is neither created nor changed.

    Raises
    ------
    UsageError
        If the value of ``option`` is not the path of a file.
    OutputError
        If it may not be written.
    """
    if path is None or path == "-":
        return
    check_names_file(option, path)
    there = os.path.realpath(path)
    if not os.access(there if os.path.exists(there) else os.path.dirname(there), os.W_OK):
        raise OutputError(f"cannot write {path}: {os.strerror(errno.EACCES)}")


def _digest(tail: bytes) -> str:
    return hashlib.sha256(tail).hexdigest()
