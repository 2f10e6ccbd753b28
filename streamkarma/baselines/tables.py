"""Tables with NaN for missing values: scaling, and grouping by missingness pattern."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Bools, Floats


@dataclass(frozen=True)
class Patterns:
    """The distinct missingness patterns of a table, and the pattern of each row.

    Attributes
    ----------
    observed
        Array of shape (patterns, d): the observed columns of each pattern.
    of
        Array of shape (n,): index of each row's pattern.
    """

    observed: Bools
    of: NDArray[np.intp]

    def rows(self) -> list[NDArray[np.intp]]:
        """Rows of each pattern, in their order in the table."""
        order = np.argsort(self.of, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.of, minlength=len(self.observed)))[:-1])


def patterns(X: Floats) -> Patterns:
    """The missingness patterns of a table.

    Examples
    --------
    >>> found = patterns(np.array([[1.0, np.nan], [2.0, 3.0], [4.0, np.nan]]))
    >>> found.observed.tolist(), found.of.tolist()
    ([[True, False], [True, True]], [0, 1, 0])
    """
    # Rows packed into bytes are single sortable values, which is far faster than comparing columns.
    packed = np.ascontiguousarray(np.packbits(~np.isnan(X), axis=1))
    keys = packed.view(f"V{packed.shape[1]}").ravel()
    _, first, of = np.unique(keys, return_index=True, return_inverse=True)
    return Patterns(~np.isnan(X[first]), of.ravel())


@dataclass(frozen=True)
class Scaler:
    """Shift and spread of each column, from its observed values.

    Attributes
    ----------
    shift
        Array of shape (d,): the mean, which is subtracted; 0 for columns without a value.
    spread
        Array of shape (d,): the standard deviation, which is divided by; 1 for columns that are constant or
        have no observed value.
    """

    shift: Floats
    spread: Floats

    @classmethod
    def of(
        cls, X: Floats, *, scale: bool = True, weights: Floats | None = None, least: Floats | float = 0.0
    ) -> Scaler:
        """Learn from ``X`` with weighted rows; the identity with ``scale=False``.

        Columns whose spread is ``least`` or less count as constant.
        """
        if not scale:
            return cls(np.zeros(X.shape[1]), np.ones(X.shape[1]))
        shift, spread = moments(X, weights)
        return cls(shift, np.where(spread > least, spread, 1.0))

    def __call__(self, X: Floats) -> Floats:
        scaled: Floats = (X - self.shift) / self.spread
        return scaled


def moments(X: Floats, weights: Floats | None = None) -> tuple[Floats, Floats]:
    """Mean and standard deviation of the observed values of each column, with weighted rows.

    A column without any has mean 0; a column that is constant (up to rounding) has standard deviation 1.

    Examples
    --------
    >>> mean, spread = moments(np.array([[1.0, 5.0, np.nan], [3.0, np.nan, np.nan]]))
    >>> mean.tolist(), spread.tolist()
    ([2.0, 5.0, 0.0], [1.0, 1.0, 1.0])
    """
    observed = ~np.isnan(X)
    shares = observed * (1.0 if weights is None else weights[:, np.newaxis])
    count = shares.sum(axis=0)
    count[count == 0.0] = 1.0
    # In units in which no square overflows or vanishes: powers of 2, which round nothing.
    filled = np.where(observed, X, 0.0)
    unit = np.ldexp(1.0, np.frexp(np.abs(filled).max(axis=0, initial=0.0))[1] - 1)
    filled /= unit
    mean: Floats = (shares * filled).sum(axis=0) / count
    off = np.where(observed, filled - mean, 0.0)
    spread: Floats = np.sqrt((shares * off * off).sum(axis=0) / count)
    # The difference between a constant and its rounded mean does not count as variation.
    varies = spread > 1e-12 * np.abs(mean)
    return mean * unit, np.where(varies, spread * unit, 1.0)


def zero_filled(X: Floats) -> Floats:
    """``X`` with 0 where a value is missing."""
    return np.where(np.isnan(X), 0.0, X)
