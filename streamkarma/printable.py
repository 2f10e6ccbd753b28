"""Text from the data, made safe to show on a terminal."""

from __future__ import annotations

import reprlib
from typing import Any


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


def shown(value: Any) -> str:
    """A value given by the user, in a short form on one line.

    Examples
    --------
    >>> shown("some"), shown(10**5000)
    ("'some'", 'a very large int')
    """
    try:
        return printable(reprlib.repr(value))
    except ValueError:  # Python refuses to convert integers of thousands of digits
        return f"a very large {type(value).__name__}"
