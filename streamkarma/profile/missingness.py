"""What is missing: how often, in which patterns, with which correlations, and how this changes over time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from streamkarma.arrays import Bools, Floats, Ints
from streamkarma.profile.changes import Change, ChangeFinder
from streamkarma.profile.summaries import Frequent

#: Maximum numbers of patterns counted, and of parts of the stream counted separately.
_PATTERNS, _PARTS = 4096, 64


class Missingness:
    """Counts what is observed.

    Attributes are numbered in order of appearance, and are missing in all events before that.

    Parameters
    ----------
    most
        Maximum number of attributes.

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
        #: Number of events in which two attributes were both observed.
        self._pairs: Floats = np.zeros((0, 0))
        self._patterns = Frequent(_PATTERNS)
        self._finders: list[ChangeFinder] = []
        self._size = 1
        #: Number of events in each part, and of those that had each attribute.
        self._part_events = np.zeros(_PARTS, np.int64)
        self._parts = np.zeros((_PARTS, 0), np.int64)

    @property
    def observed(self) -> Ints:
        """How often each attribute was observed."""
        return np.diag(self._pairs).astype(np.int64)

    def add(self, observed: Bools) -> None:
        """Add events: which attributes each has."""
        self._grow(observed.shape[1])
        floats = observed.astype(np.float64)
        self._pairs += floats.T @ floats
        packed = np.packbits(observed, axis=1)
        # Attributes that appear later are trailing zeros.
        self._patterns.add(Counter(row.tobytes().rstrip(b"\0").hex() for row in packed))
        at = np.arange(self.events, self.events + len(observed))
        for finder, bits in zip(self._finders, observed.T, strict=True):
            finder.add(at, bits.astype(np.uint8))
        self._count_parts(observed)
        self.events += len(observed)

    def patterns(self, most: int) -> list[tuple[list[int], int]]:
        """The most common sets of missing attributes, and their counts."""
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
        """Correlations of missingness; NaN for attributes that are always or never missing."""
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
        """Changes of the fraction observed, for each attribute."""
        return [finder.changes() for finder in self._finders]

    def trend(self) -> dict[str, Any]:
        """The fraction observed of each attribute in consecutive parts of the stream, and where these end."""
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
        """Count in parts of equal size; whenever all are full, pairs are merged and the size doubles."""
        end = self.events + len(observed)
        while end > self._size * _PARTS:
            self._size *= 2
            self._parts, self._part_events = _paired(self._parts), _paired(self._part_events)
        part = np.arange(self.events, end) // self._size
        np.add.at(self._parts, part, observed)
        np.add.at(self._part_events, part, 1)


def _paired(counts: Ints) -> Ints:
    """The sums of neighbouring counts, then as many zeros."""
    sums = np.zeros_like(counts)
    sums[: len(counts) // 2] = counts[::2] + counts[1::2]
    return sums
