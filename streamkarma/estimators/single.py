"""Events that come one by one, as dictionaries of numbers: the short way to the core learner.

The long way gathers a batch, and its dozen of arrays cost more than the learning. This one writes an
event's values and coordinates into bytes, and leaves everything else to compiled code.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable
from functools import cache
from math import isfinite, nan
from struct import Struct
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.held import entry, hold
from streamkarma.core.single import encode_one
from streamkarma.events.block import Block
from streamkarma.events.vocabulary import Record, is_missing

if TYPE_CHECKING:
    from streamkarma.estimators.learner import Learner


class Single:
    """One event at a time through a learner as it stands: with these names and these statistics.

    Parameters
    ----------
    learner
        Which one; it gets room for all its names.
    """

    def __init__(self, learner: Learner) -> None:
        learner.make_room()
        vocabulary, room = learner.vocabulary, learner.vocabulary.coordinate_count
        self.names, self.moments = vocabulary.numeric, learner.moments
        self.known = len(vocabulary.numeric)
        self._raw, block = _block_of_one(room), _block_of_one(room)
        self._held = hold((vocabulary.owners, self._raw, vocabulary.numbers, learner.moments,
                           np.zeros(1, np.bool_), learner.scale, learner.longest, block))  # fmt: skip
        self._encode = entry(encode_one, self._held, b"", False)
        self._waiting = learner.waiting
        self._core = learner.core.single(block)
        self._most = 16 * (room - 1)
        self._packed = b""

    def takes(self, packed: bytes) -> bool:
        """Take an event, to be judged or learned next; whether that can be done."""
        self._packed = packed
        return self._core is not None and len(packed) <= self._most

    def scores(self) -> NDArray[np.float64]:
        """Scores of the event, shape (1, C), as of ``Learner.scores``; the next overwrites them."""
        core = self._core
        assert core is not None
        key = self._encode(self._held, self._packed, False)
        if self._waiting is not None:
            self._waiting.ask(key)
        core(nan, 1.0, 0.0)
        return core.scores

    def learn(self, label: float, weight: float) -> None:
        """Learn the event; ``label`` and ``weight``, above 0, as of ``Core.run``."""
        core = self._core
        assert core is not None
        key = self._encode(self._held, self._packed, True)
        core(label, weight, 0.0 if self._waiting is None else self._waiting.delay(key, self._raw))


def pack(record: Record, names: dict[Hashable, int]) -> bytes | None:
    """An event as ``core.single.encode_one`` takes it; None if it has more than numbers under these names.

    As ``Batch.extend_plain`` does, without a loop of its own.
    """
    try:
        values = record.values()
        if isfinite(sum(values)):
            return _packer(len(record))(*values, *map(names.__getitem__, record))
    except KeyError:
        return None
    except (TypeError, OverflowError, struct.error):
        pass
    there = {name: value for name, value in record.items() if not is_missing(value)}
    return pack(there, names) if len(there) < len(record) else None


def _block_of_one(room: int) -> Block:
    """A block for one event of up to ``room`` items."""
    return Block(np.zeros(2, np.int64), np.zeros(room, np.int32), np.zeros(room, np.int32), np.zeros(room))


@cache
def _packer(size: int) -> Callable[..., bytes]:
    return Struct(f"{size}d{size}q").pack
