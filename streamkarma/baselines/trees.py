"""Trees that treat 'missing' as a value like any other [M]."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from streamkarma.arrays import Floats
from streamkarma.baselines.base import Baseline, WeightedClassifier, WeightedRegressor
from streamkarma.baselines.tables import Scaler


class _Trees(Baseline):
    def __init__(self, trees: int = 100, min_leaf: int = 1, random_state: Any = 0) -> None:
        self.trees = trees
        self.min_leaf = min_leaf
        self.random_state = random_state

    def _learn(self, X: Floats, Y: Floats, weights: Floats | None) -> None:
        made = RandomForestRegressor if self._squared else RandomForestClassifier
        forest = made(n_estimators=self.trees, min_samples_leaf=self.min_leaf, random_state=self._rng())
        targets = Y[:, 0] if Y.shape[1] == 1 else Y.argmax(axis=1)
        # It uses single precision, in which values that differ by less than 1e-7 are equal.
        self._scaler = Scaler.of(X)
        self.forest_ = forest.fit(self._scaler(X), targets, sample_weight=weights)

    def _scores(self, X: Floats) -> Floats:
        if self._squared:
            return np.asarray(self.forest_.predict(self._scaler(X)))[:, np.newaxis]
        shares = self._probabilities(X)
        # Two classes: from -1 (all trees for the first) to 1 (all for the second).
        return shares[:, 1:] - shares[:, :1] if shares.shape[1] == 2 else shares

    @property
    def _has_probabilities(self) -> bool:
        return not self._squared

    def _probabilities(self, X: Floats) -> Floats:
        """The class shares in the leaves, averaged over the trees."""
        return np.asarray(self.forest_.predict_proba(self._scaler(X)))


class MissingValueTreesClassifier(_Trees, WeightedClassifier):
    """A random forest that splits on missing values as on any other.

    At every split, missing values go together to the side where they fit better, and a split of missing
    against observed is also tried, so that informative missingness is used.

    Parameters
    ----------
    trees
        Number of trees; 1 for a single one on a bootstrap sample.
    min_leaf
        Minimum number of rows in a leaf.
    random_state
        Seed of the bootstrap samples and of the columns tried.

    References
    ----------
    [M] Mackey, STATS 306B, lecture 16.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [np.nan], [np.nan]] * 10)
    >>> MissingValueTreesClassifier(5).fit(X, [0, 0, 1, 1] * 10).predict([[0.5], [np.nan]])
    array([0, 1])
    """


class MissingValueTreesRegressor(_Trees, WeightedRegressor):
    """A random forest for regression that splits on missing values as on any other.

    Parameters
    ----------
    trees, min_leaf, random_state
        As in ``MissingValueTreesClassifier``.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [np.nan], [np.nan]] * 10)
    >>> MissingValueTreesRegressor(5).fit(X, [0.0, 0.0, 3.0, 3.0] * 10).predict([[0.5], [np.nan]])
    array([0., 3.])
    """
