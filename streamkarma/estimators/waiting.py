"""How late labels come: which events were asked about before they were learned, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import compiled
from streamkarma.core.learning import Arrays
from streamkarma.core.passes import Floats
from streamkarma.events.block import Block

#: Most events that are remembered; past it the oldest counts as never asked about.
MOST = 10_000


class Waiting:
    """Events that were asked about and wait for their label, known by what is in them."""

    def __init__(self) -> None:
        self._asked: dict[int, int] = {}
        self._clock = 0

    def delays(self, raw: Block, learned: NDArray[np.bool_]) -> Floats:
        """Take note of events as they were before encoding, and say how late labels come.

        Parameters
        ----------
        raw
            T events.
        learned
            Shape (T,): whether the event has its label and is learned; others are asked about.

        Returns
        -------
        Shape (T,): how many other events were learned, or asked about for the first time, since a
        learned event was asked about; 0 where it was not.
        """
        delays = np.zeros(len(learned))
        if not self._asked and learned.all():
            # The usual stream, in which labels are there at once.
            self._clock += len(learned)
            return delays
        keys = _keys(raw, raw.values.view(np.uint64)).tolist()
        for t, (key, is_learned) in enumerate(zip(keys, learned.tolist(), strict=True)):
            if is_learned:
                asked = self._asked.pop(key, self._clock)
                delays[t] = self._clock - asked
                self._clock += 1
            elif key not in self._asked:
                self._clock += 1
                self._asked[key] = self._clock
                if len(self._asked) > MOST:
                    del self._asked[next(iter(self._asked))]
        return delays

    def arrays(self) -> Arrays:
        """The state: what ``restore`` takes."""
        return {
            "asked": np.array(list(self._asked), np.uint64),
            "asked_at": np.array([*self._asked.values(), self._clock], np.int64),
        }

    def restore(self, arrays: Arrays) -> None:
        """Take over the state in ``arrays``, whose parts are removed; ValueError if they make no sense."""
        keys, times = arrays.pop("asked"), arrays.pop("asked_at")
        if (
            keys.ndim != 1
            or keys.dtype != np.uint64
            or times.dtype != np.int64
            or times.shape != (len(keys) + 1,)
            or len(keys) > MOST
            or (np.diff(times) < 0).any()
            or times[0] < 0
        ):
            raise ValueError("the events that wait for their labels contradict each other")
        times_of: list[Any] = times.tolist()
        self._asked = dict(zip(keys.tolist(), times_of[:-1], strict=True))
        self._clock = times_of[-1]


@compiled
def _keys(raw: Block, bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A number for each event, the same whatever the order of its items."""
    starts, coordinates, values = raw.starts, raw.coordinates, raw.values
    keys = np.zeros(starts.size - 1, np.uint64)
    for t in range(keys.size):
        for j in range(starts[t], starts[t + 1]):
            if not np.isnan(values[j]):
                keys[t] += _mixed(bits[j] ^ _mixed(np.uint64(coordinates[j])))
    return keys


@compiled
def _mixed(key: np.uint64) -> np.uint64:
    """The finaliser of splitmix64: nearby numbers end up far apart."""
    key += np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))
