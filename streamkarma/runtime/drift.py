"""Drift detection: in the errors, and in how often each attribute is observed.

ADWIN monitors the errors and each attribute, with one window each. Events are processed in fixed batches,
regardless of how the input arrives: single events would take many times as long and hardly detect a change
earlier.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from streamkarma import _engine
from streamkarma._engine import Adwin, Encoded
from streamkarma.arrays import Floats, Ints

#: Events per batch: for the errors, and for the more numerous attributes.
BATCH, ATTRIBUTE_BATCH = 50, 250
#: The probability of a false alarm at each test: for the errors, and for each attribute.
DELTA, ATTRIBUTE_DELTA = 1e-3, 1e-5
#: Changes of the same quantity within this many events count as one: windows shrink step by step.
APART = 2_000
#: Maximum number of attributes monitored: those seen first.
MOST_ATTRIBUTES = 256
#: A smaller relative rise of the error does not count as drift.
LEAST_RISE = 0.1


class Drift(NamedTuple):
    """A change.

    Attributes
    ----------
    event
        The number of the event at which it was detected.
    label
        The same, counting only labelled events; None for an attribute.
    attribute
        The attribute that is observed more or less often; None if the errors have risen.
    before, after
        The mean error, or the fraction of events that observe the attribute, before and after.
    """

    event: int
    label: int | None
    attribute: int | None
    before: float
    after: float


class ErrorDrift:
    """Monitors the errors of labelled events."""

    def __init__(self) -> None:
        self._adwin = Adwin(DELTA)
        self._last = -APART
        self._sum, self._squares, self._count = 0.0, 0.0, 0
        self._labels = 0

    def add(self, errors: Floats, numbers: Ints) -> list[Drift]:
        """Add events in order, and return the changes found.

        Parameters
        ----------
        errors
            Shape (T,): between 0 and 1.
        numbers
            Shape (T,): the number of each event.
        """
        found: list[Drift] = []
        batches = _batches(self._count, len(errors), BATCH)
        if not batches:
            return found
        begins = [begin for begin, _ in batches]
        sums = np.add.reduceat(errors, begins).tolist()
        squares = np.add.reduceat(errors * errors, begins).tolist()
        for (begin, end), sum_, sum_of_squares in zip(batches, sums, squares, strict=True):
            self._sum += sum_
            self._squares += sum_of_squares
            self._count = (self._count + end - begin) % BATCH
            self._labels += end - begin
            if self._count == 0:
                found += self._finish(int(numbers[end - 1]))
        return found

    def _finish(self, event: int) -> list[Drift]:
        """Finish a batch with this event."""
        change = self._adwin.update(BATCH, self._sum, self._squares)
        self._sum = self._squares = 0.0
        if change is None or change[1] < change[0] * (1.0 + LEAST_RISE):
            return []
        is_new = event - self._last >= APART
        self._last = event
        return [Drift(event, self._labels, None, *change)] if is_new else []


class ObservedDrift:
    """Monitors the fraction of events that observe each attribute."""

    def __init__(self) -> None:
        self._watch = _engine.ObservedDrift(ATTRIBUTE_DELTA, ATTRIBUTE_BATCH, APART, MOST_ATTRIBUTES)

    def add(self, events: Encoded, first: int) -> list[Drift]:
        """Add events in order, and return the changes found; ``first`` is the number of the first event."""
        found = self._watch.add(events, first)
        return [Drift(event, None, attribute, *shares) for event, attribute, *shares in found]

    def shares(self, most: int) -> dict[int, float]:
        """For each attribute up to ``most``, the fraction of events since its last change that observe it."""
        return {attribute: share for attribute, share in self._watch.shares() if attribute <= most}


def _batches(filled: int, events: int, size: int) -> list[tuple[int, int]]:
    """The ranges that divide this many events into batches, the first of which is already partly filled."""
    cuts = [0, *range(size - filled, events, size), events]
    return [(begin, end) for begin, end in pairwise(cuts) if begin < end]
