"""What a loop has gathered for its next step: events, and what goes with each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.events.batch import Batch
from streamkarma.events.labels import Label
from streamkarma.runtime.fields import Taken
from streamkarma.runtime.pending import Made
from streamkarma.sinks.rows import ABSENT, Column


class Ready(NamedTuple):
    """A batch of T events for a step, and what goes with each of them: see ``Gathered``."""

    batch: Batch
    labels: Sequence[Label | None]
    weights: NDArray[np.float64]
    targets: Column
    ids: Column
    at: Sequence[int]
    made: Mapping[int, Made] = MappingProxyType({})
    full: Sequence[dict[str, float] | None] = ()
    waiting: Mapping[bytes, tuple[int, dict[str, Any], float]] = MappingProxyType({})


class Gathered:
    """A batch of events, and lists with one item for each of them.

    Parameters
    ----------
    batch
        An empty batch of the model's.

    Attributes
    ----------
    labels, weights
        What is learned.
    targets, ids, at
        What is shown: the label as it was given, the id, and the index of the record.
    made
        For labels that come late, by position: what was said when the event came.
    full
        Complete vectors, where events have one; empty if none has.
    waiting
        Events that will wait for their label, by id: position, attributes, and time.
    """

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.labels: list[Label | None] = []
        self.weights: list[float] = []
        self.targets: list[Any] = []
        self.ids: list[Any] = []
        self.at: list[int] = []
        self.full: list[dict[str, float] | None] = []
        self.made: dict[int, Made] = {}
        self.waiting: dict[bytes, tuple[int, dict[str, Any], float]] = {}

    def append(self, given: Any, label: Label | None, taken: Taken, at: int,
               made: Made | None) -> None:  # fmt: skip
        """Add what goes with an event that was appended to the batch."""
        if taken.full is not None or self.full:
            self.full += [None] * (len(self.labels) - len(self.full))
            self.full.append(taken.full)
        if made is not None:
            self.made[len(self.labels)] = made
        self.labels.append(label)
        self.weights.append(taken.weight)
        self.targets.append(given)
        self.ids.append(taken.id)
        self.at.append(at)

    def extend(self, records: list[dict[str, Any]], given: list[Any], taken: list[Taken] | None,
               begin: int, learn: bool) -> int:  # fmt: skip
        """Add events up to the first whose attributes need a closer look; returns how many.

        ``taken`` is what was beside the attributes of each, None for nothing.
        """
        if taken is None:
            weights, identities, full = [1.0] * len(given), [None] * len(given), []
        else:
            identities, weights, full, _ = (list(column) for column in zip(*taken, strict=True))
        added = len(records)
        if not self.batch.extend_plain(records):
            learned = [learn and y is not None and w > 0.0 for y, w in zip(given, weights, strict=True)]
            added = self.batch.extend(records, learned)
        if self.full or any(vector is not None for vector in full):
            self.full += [None] * (len(self.labels) - len(self.full))
            self.full += full[:added] or [None] * added
        self.labels += given[:added]
        self.weights += weights[:added]
        self.targets += given[:added]
        self.ids += identities[:added]
        self.at += range(begin, begin + added)
        return added

    def ready(self) -> Ready:
        """All of it."""
        shown = shown_labels(self.targets)
        return Ready(self.batch, self.labels, np.array(self.weights), shown, self.ids, self.at,
                     self.made, self.full, self.waiting)  # fmt: skip


def shown_labels(targets: NDArray[Any] | list[Any]) -> Column:
    """Labels as a column."""
    if isinstance(targets, np.ndarray):
        return targets
    return [ABSENT if y is None or y != y else y for y in targets]
