"""The kinds of values of a record: missing, a number or a category."""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from streamkarma.errors import RecordError

#: Default maximum length of a name or a category, in bytes of UTF-8.
LONGEST_NAME = 1024

Record = Mapping[Any, Any]

#: All integers below this absolute value are exact as floats.
EXACT = 1 << 53

#: Number types that are refused; of numpy's, only complex128 is a ``complex``, and timedelta64 is an integer.
_NO_REAL_NUMBERS = (complex, np.complexfloating, np.timedelta64)


#: Type names of pandas' NA and NaT; pandas is not imported for these.
_NULLS = frozenset({"NAType", "NaTType"})


def is_missing(value: Any) -> bool:
    """Whether a value is missing: None, NaN, or pandas' NA or NaT.

    Examples
    --------
    >>> import pandas as pd
    >>> [is_missing(value) for value in (None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, 0, "")]
    [True, True, True, True, True, False, False]
    """
    if isinstance(value, (float, np.floating)):
        return math.isnan(value)
    return value is None or type(value).__name__ in _NULLS


def as_plain(name: Hashable, value: Any) -> float | int | str:
    """A date or timestamp as a string in ISO 8601, any other ``value`` as a number, without losing digits.

    Raises
    ------
    RecordError
        If it is infinite, or neither of these.

    Examples
    --------
    >>> import datetime
    >>> as_plain("at", datetime.date(2026, 11, 22))
    '2026-11-22'
    >>> as_plain("id", np.uint64(2**53 + 1))
    9007199254740993
    """
    if is_missing(value):
        return math.nan
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, np.datetime64):
        return math.nan if np.isnat(value) else str(value.astype("datetime64[us]"))
    number = as_number(name, value)
    return int(value) if abs(number) >= EXACT and value == int(value) else number


def as_number(name: Hashable, value: Any) -> float:
    """``value`` as a float, NaN if it is missing.

    Raises
    ------
    RecordError
        If it is infinite or not a number.
    """
    if not isinstance(value, (numbers.Number, np.bool_)) or isinstance(value, _NO_REAL_NUMBERS):
        raise RecordError(f"attribute {name!r} is of type {type(value).__name__}, not a number or a string")
    try:
        number = float(value)  # type: ignore[arg-type]  # every Number but complex has __float__
    except OverflowError:
        number = math.inf
    except ValueError:  # Decimal("sNaN")
        number = math.nan
    if math.isinf(number):
        raise RecordError(f"attribute {name!r} is infinite")
    return number


def is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates, such as those for non-UTF-8 bytes of a command line."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def fits(text: object, longest: int) -> bool:
    """Whether a text has at most ``longest`` bytes in UTF-8; true for other values."""
    if not isinstance(text, (str, bytes)) or 4 * len(text) <= longest:
        return True
    return len(text) <= longest and length(text) <= longest


def length(text: object) -> int:
    """Number of bytes of a text in UTF-8; 0 for other values."""
    if isinstance(text, str):
        return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
    return len(text) if isinstance(text, bytes) else 0
