"""Which names in a record are no attributes."""

from __future__ import annotations

from typing import Any, NamedTuple

from streamkarma.estimators.learner import check_weight


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
    """

    target: str = "y"
    id: str | None = None
    weight: str | None = None
    ignore: tuple[str, ...] = ()

    @property
    def only_target(self) -> bool:
        """Whether there is nothing but a target to take out."""
        return self.id is None and self.weight is None and not self.ignore

    @property
    def nested(self) -> bool:
        """Whether a name has a dot, and may lie inside of objects, which are then flattened first."""
        special = [self.target, self.id, self.weight, *self.ignore]
        return any(name is not None and "." in name for name in special)

    def take(self, record: dict[str, Any]) -> tuple[Any, float]:
        """Take out of a record what is no attribute, but for the target; returns its id and weight.

        Raises
        ------
        RecordError
            If the weight is none.
        """
        identity = record.pop(self.id, None) if self.id else None
        weight = record.pop(self.weight, None) if self.weight else None
        for name in self.ignore:
            record.pop(name, None)
        return identity, 1.0 if weight is None else check_weight(weight)
