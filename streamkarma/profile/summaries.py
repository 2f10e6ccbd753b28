"""Summaries of many values in bounded memory, updated block by block."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Hashes kept to estimate a number of distinct values, with an error of about 3 %.
_HASHES = 1024
_HASH_BYTES = 8
#: The squares of a million numbers up to this can be summed without overflow.
_SQUARABLE = 1e150


class Frequent:
    """Counts of values: exact while there are few, and nearly so for the most frequent of many.

    When there are too many, all counts are reduced by the same number, and values with none left are
    dropped [1]_.

    Parameters
    ----------
    most
        Maximum number of values counted.

    Attributes
    ----------
    error
        By how much a count can be too low.

    References
    ----------
    .. [1] Agarwal et al., Mergeable summaries, PODS 2012.

    Examples
    --------
    >>> values = Frequent(2)
    >>> values.add({"a": 5, "b": 3, "c": 1})
    >>> values.top(9), values.error
    ([('a', 4), ('b', 2)], 1)
    """

    def __init__(self, most: int) -> None:
        self.error = 0
        self._most = most
        self._counts: Counter[str] = Counter()

    def add(self, counts: Mapping[str, int]) -> None:
        """Count values."""
        self._counts.update(counts)
        if len(self._counts) > self._most:
            less = sorted(self._counts.values(), reverse=True)[self._most]
            self.error += less
            kept = {value: count - less for value, count in self._counts.items() if count > less}
            self._counts = Counter(kept)

    def top(self, most: int) -> list[tuple[str, int]]:
        """The most frequent values and their counts; ties are sorted by value."""
        return sorted(self._counts.items(), key=lambda pair: (-pair[1], pair[0]))[:most]


class Distinct:
    """The number of distinct values: exact up to 1,024, beyond that estimated from the smallest hashes.

    Examples
    --------
    >>> values = Distinct()
    >>> values.add(["a", "b", "a"])
    >>> values.count(), values.exact
    (2, True)
    """

    def __init__(self) -> None:
        self.exact = True
        self._hashes: set[int] = set()
        self._bound = 1 << 8 * _HASH_BYTES

    def add(self, values: Iterable[str]) -> None:
        """Count values."""
        for value in values:
            digest = blake2b(value.encode(errors="surrogatepass"), digest_size=_HASH_BYTES).digest()
            number = int.from_bytes(digest)
            if number < self._bound:
                self._hashes.add(number)
        if len(self._hashes) > _HASHES:
            least = sorted(self._hashes)[:_HASHES]
            self._hashes, self._bound, self.exact = set(least), least[-1] + 1, False

    def count(self) -> int:
        """The number of distinct values."""
        if self.exact:
            return len(self._hashes)
        return round((_HASHES - 1) * 2.0 ** (8 * _HASH_BYTES) / max(self._hashes))


class Moments:
    """Number, mean, standard deviation and range of numbers.

    Examples
    --------
    >>> moments = Moments()
    >>> moments.add(np.array([1.0, 2.0]))
    >>> moments.add(np.array([6.0]))
    >>> moments.mean, moments.deviation, moments.least, moments.greatest
    (3.0, 2.6457513110645907, 1.0, 6.0)
    """

    def __init__(self) -> None:
        self.count = 0
        self.mean = 0.0
        self.least, self.greatest = math.inf, -math.inf
        self._squares = 0.0

    def add(self, values: NDArray[np.float64]) -> None:
        """Add values, none of which is NaN."""
        if not len(values):
            return
        with np.errstate(over="ignore", invalid="ignore"):
            mean, count = float(values.mean()), self.count + len(values)
            off = mean - self.mean
            between = off * off * self.count * len(values) / count
            self._squares += float(((values - mean) ** 2).sum()) + between
            self.mean += off * len(values) / count
        self.count = count
        self.least = min(self.least, float(values.min()))
        self.greatest = max(self.greatest, float(values.max()))

    @property
    def deviation(self) -> float:
        """The sample standard deviation; 0 for a single value."""
        return math.sqrt(self._squares / (self.count - 1)) if self.count > 1 else 0.0


def quantiles(values: ArrayLike, probabilities: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Quantiles of numbers, even if their differences overflow.

    Examples
    --------
    >>> quantiles([-1e308, 1e308, 1.0], [0.25, 0.5, 1.0]).tolist()
    [-5e+307, 1.0, 1e+308]
    """
    return np.asarray(2.0 * np.quantile(np.asarray(values) / 2.0, probabilities))


def squarable(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale numbers by a power of two if sums of their squares might overflow, ignoring NaN.

    Examples
    --------
    >>> squarable(np.array([3.0, -1e150])).tolist(), squarable(np.array([2.0**1000, np.nan])).tolist()
    ([3.0, -1e+150], [0.5, nan])
    """
    greatest = np.abs(numbers[~np.isnan(numbers)]).max(initial=0.0)
    return numbers if greatest <= _SQUARABLE else np.ldexp(numbers, -int(np.frexp(greatest)[1]))
