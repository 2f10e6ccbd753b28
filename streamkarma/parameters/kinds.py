"""The kinds of values that parameters take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real


def as_float(value: object) -> float:
    """A real number as a float, infinite if it is too large; NaN for anything else."""
    try:
        return float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        return math.inf


@dataclass(frozen=True)
class Integer:
    """Integers from ``least`` to ``most``, both included."""

    least: int = 1
    most: int | None = None

    def holds(self, value: object) -> bool:
        """Whether ``value`` is in the range; NumPy integers are accepted, booleans are not."""
        if not isinstance(value, Integral) or isinstance(value, bool):
            return False
        return self.least <= int(value) and (self.most is None or int(value) <= self.most)

    def __str__(self) -> str:
        return f"an integer from {self.least:,}" + ("" if self.most is None else f" to {self.most:,}")


@dataclass(frozen=True)
class Number:
    """Numbers from ``least`` to ``most``, both included."""

    least: float
    most: float

    def holds(self, value: object) -> bool:
        """Whether ``value`` is in the range; NumPy numbers are accepted, booleans are not."""
        return not isinstance(value, bool) and self.least <= as_float(value) <= self.most

    def __str__(self) -> str:
        return f"a number from {self.least:g} to {self.most:g}"


@dataclass(frozen=True)
class Seconds:
    """Any duration above zero."""


@dataclass(frozen=True)
class Texts:
    """Any number of strings."""


@dataclass(frozen=True)
class NumbersByName:
    """Any number of numbers for each name."""


@dataclass(frozen=True)
class WordsByName:
    """One of several words for each name."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class WeightsByClass:
    """A weight for each class, or the word "balanced"."""

    weight: Number


@dataclass(frozen=True)
class Threshold:
    """A probability, or the word "balanced"."""

    probability: Number


#: A range, a duration, the words to choose from, a switch, any string, or several of something.
Kind = (
    Integer
    | Number
    | Seconds
    | Texts
    | NumbersByName
    | WordsByName
    | WeightsByClass
    | Threshold
    | tuple[str, ...]
    | type[bool]
    | type[str]
)
