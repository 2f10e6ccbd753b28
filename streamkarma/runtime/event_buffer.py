"""What a loop has gathered for its next step: events, and what goes with each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma._engine import Encoded
from streamkarma.connectors.rows import ABSENT, Column
from streamkarma.events.labels import Label
from streamkarma.runtime.fields import RecordFields
from streamkarma.runtime.pending import PriorPrediction


class EventBatch(NamedTuple):
    """T events for a step, and what goes with each of them: see ``EventBuffer``."""

    events: Encoded
    labels: Sequence[Label | None]
    weights: NDArray[np.float64]
    targets: Column
    ids: Column
    at: Sequence[int]
    prior: Mapping[int, PriorPrediction] = MappingProxyType({})
    full: Sequence[dict[str, float] | None] = ()
    waiting: Mapping[bytes, tuple[int, dict[str, Any], float]] = MappingProxyType({})


class EventBuffer:
    """Encoded events, and lists with one item for each of them.

    Attributes
    ----------
    events
        Where the encoder puts events.
    labels, weights
        What is learned.
    targets, ids, at
        What is shown: the label as it was given, the id, and the index of the record.
    prior
        For labels that come late, by position: what was said when the event came.
    full
        Complete vectors, where events have one; empty if none has.
    waiting
        Events that will wait for their label, by id: position, attributes, and time.
    """

    def __init__(self) -> None:
        self.events = Encoded()
        self.labels: list[Label | None] = []
        self.weights: list[float] = []
        self.targets: list[Any] = []
        self.ids: list[Any] = []
        self.at: list[int] = []
        self.full: list[dict[str, float] | None] = []
        self.prior: dict[int, PriorPrediction] = {}
        self.waiting: dict[bytes, tuple[int, dict[str, Any], float]] = {}

    def append(self, given: Any, label: Label | None, taken: RecordFields, at: int,
               prior: PriorPrediction | None) -> None:  # fmt: skip
        """Add what goes with an event that was encoded."""
        if taken.full is not None or self.full:
            self.full += [None] * (len(self.labels) - len(self.full))
            self.full.append(taken.full)
        if prior is not None:
            self.prior[len(self.labels)] = prior
        self.labels.append(label)
        self.weights.append(taken.weight)
        self.targets.append(given)
        self.ids.append(taken.id)
        self.at.append(at)

    def batch(self) -> EventBatch:
        """All of it."""
        shown = shown_labels(self.targets)
        return EventBatch(self.events, self.labels, np.array(self.weights), shown, self.ids, self.at,
                     self.prior, self.full, self.waiting)  # fmt: skip


def shown_labels(targets: NDArray[Any] | list[Any]) -> Column:
    """Labels as a column."""
    if isinstance(targets, np.ndarray):
        return targets
    return [ABSENT if y is None or y != y else y for y in targets]
