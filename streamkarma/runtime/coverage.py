"""The coverage and size of prediction intervals and sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Arrays, Bools, Floats, Ints
from streamkarma.events.labels import NEW, Label
from streamkarma.runtime.pending import PriorPrediction


class Coverage:
    """Counts over the labelled events of a run with a finite interval, or a set."""

    def __init__(self) -> None:
        self._events = 0
        self._covered = 0
        self._size = 0.0
        self._name = ""

    def add_intervals(self, intervals: Floats, targets: Floats, prior: Mapping[int, PriorPrediction]) -> None:
        """Count intervals.

        Parameters
        ----------
        intervals
            Shape (T, 2).
        targets
            Shape (T,); NaN without a label.
        prior
            By position: predictions made when the event arrived; their intervals are counted.
        """
        intervals = intervals.copy()
        for t, before in prior.items():
            intervals[t] = _ends(before.row.get("interval"))
        low, high = intervals.T
        counted = np.isfinite(intervals).all(axis=1) & ~np.isnan(targets)
        covered = (low <= targets) & (targets <= high)
        self._add("mean_width", counted, covered, np.where(counted, high - low, 0.0))

    def add_sets(
        self,
        members: NDArray[np.bool_],
        targets: Ints,
        known: Ints,
        classes: Sequence[Label],
        prior: Mapping[int, PriorPrediction],
    ) -> None:
        """Count sets.

        Parameters
        ----------
        members
            Shape (T, classes): whether each class is in the set.
        targets
            Shape (T,): the index of the label; negative without one, and for one never learned, which is in
            no set.
        known
            Shape (T,): the number of known classes; without any there is no set.
        classes
            The labels.
        prior
            As for intervals.
        """
        members = members.copy()
        counted = ((targets >= 0) | (targets == NEW)) & (known > 0)
        for t, before in prior.items():
            own = before.row.get("set")
            members[t] = [isinstance(own, list) and label in own for label in classes]
            counted[t] &= isinstance(own, list)
        covered, learned = np.zeros(len(targets), np.bool_), counted & (targets >= 0)
        covered[learned] = members[learned, targets[learned]]
        self._add("mean_set_size", counted, covered, members.sum(axis=1))

    def _add(self, name: str, counted: Bools, covered: Bools, sizes: NDArray[Any]) -> None:
        self._name = name
        self._events += int(counted.sum())
        self._covered += int(covered[counted].sum())
        self._size += float(sizes[counted].sum())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All counts, for ``add``."""
        of_sets = self._name == "mean_set_size"
        return {"coverage": np.array([self._events, self._covered, self._size, of_sets], float)}

    def add(self, arrays: Arrays) -> None:
        """Add the counts of another instance."""
        events, covered, size, of_sets = arrays["coverage"].tolist()
        if events:
            self._name = "mean_set_size" if of_sets else "mean_width"
            self._events += int(events)
            self._covered += int(covered)
            self._size += size

    def result(self) -> dict[str, float]:
        """The coverage, and the mean width or size; empty without intervals or sets."""
        if not self._events:
            return {}
        return {"coverage": self._covered / self._events, self._name: self._size / self._events}


def _ends(interval: Any) -> tuple[float, float]:
    """The ends of an interval in a row, which may come from a file; infinite if invalid."""
    match interval:
        case [float(low), float(high)]:
            return low, high
    return -np.inf, np.inf
