"""Shares of the classes among the labels that were learned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from streamkarma.checkpoint import checked_float

#: Labels that every class starts with, in addition to those learned: Laplace's rule of succession.
PRIOR = 1.0
#: A balanced weight is at most this many times the number of labels of its class: for the first label of a
#: class that appears late it is at most ten, for the second twenty, and so on up to the full weight.
RAMP = 10.0
#: Counts are rescaled beyond this.
_LARGEST_UNIT = 1e100


class LabelShares:
    """Running shares of the classes among the labels that were learned.

    Parameters
    ----------
    window
        Number of labels that the average covers; infinite for all of them.

    Examples
    --------
    >>> shares = LabelShares(float("inf"))
    >>> for index in (0, 0, 0, 1):
    ...     shares.add(index, 1.0)
    >>> [round(share, 3) for share in shares.of_all(2)]
    [0.667, 0.333]
    """

    def __init__(self, window: float) -> None:
        #: By class, and in total; divide by ``unit`` for units of the weight of a label learned now.
        self.counts: list[float] = []
        self.total = 0.0
        self.unit = 1.0
        self._growth = 1.0 / (1.0 - 1.0 / window)

    def add(self, index: int, weight: float) -> None:
        """Count a label."""
        self.unit *= self._growth
        self.counts += [0.0] * (index + 1 - len(self.counts))
        self.counts[index] += weight * self.unit
        self.total += weight * self.unit
        if self.unit > _LARGEST_UNIT:
            self.counts = [count / self.unit for count in self.counts]
            self.total, self.unit = self.total / self.unit, 1.0

    def balanced(self, index: int, weight: float, classes: int) -> float:
        """The weight that gives this many classes equal totals, for a label that is itself included."""
        before = self.counts[index] if index < len(self.counts) else 0.0
        count, total = before / self.unit + weight, self.total / self.unit + weight
        balanced = (total + PRIOR * classes) / (classes * (count + PRIOR))
        return min(balanced, max(1.0, RAMP * count))

    def of_all(self, classes: int) -> list[float]:
        """The share of each class; none is 0."""
        prior = PRIOR * self.unit
        whole = self.total + prior * max(classes, 1)
        shares = [(count + prior) / whole for count in self.counts[:classes]]
        return shares + [prior / whole] * (classes - len(shares))

    def relabel(self, places: Sequence[int]) -> None:
        """Renumber the classes: ``c`` becomes ``places[c]``."""
        counts = [0.0] * (1 + max((places[index] for index in range(len(self.counts))), default=-1))
        for index, count in enumerate(self.counts):
            counts[places[index]] = count
        self.counts = counts

    def merge(self, parts: Sequence[LabelShares]) -> None:
        """Merge what parts have counted since each was a copy of this one.

        The counts of this one are included once, decayed by every label learned since.

        Examples
        --------
        >>> base, one, two = (LabelShares(float("inf")) for _ in range(3))
        >>> one.add(0, 1.0), two.add(1, 3.0)
        (None, None)
        >>> base.merge([one, two])
        >>> base.counts, base.total
        ([1.0, 3.0], 4.0)
        """
        classes = max(len(each.counts) for each in (self, *parts))
        before, new, left = self._padded(classes), [0.0] * classes, 1.0
        for part in parts:
            own = part._padded(classes)
            # If counts were rescaled since, nothing is left of the earlier ones.
            pairs = [(part.unit, self.unit), *zip(own, before, strict=True)]
            holds = all(now >= then * (1.0 - 1e-9) for now, then in pairs)
            left *= self.unit / part.unit if holds else 0.0
            for index, count in enumerate(own):
                new[index] += (count - before[index] if holds else count) / part.unit
        unit = self.unit / left if left > self.unit / _LARGEST_UNIT else 1.0
        self.counts = [
            unit * (left * count / self.unit + since) for count, since in zip(before, new, strict=True)
        ]
        self.total, self.unit = sum(self.counts, 0.0), unit

    def _padded(self, classes: int) -> list[float]:
        return self.counts + [0.0] * (classes - len(self.counts))

    def state(self) -> dict[str, Any]:
        """The counts, as JSON."""
        return {"counts": self.counts, "total": self.total, "unit": self.unit}

    def restore(self, state: Mapping[str, Any], classes: int) -> None:
        """Restore a ``state``; ValueError if it is inconsistent."""
        counts = [checked_float(count) for count in state["counts"]]
        total, unit = checked_float(state["total"]), checked_float(state["unit"])
        near = math.isclose(sum(counts), total, rel_tol=1e-6)
        if len(counts) > classes or min(counts, default=0.0) < 0.0 or not near or unit < 1.0:
            raise ValueError("the counts of labels contradict each other")
        self.counts, self.total, self.unit = counts, total, unit
