"""The columns of a text table, and their types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from streamkarma._engine import MissingWords, boolean, number

#: Types of text columns. In one without observed values yet (UNKNOWN), each cell is typed on its own.
NUMBER, BOOLEAN, TEXT, UNKNOWN = "number", "boolean", "text", "unknown"
TYPES = (NUMBER, BOOLEAN, TEXT)


class Column(NamedTuple):
    """The name of a column, and one of TYPES, or UNKNOWN."""

    name: str
    kind: str


def type_of(cells: Iterable[str], missing: MissingWords) -> str:
    """The type of a column with these first cells.

    Examples
    --------
    >>> missing = MissingWords(["NA"])
    >>> [type_of(cells, missing) for cells in (["1", "na", ""], ["True"], ["1", "True"], ["007"], ["NA"])]
    ['number', 'boolean', 'text', 'text', 'unknown']
    """
    there = {cell for cell in cells if cell not in missing}
    if not there:
        return UNKNOWN
    for kind, read in ((NUMBER, number), (BOOLEAN, boolean)):
        if all(read(cell) is not None for cell in there):
            return kind
    return TEXT


def described(columns: Sequence[Column | None]) -> str:
    """The types of the columns, in words.

    Examples
    --------
    >>> described([Column(name, NUMBER) for name in "ab"])
    '2 numbers (a, b)'
    """
    counts = Counter(column.kind for column in columns if column is not None)
    parts = []
    for kind in (*TYPES, UNKNOWN):
        if counts[kind]:
            names = [column.name for column in columns if column is not None and column.kind == kind]
            plural = "" if counts[kind] == 1 or kind == UNKNOWN else "s"
            parts.append(f"{counts[kind]:,} {kind}{plural} ({_listed(names)})")
    return ", ".join(parts)


#: Maximum number of column names in a message.
_SHOWN = 5


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(f"{name:.40}" for name in names[:_SHOWN]) + more
