"""Rows of JSON, made from columns: many at once, and never a dict for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from streamkarma.core.jit import borrowing

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

#: In the place of what a row does not have.
ABSENT = object()

_NEWLINE, _COMMA = b"\n", b","


class Named(NamedTuple):
    """A column in which few values occur often.

    Attributes
    ----------
    indices
        Shape (T,): which of the names.
    names
        Values for JSON.
    """

    indices: Ints
    names: Sequence[Any]


class Json(NamedTuple):
    """A column of values that are JSON already, without blanks."""

    texts: list[bytes]


#: Of an array of floats, those that are not finite are absent.
Column = NDArray[Any] | Named | Json | Sequence[Any]


def plain(column: Column) -> list[Any]:
    """The values of a column, ABSENT where there is none.

    Examples
    --------
    >>> plain(np.array([0.5, np.nan])) == [0.5, ABSENT], plain(Named(np.array([1, 0]), "ab"))
    (True, ['b', 'a'])
    """
    if isinstance(column, Named):
        return [column.names[i] for i in column.indices.tolist()]
    if isinstance(column, Json):
        return list(map(orjson.loads, column.texts))
    if not isinstance(column, np.ndarray):
        return list(column)
    values: list[Any] = column.tolist()
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        return [value if there else ABSENT for value, there in zip(values, np.isfinite(column), strict=True)]
    return values


class Rows:
    """Objects of the same names, in columns of T values.

    Parameters
    ----------
    columns
        By name, in the order in which they are written.

    Examples
    --------
    >>> rows = Rows({"n": np.arange(2), "score": np.array([0.5, np.nan]), "id": ["a", None]})
    >>> rows.text()
    b'{"n":0,"score":0.5,"id":"a"}\\n{"n":1,"id":null}\\n'
    """

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self.columns = columns
        first = next(iter(columns.values()))
        self._count = len(first[0] if isinstance(first, (Named, Json)) else first)

    def __len__(self) -> int:
        return self._count

    def text(self) -> bytes:
        """All of them, each ended by a newline."""
        if not len(self):
            return b""
        columns = [_written(column) for column in self.columns.values()]
        keys = [orjson.dumps(name) + b":" for name in self.columns]
        texts = b"".join(text for text, _, _ in columns)
        keyed = b"".join(keys)
        room = len(texts) + len(self) * (len(keyed) + len(keys) + 3)
        out = np.empty(room, np.uint8)
        size = _weave(
            np.frombuffer(texts, np.uint8),
            _begins([text for text, _, _ in columns]),
            np.array([ord(end) for _, end, _ in columns], np.uint8),
            np.array([nullable for _, _, nullable in columns], np.bool_),
            np.frombuffer(keyed, np.uint8),
            _begins(keys),
            len(self),
            out,
        )
        return out[:size].tobytes()

    def lines(self) -> list[bytes]:
        """One after another, without newlines; JSON has none inside."""
        return self.text().split(_NEWLINE)[:-1]


def _written(column: Column) -> tuple[bytes, bytes, bool]:
    """Values as JSON, what each of them ends with, and whether ``null`` means that there is none."""
    if isinstance(column, np.ndarray):
        is_float = column.dtype.kind == "f"
        values = np.where(np.isfinite(column), column, np.nan) if is_float else np.ascontiguousarray(column)
        text = orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY)
        return text[1:-1] + _COMMA, _COMMA, is_float
    if isinstance(column, Named):
        names = [orjson.dumps(name) for name in column.names]
        each = [names[i] for i in column.indices.tolist()]
    elif isinstance(column, Json):
        each = column.texts
    else:
        each = [b"" if value is ABSENT else orjson.dumps(value) for value in column]
    return _NEWLINE.join(each) + _NEWLINE, _NEWLINE, False


def _begins(texts: list[bytes]) -> Ints:
    begins: Ints = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=begins[1:])
    return begins


@borrowing
def _weave(texts: Bytes, at: Ints, ends: Bytes, nullable: NDArray[np.bool_], keys: Bytes, key_begins: Ints,
           rows: int, out: Bytes) -> int:  # fmt: skip
    """Write the rows to ``out`` and return their size.

    ``at`` is where the next value of each column begins, and moves on.
    """
    size = 0
    for _ in range(rows):
        before = 123
        for c in range(ends.size):
            begin = at[c]
            end = begin
            while texts[end] != ends[c]:
                end += 1
            at[c] = end + 1
            is_null = nullable[c] and texts[begin] == 110
            if end == begin or is_null:
                continue
            out[size] = before
            size += 1
            before = 44
            for i in range(key_begins[c], key_begins[c + 1]):
                out[size] = keys[i]
                size += 1
            for i in range(begin, end):
                out[size] = texts[i]
                size += 1
        if before == 123:
            out[size] = 123
            size += 1
        out[size], out[size + 1] = 125, 10
        size += 2
    return size
