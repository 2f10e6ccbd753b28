"""How late labels come: which events were asked about before they were learned, and when."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import borrowing, compiled
from streamkarma.core.learning import Arrays
from streamkarma.core.passes import Floats
from streamkarma.events.block import Block
from streamkarma.events.vocabulary import PASSING

#: Most events that are remembered; past it the oldest counts as never asked about.
MOST = 10_000

#: The key of an event of which no name is known: it could be any, and is not remembered.
NOTHING = 0


#: In a notebook: how often the clock ticked, then how many events were asked about, neither of which is
#: known to Waiting yet; whether Waiting knows of any event; and from there on the keys of the former.
_TICKS, _COUNT, _OTHERS, _KEYS = range(4)
#: Most keys there, so that Python has to see to it but seldom.
_PAGE = 64

#: What ``note`` says: this is all there is to do, or ``ask`` or ``delay`` must be called.
NOTED, LATE = range(2)


class Waiting:
    """Events that were asked about and wait for their label, known by what is in them.

    Attributes
    ----------
    notebook
        What ``note`` did without Python.
    """

    def __init__(self) -> None:
        self._asked: OrderedDict[int, int] = OrderedDict()
        self._clock = 0
        self.notebook = np.zeros(_KEYS + _PAGE, np.uint64)

    def delays(self, raw: Block, learned: NDArray[np.bool_], asked: NDArray[np.bool_]) -> Floats:
        """Take note of events as they were before encoding, and say how late labels come.

        Parameters
        ----------
        raw
            T events.
        learned
            Shape (T,): whether the event has its label and is learned.
        asked
            Shape (T,): whether it has none yet. What has one and weight 0 is neither.

        Returns
        -------
        Shape (T,): how many other events were learned, or asked about for the first time, since a
        learned event was asked about; 0 where it was not.
        """
        self._read_notes()
        delays = np.zeros(len(learned))
        if not self._asked and learned.all():
            # The usual stream, in which labels are there at once.
            self._clock += len(learned)
            return delays
        bits = raw.values.view(np.uint64)
        keys = _keys(raw, bits).tolist()
        for t, (key, is_learned) in enumerate(zip(keys, learned.tolist(), strict=True)):
            if is_learned:
                if key not in self._asked and self._asked:
                    # It may have been asked about while some of its names were unknown.
                    partial = _partial_keys(raw, bits, t).tolist()
                    key = next((each for each in partial if each in self._asked), key)
                delays[t] = self._learn(key)
            elif asked[t]:
                self._ask(key)
        self._close()
        return delays

    def ask(self, key: int) -> None:
        """Take note of an event that has no label yet, by its key."""
        self._read_notes()
        self._ask(key)
        self._close()

    def delay(self, key: int, raw: Block) -> float:
        """Take note of one event that is learned, and say how late its label comes; see ``delays``."""
        self._read_notes()
        if self._asked and key not in self._asked:
            return float(self.delays(raw, np.ones(1, np.bool_), np.zeros(1, np.bool_))[0])
        delay = self._learn(key)
        self._close()
        return delay

    def _read_notes(self) -> None:
        ticks, count = self.notebook[:_OTHERS].tolist()
        self.notebook[:_OTHERS] = 0
        self._clock += ticks
        for key in self.notebook[_KEYS : _KEYS + count].tolist():
            self._ask(key)

    def _close(self) -> None:
        self.notebook[_OTHERS] = len(self._asked)

    def _ask(self, key: int) -> None:
        if key != NOTHING and key not in self._asked:
            self._clock += 1
            self._asked[key] = self._clock
            if len(self._asked) > MOST:
                self._asked.popitem(last=False)

    def _learn(self, key: int) -> float:
        delay = self._clock - self._asked.pop(key, self._clock)
        self._clock += 1
        return float(delay)

    def arrays(self) -> Arrays:
        """The state: what ``restore`` takes."""
        self._read_notes()
        self._close()
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
            or len(np.unique(keys)) < len(keys)
            or not (times[0] >= 0 and times[-1] < 2**53)
            or (np.diff(times[:-1]) <= 0).any()
            or (np.diff(times) < 0).any()
        ):
            raise ValueError("the events that wait for their labels contradict each other")
        times_of: list[Any] = times.tolist()
        self._asked = OrderedDict(zip(keys.tolist(), times_of[:-1], strict=True))
        self._clock = times_of[-1]
        self.notebook[:_OTHERS] = 0
        self._close()


@borrowing
def note(notebook: NDArray[np.uint64], kept: NDArray[np.uint64], raw: Block, bits: NDArray[np.uint64],
         learned: bool) -> int:  # fmt: skip
    """Take note of an event, as ``ask`` and ``delay`` do, if that needs no look at any other.

    Parameters
    ----------
    notebook
        A ``Waiting.notebook``.
    kept
        Shape (1,): receives the event's key.
    raw
        The event alone, all of its names known.
    bits
        Those of its values.
    learned
        Whether its label is there, or to come.

    Returns
    -------
    NOTED, and the label is not late; LATE, and nothing is done.
    """
    key, count, others = np.uint64(NOTHING), np.int64(notebook[_COUNT]), notebook[_OTHERS] > 0
    for j in range(raw.starts[1]):
        if not np.isnan(raw.values[j]):
            key += item_key(raw.coordinates[j], bits[j])
    kept[0] = key
    if learned:
        if others or count > 1 or (count == 1 and notebook[_KEYS] != key):
            return LATE
        notebook[_TICKS] += np.uint64(count + 1)
        notebook[_COUNT] = 0
    elif key != np.uint64(NOTHING) and (count == 0 or notebook[_KEYS + count - 1] != key):
        if count == notebook.size - _KEYS:
            return LATE
        notebook[_KEYS + count] = key
        notebook[_COUNT] += np.uint64(1)
    return NOTED


@compiled
def _keys(raw: Block, bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A number for each event, the same whatever the order of its items."""
    starts, coordinates, values = raw.starts, raw.coordinates, raw.values
    keys = np.zeros(starts.size - 1, np.uint64)
    for t in range(keys.size):
        known = False
        for j in range(starts[t], starts[t + 1]):
            if not np.isnan(values[j]):
                keys[t] += item_key(coordinates[j], bits[j])
                known |= coordinates[j] < PASSING
        if not known:
            keys[t] = NOTHING
    return keys


