"""Where [D]'s imputations start from: points for what is missing, or means in feature space.

All speak of the RBF kernel ``k(x, x') = exp(-w ‖x - x'‖²)``. A prior gives each incomplete row
a place φ̂ in its feature space, and answers three questions about it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import check_random_state

from streamkarma.baselines.imputers import GaussImputer, MixtureImputer
from streamkarma.baselines.tables import Floats, moments, zero_filled

#: Means over a column's values are taken this often in a search that moves every missing value; so
#: many evenly spaced quantiles say as much.
MOST_DRAWN = 256

#: What ``prior_named`` knows.
PRIORS = ("mean", "gauss", "gmm", "meanfeat")


class Prior(Protocol):
    """Imputations of any table, in feature space."""

    def points(self, X: Floats) -> Floats:
        """A completion in input space: where a search for better imputations starts."""

    def kernel(self, X: Floats, Z: Floats) -> Floats:
        """``φ̂(x_i) · φ(z_j)`` for incomplete rows ``X`` and complete ``Z``."""

    def near(self, X: Floats, Z: Floats) -> tuple[Floats, Floats]:
        """``φ̂(x_i) · φ(z_i)`` for rows that agree where X is observed, and its slope in Z."""

    def norms(self, X: Floats) -> Floats:
        """``‖φ̂(x_i)‖²``."""


class Points:
    """Single imputation: φ̂ is the image of a completed row."""

    def __init__(self, imputer: GaussImputer | MixtureImputer | None, X: Floats, width: float) -> None:
        self.imputer = imputer.fit(X) if imputer is not None else None
        self.mean = moments(X)[0]
        self.width = width
        self._completed = (X, self._points(X))

    def points(self, X: Floats) -> Floats:
        # A search asks about its one table in every step.
        known, completed = self._completed
        return completed if X is known else self._points(X)

    def _points(self, X: Floats) -> Floats:
        if self.imputer is None:
            return np.where(np.isnan(X), self.mean, X)
        return self.imputer.transform(X)

    def kernel(self, X: Floats, Z: Floats) -> Floats:
        return np.asarray(rbf_kernel(self.points(X), Z, gamma=self.width))

    def near(self, X: Floats, Z: Floats) -> tuple[Floats, Floats]:
        away = Z - self.points(X)
        k = np.exp(-self.width * (away * away).sum(axis=1))
        return k, -2.0 * self.width * away * k[:, np.newaxis]

    def norms(self, X: Floats) -> Floats:
        return np.ones(len(X))


class MeanFeat:
    """The mean in feature space: φ̂ is the mean of φ with what is missing drawn at random.

    Each missing value is drawn from the observed values of its column, independently; where there
    are more than ``MOST_DRAWN``, from so many of their quantiles. For the RBF kernel, a product
    over columns, all scalar products have closed forms.
    """

    def __init__(self, X: Floats, width: float) -> None:
        self.mean = moments(X)[0]
        self.width = width
        self.drawn = [_drawn_from(column[~np.isnan(column)]) for column in X.T]
        self.both_drawn = np.array([self._factor(values, values).mean() for values in self.drawn])

    def points(self, X: Floats) -> Floats:
        return np.where(np.isnan(X), self.mean, X)

    def kernel(self, X: Floats, Z: Floats) -> Floats:
        return self.between(X, Z)

    def between(self, X: Floats, Z: Floats) -> Floats:
        """``φ̂(x_i) · φ̂(z_j)`` for incomplete rows on both sides: shape (n, m)."""
        seen_X, seen_Z = (~np.isnan(X)).astype(np.float64), (~np.isnan(Z)).astype(np.float64)
        filled_X, filled_Z = zero_filled(X), zero_filled(Z)
        # Over what both have, squares as products of matrices (a zero is a zero on either side).
        squares = (filled_X**2) @ seen_Z.T + seen_X @ (filled_Z**2).T - 2 * filled_X @ filled_Z.T
        logs = -self.width * np.maximum(squares, 0.0)
        # Over what one has, the mean for its value; over what neither has, the mean of means.
        logs += self._log_means(filled_X) * seen_X @ (1 - seen_Z).T
        logs += (1 - seen_X) @ (self._log_means(filled_Z) * seen_Z).T
        logs += (1 - seen_X) * np.log(self.both_drawn) @ (1 - seen_Z).T
        return np.asarray(np.exp(logs))

    def _log_means(self, filled: Floats) -> Floats:
        means = [self._factor(values, filled[:, j]) for j, values in enumerate(self.drawn)]
        return np.asarray(np.log(np.maximum(np.column_stack(means), 1e-300)))

    def near(self, X: Floats, Z: Floats) -> tuple[Floats, Floats]:
        missing = np.isnan(X)
        factors, slopes = np.ones_like(Z), np.zeros_like(Z)
        for j, values in enumerate(self.drawn):
            rows = missing[:, j]
            if rows.any():
                away = Z[rows, j, np.newaxis] - values
                k = np.exp(-self.width * away**2)
                factors[rows, j] = np.maximum(k.mean(axis=1), 1e-300)
                slopes[rows, j] = (-2.0 * self.width * away * k).mean(axis=1)
        k = factors.prod(axis=1)
        return k, k[:, np.newaxis] * slopes / factors

    def norms(self, X: Floats) -> Floats:
        return np.asarray(np.where(np.isnan(X), self.both_drawn, 1.0).prod(axis=1))

    def _factor(self, values: Floats, at: Floats) -> Floats:
        """The mean over ``values`` of ``exp(-w (at - value)²)``."""
        means: Floats = np.exp(-self.width * (at[:, np.newaxis] - values) ** 2).mean(axis=1)
        return means


def _drawn_from(values: Floats) -> Floats:
    """The values that stand for a column; one without any is as good as constant."""
    if not len(values):
        return np.zeros(1)
    if len(values) <= MOST_DRAWN:
        return values
    return np.asarray(np.quantile(values, (np.arange(MOST_DRAWN) + 0.5) / MOST_DRAWN))


def prior_named(name: str, X: Floats, width: float, random_state: object) -> Prior:
    """The prior of that name, learned from an incomplete table of scaled columns."""
    match name:
        case "mean":
            return Points(None, X, width)
        case "gauss":
            return Points(GaussImputer(), X, width)
        case "gmm":
            seed = check_random_state(random_state).randint(2**31 - 1)
            return Points(MixtureImputer(random_state=seed), X, width)
        case "meanfeat":
            return MeanFeat(X, width)
    raise ValueError(f"prior is one of {', '.join(PRIORS)}, not {name!r}")
