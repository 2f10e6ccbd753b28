"""The latency from records to the commit of their predictions."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
        self._waiting: list[NDArray[np.int64]] = []

    def learned(self, times: Sequence[int]) -> None:
        """Records with these times, in milliseconds since 1970, were learned; those without one have -1."""
        self._waiting.append(np.array(times, np.int64))

    def committed(self) -> None:
        """Everything learned is committed."""
        if self._waiting:
            times = np.concatenate(self._waiting)
            self.histogram.add(time.time() - times[times >= 0] / 1000)
            self._waiting = []

    def discard(self) -> None:
        """Discard what was learned since the last commit."""
        self._waiting = []
