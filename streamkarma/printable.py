"""What a terminal may be shown of texts that come with the data."""

from __future__ import annotations


def printable(text: str, keep: str = "") -> str:
    r"""The text with control characters escaped, so that none of them steers a terminal; not those to keep.

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
