"""What a loop has gathered for its next step: events, and what goes with each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.events.batch import Batch
from streamkarma.events.labels import Label
from streamkarma.runtime.pending import Made


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
        self.made: dict[int, Made] = {}
        self.waiting: dict[bytes, tuple[int, dict[str, Any], float]] = {}

    def append(self, given: Any, label: Label | None, weight: float, identity: Any, at: int,
               made: Made | None) -> None:  # fmt: skip
        """Add what goes with an event that was appended to the batch."""
        if made is not None:
            self.made[len(self.labels)] = made
        self.labels.append(label)
        self.weights.append(weight)
        self.targets.append(given)
        self.ids.append(identity)
        self.at.append(at)

    def extend(self, records: list[dict[str, Any]], given: list[Any], weights: list[float],
               identities: list[Any], begin: int, learn: bool) -> int:  # fmt: skip
        """Add events up to the first whose attributes need a closer look; returns how many."""
        taken = len(records)
        if not self.batch.extend_plain(records):
            learned = [learn and y is not None and w > 0.0 for y, w in zip(given, weights, strict=True)]
            taken = self.batch.extend(records, learned)
        self.labels += given[:taken]
        self.weights += weights[:taken]
        self.targets += given[:taken]
        self.ids += identities[:taken]
        self.at += range(begin, begin + taken)
        return taken

    def fill(self, starts: NDArray[np.int64], coordinates: NDArray[np.int32],
             values: NDArray[np.float64], labels: list[Any]) -> None:  # fmt: skip
        """Have events that were encoded elsewhere, the first there are, of weight 1 and no id."""
        self.batch.fill(starts, coordinates, values)
        self.labels += labels
        self.weights += [1.0] * len(labels)
        self.targets += labels
        self.ids += [None] * len(labels)
        self.at += range(len(labels))
