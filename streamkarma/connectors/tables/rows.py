"""Lines of text as rows of cells, and the reasons why some are refused.

A stray quote must not swallow the rows after it. So if a row seems to span several lines but has the wrong
number of cells, only its first line is refused, and reading continues at the second.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from streamkarma.events.values import is_unicode

if TYPE_CHECKING:
    from _csv import Reader

# Long texts are valid cells; the length of a row is checked here.
csv.field_size_limit(1 << 30)

TOO_LONG = "longer than the limit (see --max-record-bytes), or a quote in it is never closed"
UNCLOSED = "a quote is never closed"
NOT_UTF8 = "not valid UTF-8; if it is Latin-1, convert it: iconv -f latin1 -t utf-8"


class Dialect(NamedTuple):
    """How cells are separated: by which character, and whether blanks after it are skipped."""

    delimiter: str
    skip_blanks: bool = False

    def reader(self, lines: Sequence[str]) -> Reader:
        """A reader of the lines as rows."""
        return csv.reader(lines, delimiter=self.delimiter, skipinitialspace=self.skip_blanks, strict=True)


class Refused(NamedTuple):
    """Text that is not a valid row, and the reason."""

    text: str
    reason: str


#: The cells of a row, or what was refused.
Row = list[str] | Refused


class Splitter:
    """Splits lines into rows.

    Parameters
    ----------
    dialect
        How cells are separated.
    width
        Number of cells in a row; None for any.
    limit
        Maximum number of characters in a row.
    least
        Minimum number of cells in a row, if the last ones may be left out; by default ``width``.

    Examples
    --------
    >>> splitter = Splitter(Dialect(","), 2, 100)
    >>> splitter.split(["1,2\\n", "\\n", "3\\n", "4,'5\\n".replace("'", '"')], at_end=False)
    ([['1', '2'], Refused(text='3', reason='has 1 field, not 2')], ['4,"5\\n'])
    """

    def __init__(self, dialect: Dialect, width: int | None, limit: int, least: int | None = None) -> None:
        self._dialect = dialect
        self._width = width
        self._least = least
        self._limit = limit

    def split(self, lines: list[str], at_end: bool) -> tuple[list[Row], list[str]]:
        """Rows, without blank ones, and the lines of a last row that is still incomplete.

        Each of ``lines`` ends with a newline; ``at_end`` means that no other line follows.
        """
        try:
            rows = list(self._dialect.reader(lines))
        except csv.Error:
            rows = []
        fitting = all(len(row) == self._width or self._fits(row) for row in rows)
        if fitting and len(rows) == len(lines) and is_unicode("".join(lines)):
            return [*rows], []
        return self._split_with_care(lines, at_end)

    def _fits(self, row: list[str]) -> bool:
        return self._width is not None and fit(row, self._width, self._least)

    def _split_with_care(self, lines: list[str], at_end: bool) -> tuple[list[Row], list[str]]:
        rows: list[Row] = []
        at, begin = 0, 0
        reader = self._dialect.reader(lines)
        while begin < len(lines):
            row, reason = self._next(reader)
            end = at + reader.line_num
            if sum(map(len, lines[begin:end])) > self._limit:
                reason = TOO_LONG
            if reason == UNCLOSED and not at_end:
                return rows, lines[begin:]
            if reason is None:
                rows += [row] if row else []
                begin = end
                continue
            rows.append(Refused(lines[begin].rstrip("\r\n"), reason))
            begin += 1
            if begin < end:
                at, reader = begin, self._dialect.reader(lines[begin:])
        return rows, []

    def _next(self, reader: Reader) -> tuple[list[str], str | None]:
        """The cells of the next row, none if it is blank, and the reason if it is invalid."""
        try:
            row = next(reader)
        except csv.Error as error:
            reason = str(error).split(" - ")[0]
            return [], UNCLOSED if reason == "unexpected end of data" else f"not CSV: {reason}"
        if row and self._width is not None and not self._fits(row):
            return row, f"has {len(row):,} field{'' if len(row) == 1 else 's'}, not {self._width:,}"
        return row, None if is_unicode("".join(row)) else NOT_UTF8


def fit(row: list[str], width: int, least: int | None = None) -> bool:
    """Whether a row has ``width`` cells, once an empty surplus one at its end is dropped.

    A row with at least ``least`` cells is filled up with empty ones.

    Examples
    --------
    >>> row = ["1", "2", ""]
    >>> fit(row, 2), row, fit(["1"], 2), fit(["1"], 2, least=1), fit(["1", "2", "3"], 2)
    (True, ['1', '2'], False, True, False)
    """
    if len(row) == width:
        return True
    if len(row) == width + 1 and not row[-1].strip():
        row.pop()
    elif least is not None and least <= len(row) < width:
        row += [""] * (width - len(row))
    return len(row) == width


def named(header: Sequence[str]) -> int:
    """The number of cells up to the last with a name: those behind it may be missing from a row.

    Examples
    --------
    >>> named(["a", "", "b", " ", ""])
    3
    """
    return max((at for at, name in enumerate(header, 1) if name.strip()), default=0)


def text_of(content: bytes) -> str:
    """Bytes as text; those that are not UTF-8 as lone surrogates, which encode to the same bytes."""
    return content.decode("utf-8", "surrogateescape")
