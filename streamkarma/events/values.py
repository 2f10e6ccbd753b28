"""What the values of a record are: missing, a number or a category."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from streamkarma.errors import RecordError

#: A name or a category is no longer, in bytes of UTF-8, unless more is asked for.
LONGEST_NAME = 1024

Record = Mapping[Any, Any]

#: Numbers that are refused; of numpy's only complex128 is a ``complex``.
_COMPLEX = (complex, np.complexfloating)

#: A string that is taken for the number it spells, as JSON would write it or nearly so. With a
#: leading zero (a postal code) or in another form (a date, "1_000", "inf") it is a category.
_SPELLED = re.compile(r"\s*[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*", re.ASCII)
#: Longer strings are not looked at: no number is written with more characters.
_LONGEST_SPELLED = 32


def observed_in(record: Record) -> list[tuple[Hashable, str | None, float]]:
    """Name, category and value of everything in a record that is not missing.

    Raises
    ------
    RecordError
        If a value is infinite or neither a number nor a string.
    """
    items: list[tuple[Hashable, str | None, float]] = []
    for name, value in record.items():
        if isinstance(value, str):
            number = spelled_number(value)
            items.append((name, value, 1.0) if number is None else (name, None, number))
        elif value is not None:
            number = as_number(name, value)
            if not math.isnan(number):
                items.append((name, None, number))
    return items


def spelled_number(text: str) -> float | None:
    """The finite number that a string spells; None if it is a category.

    Examples
    --------
    >>> spelled_number("-1.5"), spelled_number("2e3"), spelled_number("02139"), spelled_number("v1")
    (-1.5, 2000.0, None, None)
    """
    if len(text) > _LONGEST_SPELLED or _SPELLED.fullmatch(text) is None:
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def is_missing(value: Any) -> bool:
    """Whether a value says that there is none: None or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def as_number(name: Hashable, value: Any) -> float:
    """``value`` as a float, NaN if it is missing.

    Raises
    ------
    RecordError
        If it is infinite or no number.
    """
    if not isinstance(value, (numbers.Number, np.bool_)) or isinstance(value, _COMPLEX):
        raise RecordError(f"attribute {name!r} holds a {type(value).__name__}, not a number or a string")
    try:
        number = float(value)  # type: ignore[arg-type]  # every Number but complex has __float__
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise RecordError(f"attribute {name!r} is infinite")
    return number


def fits(text: object, longest: int) -> bool:
    """Whether a text has no more bytes of UTF-8 than that, as everything has that is no text."""
    if not isinstance(text, (str, bytes)) or 4 * len(text) <= longest:
        return True
    return len(text) <= longest and length(text) <= longest


def length(text: object) -> int:
    """Bytes of UTF-8 of a text; 0 of what is no text."""
    if isinstance(text, str):
        return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
    return len(text) if isinstance(text, bytes) else 0
