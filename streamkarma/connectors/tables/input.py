"""A table, read as if it were the equivalent lines of JSON."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from streamkarma.connectors.jsonlines.inputs import LineInput
from streamkarma.connectors.jsonlines.lines import SHOWN_BYTES
from streamkarma.connectors.tables.delimited import Piece


class TableInput(LineInput):
    """The rows of a table as lines of JSON.

    Parameters
    ----------
    path
        The table's path, or ``-``.
    pieces
        Its rows.
    is_file
        Whether it can be read again.
    types
        Types of its columns, by name, for the model file.
    stack
        Closes the underlying files.

    Examples
    --------
    >>> table = TableInput("-", iter([Piece(['{"a":1}', "1,2"], {1: "has 2 fields, not 1"})]), False, {})
    >>> table.read(4), table.read(99), table.read(99), table.refused
    (b'{"a"', b':1}\\n1,2\\n', b'', {2: 'has 2 fields, not 1'})
    """

    unit = "row"

    def __init__(
        self,
        path: str,
        pieces: Iterator[Piece],
        is_file: bool,
        types: dict[str, str],
        stack: ExitStack | None = None,
    ) -> None:
        super().__init__(path)
        self._pieces = pieces
        self._is_file = is_file
        self._types = types
        self._stack = stack or ExitStack()
        self._rows = 0
        self._text, self._at = b"", 0
        self._newly_refused: dict[int, str] = {}

    @property
    def is_file(self) -> bool:
        """Whether it can be read again."""
        return self._is_file

    def kept(self) -> dict[str, Any]:
        """The types of its columns, so that they are the same when the model is used again."""
        return {"columns": self._types} if self._types else {}

    def close(self) -> None:
        """Close the underlying files."""
        self._stack.close()

    def _read_on(self, size: int) -> bytes:
        if self._at == len(self._text):
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._take(piece)
        begin, self._at = self._at, min(self._at + size, len(self._text))
        return self._text[begin : self._at]

    def _take(self, piece: Piece) -> None:
        lines = [line.encode("utf-8", "surrogateescape") for line in piece.lines] if piece.refused else []
        for at in piece.refused:
            lines[at] = lines[at][:SHOWN_BYTES]
        self._text = b"\n".join(lines) if lines else "\n".join(piece.lines).encode()
        self._text, self._at = self._text + b"\n", 0
        # Lines of the previous piece may not have been processed yet.
        newly = {self._rows + at + 1: reason for at, reason in piece.refused.items()}
        self.refused = {**self._newly_refused, **newly}
        self._newly_refused = newly
        self._rows += len(piece.lines)