@compiled
def _partial_keys(raw: Block, bits: NDArray[np.uint64], t: int) -> NDArray[np.uint64]:
    """What an event's key was when the last of its names, or the last two and so on, were unknown."""
    items = slice(raw.starts[t], raw.starts[t + 1])
    coordinates, values, own = raw.coordinates[items], raw.values[items], bits[items]
    keys, key, known = np.zeros(coordinates.size, np.uint64), np.uint64(0), 0
    for j in range(coordinates.size):
        if not np.isnan(values[j]):
            key += item_key(coordinates[j], own[j])
            known += 1
    # Names are numbered as they are learned.
    for i, j in enumerate(np.argsort(-coordinates)):
        if not np.isnan(values[j]):
            key += item_key(PASSING, own[j]) - item_key(coordinates[j], own[j])
            known -= 1
        keys[i] = key if known > 0 else np.uint64(NOTHING)
    return keys


@compiled
def item_key(coordinate: int, bits: np.uint64) -> np.uint64:
    """An item's part of the key; items of unknown names, whose values are not kept, are all alike."""
    if coordinate >= PASSING:
        return _mixed(np.uint64(PASSING))
    return _mixed(bits ^ _mixed(np.uint64(coordinate)))


@compiled
def _mixed(key: np.uint64) -> np.uint64:
    """The finaliser of splitmix64: nearby numbers end up far apart."""
    key += np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))
