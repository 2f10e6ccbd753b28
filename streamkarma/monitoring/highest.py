"""Counters that never decrease."""

from __future__ import annotations

from collections.abc import Hashable
from threading import Lock


class Highest:
    """Keeps the highest value shown of each counter, by name and labels.

    After a failure, uncommitted records are counted again. Prometheus regards a decreasing counter as reset,
    and would add its whole value to the previous one.

    Examples
    --------
    >>> highest = Highest()
    >>> [highest.of("events", value) for value in (3, 2, 5)]
    [3, 3, 5]
    """

    def __init__(self) -> None:
        self._values: dict[Hashable, float] = {}
        self._lock = Lock()

    def of(self, counter: Hashable, value: float) -> float:
        """The value to show for a counter with this value."""
        with self._lock:
            self._values[counter] = max(value, self._values.get(counter, value))
            return self._values[counter]
