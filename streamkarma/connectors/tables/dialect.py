"""What the first lines of a table reveal: its delimiter, and whether it has a header."""

from __future__ import annotations

import re
import sys
from itertools import pairwise

from streamkarma._engine import number
from streamkarma.connectors.tables.rows import Dialect, Refused, Splitter, fit, named

#: Possible delimiters; the first wins ties.
_DELIMITERS = (",", "\t", ";", "|")
#: This share of a table's first rows must have as many cells as its header.
_NEARLY_ALL = 0.9
#: So many numbers seldom descend by chance.
_MANY = 10
_SEP = re.compile(r'"?sep=(.)"?', re.IGNORECASE)


def sniff(lines: list[str]) -> Dialect:
    """The dialect in which most rows have as many cells as the header; among ties, the one with most cells.

    Examples
    --------
    >>> sniff(["a;b\\n", "1,5;2,5\\n"]), sniff(["a, b\\n", "1, 2\\n"])
    (Dialect(delimiter=';', skip_blanks=False), Dialect(delimiter=',', skip_blanks=True))
    """
    return with_blanks(max(_DELIMITERS, key=lambda delimiter: _fit(lines, delimiter)), lines)


def is_table(lines: list[str]) -> bool:
    """Whether nearly all lines, at least two, split into as many cells as the first.

    Examples
    --------
    >>> is_table(["a;b", "1;2"]), is_table(["a,b", "once upon a time"]), is_table(["{'a': 1, 'b': 2}"] * 2)
    (True, False, False)
    """
    if len(lines) < 2 or lines[0].lstrip().startswith(("{", "[")):
        return False
    return max(_fit(lines, delimiter) for delimiter in _DELIMITERS) >= (_NEARLY_ALL, 2)


def is_data(header: list[str]) -> bool:
    """Whether a first row has numbers where names belong.

    Numbers can be names: those of pixels are whole and differ, those of wavelengths ascend, or many descend.

    Examples
    --------
    >>> [is_data(row.split(",")) for row in ("5.1,3.5,1.4,0.2,setosa", "1,1,0", "8,-1,2,y")]
    [True, True, True]
    >>> [is_data(row.split(",")) for row in ("0,7,3,y", "400.5,401.5,402.5,y", "a,b,-1.5")]
    [False, False, False]
    """
    numbers = [float(value) for cell in header if (value := number(cell.strip())) is not None]
    if len(numbers) < 2 or 2 * len(numbers) < len(header):
        return False
    if len(set(numbers)) == len(numbers) and all(value >= 0 and value.is_integer() for value in numbers):
        return False
    ascends = all(one < other for one, other in pairwise(numbers))
    descends = all(one > other for one, other in pairwise(numbers))
    return not (ascends or (descends and len(numbers) >= _MANY))


def with_blanks(delimiter: str, lines: list[str]) -> Dialect:
    """The dialect of a delimiter; blanks after it are skipped if each in the header is followed by one."""
    first = next((line for line in lines if line.strip()), "")
    parts = first.split(delimiter)[1:]
    return Dialect(delimiter, bool(parts) and all(part.startswith(" ") for part in parts))


def preamble(lines: list[str], delimiter: str | None) -> tuple[int, str | None]:
    """How many of these first lines come before the header, and the delimiter, if they or the caller name it.

    Those are ``sep=;``, which Excel writes and reads, and comments that begin with ``#``. The last of them is
    the header if it splits as the line below does.

    Examples
    --------
    >>> preamble(["sep=;\\n", "a;b\\n"], None), preamble(["# today\\n", "a,b\\n"], None)
    ((1, ';'), (1, None))
    >>> preamble(["#a,b\\n", "1,2\\n"], None)
    (0, None)
    """
    size = 0
    if lines and (found := _SEP.fullmatch(lines[0].strip("\r\n"))) and found[1] in _DELIMITERS:
        size, delimiter = 1, delimiter or found[1]
    comments = next((at for at, line in enumerate(lines[size:]) if not line.startswith("#")), 0)
    if comments:
        below = lines[size + comments :]
        dialect = Dialect(delimiter) if delimiter else sniff(below)
        rows, _ = Splitter(dialect, None, sys.maxsize).split([lines[size + comments - 1], *below[:1]], True)
        last, *others = [row for row in rows if not isinstance(row, Refused)] or [[]]
        size += comments - any(fit(row, len(last), named(last)) for row in others)
    return size, delimiter


def _fit(lines: list[str], delimiter: str) -> tuple[float, int]:
    """Fraction of the rows that have as many cells as the header, and the number of these cells."""
    rows, _ = Splitter(Dialect(delimiter), None, sys.maxsize).split(lines, at_end=False)
    if not rows or isinstance(rows[0], Refused) or len(rows[0]) < 2:
        return 0.0, 0
    width, least = len(rows[0]), named(rows[0])
    fitting = sum(not isinstance(row, Refused) and fit(row, width, least) for row in rows)
    return fitting / len(rows), width
