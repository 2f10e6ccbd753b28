"""The click type of each kind of value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click

from streamkarma.parameters.base import Parameter
from streamkarma.parameters.kinds import (
    Integer,
    Number,
    NumbersByName,
    Seconds,
    Texts,
    Threshold,
    WeightsByClass,
    WordsByName,
)
from streamkarma.parameters.words import AUTO, BALANCED


class _AboveZero(click.FloatRange):
    """Numbers above zero; not NaN, which no comparison with a limit rejects."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


above_zero = _AboveZero(min=0, min_open=True)


def setting(value: Any) -> tuple[str, str]:
    """A NAME=VALUE setting of another program."""
    name, equals, setting = str(value).partition("=")
    if not (name and equals):
        raise click.BadParameter(f"{value!r} is not NAME=VALUE")
    return name, setting


def value_type(declared: Parameter) -> Any:
    """The type of a parameter's value, or of each of them."""
    kind = declared.kind
    if isinstance(kind, tuple):
        return click.Choice(kind)
    if isinstance(kind, Texts):
        return str
    if isinstance(kind, NumbersByName):
        return _number_by_name
    if isinstance(kind, WordsByName):
        return _word_by_name(kind.words)
    if isinstance(kind, WeightsByClass):
        return _weights_by_class(kind.weight)
    if isinstance(kind, Threshold):
        return _probability(kind.probability)
    if isinstance(kind, Seconds):
        return above_zero
    if isinstance(kind, Number):
        numbers = click.FloatRange(kind.least, kind.most)
        return _or_auto(numbers) if declared.or_auto else numbers
    if isinstance(kind, Integer):
        integers = click.IntRange(0 if declared.or_none else kind.least, kind.most)
        return _or_auto(integers) if declared.or_auto else integers
    return kind


def _or_auto(kind: click.IntRange | click.FloatRange) -> Callable[[Any], Any]:
    """A type that takes the word auto in addition to the values of another type."""
    return lambda value: value if value == AUTO else kind.convert(value, None, None)


def _number_by_name(value: str) -> tuple[str, float]:
    """NAME=VALUE; the name may have a = in it."""
    name, _, number = str(value).rpartition("=")
    try:
        if name:
            return name, float(number)
    except ValueError:
        pass
    raise click.BadParameter(f"{value!r} is not NAME=VALUE with a number")


def _word_by_name(words: tuple[str, ...]) -> Callable[[Any], tuple[str, str]]:
    """A type that takes NAME=WORD; the name may have a = in it."""

    def convert(value: Any) -> tuple[str, str]:
        name, _, word = str(value).rpartition("=")
        if name and word in words:
            return name, word
        raise click.BadParameter(f"{value!r} is not NAME=KIND with one of {', '.join(words)}")

    return convert


def _weights_by_class(kind: Number) -> Callable[[Any], str | dict[str, float]]:
    """A type that takes the word balanced, or NAME=W with commas; the name may have a = in it."""

    def convert(value: Any) -> str | dict[str, float]:
        if value == BALANCED:
            return BALANCED
        # A table of a config file arrives in parts.
        parts = value if isinstance(value, list) else str(value).split(",")
        try:
            weights = dict(map(_number_by_name, parts))
        except click.BadParameter:
            raise click.BadParameter(f"{value!r} is neither {BALANCED} nor NAME=W,… with numbers") from None
        if len(weights) < len(parts):
            raise click.BadParameter(f"{value!r} names a class twice")
        if not all(map(kind.holds, weights.values())):
            raise click.BadParameter(f"{value!r}: a weight must be {kind}")
        return weights

    return convert


def _probability(kind: Number) -> Callable[[Any], str | float]:
    """A type that takes the word balanced, or a probability."""

    def convert(value: Any) -> str | float:
        if value == BALANCED:
            return BALANCED
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not kind.holds(number):
            raise click.BadParameter(f"{value!r} is neither {BALANCED} nor {kind}")
        return number

    return convert
