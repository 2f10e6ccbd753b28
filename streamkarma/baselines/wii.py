"""WII: a decision function and a distribution over imputations, optimised together [D].

Of all distributions ω over completions X of the table, a finite one is optimal [D, Theorem 1];
each completion has its kernel matrix, and the machine works with their weighted mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from streamkarma.baselines.base import Baseline, BaselineClassifier, BaselineRegressor
from streamkarma.baselines.machines import fit_gram
from streamkarma.baselines.priors import Prior, prior_named
from streamkarma.baselines.tables import Floats, Scaler

#: Weights below are dropped: they are what rounding leaves of a completion that is not used.
LEAST_WEIGHT = 1e-8


@dataclass
class Fitted:
    """What minimising over the decision function found, for one kernel matrix."""

    c: Floats
    b: float
    value: float


@dataclass
class Imputations:
    """A decision function over weighted completions.

    Attributes
    ----------
    tables
        The completions, arrays of shape (n, d).
    weights
        β, above 0, with sum 1.
    c, b
        Coefficients of the decision function, and its intercept.
    objectives
        The objective, before the first step and after each.
    """

    tables: list[Floats]
    weights: Floats
    c: Floats
    b: float
    objectives: list[float]


class Search:
    """[D]'s Algorithm 1 for one column of targets.

    Parameters
    ----------
    X, y
        The incomplete table, scaled, and its targets.
    prior
        Gives φ̂, and where the search starts.
    squared, C, gamma, width
        As of ``InfiniteImputationsClassifier``.
    """

    def __init__(self, X: Floats, y: Floats, prior: Prior, *, squared: bool, C: float, gamma: float,
                 width: float, rng: np.random.RandomState) -> None:  # fmt: skip
        self.X, self.y, self.prior = X, y, prior
        self.squared, self.C, self.gamma, self.width = squared, C, gamma, width
        self.rng = rng
        self.missing = np.isnan(X)
        self.norms = prior.norms(X)

    def run(self, max_iter: int, restarts: int, tol: float, say: Any) -> Imputations:
        """Add completions until none lowers the objective by more than ``tol`` of it."""
        tables = [self.prior.points(self.X)]
        weights = np.ones(1)
        K, Q = self._kernel(tables[0]), self._distance(tables[0])
        fitted = self._machine(K)
        objectives = [fitted.value + self.C * self.gamma * Q]
        for step in range(max_iter if self.missing.any() else 0):
            new = self._steepest(fitted.c, tables, restarts)
            K_new, Q_new = self._kernel(new), self._distance(new)
            beta = self._line(K, K_new, Q, Q_new)
            K_next, Q_next = (1 - beta) * K + beta * K_new, (1 - beta) * Q + beta * Q_new
            tried = self._machine(K_next)
            value = tried.value + self.C * self.gamma * Q_next
            if objectives[-1] - value <= tol * abs(objectives[-1]):
                break
            K, Q, fitted = K_next, Q_next, tried
            tables, weights = _pruned([*tables, new], np.append((1 - beta) * weights, beta))
            objectives.append(value)
            say(f"step {step + 1}: objective {value:.6g}, {len(tables)} completions")
            if len(tables) > len(self.X) + 2:
                tables, weights = self._reduced(tables, weights, fitted.c)
                K = np.einsum("s,sij->ij", weights, [self._kernel(table) for table in tables])
                Q = float(weights @ [self._distance(table) for table in tables])
                fitted = self._machine(K)
        return Imputations(tables, weights, fitted.c, fitted.b, objectives)

    def _kernel(self, table: Floats) -> Floats:
        return np.asarray(rbf_kernel(table, gamma=self.width))

    def _distance(self, table: Floats) -> float:
        """Q^sq: the sum over rows of ‖φ(x) - φ̂‖²."""
        return float((1.0 - 2.0 * self.prior.near(self.X, table)[0] + self.norms).sum())

    def _machine(self, K: Floats) -> Fitted:
        """The best decision function for one kernel matrix, and its ½‖f‖² + C Σ loss."""
        if self.squared:
            b = float(self.y.mean())
            c = np.asarray(np.linalg.solve(K + np.eye(len(K)) / (2.0 * self.C), self.y - b), dtype=np.float64)
            scores = K @ c + b
            losses = (self.y - scores) ** 2
        else:
            # Tight, since the steps below compare objectives.
            svm = SVC(kernel="precomputed", C=self.C, tol=1e-5).fit(K, self.y)
            c, b = np.zeros(len(K)), float(svm.intercept_[0])
            c[svm.support_] = svm.dual_coef_[0]
            scores = K @ c + b
            losses = np.maximum(0.0, 1.0 - self.y * scores)
        return Fitted(c, b, 0.5 * float(c @ K @ c) + self.C * float(losses.sum()))

    def _gain(self, c: Floats, table: Floats) -> tuple[float, Floats]:
        """How steeply mass on a completion lowers the objective, and the slope of that in it."""
        K = self._kernel(table)
        near, slopes = self.prior.near(self.X, table)
        strength = self.C * self.gamma
        gain = 0.5 * float(c @ K @ c) - strength * float((1.0 - 2.0 * near + self.norms).sum())
        pulls = c[:, np.newaxis] * K * c
        slope = 2.0 * self.width * (pulls @ table - pulls.sum(axis=1, keepdims=True) * table)
        return gain, np.where(self.missing, slope + 2.0 * strength * slopes, 0.0)

    def _steepest(self, c: Floats, tables: list[Floats], restarts: int) -> Floats:
        """The best completion found by gradient ascent from several places."""
        starts = [tables[0], tables[-1]][: len(tables)]
        starts += [self._drawn() for _ in range(restarts)]
        ends = [self._ascended(c, start) for start in starts]
        return max(ends, key=lambda end: end[0])[1]

    def _drawn(self) -> Floats:
        """A completion with values drawn from the observed ones of each column."""
        table = self.prior.points(self.X).copy()
        for j in np.flatnonzero(self.missing.any(axis=0)):
            rows = self.missing[:, j]
            if not rows.all():
                table[rows, j] = self.rng.choice(self.X[~rows, j], rows.sum())
        return table

    def _ascended(self, c: Floats, table: Floats, steps: int = 20) -> tuple[float, Floats]:
        value, slope = self._gain(c, table)
        # The first step moves the steepest value by a tenth of a standard deviation.
        length = 0.1 / max(float(np.abs(slope).max()), 1e-12)
        for _ in range(steps):
            moved = table + length * slope
            next_value, next_slope = self._gain(c, moved)
            if next_value > value:
                small = next_value - value < 1e-6 * max(1.0, abs(value))
                table, value, slope = moved, next_value, next_slope
                length *= 2.0
                if small:
                    break
            else:
                length *= 0.25
        return value, table

    def _line(self, K: Floats, K_new: Floats, Q: float, Q_new: float) -> float:
        """The weight of the new completion at which the objective is least: an exact search."""

        def slope(beta: float) -> float:
            c = self._machine((1 - beta) * K + beta * K_new).c
            return -0.5 * float(c @ (K_new - K) @ c) + self.C * self.gamma * (Q_new - Q)

        if slope(0.0) >= 0:
            return 0.0
        if slope(1.0) <= 0:
            return 1.0
        return float(brentq(slope, 0.0, 1.0, xtol=1e-4))

    def _reduced(self, tables: list[Floats], weights: Floats, c: Floats) -> tuple[list[Floats], Floats]:
        """n + 2 completions at most with the same scores and the same Q [D, Theorem 1]."""
        while len(tables) > len(self.X) + 2:
            columns = [np.append(self._kernel(table) @ c, [self._distance(table), 1.0]) for table in tables]
            direction = np.linalg.svd(np.array(columns).T)[2][-1]
            ratios = np.where(direction > 0, weights / np.where(direction > 0, direction, 1.0), np.inf)
            weights = weights - ratios.min() * direction
            weights[ratios.argmin()] = 0.0
            tables, weights = _pruned(tables, weights)
        return tables, weights


def _pruned(tables: list[Floats], weights: Floats) -> tuple[list[Floats], Floats]:
    kept = np.flatnonzero(weights > LEAST_WEIGHT)
    return [tables[i] for i in kept], weights[kept] / weights[kept].sum()


class _WII(Baseline):
    def __init__(self, prior: str = "gauss", C: float | None = None, gamma: float = 1.0,
                 width: float | None = None, max_iter: int = 10, restarts: int = 1, tol: float = 1e-4,
                 scale: bool = True, random_state: Any = 0, verbose: bool = False) -> None:  # fmt: skip
        self.prior = prior
        self.C = C
        self.gamma = gamma
        self.width = width
        self.max_iter = max_iter
        self.restarts = restarts
        self.tol = tol
        self.scale = scale
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, X: Floats, Y: Floats) -> None:
        if not self.gamma >= 0:
            raise ValueError(f"gamma is a number of 0 or more, not {self.gamma}")
        rng = self._rng()
        self._scaler = Scaler.of(X, scale=self.scale)
        rows = self._scaler(X)
        width = self.width if self.width is not None else 1.0 / X.shape[1]
        self._width = width
        self._prior = prior_named(self.prior, rows, width, rng)
        started = rbf_kernel(self._prior.points(rows), gamma=width)
        self.C_ = self.C if self.C is not None else fit_gram(self._squared, started, Y, None, rng).C
        self.imputations_ = []
        for column, y in enumerate(Y.T):
            self._say(f"column {column + 1} of {Y.shape[1]}, C {self.C_:g}")
            search = Search(rows, y, self._prior, squared=self._squared, C=self.C_, gamma=self.gamma,
                            width=width, rng=rng)  # fmt: skip
            self.imputations_.append(search.run(self.max_iter, self.restarts, self.tol, self._say))
        self.n_iter_ = max(len(found.objectives) for found in self.imputations_)

    def _scores(self, X: Floats) -> Floats:
        rows = self._scaler(X)
        columns = []
        for found in self.imputations_:
            pairs = zip(found.weights, found.tables, strict=True)
            total = sum(weight * (self._prior.kernel(rows, table) @ found.c) for weight, table in pairs)
            columns.append(np.asarray(total) + found.b)
        return np.column_stack(columns)


class InfiniteImputationsClassifier(_WII, BaselineClassifier):
    """Weighted infinite imputations with a support vector machine.

    ``min over f and ω of ½‖f‖² + C (Σ_i max(0, 1 - y_i f(x_i)) + gamma Q(ω))``, with the kernel
    ``∫ K(X) dω(X)`` over completions X of the table, and ``Q^sq(ω) = ∫ Σ_i ‖φ(x_i) - φ̂_i‖² dω``,
    φ̂ given by a prior imputation [D, Optimization Problem 1 and Section 3]. [D]'s Algorithm 1:
    the completion that lowers the objective most steeply is sought by gradient ascent from
    several places; its weight β by an exact line search; and so on.

    Parameters
    ----------
    prior
        ``"mean"`` (MeanInput), ``"gauss"`` (a Gaussian by EM), ``"gmm"`` (ten spherical ones) or
        ``"meanfeat"`` (the mean in feature space).
    C
        Weight of losses and Q, above 0; None to choose one of 0.01 … 100 on random quarters
        held out, for the machine on the prior's completion.
    gamma
        Weight of Q against the losses, 0 or more. As it grows, the prior is all that is left.
    width
        Of the RBF kernel ``exp(-width ‖x - x'‖²)``; None for 1 / d.
    max_iter
        Most completions added, for each column of labels.
    restarts
        Searches from completions with values drawn from the data, besides those from the prior
        and from the completion added last.
    tol
        The end comes when a completion lowers the objective by less than this share.
    scale
        Standardise each column by its observed values first.
    random_state
        Seed of everything drawn.
    verbose
        Print each step on standard error.

    Attributes
    ----------
    imputations_
        One ``Imputations`` per column of labels (one for two classes): tables, weights, the
        decision function, and the objective's course.

    Notes
    -----
    The labels are seen while imputing, so new rows cannot be imputed in the same way: they are
    where the prior puts them. Should more than n + 2 completions have weight, they are
    reduced to so many by the argument of [D, Theorem 1]. Three classes or more are one
    against the rest. The full text of [D] could not be consulted: its abstract, theorem and
    algorithm are followed; for MeanFeat (its Definition 1) see ``priors.MeanFeat``.

    References
    ----------
    [D] Dick, Haider, Scheffer: Learning from Incomplete Data with Infinite Imputations,
    ICML 2008.

    Examples
    --------
    >>> X = np.array([[1.0, np.nan], [2.0, 1.0], [-1.0, -1.0], [np.nan, -2.0]])
    >>> model = InfiniteImputationsClassifier("mean", C=1.0).fit(X, [1, 1, 0, 0])
    >>> model.predict([[1.5, np.nan]])
    array([1])
    """


class InfiniteImputationsRegressor(_WII, BaselineRegressor):
    """Weighted infinite imputations with kernel ridge regression.

    The losses are ``(y_i - f(x_i))²``; otherwise as ``InfiniteImputationsClassifier``.

    Parameters
    ----------
    prior, C, gamma, width, max_iter, restarts, tol, scale, random_state, verbose
        As of ``InfiniteImputationsClassifier``.
    """
