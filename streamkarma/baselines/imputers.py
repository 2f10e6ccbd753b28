"""Single imputations by a model of the rows: Gaussian densities [D, Section 6.1], regressions [M, 16.2.2].

Each missing value becomes one number. All imputers learn only from the rows of ``fit``, so that new rows can
be completed one at a time. A column without any observed value is filled with 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from streamkarma.arrays import Bools, Floats
from streamkarma.baselines.density import Gauss, SphericalMixture
from streamkarma.baselines.imputer_base import Imputer
from streamkarma.baselines.tables import zero_filled


class GaussImputer(Imputer):
    """Conditional mean under a Gaussian fitted by EM: Gauss of [D, Section 6.1].

    Parameters
    ----------
    ridge, tol, max_iter
        As in ``Gauss``.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0], [3.0, np.nan]])
    >>> GaussImputer().fit(X).transform(X)[3].round(2).tolist()
    [3.0, 6.0]
    """

    def __init__(self, ridge: float = 1e-6, tol: float = 1e-5, max_iter: int = 200) -> None:
        self.ridge = ridge
        self.tol = tol
        self.max_iter = max_iter

    def _learn(self, X: Floats) -> None:
        self.density_ = Gauss(self.ridge, self.tol, self.max_iter).fit(X)
        self.n_iter_ = len(self.density_.log_likelihoods_) - 1

    def _complete(self, X: Floats) -> Floats:
        return self.density_.complete(X)


class MixtureImputer(Imputer):
    """Conditional mean under ten spherical Gaussians fitted by EM: GMM of [D, Section 6.1].

    Parameters
    ----------
    centres
        Number of components.
    random_state
        Seed of the first centres.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.0, 0.0], [4.0, 4.0], [4.0, 4.0], [4.0, np.nan]])
    >>> MixtureImputer(2).fit(X).transform(X)[4].round(2).tolist()
    [4.0, 4.0]
    """

    def __init__(self, centres: int = 10, random_state: Any = 0) -> None:
        self.centres = centres
        self.random_state = random_state

    def _learn(self, X: Floats) -> None:
        self.density_ = SphericalMixture(self.centres, rng=check_random_state(self.random_state)).fit(X)

    def _complete(self, X: Floats) -> Floats:
        return self.density_.complete(X)


class RegressionImputer(Imputer):
    """Iterated regression [M, 16.2.2]: each column in turn is regressed on all others until convergence.

    Missing values start at the mean. For every column, a sweep fits least squares on the rows in which it is
    observed, and replaces its missing values with predictions. New rows are completed with the regressions of
    the last sweep, in the same way.

    Parameters
    ----------
    ridge
        Ridge penalty per row on standardised columns, above 0 (default 1e-3), which keeps regressions on
        collinear columns, or on more columns than rows, well-posed. The lecture has none.
    tol
        The sweeps end when no completed value changes by more, in standard deviations; 0 or more (default
        1e-3).
    max_iter
        Maximum number of sweeps, 1 or more (default 50).

    Notes
    -----
    The lecture regresses on the values completed in the previous round. Here a regression uses the values
    completed earlier in the same sweep. If all columns are updated at once, columns that predict each other
    oscillate (on scikit-learn's wine data with 30 % missing, up to thousands of standard deviations in 50
    sweeps); in turn, they stay bounded.

    References
    ----------
    [M] Mackey, STATS 306B, lecture 16.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0], [3.0, np.nan]])
    >>> RegressionImputer().fit(X).transform(X)[3].round(1).tolist()
    [3.0, 6.0]
    """

    def __init__(self, ridge: float = 1e-3, tol: float = 1e-3, max_iter: int = 50) -> None:
        self.ridge = ridge
        self.tol = tol
        self.max_iter = max_iter

    def _learn(self, X: Floats) -> None:
        d = X.shape[1]
        self._weights = np.zeros((d, d))
        self._means = np.zeros(d)
        filled, missing = zero_filled(X), np.isnan(X)
        self.n_iter_ = 0
        moved = np.inf
        while moved > self.tol and self.n_iter_ < self.max_iter:
            self.n_iter_ += 1
            before = filled.copy()
            for j in np.flatnonzero(missing.any(axis=0)):
                self._regress(filled, missing[:, j], j)
            moved = float(np.abs(filled - before).max())
        # Columns that are complete here may be incomplete later.
        for j in np.flatnonzero(~missing.any(axis=0)):
            self._regress(filled, missing[:, j], j)

    def _regress(self, filled: Floats, missing: Bools, j: np.intp) -> None:
        others = np.arange(filled.shape[1]) != j
        rows = ~missing
        if not rows.any():
            return
        A, target = filled[np.ix_(rows, others)], filled[rows, j]
        centre, mean = A.mean(axis=0), target.mean()
        A = A - centre
        squares = A.T @ A + self.ridge * len(A) * np.eye(A.shape[1])
        weights = np.linalg.solve(squares, A.T @ (target - mean))
        self._weights[j, others] = weights
        self._means[j] = mean - centre @ weights
        filled[missing, j] = filled[missing] @ self._weights[j] + self._means[j]

    def _complete(self, X: Floats) -> Floats:
        filled, missing = zero_filled(X), np.isnan(X)
        for _ in range(self.max_iter):
            before = filled.copy()
            for j in np.flatnonzero(missing.any(axis=0)):
                filled[missing[:, j], j] = (filled @ self._weights[j] + self._means[j])[missing[:, j]]
            # Row by row, so that a row's result does not depend on the others.
            settled = np.abs(filled - before).max(axis=1) <= self.tol
            if settled.all():
                break
            missing[settled] = False
        return filled
