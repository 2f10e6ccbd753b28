"""A buffer of events for the next step of the loop, with their labels and other data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma._engine import Encoded
from streamkarma.connectors.rows import ABSENT, Column
from streamkarma.core.tickets import LateLabels
from streamkarma.events.labels import Label
from streamkarma.runtime.fields import RecordFields
from streamkarma.runtime.pending import PendingEvent, PriorPrediction


class WaitingEvent(NamedTuple):
    """An event that will wait for its label.

    Attributes
    ----------
    at
        Its position.
    record
        Its attributes, if it is learned with its label; None if it is learned on arrival.
    time
        When it arrived.
    entity
        Its entity; None if unknown.
    """

    at: int
    record: dict[str, Any] | None
    time: float
    entity: str | None = None


class EventBatch(NamedTuple):
    """T events to be learned in one step; the fields are those of ``EventBuffer``."""

    events: Encoded
    labels: Sequence[Label | None]
    weights: NDArray[np.float64]
    targets: Column
    ids: Column
    at: Sequence[int]
    settled: Mapping[int, PendingEvent] = MappingProxyType({})
    full: Sequence[dict[str, float] | None] = ()
    waiting: Mapping[bytes, WaitingEvent] = MappingProxyType({})
    groups: Sequence[range] = ()

    @property
    def prior(self) -> dict[int, PriorPrediction]:
        """By position: the predictions made when events arrived, for late labels."""
        return {t: event.prior for t, event in self.settled.items()}

    def late(self, first: int, shares: bool) -> LateLabels | None:
        """The events that wait for their label or have received it, given the number of the first event.

        ``shares`` indicates whether events that share a label also share its weight.
        """
        if not (self.waiting or self.settled):
            return None
        tickets = np.zeros(len(self.labels), np.uint64)
        observed, shared = (np.zeros(len(self.labels), np.bool_) for _ in range(2))
        for event in self.waiting.values():
            tickets[event.at] = first + event.at
        for t, settled in self.settled.items():
            tickets[t], observed[t] = settled.number, settled.observed
        for group in self.groups:
            shared[group] = shares
        return LateLabels(tickets, observed, shared)


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
    settled
        By position: events that waited for their label, which has arrived.
    full
        Complete vectors; empty if no event has one.
    waiting
        Events that will wait for their labels, by id.
    earliest, entities
        The earliest time of these, infinite if there are none, and their entities.
    groups
        The positions of events that share a label.
    """

    def __init__(self) -> None:
        self.events = Encoded()
        self.labels: list[Label | None] = []
        self.weights: list[float] = []
        self.targets: list[Any] = []
        self.ids: list[Any] = []
        self.at: list[int] = []
        self.full: list[dict[str, float] | None] = []
        self.settled: dict[int, PendingEvent] = {}
        self.waiting: dict[bytes, WaitingEvent] = {}
        self.earliest = math.inf
        self.entities: set[str | None] = set()
        self.groups: list[range] = []

    def append(
        self, given: Any, label: Label | None, taken: RecordFields, at: int, settled: PendingEvent | None
    ) -> None:
        """Add the label and other data of an encoded event."""
        if taken.full is not None or self.full:
            self.full += [None] * (len(self.labels) - len(self.full))
            self.full.append(taken.full)
        if settled is not None:
            self.settled[len(self.labels)] = settled
        self.labels.append(label)
        self.weights.append(taken.weight)
        self.targets.append(given)
        self.ids.append(taken.id)
        self.at.append(at)

    def wait(self, key: bytes, event: WaitingEvent) -> None:
        """Make the last added event wait for its label, under an id."""
        self.waiting[key] = event
        self.earliest = min(self.earliest, event.time)
        self.entities.add(event.entity)

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
            self.settled,
            self.full,
            self.waiting,
            self.groups,
        )


def shown_labels(targets: NDArray[Any] | list[Any]) -> Column:
    """Labels as a column."""
    if isinstance(targets, np.ndarray):
        return targets
    return [ABSENT if y is None or y != y else y for y in targets]
