"""Detection of a table's delimiter from its first lines."""

from __future__ import annotations

import re
import sys

from streamkarma.connectors.tables.rows import Dialect, Refused, Splitter, fit, named

#: Possible delimiters; the first wins ties.
_DELIMITERS = (",", "\t", ";", "|")
_SEP = re.compile(r'"?sep=(.)"?', re.IGNORECASE)


def sniff(lines: list[str]) -> Dialect:
    """The dialect in which most rows have as many cells as the header; among ties, the one with most cells.

    Examples
    --------
    >>> sniff(["a;b\\n", "1,5;2,5\\n"]), sniff(["a, b\\n", "1, 2\\n"])
    (Dialect(delimiter=';', skip_blanks=False), Dialect(delimiter=',', skip_blanks=True))
    """
    return with_blanks(max(_DELIMITERS, key=lambda delimiter: _fit(lines, delimiter)), lines)


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
