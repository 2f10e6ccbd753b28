"""The learner's loss over the stream: the mean so far and over the latest events, at some points."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamkarma.arrays import Floats
from streamkarma.checkpoint import checked_float, natural

#: The number of events, and their mean loss and mean error, by their weights.
Point = tuple[int, float, float]
#: The number of events, and the sums of their weighted losses, weighted errors, and weights.
Sums = tuple[int, float, float, float]

#: Maximum number of points of a curve of recent losses.
MOST = 240


class LossCurve:
    """Sums of losses, errors and weights since the beginning.

    Attributes
    ----------
    points
        The sums at about sixteen points per factor of ten in the events.
    events
        Events so far.
    """

    def __init__(self) -> None:
        self.points: list[Sums] = []
        self.events = 0
        self._totals = np.zeros(3)

    def add(self, values: Floats) -> None:
        """Add events in order: ``values`` has shape (T, 3), as in ``Sums``."""
        # Summed sequentially, so that the result does not depend on the blocks.
        sums = np.cumsum(np.vstack([self._totals, values]), axis=0)[1:]
        while (at := self._next()) <= self.events + len(values):
            loss, error, weight = sums[at - self.events - 1].tolist()
            self.points.append((at, loss, error, weight))
        self._totals = sums[-1]
        self.events += len(values)

    def to_now(self) -> list[Point]:
        """The means up to each point and to the last event."""
        loss, error, weight = self._totals.tolist()
        now = (self.events, loss, error, weight)
        sums = self.points if not self.events or self.points[-1:] == [now] else [*self.points, now]
        return [(at, loss / weight, error / weight) for at, loss, error, weight in sums]

    def state(self) -> dict[str, Any]:
        """The state, as JSON."""
        return {"curve": self.points, "totals": self._totals.tolist()}

    @classmethod
    def restored(cls, header: dict[str, Any], events: int) -> LossCurve:
        """Restore a ``state`` after this many events; ValueError if it does not match them."""
        curve = cls()
        curve.points = [_sums(*point) for point in header["curve"]]
        curve.events, curve._totals = events, np.array(_sums(events, *header["totals"])[1:])
        if not (curve.points[-1][0] if curve.points else 0) <= events < curve._next():
            raise ValueError("the learner's curve does not fit the events that were seen")
        return curve

    def _next(self) -> int:
        last = self.points[-1][0] if self.points else 0
        return max(last + 1, int(last * 1.15))


def _sums(events: Any, loss: Any, error: Any, weight: Any = None) -> Sums:
    """The sums of a saved state; older files have no weights, and each event then counts 1."""
    at = natural(events)
    weighed = float(at) if weight is None else checked_float(weight)
    return at, checked_float(loss), checked_float(error), weighed


class RecentLosses:
    """Mean losses and errors of the latest events, at up to ``MOST`` equidistant points.

    Parameters
    ----------
    window
        Number of latest events for the means, 1 or more.

    Attributes
    ----------
    points
        Events, mean loss and mean error.
    """

    def __init__(self, window: int) -> None:
        self.window = window
        self.clear()

    def clear(self) -> None:
        """Start over."""
        self.points: list[Point] = []
        self._step, self._events = max(1, self.window // 20), 0
        self._latest = np.zeros((0, 3))

    def add(self, values: Floats) -> None:
        """Add events in order, as in ``LossCurve.add``."""
        known = np.concatenate([self._latest, values])
        begin = self._events - len(self._latest)
        self._events += len(values)
        while (at := self._next()) <= self._events:
            self.points.append(self._mean(at, known[: at - begin]))
            if len(self.points) > MOST:
                self._step *= 2
                self.points = [point for point in self.points if point[0] % self._step == 0]
        self._latest = known[-self.window :].copy()

    def to_now(self) -> list[Point]:
        """The points up to the last event."""
        if not self._events or (self.points[-1:] and self.points[-1][0] == self._events):
            return self.points
        return [*self.points, self._mean(self._events, self._latest)]

    def _mean(self, at: int, values: Floats) -> Point:
        loss, error, weight = values[-self.window :].sum(axis=0).tolist()
        return at, loss / weight, error / weight

    def _next(self) -> int:
        return (self.points[-1][0] if self.points else 0) + self._step
