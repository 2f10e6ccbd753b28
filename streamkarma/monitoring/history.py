"""Time series in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

#: Maximum number of points kept; even, since every second one is dropped when there are more.
MOST = 240
_DIGITS = 5


class Point(NamedTuple):
    """Values by the name of their series, with the time in seconds since 1970 and the number of events."""

    time: float
    events: int
    values: Mapping[str, float]


class History:
    """Points since the beginning, which become sparser as time goes on.

    Parameters
    ----------
    pause
        Initial minimum number of seconds between points.
    """

    def __init__(self, pause: float) -> None:
        self._pause = pause
        # Only replaced as a whole or appended to, since another thread reads it.
        self._points: list[Point] = []

    def add(self, point: Point) -> None:
        """Add a point, unless the last one is recent."""
        if self._points and point.time - self._points[-1].time < self._pause:
            return
        self._points.append(point)
        if len(self._points) > MOST:
            self._points, self._pause = self._points[::2], 2 * self._pause

    def columns(self, now: Point | None) -> dict[str, Any]:
        """The points and the current one, as JSON: series by name, with null for missing values."""
        points = list(self._points)
        if now is not None and (not points or now.time > points[-1].time):
            points.append(now)
        names = dict.fromkeys(name for point in points for name in point.values)
        return {
            "time": [round(point.time, 1) for point in points],
            "events": [point.events for point in points],
            "series": {name: [_short(point.values.get(name)) for point in points] for name in names},
        }


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")
