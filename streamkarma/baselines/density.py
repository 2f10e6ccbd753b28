"""Densities of incomplete rows by expectation maximisation: a Gaussian and a mixture [D, Section 6.1].

Both maximise the likelihood of the observed values. With ``ridge`` above 0, a prior keeps variances from
vanishing, so that constant columns, and fewer rows than columns, have a solution; ``log_likelihoods_`` then
includes the prior.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.cluster import kmeans_plusplus

from streamkarma.arrays import Bools, Floats
from streamkarma.baselines.tables import moments, patterns, zero_filled

#: Numbers in a stack of matrices that are inverted together: tens of megabytes.
STACK = 4_000_000


class Gauss:
    """A Gaussian with full covariance, by EM on incomplete rows (Dempster, Laird, Rubin 1977).

    Parameters
    ----------
    ridge
        Fraction of each column's variance that is added to the diagonal of the covariance in every step, 0
        or more (default 1e-6); 0 for plain maximum likelihood. The result is the mode under a prior
        proportional to ``exp(-½ n tr(D Σ^-1))``, where D is the added diagonal.
    tol
        EM ends when the mean log likelihood per row increases by less; 0 or more (default 1e-5).
    max_iter
        Maximum number of steps, 1 or more (default 200).

    Attributes
    ----------
    mean_, covariance_
        Arrays of shape (d,) and (d, d).
    log_likelihoods_
        The objective, before each step and after the last one.
    """

    def __init__(self, ridge: float = 1e-6, tol: float = 1e-5, max_iter: int = 200) -> None:
        self.ridge = ridge
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Floats) -> Self:
        """Learn from an array of shape (n, d) with NaN for missing values."""
        n = len(X)
        found = patterns(X)
        self.mean_, spread = moments(X)
        # Columns that are constant or never observed start with variance 1.
        self.covariance_ = np.diag(spread**2)
        added = self.ridge * np.diag(spread**2)
        self.log_likelihoods_: list[float] = []
        for _ in range(self.max_iter + 1):
            completed, extra, likelihood = self._expect(X, found.observed, found.of)
            if self.ridge:
                likelihood -= 0.5 * n * float(np.trace(np.linalg.solve(self.covariance_, added)))
            self.log_likelihoods_.append(likelihood)
            if len(self.log_likelihoods_) > 1 and self._gained() < self.tol * n:
                break
            if len(self.log_likelihoods_) > self.max_iter:
                break
            self.mean_ = completed.mean(axis=0)
            off = completed - self.mean_
            self.covariance_ = (off.T @ off + extra) / n + added
        return self

    def _gained(self) -> float:
        return self.log_likelihoods_[-1] - self.log_likelihoods_[-2]

    def complete(self, X: Floats) -> Floats:
        """``X`` with the conditional mean where a value is missing."""
        found = patterns(X)
        return self._expect(X, found.observed, found.of)[0]

    def spreads(self, observed: Bools) -> Floats:
        """Conditional covariance of the missing values of each pattern: (patterns, d, d), 0 elsewhere."""
        parts = [self._residual(part, inverses) for part, inverses, _ in self._blocks(observed)]
        return np.concatenate(parts)

    def _expect(self, X: Floats, observed: Bools, of: NDArray[np.intp]) -> tuple[Floats, Floats, float]:
        """Completed rows, the sum of their conditional covariances, and the log likelihood."""
        d = X.shape[1]
        off = zero_filled(X - self.mean_)
        completed = np.where(np.isnan(X), self.mean_, X)
        extra = np.zeros((d, d))
        total = 0.0
        count = np.bincount(of, minlength=len(observed))
        start = 0
        for part, inverses, logs in self._blocks(observed):
            rows = np.flatnonzero((of >= start) & (of < start + len(part)))
            local = of[rows] - start
            # W (x_o - m_o), padded with zeros: used for both the mean and the likelihood.
            weighted = _precision_weighted(inverses, off[rows], local)
            completed[rows] += np.where(np.isnan(X[rows]), weighted @ self.covariance_, 0.0)
            weight = count[start : start + len(part)]
            extra += np.einsum("p,pij->ij", weight, self._residual(part, inverses))
            constant = logs + part.sum(axis=1) * np.log(2 * np.pi)
            total -= 0.5 * float((weighted * off[rows]).sum() + weight @ constant)
            start += len(part)
        return completed, extra, total

    def _blocks(self, observed: Bools) -> Iterator[tuple[Bools, Floats, Floats]]:
        """Patterns, inverses of their observed covariance (zeros elsewhere), log determinants."""
        d = observed.shape[1]
        size = max(1, STACK // (d * d))
        for start in range(0, len(observed), size):
            part = observed[start : start + size]
            both = part[:, :, np.newaxis] & part[:, np.newaxis, :]
            # Identity where nothing is observed: inverse and determinant stay those of the block.
            padded = np.where(both, self.covariance_, np.eye(d))
            inverses = np.where(both, np.linalg.inv(padded), 0.0)
            yield part, inverses, np.linalg.slogdet(padded)[1]

    def _residual(self, part: Bools, inverses: Floats) -> Floats:
        missing = ~part[:, :, np.newaxis] & ~part[:, np.newaxis, :]
        explained = self.covariance_ @ inverses @ self.covariance_
        residual: Floats = np.where(missing, self.covariance_ - explained, 0.0)
        return residual


def _precision_weighted(inverses: Floats, off: Floats, local: NDArray[np.intp]) -> Floats:
    """Row i times the inverse of its pattern, for all rows: one product per pattern."""
    if len(inverses) * 4 > len(off):
        products: Floats = np.einsum("nij,nj->ni", inverses[local], off)
        return products
    weighted = np.empty_like(off)
    for pattern in range(len(inverses)):
        rows = local == pattern
        weighted[rows] = off[rows] @ inverses[pattern]
    return weighted


class SphericalMixture:
    """A mixture of spherical Gaussians, by EM on incomplete rows (Ghahramani, Jordan 1994).

    Parameters
    ----------
    centres
        Number of components, 1 or more, limited to the number of rows. [D, Section 6.1] has 10.
    ridge
        Weight of the prior that keeps a component's variance from vanishing, as a fraction of the total
        variance of one row; above 0 (default 1e-3).
    tol, max_iter
        As in ``Gauss``.
    rng
        Draws the first centres, by k-means++ on mean-imputed rows.

    Attributes
    ----------
    weights_, centres_, variances_
        Arrays of shape (k,), (k, d), (k,).
    log_likelihoods_
        The objective, before each step and after the last one.
    """

    def __init__(
        self,
        centres: int = 10,
        ridge: float = 1e-3,
        tol: float = 1e-5,
        max_iter: int = 200,
        rng: np.random.RandomState | None = None,
    ) -> None:
        self.centres = centres
        self.ridge = ridge
        self.tol = tol
        self.max_iter = max_iter
        self.rng = rng or np.random.RandomState(0)

    def fit(self, X: Floats) -> Self:
        """Learn from an array of shape (n, d) with NaN for missing values."""
        n = len(X)
        mean, spread = moments(X)
        k = min(self.centres, n)
        filled = np.where(np.isnan(X), mean, X)
        self.centres_ = kmeans_plusplus(filled, k, random_state=self.rng)[0].astype(np.float64)
        self.weights_ = np.full(k, 1.0 / k)
        self.variances_ = np.full(k, float((spread**2).mean()))
        prior = self.ridge * float((spread**2).sum())
        self.log_likelihoods_: list[float] = []
        while True:
            logs = self._log_joint(X)
            rowwise = logsumexp(logs, axis=1)
            penalty = 0.5 * prior * float((1.0 / self.variances_).sum())
            self.log_likelihoods_.append(float(rowwise.sum()) - penalty)
            ran = len(self.log_likelihoods_) - 1
            if ran and self.log_likelihoods_[-1] - self.log_likelihoods_[-2] < self.tol * n:
                return self
            if ran == self.max_iter:
                return self
            self._maximise(X, np.exp(logs - rowwise[:, np.newaxis]), prior)

    def complete(self, X: Floats) -> Floats:
        """``X`` with the conditional mean under the mixture where a value is missing."""
        logs = self._log_joint(X)
        shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
        return np.where(np.isnan(X), shares @ self.centres_, X)

    def _log_joint(self, X: Floats) -> Floats:
        """Log of weight times density of the observed values: shape (n, k)."""
        observed = ~np.isnan(X)
        distances = _distances(X, self.centres_)
        logs = -0.5 * (
            distances / self.variances_
            + observed.sum(axis=1, keepdims=True) * np.log(2 * np.pi * self.variances_)
        )
        with np.errstate(divide="ignore"):
            return np.asarray(logs + np.log(self.weights_))

    def _maximise(self, X: Floats, shares: Floats, prior: float) -> None:
        n, d = X.shape
        observed = (~np.isnan(X)).astype(np.float64)
        mass = shares.sum(axis=0)
        alive = mass > 1e-10
        before = self.centres_
        seen = shares.T @ observed
        sums = shares.T @ zero_filled(X) + (mass[:, np.newaxis] - seen) * before
        self.centres_ = np.where(alive[:, np.newaxis], sums / np.maximum(mass, 1e-300)[:, np.newaxis], before)
        # A missing value is distributed around the previous centre with the previous variance.
        drawn = (self.centres_ - before) ** 2 + self.variances_[:, np.newaxis]
        scatter = (shares * _distances(X, self.centres_)).sum(axis=0)
        scatter += ((mass[:, np.newaxis] - seen) * drawn).sum(axis=1)
        self.variances_ = np.where(alive, (scatter + prior) / np.maximum(d * mass, 1e-300), self.variances_)
        self.weights_ = mass / n


def _distances(X: Floats, centres: Floats) -> Floats:
    """Squared distances over the observed columns: shape (n, k)."""
    observed = (~np.isnan(X)).astype(np.float64)
    filled = zero_filled(X)
    squares = (filled**2).sum(axis=1, keepdims=True)
    distances: Floats = squares - 2 * filled @ centres.T + observed @ (centres**2).T
    return np.maximum(distances, 0.0)
