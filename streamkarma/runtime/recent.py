"""Losses and errors of the latest events: means since the beginning hide what has changed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamkarma.estimators.results import finite

Floats = NDArray[np.float64]


class Recent:
    """Means over the latest events with a label.

    Parameters
    ----------
    most
        Over how many.
    """

    def __init__(self, most: int) -> None:
        self._losses, self._errors = np.zeros(most), np.zeros(most)
        self._count = 0

    def add(self, losses: Floats, errors: Floats) -> None:
        """Add events in turn: the loss of each, and 1 for a wrong class or by how much a number was off."""
        most = len(self._losses)
        if not most:
            return
        places = np.arange(self._count, self._count + len(losses))[-most:] % most
        self._losses[places], self._errors[places] = losses[-most:], errors[-most:]
        self._count += len(losses)

    def turn_to_numbers(self, error: float, loss: float) -> None:
        """Take wrong classes for numbers that are so far off and have this loss, and right ones for exact."""
        self._losses, self._errors = loss * self._errors, error * self._errors

    def clear(self) -> None:
        """Begin anew."""
        self._count = 0

    def means(self) -> tuple[int, float, float] | None:
        """How many events there are, their mean loss and their mean error; None before the first."""
        events = min(self._count, len(self._losses))
        if not events:
            return None
        loss, error = (float(finite(each[:events]).mean()) for each in (self._losses, self._errors))
        return events, loss, error
