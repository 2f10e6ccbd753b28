"""Nearest neighbours by pairwise dissimilarity over the columns observed in both rows [M]."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Floats
from streamkarma.baselines.base import Baseline, WeightedClassifier, WeightedRegressor
from streamkarma.baselines.tables import Scaler, moments, zero_filled

#: Candidate numbers of neighbours for the holdout; the largest, smoothest one first.
NUMBERS = (25, 15, 9, 5, 3, 1)

#: Rows whose dissimilarities are computed at once.
CHUNK = 512


def dissimilarities(X: Floats, Z: Floats) -> Floats:
    """Mean squared difference over the columns observed in both rows, for all pairs.

    Infinite for two rows without a common column.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0, np.nan], [np.nan, np.nan, 1.0]])
    >>> dissimilarities(X, np.array([[1.0, 3.0, 1.0]])).tolist()
    [[5.0], [0.0]]
    """
    seen_X, seen_Z = (~np.isnan(X)).astype(np.float64), (~np.isnan(Z)).astype(np.float64)
    filled_X, filled_Z = zero_filled(X), zero_filled(Z)
    squares = (filled_X**2) @ seen_Z.T + seen_X @ (filled_Z**2).T - 2 * filled_X @ filled_Z.T
    common = seen_X @ seen_Z.T
    return np.where(common > 0, np.maximum(squares, 0.0) / np.maximum(common, 1.0), np.inf)


class _Neighbors(Baseline):
    def __init__(self, neighbors: int | None = None, scale: bool = True, random_state: Any = 0) -> None:
        self.neighbors = neighbors
        self.scale = scale
        self.random_state = random_state

    def _learn(self, X: Floats, Y: Floats, weights: Floats | None) -> None:
        if self.neighbors is not None and self.neighbors < 1:
            raise ValueError(f"neighbors must be 1 or more, or None to have it chosen; not {self.neighbors}")
        centre, spread = moments(X, weights)
        # Centred in any case: the squares of values far from 0 leave no digits for their differences.
        self._scaler = Scaler(centre, spread if self.scale else np.ones_like(spread))
        self._rows, self._Y = self._scaler(X), Y
        self._votes = np.ones(len(Y)) if weights is None else weights

        def trial(k: int, rest: NDArray[Any], quarter: NDArray[Any]) -> Floats:
            return self._means(self._rows[quarter], rest, k)

        numbers = NUMBERS if self.neighbors is None else (self.neighbors,)
        self.neighbors_ = self._holdout(Y, weights).best(numbers, 5, trial)

    def _scores(self, X: Floats) -> Floats:
        return self._means(self._scaler(X), np.arange(len(self._Y)), self.neighbors_)

    @property
    def _has_probabilities(self) -> bool:
        return not self._squared

    def _probabilities(self, X: Floats) -> Floats:
        """Shares of the votes."""
        return (1.0 + self._scores(X)) / 2.0

    def _means(self, X: Floats, among: NDArray[Any], k: int) -> Floats:
        """The mean target of the k nearest of the known rows, weighted by their votes."""
        rows, Y, votes = self._rows[among], self._Y[among], self._votes[among]
        means = np.empty((len(X), Y.shape[1]))
        for start in range(0, len(X), CHUNK):
            part = slice(start, start + CHUNK)
            away = dissimilarities(X[part], rows)
            nearest = np.argsort(away, axis=1, kind="stable")[:, :k]
            comparable = np.isfinite(np.take_along_axis(away, nearest, axis=1))
            cast = (votes[nearest] * comparable)[:, :, np.newaxis]
            total, count = (Y[nearest] * cast).sum(axis=1), cast.sum(axis=1)
            # A row without a column in common with any other gets the mean of all.
            everyone = np.average(Y, axis=0, weights=votes)
            means[part] = np.where(count > 0, total / np.where(count > 0, count, 1.0), everyone)
        return means


class PairwiseNeighborsClassifier(_Neighbors, WeightedClassifier):
    """The majority among the k nearest rows, by the mean squared difference over common columns.

    Parameters
    ----------
    neighbors
        k, 1 or more; None for the best of 25, 15, 9, 5, 3, 1 on random held-out quarters.
    scale
        Standardise each column by its observed values first.
    random_state
        Seed of the held-out quarters.

    Attributes
    ----------
    neighbors_
        The k used.

    References
    ----------
    [M] Mackey, STATS 306B, lecture 16.

    Examples
    --------
    >>> X = np.array([[1.0, np.nan], [2.0, 1.0], [-1.0, -1.0], [np.nan, -2.0]])
    >>> PairwiseNeighborsClassifier(1).fit(X, [1, 1, 0, 0]).predict([[np.nan, 0.9]])
    array([1])
    """


class PairwiseNeighborsRegressor(_Neighbors, WeightedRegressor):
    """The mean of the k nearest rows, by the mean squared difference over common columns.

    Parameters
    ----------
    neighbors, scale, random_state
        As in ``PairwiseNeighborsClassifier``.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0], [2.0, np.nan], [-1.0, -1.0], [np.nan, -2.0]])
    >>> PairwiseNeighborsRegressor(1).fit(X, [2.0, 4.0, -2.0, -4.0]).predict([[1.9, np.nan]])
    array([4.])
    """
