"""Counts of durations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

#: Upper bounds in seconds, followed implicitly by infinity.
BOUNDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3600.0)


class Counts(NamedTuple):
    """Numbers of durations up to each of ``BOUNDS`` and in total, and their sum in seconds."""

    up_to: list[int]
    sum: float


class Histogram:
    """Durations in seconds.

    Examples
    --------
    >>> durations = Histogram()
    >>> durations.add([0.002, 0.2, 5000.0])
    >>> durations.counts().up_to[:6], durations.counts().up_to[-1]
    ([0, 1, 1, 1, 1, 2], 3)
    """

    def __init__(self) -> None:
        self._counts = np.zeros(len(BOUNDS) + 1, np.int64)
        self._sum = 0.0

    def add(self, seconds: ArrayLike) -> None:
        """Add one duration, or several. Those below 0, due to clocks that disagree, count as 0."""
        added = np.maximum(np.atleast_1d(np.asarray(seconds, float)), 0.0)
        self._counts += np.bincount(np.searchsorted(BOUNDS, added), minlength=len(self._counts))
        self._sum += float(added.sum())

    def counts(self) -> Counts:
        """The counts of what was added so far."""
        return Counts(self._counts.cumsum().tolist(), self._sum)
