"""Changes of a stream: of the errors, and of how often each attribute is there.

ADWIN watches the errors, and each attribute, with a window each. Events are taken in batches, however the
input comes: single ones would take many times as long, and find a change hardly sooner.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma._engine import Adwin

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Events that are taken in together: for the errors, and for the attributes, of which there are many.
BATCH, ATTRIBUTE_BATCH = 50, 250
#: The probability of an alarm by chance, each time: for the errors, and for each attribute.
DELTA, ATTRIBUTE_DELTA = 1e-3, 1e-5
#: Changes of the same within so many events count as one: windows shrink step by step.
APART = 2_000
#: Attributes that are watched: those known first.
MOST_ATTRIBUTES = 256
#: An error that has not risen by this part of itself is no drift.
LEAST_RISE = 0.1


class Drift(NamedTuple):
    """A change.

    Attributes
    ----------
    event
        The number of the event at which it was found.
    attribute
        The attribute that is there more or less often; None if the errors have risen.
    before, after
        The mean error before and since, or in what share of events the attribute was there.
    """

    event: int
    attribute: int | None
    before: float
    after: float


class _Watch:
    """One sequence that is watched."""

    def __init__(self, delta: float, only_rises: bool) -> None:
        self._adwin = Adwin(delta)
        self._only_rises = only_rises
        self._last = -APART

    @property
    def window(self) -> tuple[int, float]:
        """How many values there were since the last change, and their mean."""
        return self._adwin.window

    def update(self, count: int, sum: float, sum_of_squares: float, event: int) -> tuple[float, float] | None:
        """Of a batch that ends with an event; the means before and after a new change, if there is one."""
        change = self._adwin.update(count, sum, sum_of_squares)
        if change is None or (self._only_rises and change[1] < change[0] * (1.0 + LEAST_RISE)):
            return None
        is_new = event - self._last >= APART
        self._last = event
        return change if is_new else None


class ErrorDrift:
    """Watches the errors of events with a label."""

    def __init__(self) -> None:
        self._watch = _Watch(DELTA, only_rises=True)
        self._sum, self._squares, self._count = 0.0, 0.0, 0

    def add(self, errors: Floats, numbers: Ints) -> list[Drift]:
        """Add events in turn, and return the changes found.

        Parameters
        ----------
        errors
            Shape (T,): between 0 and 1.
        numbers
            Shape (T,): the number of each event.
        """
        found = []
        for begin, end in _batches(self._count, len(errors), BATCH):
            self._sum += float(errors[begin:end].sum())
            self._squares += float((errors[begin:end] ** 2).sum())
            self._count = (self._count + end - begin) % BATCH
            if self._count == 0:
                event = int(numbers[end - 1])
                if (change := self._watch.update(BATCH, self._sum, self._squares, event)) is not None:
                    found.append(Drift(event, None, *change))
                self._sum = self._squares = 0.0
        return found


class ObservedDrift:
    """Watches in what share of events each attribute is there."""

    def __init__(self) -> None:
        self._watches: list[_Watch] = []
        self._counts = np.zeros(MOST_ATTRIBUTES + 1, np.int64)
        self._count = 0

    def add(self, starts: Ints, attributes: NDArray[np.int32], first: int) -> list[Drift]:
        """Add events in turn, and return the changes found.

        Parameters
        ----------
        starts
            Shape (T + 1,): where in ``attributes`` each event begins.
        attributes
            The attributes of each event, ascending; the constant is 0.
        first
            The number of the first event.
        """
        found = []
        for begin, end in _batches(self._count, len(starts) - 1, ATTRIBUTE_BATCH):
            there = attributes[starts[begin] : starts[end]]
            there = there[there <= MOST_ATTRIBUTES]
            self._counts += np.bincount(there, minlength=MOST_ATTRIBUTES + 1)
            self._count = (self._count + end - begin) % ATTRIBUTE_BATCH
            if self._count == 0:
                found += self._finish(first + end - 1)
        return found

    def shares(self, most: int) -> dict[int, float]:
        """In what share of the events since its last change each of the first attributes is there."""
        windows = [watch.window for watch in self._watches[:most]]
        return {number: mean for number, (events, mean) in enumerate(windows, 1) if events}

    def _finish(self, event: int) -> list[Drift]:
        found = []
        known = int(np.flatnonzero(self._counts).max(initial=0))
        self._watches += [
            _Watch(ATTRIBUTE_DELTA, only_rises=False) for _ in range(known - len(self._watches))
        ]
        # Of zeros and ones the squares are the numbers themselves; of several words, one counts.
        counts = np.minimum(self._counts[1:], ATTRIBUTE_BATCH).tolist()
        for attribute, (watch, count) in enumerate(zip(self._watches, counts, strict=False), 1):
            if (change := watch.update(ATTRIBUTE_BATCH, count, count, event)) is not None:
                found.append(Drift(event, attribute, *change))
        self._counts[:] = 0
        return found


def _batches(filled: int, events: int, size: int) -> list[tuple[int, int]]:
    """Where so many events are to be cut into batches of a size, of which one has so many already."""
    cuts = [0, *range(size - filled, events, size), events]
    return [(begin, end) for begin, end in pairwise(cuts) if begin < end]
