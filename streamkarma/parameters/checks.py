"""Checks of values given by users; UsageError states in one line what they must be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from streamkarma.errors import UsageError
from streamkarma.parameters.kinds import Integer, as_float
from streamkarma.printable import shown


def is_word(value: Any, word: str) -> bool:
    """Whether a parameter is this word; False for anything else, including arrays."""
    return isinstance(value, str) and value == word


def check_word(name: str, value: Any, words: Iterable[str]) -> str:
    """Return ``value`` if it is one of these words, else raise UsageError."""
    if not isinstance(value, str) or value not in words:
        raise UsageError(f"{name} must be one of {', '.join(words)}, not {shown(value)}")
    return value


def check_fields(plan: Any, words: Mapping[str, Iterable[str]]) -> None:
    """Check that the fields of a named tuple have the types of their defaults.

    Integers must be 0 or more, numbers finite, and fields named in ``words`` one of the words there.

    Raises
    ------
    UsageError
        If a field is invalid.
    """
    for name, default in plan._field_defaults.items():
        value = getattr(plan, name)
        if name in words:
            check_word(name, value, words[name])
        elif isinstance(default, bool):
            if not isinstance(value, bool):
                raise UsageError(f"{name} must be True or False, not {shown(value)}")
        elif isinstance(default, int):
            if not Integer(0).holds(value):
                raise UsageError(f"{name} must be {Integer(0)}, not {shown(value)}")
        elif not math.isfinite(as_float(value)):
            raise UsageError(f"{name} must be a finite number, not {shown(value)}")
