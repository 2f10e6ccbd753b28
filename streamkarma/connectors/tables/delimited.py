"""A text table as lines of JSON."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from streamkarma._engine import Columns, MissingWords
from streamkarma.connectors.jsonlines.lines import Lines, read_lines
from streamkarma.connectors.tables.columns import (
    NUMBER,
    TEXT,
    TYPES,
    UNKNOWN,
    Column,
    described,
    has_decimal_commas,
    listed,
    number_hints,
    type_of,
)
from streamkarma.connectors.tables.dialect import is_data, preamble, sniff, with_blanks
from streamkarma.connectors.tables.number_formats import with_point
from streamkarma.connectors.tables.rows import TOO_LONG, Refused, Row, Splitter, fit, named, text_of
from streamkarma.errors import RunError
from streamkarma.parameters.words import CLASS_WORDS

#: Between cells separated by these, a comma may be that of a decimal number.
_BESIDE_COMMAS = (";", "\t")
#: Delimiter and types of a table are determined from its first lines: this many, or this many characters.
SAMPLE_LINES, SAMPLE_SIZE = 1000, 1 << 20


class Piece(NamedTuple):
    """Some rows as lines of JSON, and the reasons why some were refused, by index."""

    lines: list[str]
    refused: dict[int, str]


class DelimitedTable:
    """Reads a text table with the column names in its first row.

    Parameters
    ----------
    name
        Its name in messages.
    read
        Returns up to the given number of bytes, none at the end.
    delimiter
        The delimiter of cells; None to detect it.
    missing
        The cells that stand for a missing value.
    types
        Types of columns, by name, where known; those of others are inferred from the first rows.
    limit
        Maximum length of a row in bytes.
    text_label
        Name of the column in which the word "none" is a text if the column has texts; None if there is no
        such column.

    Raises
    ------
    RunError
        If its header is invalid, or it cannot be read.

    Attributes
    ----------
    read
        Reads further bytes; may be replaced by another function.
    types
        Types of its columns, by name, as far as they were determined.

    Examples
    --------
    >>> file = io.BytesIO(b"a,b\\n1,x\\n,y\\n")
    >>> table = DelimitedTable("t.csv", file.read, None, MissingWords([]), {}, 1000)
    >>> [piece.lines for piece in table.pieces()], table.types
    ([['{"a":1,"b":"x"}', '{"b":"y"}']], {'a': 'number', 'b': 'text'})
    """

    def __init__(
        self,
        name: str,
        read: Callable[[int], bytes],
        delimiter: str | None,
        missing: MissingWords,
        types: Mapping[str, str],
        limit: int,
        text_label: str | None = None,
    ) -> None:
        self._name = name
        self._limit = limit
        self.read = read
        self._blocks = read_lines(lambda size: self.read(size), limit)
        #: Blocks that were read for the first lines.
        self._first: list[Lines] = []
        sample = self._sample()
        self._before_header, delimiter = preamble(sample, delimiter)
        sample = sample[self._before_header :]
        self._dialect = sniff(sample) if delimiter is None else with_blanks(delimiter, sample)
        header, *rows = self._rows_of(sample)
        self._width, self._least = len(header), named(header)
        self._names = names = [name.strip() for name in header]
        cells = list(zip(*rows, strict=True)) or [()] * len(names)
        self._missing = missing
        #: Indices of the columns of numbers with a decimal comma.
        self._decimals = self._decimal_columns(names, cells, types)
        self._columns = self._typed(names, cells, missing, types)
        texts = {c.name: own for c, own in zip(self._columns, cells, strict=True) if c and c.kind == TEXT}
        #: Hints for the user on columns that may be misread.
        self.hints = [f"table: {hint}" for hint in number_hints(texts, missing)]
        #: Index of the column in which "none" is a text.
        self._text_label = self._text_column(text_label)
        self._objects = Columns(self._columns, missing).objects
        self.types = {
            column.name: column.kind
            for column in self._columns
            if column is not None and column.kind != UNKNOWN
        }

    def _text_column(self, name: str | None) -> int | None:
        """The index of the column of this name, if it may have texts."""
        for at, column in enumerate(self._columns):
            if column is not None and column.name == name and column.kind in (TEXT, UNKNOWN):
                return at
        return None

    def describe(self) -> str:
        """The detected format, in one line."""
        delimiter = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}[self._dialect.delimiter]
        unnamed = sum(column is None for column in self._columns)
        left_out = f"; columns without a name, left out: {unnamed:,}" if unnamed else ""
        commas = [column.name for at in self._decimals if (column := self._columns[at]) is not None]
        decimals = f"; with decimal commas: {listed(commas)}" if commas else ""
        return f"table: columns separated by {delimiter}: {described(self._columns)}{decimals}{left_out}"

    def pieces(self) -> Iterator[Piece]:
        """All rows in order, without the header and blank ones."""
        header_seen = False
        for rows in self._all_rows():
            if not header_seen and rows:
                header_seen, rows = True, rows[1:]
            if rows:
                yield self._piece(rows)

    def _piece(self, rows: list[Row]) -> Piece:
        good = [row for row in rows if not isinstance(row, Refused)]
        for at in self._decimals:
            for row in good:
                if row[at] not in self._missing:
                    row[at] = with_point(row[at]) or row[at]
        lines = self._objects(good)
        if self._text_label is not None:
            self._add_labels(good, lines, self._text_label)
        refused = {}
        if len(good) < len(rows):
            each = iter(lines)
            lines = [row.text.replace("\r", " ") if isinstance(row, Refused) else next(each) for row in rows]
            refused = {i: row.reason for i, row in enumerate(rows) if isinstance(row, Refused)}
        return Piece(lines, refused)

    def _add_labels(self, rows: list[list[str]], lines: list[str], at: int) -> None:
        """Add the labels "none" and "-", which the lines lack since these also stand for missing values."""
        name = json.dumps(self._names[at], ensure_ascii=False)
        for row, cells in enumerate(rows):
            if cells[at].strip().lower() in CLASS_WORDS and cells[at] in self._missing:
                label = f"{name}:{json.dumps(cells[at], ensure_ascii=False)}"
                lines[row] = f"{{{label}}}" if lines[row] == "{}" else f"{lines[row][:-1]},{label}}}"

    def _all_rows(self) -> Iterator[list[Row]]:
        """Rows from the header on, in batches as they are read."""
        splitter = Splitter(self._dialect, self._width, self._limit, self._least)
        rest: list[str] = []
        before = self._before_header
        for block in self._all_blocks():
            rows: list[Row] = []
            for lines, overlong in _parts(block):
                skipped = min(before, len(lines))
                before, lines = before - skipped, lines[skipped:]
                # A row that contains a line that is too long is too long itself.
                more, rest = splitter.split([*rest, *lines], at_end=overlong is not None)
                rows += more
                rows += [] if overlong is None else [overlong]
            yield rows
        yield splitter.split(rest, at_end=True)[0]

    def _all_blocks(self) -> Iterator[Lines]:
        while self._first:
            yield self._first.pop(0)
        yield from self._blocks

    def _sample(self) -> list[str]:
        """The first lines, regardless of how the input is split into blocks."""
        sample: list[str] = []
        size = 0
        for block in self._blocks:
            self._first.append(block)
            for line in _lines(block):
                sample.append(line)
                size += len(line)
                if size >= SAMPLE_SIZE or len(sample) > SAMPLE_LINES:
                    return sample
        return sample

    def _rows_of(self, sample: list[str]) -> list[list[str]]:
        """The header and those of the first rows that have as many cells."""
        rows, _ = Splitter(self._dialect, None, self._limit).split(sample, at_end=False)
        if not rows:
            raise RunError(f"{self._name} has no header row with column names")
        header = rows[0]
        if isinstance(header, Refused):
            if "\r" in header.text:
                raise RunError(f"{self._name} ends its lines with CR; convert it: tr '\\r' '\\n'")
            raise RunError(f"the first row of {self._name} has no column names: {header.reason}")
        if is_data(header):
            what = "has numbers instead of column names; put a row of names above it"
            raise RunError(f"the first row of {self._name} {what}")
        width, least = len(header), named(header)
        return [row for row in rows if not isinstance(row, Refused) and fit(row, width, least)]

    def _decimal_columns(
        self, names: Sequence[str], cells: Sequence[Sequence[str]], types: Mapping[str, str]
    ) -> list[int]:
        if self._dialect.delimiter not in _BESIDE_COMMAS:
            return []
        open_or_number = (at for at, name in enumerate(names) if types.get(name, NUMBER) == NUMBER)
        return [at for at in open_or_number if has_decimal_commas(cells[at], self._missing)]

    def _typed(
        self,
        names: Sequence[str],
        cells: Sequence[Sequence[str]],
        missing: MissingWords,
        types: Mapping[str, str],
    ) -> list[Column | None]:
        twice = [name for name, count in Counter(names).items() if name and count > 1]
        if twice:
            raise RunError(f"{self._name} has several columns named {twice[0]!r:.80}")
        columns: list[Column | None] = []
        for at, (name, own) in enumerate(zip(names, cells, strict=True)):
            kind = NUMBER if at in self._decimals else types.get(name)
            kind = kind if kind in TYPES else type_of(own, missing)
            columns.append(Column(name, kind) if name else None)
        if all(column is None for column in columns):
            raise RunError(f"{self._name} has no header row with column names")
        return columns


def _lines(block: Lines) -> list[str]:
    return list(io.StringIO(text_of(block.text), newline="\n"))


def _parts(block: Lines) -> Iterator[tuple[list[str], Refused | None]]:
    """Consecutive lines, each time up to one that was too long and was cut."""
    lines, begin = _lines(block), 0
    for at in sorted(number - block.first for number in block.overlong):
        yield lines[begin:at], Refused(lines[at].rstrip("\r\n"), TOO_LONG)
        begin = at + 1
    yield lines[begin:], None
