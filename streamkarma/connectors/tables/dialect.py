"""Detection of a table's delimiter from its first lines."""

from __future__ import annotations

import sys

from streamkarma.connectors.tables.rows import Dialect, Refused, Splitter

#: Possible delimiters; the first wins ties.
_DELIMITERS = (",", "\t", ";", "|")


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


def _fit(lines: list[str], delimiter: str) -> tuple[float, int]:
    """Fraction of the rows that have as many cells as the header, and the number of these cells."""
    rows, _ = Splitter(Dialect(delimiter), None, sys.maxsize).split(lines, at_end=False)
    sizes = [0 if isinstance(row, Refused) else len(row) for row in rows]
    if not sizes or sizes[0] < 2:
        return 0.0, 0
    return sizes.count(sizes[0]) / len(sizes), sizes[0]
