"""Summaries of many values in bounded memory, each of which takes blocks of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Hashes kept to estimate a number of different values: it then errs by 3 % or so.
_HASHES = 1024
_HASH_BYTES = 8
#: Of numbers up to this there may be a million, and the sum of their squares is a float.
_SQUARABLE = 1e150


class Frequent:
    """How often values occur: exact while they are few, and for the most frequent of many nearly so.

    Where there are too many, all counts are lowered by the same number, and values that have none left are
    forgotten [1]_.

    Parameters
    ----------
    most
        Most values that are counted.

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
        """The most frequent values and their counts, those with equal counts by name."""
        return sorted(self._counts.items(), key=lambda pair: (-pair[1], pair[0]))[:most]


class Distinct:
    """How many different values there are: exact up to 1,024, and estimated from the least hashes beyond.

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
        """How many there are."""
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
        """Take values, none of which is NaN."""
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
        """The standard deviation of the sample; 0 for a single value."""
        return math.sqrt(self._squares / (self.count - 1)) if self.count > 1 else 0.0


def quantiles(values: ArrayLike, probabilities: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Quantiles of numbers, whose differences may be too great for a float.

    Examples
    --------
    >>> quantiles([-1e308, 1e308, 1.0], [0.25, 0.5, 1.0]).tolist()
    [-5e+307, 1.0, 1e+308]
    """
    return np.asarray(2.0 * np.quantile(np.asarray(values) / 2.0, probabilities))


def squarable(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers, NaN aside, times a power of two by which sums of their squares are floats.

    Examples
    --------
    >>> squarable(np.array([3.0, -1e150])).tolist(), squarable(np.array([2.0**1000, np.nan])).tolist()
    ([3.0, -1e+150], [0.5, nan])
    """
    greatest = np.abs(numbers[~np.isnan(numbers)]).max(initial=0.0)
    return numbers if greatest <= _SQUARABLE else np.ldexp(numbers, -int(np.frexp(greatest)[1]))
