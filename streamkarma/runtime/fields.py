"""Which names in a record are no attributes."""

from __future__ import annotations

from typing import Any, NamedTuple

from streamkarma.errors import RecordError
from streamkarma.estimators.learner import check_weight
from streamkarma.events.vocabulary import LONGEST_NAME, as_number, fits, is_missing
from streamkarma.sources.names import ID, IGNORED, TARGET, WEIGHT

#: Most numbers of a complete vector.
_MOST_NUMBERS = 16384


class Taken(NamedTuple):
    """What was in a record beside its attributes and the target: id, weight, complete vector."""

    id: Any
    weight: float
    full: dict[str, float] | None


class Fields(NamedTuple):
    """Names in a record that are not attributes.

    Attributes
    ----------
    target
        The label.
    id
        Copied to the output; None for none.
    weight
        The weight of the event; None for none.
    ignore
        Left out.
    full
        The complete vector, for comparisons with who saw that; None for none.
    """

    target: str = "y"
    id: str | None = None
    weight: str | None = None
    ignore: tuple[str, ...] = ()
    full: str | None = None

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Fields:
        """From what was kept beside a model.

        Raises
        ------
        TypeError, ValueError
            If that is something else.
        """
        fields = cls(**{**state, "ignore": tuple(state.get("ignore", ()))})
        optional = (fields.id, fields.weight, fields.full)
        texts = all(isinstance(name, str) for name in (fields.target, *fields.ignore))
        if not texts or not all(name is None or isinstance(name, str) for name in optional):
            raise ValueError("a name is none")
        return fields

    @property
    def only_target(self) -> bool:
        """Whether there is nothing but a target to take out."""
        return self.id is None and self.weight is None and self.full is None and not self.ignore

    @property
    def roles(self) -> dict[str, int] | None:
        """What these names are to the scanner; None if they are more than it can tell apart."""
        pairs = [(self.target, TARGET), (self.id, ID), (self.weight, WEIGHT)]
        pairs += [(name, IGNORED) for name in set(self.ignore)]
        roles = {name: role for name, role in pairs if name is not None}
        clear = len(roles) == sum(name is not None for name, _ in pairs)
        return roles if clear and self.full is None and not self.nested else None

    @property
    def nested(self) -> bool:
        """Whether a name has a dot, and may lie inside of objects, which are then flattened first."""
        special = [self.target, self.id, self.weight, *self.ignore]
        return any(name is not None and "." in name for name in special)

    def take(self, record: dict[str, Any]) -> Taken:
        """Take out of a record what is no attribute, but for the target.

        Raises
        ------
        RecordError
            If the weight is none, or the complete vector holds something else than numbers.
        """
        identity = record.pop(self.id, None) if self.id else None
        weight = record.pop(self.weight, None) if self.weight else None
        for name in self.ignore:
            record.pop(name, None)
        vector = _vector(record.pop(self.full, None)) if self.full else None
        return Taken(identity, 1.0 if weight is None else check_weight(weight), vector)


def _vector(value: Any) -> dict[str, float] | None:
    if value is None:
        return None
    if isinstance(value, dict) and len(value) <= _MOST_NUMBERS and all(fits(n, LONGEST_NAME) for n in value):
        numbers = {name: as_number(name, each) for name, each in value.items() if not is_missing(each)}
        if len(numbers) == len(value):
            return numbers
    raise RecordError(
        f"the complete vector is an object of numbers, with none missing: {_MOST_NUMBERS:,} at most, "
        f"with names of {LONGEST_NAME:,} bytes or less"
    )
