"""What is missing: how often, in which patterns, what goes together, and how that develops."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.profile.changes import Change, ChangeFinder
from streamkarma.profile.summaries import Frequent

#: Patterns that are counted, and parts of the stream in which observations are.
_PATTERNS, _PARTS = 4096, 64

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


class Missingness:
    """Counts what is observed.

    Attributes are numbered in the order in which they come, so that a later one was missing before.

    Parameters
    ----------
    most
        Most attributes.

    Examples
    --------
    >>> missingness = Missingness(10)
    >>> missingness.add(np.array([[True, True], [True, False], [True, False]]))
    >>> missingness.observed.tolist(), missingness.patterns(9)
    ([3, 1], [([1], 2), ([], 1)])
    """

    def __init__(self, most: int) -> None:
        self.events = 0
        self._most = most
        self._attributes = 0
        #: In how many events two attributes were observed together.
        self._pairs: Floats = np.zeros((0, 0))
        self._patterns = Frequent(_PATTERNS)
        self._finders: list[ChangeFinder] = []
        self._size = 1
        #: Events in each part, and how many of them had each attribute.
        self._part_events = np.zeros(_PARTS, np.int64)
        self._parts = np.zeros((_PARTS, 0), np.int64)

    @property
    def observed(self) -> NDArray[np.int64]:
        """How often each attribute was observed."""
        return np.diag(self._pairs).astype(np.int64)

    def add(self, observed: Bools) -> None:
        """Take events: which attributes each has."""
        self._grow(observed.shape[1])
        floats = observed.astype(np.float64)
        self._pairs += floats.T @ floats
        packed = np.packbits(observed, axis=1)
        # Attributes that come later are zeros at the end.
        self._patterns.add(Counter(row.tobytes().rstrip(b"\0").hex() for row in packed))
        at = np.arange(self.events, self.events + len(observed))
        for finder, bits in zip(self._finders, observed.T, strict=True):
            finder.add(at, bits.astype(np.uint8))
        self._count_parts(observed)
        self.events += len(observed)

    def patterns(self, most: int) -> list[tuple[list[int], int]]:
        """The commonest sets of attributes that are missing, and how often they are."""
        found = []
        for pattern, count in self._patterns.top(most):
            packed = np.frombuffer(bytes.fromhex(pattern), np.uint8)
            bits = np.zeros(self._attributes, np.bool_)
            there = np.unpackbits(packed)[: self._attributes].astype(np.bool_)
            bits[: len(there)] = there
            found.append((np.flatnonzero(~bits).tolist(), count))
        return found

    @property
    def pattern_error(self) -> int:
        """By how much the count of a pattern can be too low."""
        return self._patterns.error

    def correlations(self) -> Floats:
        """How being missing goes together: correlations, NaN for what is always missing or never."""
        share = np.diag(self._pairs) / max(self.events, 1)
        covariance = self._pairs / max(self.events, 1) - np.outer(share, share)
        deviation = np.sqrt(share * (1.0 - share))
        with np.errstate(divide="ignore", invalid="ignore"):
            found = covariance / np.outer(deviation, deviation)
        found[~(deviation > 0), :] = np.nan
        found[:, ~(deviation > 0)] = np.nan
        correlations: Floats = np.clip(found, -1.0, 1.0)
        return correlations

    def changes(self) -> list[list[Change]]:
        """Where the share observed changes, for each attribute."""
        return [finder.changes() for finder in self._finders]

    def trend(self) -> dict[str, Any]:
        """The share observed of each attribute in consecutive parts of the stream, and where these end."""
        there = self._part_events > 0
        shares = self._parts[there] / self._part_events[there, np.newaxis]
        return {"events": np.cumsum(self._part_events[there]).tolist(), "observed": shares.T.tolist()}

    def _grow(self, attributes: int) -> None:
        more = attributes - self._attributes
        if more > 0:
            self._pairs = np.pad(self._pairs, (0, more))
            self._parts = np.pad(self._parts, ((0, 0), (0, more)))
            self._finders += [ChangeFinder(self.events) for _ in range(more)]
            self._attributes = attributes

    def _count_parts(self, observed: Bools) -> None:
        """Count by parts of equal size, which is doubled, and each two made one, whenever they are full."""
        end = self.events + len(observed)
        while end > self._size * _PARTS:
            self._size *= 2
            half = np.zeros_like(self._parts)
            half[: _PARTS // 2] = self._parts[::2] + self._parts[1::2]
            self._parts = half
            events = np.zeros_like(self._part_events)
            events[: _PARTS // 2] = self._part_events[::2] + self._part_events[1::2]
            self._part_events = events
        part = np.arange(self.events, end) // self._size
        np.add.at(self._parts, part, observed)
        np.add.at(self._part_events, part, 1)
