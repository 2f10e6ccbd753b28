"""Losses and errors of the latest events, since means over the whole run hide changes."""

from __future__ import annotations

import numpy as np

from streamkarma.arrays import Floats
from streamkarma.estimators.results import clipped


class Recent:
    """Means over the latest labelled events.

    Parameters
    ----------
    most
        Number of events.
    """

    def __init__(self, most: int) -> None:
        self._losses, self._errors = np.zeros(most), np.zeros(most)
        self._count = 0

    def add(self, losses: Floats, errors: Floats) -> None:
        """Add events in order: their losses, and 1 for a wrong class or the absolute error of a number."""
        most = len(self._losses)
        if not most:
            return
        places = np.arange(self._count, self._count + len(losses))[-most:] % most
        self._losses[places], self._errors[places] = losses[-most:], errors[-most:]
        self._count += len(losses)

    def switch_to_regression(self, error: float, loss: float) -> None:
        """Replace wrong classes by numbers with this error and loss, and correct ones by exact numbers."""
        self._losses, self._errors = loss * self._errors, error * self._errors

    def clear(self) -> None:
        """Start over."""
        self._count = 0

    def means(self) -> tuple[int, float, float] | None:
        """The number of events, their mean loss and their mean error; None before the first."""
        events = min(self._count, len(self._losses))
        if not events:
            return None
        return events, _mean(self._losses[:events]), _mean(self._errors[:events])


def _mean(each: Floats) -> float:
    """The mean of what there is: an event of an unknown class has no loss."""
    there = each[~np.isnan(each)]
    return float(clipped(there).mean()) if len(there) else 0.0
