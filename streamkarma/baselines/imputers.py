"""Single imputations as scikit-learn transformers: what is missing becomes one number.

All learn from the rows of ``fit`` alone, so that later rows may be completed one at a time.
A column without any observed value is filled with 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from streamkarma.baselines.density import Gauss, SphericalMixture
from streamkarma.baselines.tables import Bools, Floats, Scaler, patterns, zero_filled


class Imputer(TransformerMixin, BaseEstimator):
    """A transformer that completes tables; ``_learn`` and ``_complete`` see scaled columns."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn from an array of shape (n, d), NaN for what is missing; ``y`` is not used."""
        rows = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        self._scaler = Scaler.of(rows)
        self._learn(self._scaler(rows))
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """``X`` completed; what is observed stays as it is."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        if not np.isnan(rows).any():
            completed: Floats = rows
            return completed
        filled = self._complete(self._scaler(rows)) * self._scaler.spread + self._scaler.shift
        return np.where(np.isnan(rows), filled, rows)

    def _learn(self, X: Floats) -> None:
        raise NotImplementedError

    def _complete(self, X: Floats) -> Floats:
        raise NotImplementedError


class GaussImputer(Imputer):
    """Conditional mean under a Gaussian fitted by EM ([D]'s Gauss).

    Parameters
    ----------
    ridge, tol, max_iter
        As of ``Gauss``.

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
    """Conditional mean under ten spherical Gaussians fitted by EM ([D]'s GMM).

    Parameters
    ----------
    centres
        Number of components.
    random_state
        Seed of the first centres.
    """

    def __init__(self, centres: int = 10, random_state: Any = 0) -> None:
        self.centres = centres
        self.random_state = random_state

    def _learn(self, X: Floats) -> None:
        self.density_ = SphericalMixture(self.centres, rng=check_random_state(self.random_state)).fit(X)

    def _complete(self, X: Floats) -> Floats:
        return self.density_.complete(X)


class RegressionImputer(Imputer):
    """Iterated regression [M]: each column regressed on all others, in turn, until all settle.

    What is missing starts at the mean; one sweep fits, for every column, least squares on
    the rows that have it, and replaces what is missing there by the prediction. Later rows
    are completed by the last sweep's regressions, swept in the same way.

    Parameters
    ----------
    ridge
        Added to the squares of each (standardised) column, per row: keeps a regression on
        collinear columns, or on more columns than rows, determined. The lecture has none.
    tol
        The sweeps end when no completed value moves by more, in standard deviations.
    max_iter
        Most sweeps.
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
        # Columns complete here may be missing later.
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
            # Row by row, so that a row's answer does not hang on what it came with.
            settled = np.abs(filled - before).max(axis=1) <= self.tol
            if settled.all():
                break
            missing[settled] = False
        return filled


class Iterated(NamedTuple):
    """What iterated SVD comes to: mean, orthonormal components (rows), table, steps taken."""

    mean: Floats
    components: Floats
    filled: Floats
    steps: int


class SVDImputer(Imputer):
    """Principal components with missing data, by iterated SVD [M].

    What is missing starts at the mean; then, in turn, the best approximation of rank r to
    the completed table (centred), and its values where the table has none.
    Later rows are completed by least squares on the components, over what they have.

    Parameters
    ----------
    rank
        r, 1 or more; None for the one of 1 … 8 that fills in best a twentieth of the observed
        values that are hidden from it. The lecture leaves it open.
    tol
        The iteration ends when completed values move by less, in standard deviations
        (root mean square).
    max_iter
        Most iterations.
    random_state
        Seed of what is hidden.

    Attributes
    ----------
    components_
        Array of shape (r, d), orthonormal rows.
    mean_
        Array of shape (d,), in standard deviations from the observed mean.
    """

    def __init__(self, rank: int | None = None, tol: float = 1e-4, max_iter: int = 300,
                 random_state: Any = 0) -> None:  # fmt: skip
        self.rank = rank
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _learn(self, X: Floats) -> None:
        if self.rank is not None and not 1 <= self.rank <= X.shape[1]:
            raise ValueError(
                f"rank is from 1 to the {X.shape[1]} columns, or None to choose; not {self.rank}"
            )
        rank = self.rank if self.rank is not None else self._best_rank(X)
        self.mean_, self.components_, _, self.n_iter_ = iterated(X, rank, self.tol, self.max_iter)

    def _best_rank(self, X: Floats) -> int:
        rng = check_random_state(self.random_state)
        hidden = ~np.isnan(X) & (rng.random_sample(X.shape) < 0.05)
        # A row keeps two values at least: with fewer there is nothing to tell ranks apart.
        hidden[(~np.isnan(X)).sum(axis=1) - hidden.sum(axis=1) < 2] = False
        if not hidden.any():
            return 1
        shown = np.where(hidden, np.nan, X)
        errors = []
        for rank in range(1, min(8, min(X.shape)) + 1):
            filled = iterated(shown, rank, self.tol, self.max_iter)[2]
            errors.append(float(((filled - X)[hidden] ** 2).mean()))
        return int(np.argmin(errors)) + 1

    def _complete(self, X: Floats) -> Floats:
        found = patterns(X)
        filled = X.copy()
        for observed, rows in zip(found.observed, found.rows(), strict=True):
            V = self.components_[:, observed].T
            parts = (X[np.ix_(rows, observed)] - self.mean_[observed]) @ np.linalg.pinv(V, rcond=0.05).T
            filled[np.ix_(rows, ~observed)] = (parts @ self.components_ + self.mean_)[:, ~observed]
        return filled


def iterated(X: Floats, rank: int, tol: float = 1e-4, max_iter: int = 300) -> Iterated:
    """Principal components with missing data: see ``SVDImputer``, for scaled columns."""
    missing = np.isnan(X)
    filled = zero_filled(X)
    steps = 0
    while True:
        steps += 1
        mean = filled.mean(axis=0)
        # The table is tall: its right singular vectors are cheapest from d × d products.
        off = filled - mean
        vectors = np.linalg.eigh(off.T @ off)[1][:, ::-1][:, :rank]
        fitted = off @ vectors @ vectors.T + mean
        moved = (fitted - filled)[missing]
        filled[missing] = fitted[missing]
        if moved.size == 0 or np.sqrt((moved**2).mean()) <= tol or steps == max_iter:
            return Iterated(mean, vectors.T, filled, steps)
