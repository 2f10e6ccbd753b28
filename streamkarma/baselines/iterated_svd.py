"""Iterated SVD [M, 16.3.1]: the low-rank table closest to the observed values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from streamkarma.arrays import Floats
from streamkarma.baselines.imputer_base import Imputer
from streamkarma.baselines.tables import Scaler, moments, patterns

#: The largest rank tried if none is given.
MOST_RANKS = 8


class Iterated(NamedTuple):
    """The result of iterated SVD.

    Attributes
    ----------
    mean
        Array of shape (d,): mean of the completed table, or 0 without centring.
    components
        Array of shape (rank, d), orthonormal rows, the largest singular value first.
    filled
        Array of shape (n, d): the completed table.
    steps
        Number of steps taken.
    """

    mean: Floats
    components: Floats
    filled: Floats
    steps: int


def iterated(
    X: Floats, rank: int, tol: float = 1e-4, max_iter: int = 300, *, centre: bool = False
) -> Iterated:
    """Complete a table by iterated SVD; see ``SVDImputer`` for the parameters.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, np.nan]])
    >>> iterated(X, 1).filled[2].round(2).tolist()
    [3.0, 6.0]
    """
    missing = np.isnan(X)
    unit = _unit_of(X[~missing])
    X = X / unit
    start = moments(X)[0]
    filled = np.where(missing, start, X)
    least = tol * _root_mean_square((filled - start)[~missing])
    # A table of constant columns has no variance: there, changes due to rounding do not count.
    least = max(least, 1e-14 * _root_mean_square(filled))
    mean = np.zeros(X.shape[1])
    steps = 0
    while True:
        steps += 1
        if centre:
            mean = filled.mean(axis=0)
        off = filled - mean
        components = _leading(off, rank)
        fitted = off @ components.T @ components + mean
        moved = (fitted - filled)[missing]
        filled[missing] = fitted[missing]
        if _root_mean_square(moved) <= least or steps == max_iter:
            return Iterated(mean * unit, components, filled * unit, steps)


def _unit_of(values: Floats) -> float:
    """A unit for values in which no square overflows: a power of 2, which rounds nothing.

    Examples
    --------
    >>> _unit_of(np.array([5.0, -3.0]))
    4.0
    """
    return float(np.ldexp(1.0, np.frexp(np.abs(values).max(initial=0.0))[1] - 1))


def _leading(X: Floats, rank: int) -> Floats:
    """The right singular vectors of the largest singular values, as rows."""
    if len(X) < X.shape[1]:
        vectors: Floats = np.linalg.svd(X, full_matrices=len(X) < rank)[2][:rank]
        return vectors
    # For a tall table, d × d products are cheapest.
    return np.linalg.eigh(X.T @ X)[1][:, ::-1][:, :rank].T


def _root_mean_square(values: Floats) -> float:
    return float(np.linalg.norm(values) / np.sqrt(max(values.size, 1)))


class SVDImputer(Imputer):
    """Iterated SVD: principal components of a table with gaps [M, 16.3.1].

    Finds a table M of rank at most k that is closest to the observed values, min Σ_Ω (x - m)², by two
    alternating steps: fill the gaps with M's values, and set M to the truncated SVD of the completed table.
    Neither step increases the sum, but it need not reach the global minimum.

    Parameters
    ----------
    rank
        k, from 1 to the number of columns; None for the one of 1 … 8 that best predicts a hidden twentieth of
        the observed values. The lecture leaves it open.
    centre
        False, the default, for the lecture's problem, without centring. True subtracts the completed table's
        mean before each SVD, so that M is a mean plus rank k, which is a different method (a table of about
        rank k whose columns are far from 0 then needs one rank less).
    scale
        Divide each column by the standard deviation of its observed values first. False, the default, as in
        the lecture: a column with larger numbers then has more weight in the sum.
    tol
        The iteration ends when completed values change by less, relative to the standard deviation of the
        observed values (root mean square over all columns); 0 or more (default 1e-4).
    max_iter
        Maximum number of iterations, 1 or more (default 300).
    random_state
        Seed of the choice of hidden values.

    Attributes
    ----------
    components_
        Array of shape (k, d), orthonormal rows.
    mean_
        Array of shape (d,): 0 without ``centre``. Both refer to the columns after ``scale``.
    n_iter_
        Number of iterations.

    Notes
    -----
    The lecture does not say where to start; missing values start at the mean of their column, as in its
    iterated regression. Nor does it deal with new rows. They are completed from the same start by
    ``max_iter`` of the same steps with the components of ``fit``: by least squares over the observed values,
    but they stay near the start along directions that these hardly determine.

    References
    ----------
    [M] Mackey, STATS 306B, lecture 16.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, np.nan], [np.nan, 8.0]])
    >>> SVDImputer(rank=1).fit_transform(X).round(2).tolist()
    [[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [4.0, 8.0]]
    """

    def __init__(
        self,
        rank: int | None = None,
        *,
        centre: bool = False,
        scale: bool = False,
        tol: float = 1e-4,
        max_iter: int = 300,
        random_state: Any = 0,
    ) -> None:
        self.rank = rank
        self.centre = centre
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _scaling(self, X: Floats) -> Scaler:
        mean, spread = moments(X)
        return Scaler(np.zeros_like(mean), spread if self.scale else np.ones_like(spread))

    def _learn(self, X: Floats) -> None:
        if self.rank is not None and not 1 <= self.rank <= X.shape[1]:
            raise ValueError(
                f"rank must be from 1 to the {X.shape[1]} columns, or None to choose; not {self.rank}"
            )
        rank = self.rank if self.rank is not None else self._best_rank(X)
        found = self._iterated(X, rank)
        self.mean_, self.components_, self.n_iter_ = found.mean, found.components, found.steps
        self._start = moments(X)[0]

    def _iterated(self, X: Floats, rank: int) -> Iterated:
        return iterated(X, rank, self.tol, self.max_iter, centre=self.centre)

    def _best_rank(self, X: Floats) -> int:
        rng = check_random_state(self.random_state)
        hidden = ~np.isnan(X) & (rng.random_sample(X.shape) < 0.05)
        # Each row keeps at least two values: fewer would not distinguish ranks.
        hidden[(~np.isnan(X)).sum(axis=1) - hidden.sum(axis=1) < 2] = False
        if not hidden.any():
            return 1
        shown = np.where(hidden, np.nan, X)
        unit = _unit_of(X[hidden])
        errors = []
        for rank in range(1, min(MOST_RANKS, *X.shape) + 1):
            filled = self._iterated(shown, rank).filled
            errors.append(float((((filled - X)[hidden] / unit) ** 2).mean()))
        return int(np.argmin(errors)) + 1

    def _complete(self, X: Floats) -> Floats:
        found = patterns(X)
        filled = np.where(np.isnan(X), self._start, X)
        for observed, rows in zip(found.observed, found.rows(), strict=True):
            off = filled[rows] - self.mean_
            parts = off @ self.components_.T
            # The first step gives z; with fixed components, each other one adds V_oᵀ (x_o - V_o z) to it.
            # This takes all of these at once.
            left, sizes, right = np.linalg.svd(self.components_[:, observed].T, full_matrices=False)
            remaining = (1.0 - np.minimum(sizes, 1.0) ** 2) ** (self.max_iter - 1)
            gains = np.where(sizes > 1e-6, (1.0 - remaining) / np.maximum(sizes, 1e-6), 0.0)
            parts += (off[:, observed] - parts @ self.components_[:, observed]) @ (left * gains) @ right
            filled[np.ix_(rows, ~observed)] = (parts @ self.components_ + self.mean_)[:, ~observed]
        return filled
