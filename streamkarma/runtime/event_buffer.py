"""A buffer of events for the next step of the loop, with the labels and other data of each."""

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
    """T events to be learned in one step; the fields are those of ``EventBuffer``."""

    events: Encoded
    labels: Sequence[Label | None]
    weights: NDArray[np.float64]
    targets: Column
    ids: Column
    at: Sequence[int]
    prior: Mapping[int, PriorPrediction] = MappingProxyType({})
    full: Sequence[dict[str, float] | None] = ()
    waiting: Mapping[bytes, tuple[int, dict[str, Any], float]] = MappingProxyType({})
    expired: Sequence[int] = ()

    @property
    def shown(self) -> list[int]:
        """Positions of the events that get a row."""
        hidden = set(self.expired)
        return [t for t in range(len(self.labels)) if t not in hidden]


class EventBuffer:
    """Encoded events, and lists with one item per event.

    Attributes
    ----------
    events
        The encoded events.
    labels, weights
        Labels and weights to learn with.
    targets, ids, at
        For the output: the label as it was given, the id, and the index of the record.
    prior
        For labels that come late, by position: what was said when the event came.
    full
        Complete vectors; empty if no event has one.
    waiting
        Events that will wait for their labels, by id: position, attributes and time.
    expired
        Positions of events that waited in vain. They had their row when they came.
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
        self.expired: list[int] = []

    def append(
        self, given: Any, label: Label | None, taken: RecordFields, at: int, prior: PriorPrediction | None
    ) -> None:
        """Add the label and other data of an event that was encoded."""
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

    def append_expired(self, weight: float) -> None:
        """Add an event that was encoded after it had waited in vain."""
        self.expired.append(len(self.labels))
        self.append(None, None, RecordFields(None, weight, None), -1, None)

    @property
    def rows(self) -> int:
        """How many events get a row."""
        return len(self.labels) - len(self.expired)

    def batch(self) -> EventBatch:
        """The events so far."""
        shown = shown_labels(self.targets)
        return EventBatch(
            self.events,
            self.labels,
            np.array(self.weights),
            shown,
            self.ids,
            self.at,
            self.prior,
            self.full,
            self.waiting,
            self.expired,
        )


def shown_labels(targets: NDArray[Any] | list[Any]) -> Column:
    """Labels as a column."""
    if isinstance(targets, np.ndarray):
        return targets
    return [ABSENT if y is None or y != y else y for y in targets]
