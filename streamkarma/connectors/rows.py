"""Rows of JSON, made from columns: many at once, without a dict for each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma._engine import parse_value, write_rows
from streamkarma.plain_json import dumps

#: Placeholder for a field that a row does not have.
ABSENT = object()


class Named(NamedTuple):
    """A column with few distinct values.

    Attributes
    ----------
    indices
        Shape (T,): indices into ``names``.
    names
        Values for JSON.
    """

    indices: NDArray[np.int64]
    names: Sequence[Any]


class Json(NamedTuple):
    """A column of values that are already JSON, without blanks."""

    texts: list[bytes]


#: In an array of floats, non-finite values are absent.
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
        return list(map(parse_value, column.texts))
    if not isinstance(column, np.ndarray):
        return list(column)
    values: list[Any] = column.tolist()
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        return [value if there else ABSENT for value, there in zip(values, np.isfinite(column), strict=True)]
    return values


class Rows:
    """Objects with the same field names, as columns of T values.

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
        """All rows, each terminated by a newline."""
        return write_rows(list(map(dumps, self.columns)), list(map(_written, self.columns.values())))

    def lines(self) -> list[bytes]:
        """Each row, without its newline; JSON has none inside."""
        return self.text().split(b"\n")[:-1]


def shortened(line: bytes, most: int) -> bytes:
    """A row without its longest fields, so that it fits into ``most`` bytes; ``cut`` names them.

    Examples
    --------
    >>> shortened(b'{"n":1,"id":"a very long name","score":0.5}', 35)
    b'{"n":1,"score":0.5,"cut":["id"]}'
    """
    row: dict[str, Any] = json.loads(line)
    cut: list[str] = []
    while row and len(line) > most:
        cut.append(max(row, key=lambda name: len(dumps(row[name]))))
        del row[cut[-1]]
        line = dumps({**row, "cut": cut})
    return line


def _written(column: Column) -> Any:
    """A column in a form that the engine writes: an array, or JSON."""
    if isinstance(column, np.ndarray):
        return column
    if isinstance(column, Named):
        return column.indices, list(map(dumps, column.names))
    if isinstance(column, Json):
        return column.texts
    return [b"" if value is ABSENT else dumps(value) for value in column]
