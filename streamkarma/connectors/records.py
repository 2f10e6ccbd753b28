"""What every source yields: consecutive, unparsed records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from streamkarma.connectors.rows import Column
from streamkarma.errors import RecordError

#: The position of a record, by the names that a dead letter shows: ``{"line": 17}``.
RecordPosition = dict[str, Any]


class Records:
    """Consecutive records, as JSON.

    Parameters
    ----------
    values
        One JSON object each; or all of them as one text, each terminated by a newline and without
        another inside.
    count
        Number of records.
    position
        Position of the record with this index.
    refused
        Records that cannot be used regardless of their content: index to reason.
    metadata
        Attributes from the metadata of each record, or None for none.
    labels_only
        Whether these are labels of earlier events, and not events.
    time
        The time of the record with this index, in seconds since 1970; None if unknown.
    row_columns
        Further columns of the rows for the records with these indices, by name.

    Attributes
    ----------
    text
        All of them, each terminated by a newline; None if one contains a newline.

    Examples
    --------
    >>> records = Records(b'{"x": 1}\\n{"x": 2}\\n', 2, lambda i: {"line": i + 1})
    >>> len(records), records.values, records.position(1), records.begin(1)
    (2, [b'{"x": 1}', b'{"x": 2}'], {'line': 2}, 9)
    """

    def __init__(
        self,
        values: list[bytes] | bytes,
        count: int,
        position: Callable[[int], RecordPosition],
        refused: Mapping[int, str] | None = None,
        metadata: Sequence[Mapping[str, Any]] | None = None,
        labels_only: bool = False,
        time: Callable[[int], float | None] | None = None,
        row_columns: Callable[[Sequence[int]], Mapping[str, Column]] = lambda at: {},
    ) -> None:
        self._count = count
        self.position = position
        self.refused = refused or {}
        self.metadata = metadata
        self.labels_only = labels_only
        self.time = time
        self.row_columns = row_columns
        #: Index of a record, and its offset in the text: the next one looked up is not far after it.
        self._known = 0, 0
        self.text: bytes | None
        self._values: list[bytes] | None
        if isinstance(values, bytes):
            self.text, self._values = values, None
        else:
            text = b"\n".join([*values, b""])
            # A newline inside a record would split it in the text.
            self.text = text if count_lines(text) == count else None
            self._values = values

    def __len__(self) -> int:
        return self._count

    @property
    def values(self) -> list[bytes]:
        """One JSON object each."""
        if self._values is None:
            assert self.text is not None
            self._values = self.text.split(b"\n")[:-1]
        return self._values

    def add_metadata(self, record: dict[str, Any], at: int) -> None:
        """Add the metadata attributes of the record with this index to its fields.

        Raises
        ------
        RecordError
            If it has a field of the same name.
        """
        beside = {} if self.metadata is None else self.metadata[at]
        for name, value in beside.items():
            if name in record:
                raise RecordError(f"{name!r} is both in the record and in its metadata")
            record[name] = value

    def between(self, begin: int, end: int) -> Records:
        """The records from index ``begin`` up to, but not including, ``end``."""
        if (begin, end) == (0, len(self)):
            return self
        position, time, row_columns = self.position, self.time, self.row_columns
        return Records(
            self.values[begin:end],
            end - begin,
            lambda i: position(begin + i),
            {i - begin: why for i, why in self.refused.items() if begin <= i < end},
            None if self.metadata is None else self.metadata[begin:end],
            self.labels_only,
            time and (lambda i: time(begin + i)),
            lambda at: row_columns([begin + i for i in at]),
        )

    def begin(self, at: int) -> int:
        """Offset in the text where a record begins."""
        assert self.text is not None
        line, begin = self._known if self._known[0] <= at else (0, 0)
        for _ in range(at - line):
            begin = self.text.index(b"\n", begin) + 1
        self._known = at, begin
        return begin

    def remember(self, at: int, begin: int) -> None:
        """Record the offset in the text where a record begins."""
        self._known = at, begin


def count_lines(text: bytes) -> int:
    """Number of newlines, by NumPy: ``bytes.count`` searches for them one after another."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


def format_position(position: RecordPosition) -> str:
    """A position in words.

    Examples
    --------
    >>> format_position({"topic": "clicks", "partition": 0, "offset": 17})
    'topic clicks, partition 0, offset 17'
    """
    return ", ".join(f"{name} {value}" for name, value in position.items())
