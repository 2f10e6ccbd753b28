"""Iterated SVD [M, 16.3.1]: the table of least rank that agrees with what is observed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from streamkarma.baselines.imputer_base import Imputer
from streamkarma.baselines.tables import Floats, Scaler, moments, patterns

#: Ranks up to this are tried where none is given.
MOST_RANKS = 8


class Iterated(NamedTuple):
    """What iterated SVD comes to.

    Attributes
    ----------
    mean
        Array of shape (d,): of the completed table, or 0 without centring.
    components
        Array of shape (rank, d), orthonormal rows, the largest singular value first.
    filled
        Array of shape (n, d): the completed table.
    steps
        How many were taken.
    """

    mean: Floats
    components: Floats
    filled: Floats
    steps: int


def iterated(
    X: Floats, rank: int, tol: float = 1e-4, max_iter: int = 300, *, centre: bool = False
) -> Iterated:
    """Complete a table by iterated SVD; see ``SVDImputer`` for what the parameters mean.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, np.nan]])
    >>> iterated(X, 1).filled[2].round(2).tolist()
    [3.0, 6.0]
    """
    missing = np.isnan(X)
    start = moments(X)[0]
    filled = np.where(missing, start, X)
    least = tol * _root_mean_square((filled - start)[~missing])
    # A table of constant columns has no spread: there, what is left of rounding is no movement.
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
            return Iterated(mean, components, filled, steps)


def _leading(X: Floats, rank: int) -> Floats:
    """The right singular vectors of the largest singular values, as rows."""
    if len(X) < X.shape[1]:
        vectors: Floats = np.linalg.svd(X, full_matrices=len(X) < rank)[2][:rank]
        return vectors
    # A tall table's are cheapest from d × d products.
    return np.linalg.eigh(X.T @ X)[1][:, ::-1][:, :rank].T


def _root_mean_square(values: Floats) -> float:
    return float(np.linalg.norm(values) / np.sqrt(max(values.size, 1)))


class SVDImputer(Imputer):
    """Iterated SVD: principal components of a table with gaps [M, 16.3.1].

    The table M of rank k or less that comes nearest to what is observed, min Σ_Ω (x - m)²,
    sought by two steps in turn: put M's values where the table has none, and let M be the
    truncated SVD of the table so completed. Neither step makes the sum larger; it need not
    come to the least there is.

    Parameters
    ----------
    rank
        k, from 1 to the number of columns; None for the one of 1 … 8 that fills in best a
        twentieth of the observed values that are hidden from it. The lecture leaves it open.
    centre
        False, the default, for the lecture's problem: the table as it is. True takes the
        completed table's mean off before each SVD, so that M is a mean and rank k, another
        method (a table near rank k whose columns are far from 0 needs one rank less with it).
    scale
        Divide each column by the standard deviation of its observed values first. False, the
        default, as in the lecture: a column in small units then weighs more in the sum.
    tol
        The iteration ends when completed values move by less, relative to the standard
        deviation of what is observed (root mean square, all columns together).
    max_iter
        Most iterations.
    random_state
        Seed of what is hidden.

    Attributes
    ----------
    components_
        Array of shape (k, d), orthonormal rows.
    mean_
        Array of shape (d,): 0 without ``centre``; both are of the columns after ``scale``.
    n_iter_
        Iterations taken.

    Notes
    -----
    The lecture does not say where to start; missing values start at the mean of their column,
    where its iterated regression does.
    Nor does it have later rows. They are completed from the same start by ``max_iter`` of the
    same steps with the components of ``fit``: by least squares over what they have, but along a
    direction that what they have says next to nothing about they stay near the start.

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
                f"rank is from 1 to the {X.shape[1]} columns, or None to choose; not {self.rank}"
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
        # A row keeps two values at least: with fewer there is nothing to tell ranks apart.
        hidden[(~np.isnan(X)).sum(axis=1) - hidden.sum(axis=1) < 2] = False
        if not hidden.any():
            return 1
        shown = np.where(hidden, np.nan, X)
        errors = []
        for rank in range(1, min(MOST_RANKS, *X.shape) + 1):
            filled = self._iterated(shown, rank).filled
            errors.append(float(((filled - X)[hidden] ** 2).mean()))
        return int(np.argmin(errors)) + 1

    def _complete(self, X: Floats) -> Floats:
        found = patterns(X)
        filled = np.where(np.isnan(X), self._start, X)
        for observed, rows in zip(found.observed, found.rows(), strict=True):
            off = filled[rows] - self.mean_
            parts = off @ self.components_.T
            # With the components held, a step adds V_oᵀ (x_o - V_o z) to z: all steps at once.
            left, sizes, right = np.linalg.svd(self.components_[:, observed].T, full_matrices=False)
            remaining = (1.0 - np.minimum(sizes, 1.0) ** 2) ** self.max_iter
            gains = np.where(sizes > 1e-6, (1.0 - remaining) / np.maximum(sizes, 1e-6), 0.0)
            parts += (off[:, observed] - parts @ self.components_[:, observed]) @ (left * gains) @ right
            filled[np.ix_(rows, ~observed)] = (parts @ self.components_ + self.mean_)[:, ~observed]
        return filled
