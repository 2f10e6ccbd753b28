"""Checks of what a user gave; UsageError says in one line what it must be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from streamkarma.errors import UsageError
from streamkarma.parameters.kinds import Integer, as_float
from streamkarma.printable import shown


def is_word(value: Any, word: str) -> bool:
    """Whether a parameter is this word; of anything else, arrays among it, it is not."""
    return isinstance(value, str) and value == word


def check_word(name: str, value: Any, words: Iterable[str]) -> str:
    """Return ``value`` if it is one of these words, else raise UsageError."""
    if not isinstance(value, str) or value not in words:
        raise UsageError(f"{name} must be one of {', '.join(words)}, not {shown(value)}")
    return value


def check_fields(plan: Any, words: Mapping[str, Iterable[str]]) -> None:
    """Check that the fields of a named tuple are of the kinds of their defaults.

    Integers have to be 0 or more, numbers finite, and fields named in ``words`` one of the words there.

    Raises
    ------
    UsageError
        If one is not.
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
