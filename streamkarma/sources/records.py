"""What every source yields: some records in a row, unread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.sources.names import NameTable
from streamkarma.sources.scanner import Scanned, scan

#: Where a record stands, by the names that a dead letter shows: ``{"line": 17}``.
Place = dict[str, Any]


class Records:
    """Some records in a row, as JSON.

    Parameters
    ----------
    values
        One JSON object each; or all of them as one text, each ended by a newline and with none
        inside.
    count
        How many.
    place
        Where the record with this index stands.
    refused
        Records that cannot be used, whatever is in them: index to reason.
    beside
        Attributes that came beside each value, or None for none.
    labels_only
        Whether these are labels of events that came before, and no events.
    time
        When the record with this index happened, in seconds since 1970.

    Examples
    --------
    >>> records = Records(b'{"x": 1}\\n{"x": 2}\\n', 2, lambda i: {"line": i + 1})
    >>> len(records), records.values, records.place(1)
    (2, [b'{"x": 1}', b'{"x": 2}'], {'line': 2})
    """

    def __init__(self, values: list[bytes] | bytes, count: int, place: Callable[[int], Place],
                 refused: Mapping[int, str] | None = None, beside: Sequence[Mapping[str, Any]] | None = None,
                 labels_only: bool = False, time: Callable[[int], float] | None = None) -> None:  # fmt: skip
        self._count = count
        self.place = place
        self.refused = refused or {}
        self.beside = beside
        self.labels_only = labels_only
        self.time = time
        self._ahead: Scanned | None = None
        #: What was scanned last: the first record, where it began, and where each ended.
        self._last = 0, 0, np.zeros(0, np.int64)
        self._text: bytes | None
        self._values: list[bytes] | None
        if isinstance(values, bytes):
            self._text, self._values = values, None
        else:
            text = b"\n".join([*values, b""])
            # With a newline inside of a record the text would be another stream.
            self._text = text if count_lines(text) == count else None
            self._values = values

    def __len__(self) -> int:
        return self._count

    @property
    def values(self) -> list[bytes]:
        """One JSON object each."""
        if self._values is None:
            assert self._text is not None
            self._values = self._text.split(b"\n")[:-1]
        return self._values

    @property
    def plain(self) -> bool:
        """Whether there is nothing to them but the JSON, a line each."""
        return self._text is not None and not self.refused and not self.labels_only and self.beside is None

    def scan(self, at: int, table: NameTable) -> Scanned:
        """Those from index ``at`` up to the first that is unusual; there is a text of them."""
        assert self._text is not None
        if at == 0 and self._ahead is not None:
            return self._ahead
        begin = self._place(at)
        scanned = scan(self._text, begin, len(self) - at, table)
        self._last = at, begin, scanned.ends
        return scanned

    def scan_ahead(self, table: NameTable) -> None:
        """Scan from the beginning, before it is asked for."""
        self._ahead = self.scan(0, table)

    def texts(self, spans: NDArray[np.int64]) -> list[bytes]:
        """What stands from one place to another, ``null`` for an empty span; shape (T, 2)."""
        assert self._text is not None
        text = self._text
        return [text[begin:end] or b"null" for begin, end in spans.tolist()]

    def _place(self, at: int) -> int:
        """Where in the text a record begins; the last one scanned is not far before it."""
        first, begin, ends = self._last
        behind = first + len(ends)
        if at <= behind:
            return int(ends[at - first - 1]) if at > first else begin
        begin = int(ends[-1]) if len(ends) else begin
        return begin + sum(len(value) + 1 for value in self.values[behind:at])


def count_lines(text: bytes) -> int:
    """How many newlines there are: by numpy, for bytes look for one after another."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


def said(place: Place) -> str:
    """A place in words.

    Examples
    --------
    >>> said({"topic": "clicks", "partition": 0, "offset": 17})
    'topic clicks, partition 0, offset 17'
    """
    return ", ".join(f"{name} {value}" for name, value in place.items())
