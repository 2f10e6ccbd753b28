"""The columns of a table as text: what is in them, and the JSON that says the same."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import orjson

#: What a column of text can hold. Of one in which nothing was observed yet, each cell speaks for itself.
NUMBER, BOOLEAN, TEXT, UNKNOWN = "number", "boolean", "text", "unknown"
TYPES = (NUMBER, BOOLEAN, TEXT)

#: Cells of all columns that are remembered, with the JSON they became, and how long they may be.
_REMEMBERED, _SHORT = 1 << 18, 64

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
#: What else is plainly a number; with a leading zero it may be a postal code.
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_BOOLEANS = ("true", "false")


def number(cell: str) -> str | None:
    """The finite number that a cell spells, as JSON; None if it spells none.

    Examples
    --------
    >>> number("1.50"), number(" +.5"), number("-3.e2"), number("007"), number("1,5"), number("1e999")
    ('1.50', '0.5', '-3.0e2', None, None, None)
    """
    text = cell.strip()
    if not _NUMBER.fullmatch(text) or math.isinf(float(text)):
        return None
    if _JSON_NUMBER.fullmatch(text):
        return text
    text = re.sub(r"^(-?)\.", r"\g<1>0.", text.removeprefix("+"))
    return re.sub(r"\.(?![0-9])", ".0", text)


def boolean(cell: str) -> str | None:
    """The boolean that a cell spells, as JSON; None if it spells none."""
    word = cell.strip().lower()
    return word if word in _BOOLEANS else None


def text(cell: str) -> str:
    """A cell as a string of JSON."""
    return orjson.dumps(cell).decode()


#: How a cell is read in a column of some type; what the first readers leave is a text.
_READERS: Mapping[str, Sequence[Callable[[str], str | None]]] = {
    NUMBER: (number,),
    BOOLEAN: (boolean,),
    TEXT: (),
    UNKNOWN: (number, boolean),
}


class MissingWords:
    """Which cells say that there is no value.

    Parameters
    ----------
    words
        The words that do, case and blanks around them aside; an empty cell does in any case.

    Examples
    --------
    >>> "n/a " in MissingWords(["N/A"]), "" in MissingWords([]), "?" in MissingWords(["NA"])
    (True, True, False)
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = {"", *(word.strip().lower() for word in words)}

    def __contains__(self, cell: str) -> bool:
        return cell.strip().lower() in self._words


def type_of(cells: Iterable[str], missing: MissingWords) -> str:
    """What a column holds of which these are the first cells."""
    there = {cell for cell in cells if cell not in missing}
    if not there:
        return UNKNOWN
    for kind, read in ((NUMBER, number), (BOOLEAN, boolean)):
        if all(read(cell) is not None for cell in there):
            return kind
    return TEXT


class Column(dict[str, str]):
    """From a cell to what it adds to an object: a comma, the name and the value; nothing if it is missing.

    Parameters
    ----------
    name
        The name.
    kind
        One of TYPES, or UNKNOWN.
    missing
        Which cells are missing.

    Examples
    --------
    >>> column = Column("a", NUMBER, MissingWords(["NA"]))
    >>> column["1"], column["NA"], column["x"]
    (',"a":1', '', ',"a":"x"')
    """

    def __init__(self, name: str, kind: str, missing: MissingWords) -> None:
        super().__init__()
        self.name, self.kind = name, kind
        self._begin = f",{text(name)}:"
        self._missing = missing

    def __missing__(self, cell: str) -> str:
        added = "" if cell in self._missing else self._begin + self._value(cell)
        if len(cell) <= _SHORT:
            self[cell] = added
        return added

    def _value(self, cell: str) -> str:
        for read in _READERS[self.kind]:
            value = read(cell)
            if value is not None:
                return value
        return text(cell)


def objects(columns: Sequence[Column | None], rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as objects of JSON; a column that is None is left out."""
    if not rows:
        return []
    pairs = zip(columns, zip(*rows, strict=True), strict=True)
    added = [list(map(column.__getitem__, cells)) for column, cells in pairs if column is not None]
    most = _REMEMBERED // len(columns)
    for column in columns:
        if column is not None and len(column) > most:
            column.clear()
    return joined(added, len(rows))


def joined(added: Collection[Sequence[str]], rows: int) -> list[str]:
    """Objects of JSON from what each column adds to each of so many rows."""
    if not added:
        return ["{}"] * rows
    return ["{" + "".join(row)[1:] + "}" for row in zip(*added, strict=True)]


def described(columns: Sequence[Column | None]) -> str:
    """What the columns hold, in words.

    Examples
    --------
    >>> described([Column(name, NUMBER, MissingWords([])) for name in "ab"])
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


#: Names of columns in a message.
_SHOWN = 5


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(f"{name:.40}" for name in names[:_SHOWN]) + more
