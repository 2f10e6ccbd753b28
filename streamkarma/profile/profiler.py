"""Collects the statistics of a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from streamkarma.profile.attribute import Attribute
from streamkarma.profile.carried import Carried
from streamkarma.profile.findings import findings
from streamkarma.profile.missingness import Missingness
from streamkarma.profile.sample import Sample

#: Events processed at once, however they are batched on arrival.
_BLOCK = 4096
#: Maximum number of attributes; events in the sample; distinct values counted, over all attributes.
MOST_ATTRIBUTES, SAMPLE_EVENTS, _VALUES = 1000, 2000, 100_000
_FEWEST_VALUES, _MOST_VALUES = 100, 1000

Row = Mapping[str, Any]


class Profiler:
    """Profiles events in blocks, in one pass and bounded memory.

    Parameters
    ----------
    target
        The attribute that is the label.
    left_out
        Attributes that are neither profiled nor learned from.
    most
        Maximum number of attributes; the first ones are profiled.
    entity
        The attribute that identifies the entity of an event, or None.

    Examples
    --------
    >>> profiler = Profiler("y")
    >>> profiler.add([{"a": 1.0, "y": 0}, {"y": 1}])
    >>> profile = profiler.profile()
    >>> profile["attributes"]["a"]["share"], profile["label"]["observed"]
    (0.5, 2)
    """

    def __init__(
        self,
        target: str,
        left_out: Sequence[str] = (),
        most: int = MOST_ATTRIBUTES,
        entity: str | None = None,
    ) -> None:
        self.events = 0
        self.attributes: dict[str, Attribute] = {}
        self.label = Attribute(target, _MOST_VALUES)
        self.missingness = Missingness(most)
        self.sample: Sample[Row] = Sample(SAMPLE_EVENTS)
        #: Number of values of attributes beyond the maximum.
        self.beyond = 0
        self._waiting: list[Row] = []
        self._left_out = frozenset(left_out)
        self._most = most
        self.entity = entity
        #: What entities would fill in; None without them.
        self.carried = None if entity is None else Carried(most)

    def add(self, rows: Sequence[Row]) -> None:
        """Add events: the observed values of each, including the label."""
        self._waiting += rows
        while len(self._waiting) >= _BLOCK:
            self._take(self._waiting[:_BLOCK])
            del self._waiting[:_BLOCK]

    def _take(self, rows: Sequence[Row]) -> None:
        columns: dict[str, tuple[list[int], list[Any]]] = {}
        for at, row in enumerate(rows):
            for name, value in row.items():
                found = columns.get(name)
                if found is None:
                    found = columns[name] = ([], [])
                found[0].append(at)
                found[1].append(value)
        for name in self._left_out & columns.keys():
            del columns[name]
        if label := columns.pop(self.label.name, None):
            self.label.add(self.events + np.array(label[0]), label[1])
        entities = None if self.entity is None else [row.get(self.entity) for row in rows]
        self._add(columns, len(rows), entities)
        self.sample.add(rows)
        self.events += len(rows)

    def _add(
        self, columns: Mapping[str, tuple[list[int], list[Any]]], events: int, entities: list[Any] | None
    ) -> None:
        for name in columns:
            if name not in self.attributes and len(self.attributes) < self._most:
                most = _VALUES // (len(self.attributes) + 1)
                self.attributes[name] = Attribute(name, min(max(most, _FEWEST_VALUES), _MOST_VALUES))
        observed = np.zeros((events, len(self.attributes)), np.bool_)
        for number, (name, attribute) in enumerate(self.attributes.items()):
            if name in columns:
                at, values = columns[name]
                observed[at, number] = True
                attribute.add(self.events + np.array(at), values)
        self.beyond += sum(len(at) for name, (at, _) in columns.items() if name not in self.attributes)
        self.missingness.add(observed)
        if self.carried is not None and entities is not None:
            self.carried.add(entities, observed)

    def profile(self) -> dict[str, Any]:
        """The profile of the stream so far, as JSON."""
        if self._waiting:
            self._take(self._waiting)
            self._waiting = []
        return findings(self)
