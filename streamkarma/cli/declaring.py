"""How options are declared: from parameters, and several together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from streamkarma.cli.value_types import value_type
from streamkarma.parameters.base import Parameter
from streamkarma.parameters.kinds import NumbersByName, Texts, WordsByName

Decorator = Callable[[Any], Any]


def together(*decorators: Decorator) -> Decorator:
    """Combine several decorators into one, in the order of the help text."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def option(declared: Parameter, default_text: str = "") -> Decorator:
    """The option of a parameter, with its own or another default in the help.

    It has no default in click if the model file may hold another value.
    """
    name = declared.option
    default = default_text or _default_text(declared)
    in_words = declared.stored or bool(declared.default_text)
    flag = f"--{name}/--no-{name}" if declared.kind is bool else f"--{name}"
    return click.option(
        flag,
        type=value_type(declared),
        multiple=isinstance(declared.kind, Texts | NumbersByName | WordsByName),
        metavar=declared.metavar,
        default=None if declared.stored else declared.default,
        show_default=bool(declared.default) and not in_words,
        help=declared.help + (f"  [default: {default}]" if in_words and default else ""),
    )


def _default_text(declared: Parameter) -> str:
    """The default in words; for a learner's parameter, that of each learner except the mixture."""
    if declared.default_text:
        return declared.default_text
    single = (default for learner, default in declared.defaults.items() if learner != "auto")
    values = [each for each in (*single, declared.default) if each is not None]
    return " and ".join(dict.fromkeys(_in_words(declared.option, each) for each in values))


def _in_words(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return name if value else f"no-{name}"
    return f"{value:g}" if isinstance(value, float) else str(value)
