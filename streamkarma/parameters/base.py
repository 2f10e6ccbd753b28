"""The declaration of a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streamkarma.parameters.kinds import Kind


class PerTask(NamedTuple):
    """A default that depends on the kind of label; None if the parameter does not apply to it."""

    classification: str | None
    regression: str | None

    def __str__(self) -> str:
        return " or ".join(each for each in self if each is not None)


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    Attributes
    ----------
    name
        Its name in Python; on the command line, dashes replace the underscores.
    kind
        The values it takes.
    help
        What it does, in one line.
    default
        The value if none is given.
    default_text
        The default in words, if the value does not explain itself.
    metavar
        Placeholder for the value in help texts, instead of the name of its type.
    stored
        Whether the model file stores it; an option that is not given then keeps the value in the file.
    defaults
        For a parameter of learners: the default for each learner that has it.
    or_auto
        Whether it may also be ``AUTO``.
    or_none
        Whether it may also be None, which is 0 on the command line.
    flag
        Its name on the command line, if different; there it takes one item at a time.
    classification
        Whether it applies only to classification.
    needs
        Another parameter without which it has no effect; empty if there is none.
    """

    name: str
    kind: Kind
    help: str
    default: Any = None
    default_text: str = ""
    metavar: str | None = None
    stored: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict)
    or_auto: bool = False
    or_none: bool = False
    flag: str = ""
    classification: bool = False
    needs: str = ""

    @property
    def option(self) -> str:
        """Its name on the command line, without the leading dashes."""
        return self.flag or self.name.replace("_", "-")

    def given(self, value: Any) -> str:
        """The option, with its dashes, as written to set this value."""
        return f"--no-{self.option}" if value is False else f"--{self.option}"
