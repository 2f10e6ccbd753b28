"""JSON lines, written as they come."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from streamkarma.errors import RunError


class JsonLinesSink:
    """Writes objects, one a line, to a file or standard output.

    Parameters
    ----------
    path
        A path, which is overwritten, or ``-`` for standard output.

    Raises
    ------
    RunError
        If it cannot be opened or written.
    BrokenPipeError
        From ``write``: the reader has gone.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            # Closed by ``close``: the sink is what has a beginning and an end.
            self._file: BinaryIO = sys.stdout.buffer if path == "-" else Path(path).open("wb")  # noqa: SIM115  # close() closes it
        except OSError as error:
            raise RunError(f"cannot write {path}: {error.strerror}") from error

    def write(self, objects: Iterable[dict[str, Any]]) -> None:
        """Write the objects and hand them to the reader at once."""
        self.write_text(b"".join(orjson.dumps(each, option=orjson.OPT_APPEND_NEWLINE) for each in objects))

    def write_text(self, text: bytes) -> None:
        """Write lines that are JSON already."""
        if not text:
            return
        try:
            self._file.write(text)
            self._file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise RunError(f"cannot write {self._path}: {error.strerror}") from error

    def close(self) -> None:
        """Close the file; standard output stays open."""
        if self._path != "-":
            self._file.close()


def leave_stdout() -> None:
    """Have nothing more written to a reader that has gone, not even what is still buffered."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
