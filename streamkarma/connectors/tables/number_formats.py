"""Numbers in forms that are not read as numbers: decimal commas, thousands separators, currencies, %."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from streamkarma._engine import number

#: What the texts look like. PLAIN ones are numbers, which such columns also contain.
DECIMAL_COMMAS, THOUSANDS = "decimal commas", "thousands separators"
CURRENCIES, PER_CENT = "currency signs", "per cent signs"
PLAIN = "plain"
REMEDY = "write plain ones, such as 1234.5"
#: This share of the values must be numbers in one form or another.
_NEARLY_ALL = 0.95
#: Longer texts are not looked at.
_LONGEST = 40

_MONEY = r"(?:[$€£¥₹]|[A-Z]{2}\$|(?:USD|EUR|GBP|CHF|JPY|SEK|NOK|DKK|PLN|CZK|INR|CNY)\b)"
_SIGN, _BLANK = r"[+\-−]?", r"[ \u00a0\u202f]?"
#: Plain blanks are no separators, as they also group the digits of telephone numbers.
_GROUPS = r"\d{1,3}(?P<by>[.,'’\u00a0\u202f])\d{3}(?:(?P=by)\d{3})*"
_FORM = re.compile(
    rf"{_SIGN}(?P<before>{_MONEY})?{_BLANK}{_SIGN}(?:{_GROUPS}|0|[1-9]\d*)(?:[.,]\d+)?"
    rf"{_BLANK}(?P<behind>%|{_MONEY})?",
    re.ASCII,
)
_DECIMAL_COMMA = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
#: What may be a number with a comma between thousands instead.
_COMMA_GROUPS = re.compile(r"[+\-−]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?", re.ASCII)


def with_point(text: str) -> str | None:
    """A number with a decimal comma, also one with points between thousands, in the usual form.

    Examples
    --------
    >>> [with_point(text) for text in ("0,94", " -1.234,5 ", "7", "1.5", "1,234,567", "01,5")]
    ['0.94', '-1234.5', '7', None, None, None]
    """
    text = text.strip()
    if not _DECIMAL_COMMA.fullmatch(text):
        return None
    text = text.replace(".", "").replace(",", ".")
    return text if number(text) is not None else None


def form_of(text: str) -> str | None:
    """What a text looks like, if it looks like a number.

    Examples
    --------
    >>> [form_of(text) for text in ("0,94", "5,123", "$5,123", "3.2 %")]
    ['decimal commas', 'thousands separators', 'currency signs', 'per cent signs']
    >>> [form_of(text) for text in ("5000 EUR", "7", "007", "1,2,3")]
    ['currency signs', 'plain', None, None]
    """
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    if number(text) is not None:
        return PLAIN
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    if found["behind"] == "%":
        return PER_CENT
    if found["before"] or found["behind"]:
        return CURRENCIES
    is_decimal = text.count(",") == 1 and not _COMMA_GROUPS.fullmatch(text)
    return DECIMAL_COMMAS if is_decimal else THOUSANDS


def prevailing(forms: Mapping[str | None, int]) -> str | None:
    """What the values of a text column look like, if nearly all look like numbers.

    Parameters
    ----------
    forms
        The number of values of each form.

    Examples
    --------
    >>> prevailing({PLAIN: 60, THOUSANDS: 38, None: 2}), prevailing({PLAIN: 90, None: 10})
    ('thousands separators', None)
    """
    strange = Counter({form: n for form, n in forms.items() if form not in (PLAIN, None)})
    like_numbers = sum(strange.values()) + forms.get(PLAIN, 0)
    if not strange or like_numbers < _NEARLY_ALL * sum(forms.values()):
        return None
    return strange.most_common(1)[0][0]
