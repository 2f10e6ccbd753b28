"""The columns of a text table, and their types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from streamkarma._engine import MissingWords, boolean, number
from streamkarma.connectors.tables.number_formats import (
    DECIMAL_COMMAS,
    REMEDY,
    form_of,
    prevailing,
    with_point,
)
from streamkarma.printable import shown

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


def has_decimal_commas(cells: Iterable[str], missing: MissingWords) -> bool:
    """Whether a column with these first cells has numbers with a decimal comma.

    Commas that may all separate thousands are not enough.

    Examples
    --------
    >>> missing = MissingWords([])
    >>> [has_decimal_commas(cells, missing) for cells in (["0,5", "", "7"], ["7"], ["1,234"], ["0,5", "0.5"])]
    [True, False, False, False]
    """
    there = {cell for cell in cells if cell not in missing}
    return all(with_point(cell) is not None for cell in there) and any(
        form_of(cell) == DECIMAL_COMMAS for cell in there
    )


def number_hints(columns: Mapping[str, Iterable[str]], missing: MissingWords) -> list[str]:
    """Hints that text columns with these first cells hold numbers in forms that are not read.

    Examples
    --------
    >>> number_hints({"price": ["$5", "$7"], "size": ["M", "S"]}, MissingWords([]))
    ["numbers with currency signs, such as '$5', are taken as text: price; write plain ones, such as 1234.5"]
    """
    names: dict[str, list[str]] = {}
    examples: dict[str, str] = {}
    for name, cells in columns.items():
        there = Counter(cell for cell in cells if cell not in missing)
        forms: Counter[str | None] = Counter()
        for cell, count in there.items():
            forms[form_of(cell)] += count
        form = prevailing(forms)
        if form is not None:
            names.setdefault(form, []).append(name)
            examples.setdefault(form, next(cell for cell in there if form_of(cell) == form))
    return [
        f"numbers with {form}, such as {shown(examples[form])}, are taken as text: {listed(each)}; {REMEDY}"
        for form, each in names.items()
    ]


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
            parts.append(f"{counts[kind]:,} {kind}{plural} ({listed(names)})")
    return ", ".join(parts)


#: Maximum number of column names in a message.
_SHOWN = 5


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(f"{name:.40}" for name in names[:_SHOWN]) + more
