"""Counters that never fall."""

from __future__ import annotations

from collections.abc import Hashable
from threading import Lock


class Highest:
    """Keeps the highest value of each counter that was shown, by its name and labels.

    After a failure, what was not committed is counted again. Prometheus takes a counter that falls for one
    that began anew, and adds all of it to what there was.

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
        """What to show, now that a counter has this value."""
        with self._lock:
            self._values[counter] = max(value, self._values.get(counter, value))
            return self._values[counter]
