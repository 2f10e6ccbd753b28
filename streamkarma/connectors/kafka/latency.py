"""The latency from records to the commit of their predictions."""

from __future__ import annotations

import time
from collections.abc import Iterable

from streamkarma.connectors.histogram import Histogram


class CommitLatency:
    """Measures the time from each record's timestamp to the commit of its prediction.

    Attributes
    ----------
    histogram
        The latencies of committed records.
    """

    def __init__(self) -> None:
        self.histogram = Histogram()
        self._waiting: list[int] = []

    def learned(self, times: Iterable[int]) -> None:
        """Records with these times, in milliseconds since 1970, were learned; those without one have -1."""
        self._waiting += [each for each in times if each >= 0]

    def committed(self) -> None:
        """Everything learned is committed."""
        if self._waiting:
            now = time.time()
            self.histogram.add([now - each / 1000 for each in self._waiting])
            self._waiting = []

    def discard(self) -> None:
        """Discard what was learned since the last commit."""
        self._waiting = []
