"""Text from the data, made safe to show on a terminal."""

from __future__ import annotations

import reprlib
from typing import Any

#: Integers of more bits are not written: Python can be configured to refuse those of more than 640 digits.
LONGEST_INTEGER = 2048


def printable(text: str, keep: str = "") -> str:
    r"""The text with control characters escaped, except those in ``keep``, so that none controls a terminal.

    Examples
    --------
    >>> print(printable("wind\x1b[2J\n"))
    wind\x1b[2J\n
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in keep else each.encode("unicode_escape").decode()
        for each in text
    )


class _ShortRepr(reprlib.Repr):
    """Short forms, also of integers that are too long for Python to write."""

    def repr_int(self, x: int, level: int) -> str:
        return super().repr_int(x, level) if x.bit_length() <= LONGEST_INTEGER else "a very large int"


_SHORT = _ShortRepr()


def shown(value: Any) -> str:
    """A value given by the user, in a short form on one line.

    Examples
    --------
    >>> shown("some"), shown(10**5000), shown([10**5000])
    ("'some'", 'a very large int', '[a very large int]')
    """
    return printable(_SHORT.repr(value))
