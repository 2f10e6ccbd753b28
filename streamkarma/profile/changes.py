"""Changes of a fraction over a stream: ADWIN detects them, and a scan of the last values locates them."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma._engine import Adwin
from streamkarma.arrays import Ints

#: Confidence parameter of ADWIN, and the number of values in each update.
_DELTA, _GROUP = 1e-4, 8
#: Recent values searched for a change; one detected later than that is dated to the oldest.
_RECENT = 4096
#: Maximum number of initial constant values passed to ADWIN.
_CONSTANT = 512

Bits = NDArray[np.uint8]


class Change(NamedTuple):
    """The event of a change, counted from 1; the fraction before, and that until the next change."""

    event: int
    before: float
    after: float


class _Mark(NamedTuple):
    """A position among the values: the event, the number of values before, and how many of these were 1."""

    event: int
    values: int
    ones: int


class ChangeFinder:
    """Detects changes in a fraction of ones.

    Parameters
    ----------
    zeros
        Number of zeros before the first value.

    Examples
    --------
    >>> finder = ChangeFinder()
    >>> bits = np.repeat([1, 0], 300).astype(np.uint8)
    >>> finder.add(np.arange(600), bits)
    >>> finder.changes()
    [Change(event=301, before=1.0, after=0.0)]
    """

    def __init__(self, zeros: int = 0) -> None:
        self._adwin: Adwin | None = None
        self._marks = [_Mark(0, 0, 0)]
        #: Numbers of values and ones before the recent values.
        self._values, self._ones = zeros, 0
        self._events: Ints = np.empty(0, np.int64)
        self._bits: Bits = np.empty(0, np.uint8)
        #: Index of the first recent value not yet passed to ADWIN.
        self._next = 0

    def add(self, events: Ints, bits: Bits) -> None:
        """Add values, and the events, counted from 0, that they belong to."""
        if not len(bits):
            return
        if self._adwin is None and self._is_still_constant(bits):
            self._values += len(bits)
            self._ones += int(bits.sum())
            return
        adwin = self._adwin = self._adwin or self._begun()
        self._events, self._bits = np.concatenate([self._events, events]), np.concatenate([self._bits, bits])
        whole = len(self._bits) - (len(self._bits) - self._next) % _GROUP
        for ones in self._bits[self._next : whole].reshape(-1, _GROUP).sum(1, dtype=np.int64).tolist():
            self._next += _GROUP
            if adwin.update(_GROUP, ones, ones) is not None:
                self._marks.append(self._split(self._next))
        self._forget(len(self._bits) - _RECENT)

    def changes(self) -> list[Change]:
        """All changes so far."""
        marks = [*self._marks, _Mark(0, self._values + len(self._bits), self._ones + int(self._bits.sum()))]
        shares = [
            (end.ones - begin.ones) / max(end.values - begin.values, 1) for begin, end in pairwise(marks)
        ]
        return [
            Change(mark.event + 1, before, after)
            for mark, before, after in zip(self._marks[1:], shares, shares[1:], strict=False)
        ]

    def _is_still_constant(self, bits: Bits) -> bool:
        ones = self._ones + int(bits.sum())
        return ones in (0, self._values + len(bits))

    def _begun(self) -> Adwin:
        """ADWIN with the values so far, which are all the same."""
        adwin = Adwin(_DELTA)
        ones = _GROUP if self._ones else 0
        # In groups of the usual size: it merges those of equal size, and expects larger ones to be older.
        for _ in range(min(self._values, _CONSTANT) // _GROUP):
            adwin.update(_GROUP, ones, ones)
        return adwin

    def _split(self, end: int) -> _Mark:
        """The position that best splits the values since the last change."""
        begin = self._marks[-1]
        ones = self._ones + np.concatenate([[0], np.cumsum(self._bits[:end], dtype=np.int64)])
        values = self._values + np.arange(end + 1)
        left, right = values - begin.values, values[-1] - values
        with np.errstate(divide="ignore", invalid="ignore"):
            off = (ones - begin.ones) / left - (ones[-1] - ones) / right
            gain = np.where((left > 0) & (right > 0), off**2 * left * right, -1.0)
        at = int(gain.argmax())
        return _Mark(int(self._events[at]), int(values[at]), int(ones[at]))

    def _forget(self, oldest: int) -> None:
        if oldest > 0:
            self._values += oldest
            self._ones += int(self._bits[:oldest].sum())
            self._events, self._bits = self._events[oldest:], self._bits[oldest:]
            self._next -= oldest
