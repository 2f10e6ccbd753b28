"""geom: the margin of each example in its own observed subspace (Chechik et al. 2008)."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import rbf_kernel

from streamkarma.arrays import Bools, Floats
from streamkarma.baselines.base import WeightedClassifier
from streamkarma.baselines.density import STACK
from streamkarma.baselines.hinge import kernel_svm, linear_svm
from streamkarma.baselines.progress import Progress
from streamkarma.baselines.tables import Scaler, patterns, zero_filled
from streamkarma.baselines.tuning import GRID, WIDTHS, Choice, candidates, middle

#: Lower limit of the share of ‖w‖ in an example's subspace. With no limit, the constraint of an example whose
#: columns have no weight yet would be unbounded.
LEAST = 1e-2

#: Rows whose coefficient is below this fraction of the largest are not support vectors.
NO_SUPPORT = 1e-6

KERNELS = ("linear", "rbf")

_Setting = tuple[float | None, float]


class Margin(Protocol):
    """A decision function that can compute the share of ‖w‖ in a row's subspace."""

    def shares(self, X: Floats) -> Floats:
        """s_i = ‖w_i‖ / ‖w‖ for each row, at least ``LEAST``."""

    def scores(self, X: Floats) -> Floats:
        """``w·x / s + b`` for each row."""


class LinearMargin:
    """``w·x / s + b``.

    Examples
    --------
    >>> margin = LinearMargin(np.array([3.0, 4.0]), 0.0)
    >>> margin.shares(np.array([[1.0, np.nan], [1.0, 1.0]])).tolist()
    [0.6, 1.0]
    """

    def __init__(self, w: Floats, b: float) -> None:
        self.w, self.b = w, b

    def shares(self, X: Floats) -> Floats:
        parts = (~np.isnan(X)).astype(np.float64) @ (self.w * self.w)
        return _shares(parts, float(self.w @ self.w))

    def scores(self, X: Floats) -> Floats:
        return np.asarray(zero_filled(X) @ self.w / self.shares(X) + self.b)


class RBFMargin:
    """The same for ``w = Σ_j c_j φ(x_j)``: for w_i, each x_j is restricted to the columns of row i.

    Parameters
    ----------
    rows
        Array of shape (m, d): the support vectors, 0 for missing values.
    c, b
        Their coefficients, and the intercept.
    width
        Width of the kernel.
    """

    def __init__(self, rows: Floats, c: Floats, b: float, width: float) -> None:
        kept = np.abs(c) > NO_SUPPORT * max(float(np.abs(c).max()), 1e-300)
        self.rows, self.c, self.b, self.width = rows[kept], c[kept], b, width

    def shares(self, X: Floats) -> Floats:
        found = patterns(X)
        whole = np.full((1, X.shape[1]), True)
        squares = self._squares(np.vstack([found.observed, whole]))
        return _shares(squares[found.of], float(squares[-1]))

    def _squares(self, observed: Bools) -> Floats:
        """``‖w_o‖²`` for each set o of columns: shape (sets,)."""
        total = np.full(len(observed), float(self.c @ self.c))
        # Squared distances are sums over the columns of o: one matrix product computes them for all sets.
        first, second = np.triu_indices(len(self.c), 1)
        size = max(1, STACK // len(observed))
        for start in range(0, len(first), size):
            j, k = first[start : start + size], second[start : start + size]
            distances = (self.rows[j] - self.rows[k]) ** 2 @ observed.T.astype(np.float64)
            total += 2.0 * (self.c[j] * self.c[k]) @ np.exp(-self.width * distances)
        return total

    def scores(self, X: Floats) -> Floats:
        K = rbf_kernel(zero_filled(X), self.rows, gamma=self.width)
        return np.asarray(K @ self.c / self.shares(X) + self.b)


def _shares(parts: Floats, whole: float) -> Floats:
    if whole <= 0:
        return np.ones(len(parts))
    return np.maximum(np.sqrt(np.maximum(parts, 0.0) / whole), LEAST)


class GeometricMarginClassifier(WeightedClassifier):
    """Maximum margin, measured for each example in its own observed subspace.

    ``max_w min_i y_i (w_i·x_i + b) / ‖w_i‖``, where w_i are the weights of the observed columns of example i,
    in its soft-margin form, by the iterative algorithm of Chechik et al. (Section 4.3): with ``s_i = ‖w_i‖ /
    ‖w‖`` fixed,

        ``min ½‖w‖² + C Σ_i ξ_i   subject to   y_i (w·x_i / s_i + b) ≥ 1 - ξ_i,  ξ_i ≥ 0``

    is an ordinary support vector machine on x_i / s_i; then s is recomputed.

    Parameters
    ----------
    C
        As in ``ImputedClassifier``.
    iterations
        Number of times the machine is trained, the first time with s = 1. [H] used 5.
    kernel
        ``"linear"`` as in [H], or ``"rbf"`` as in [S].
    width
        Width of the RBF kernel, as in ``ImputedClassifier``.
    scale
        Standardise each column by its observed values first.
    random_state
        Seed of the held-out quarters.
    verbose
        Print progress on standard error.

    Attributes
    ----------
    margins_
        One ``LinearMargin`` or ``RBFMargin`` per column of labels (one for two classes), for the
        scaled columns.
    C_, width_
        The values used; the linear kernel has no width.

    Notes
    -----
    b is not divided by s_i, because an intercept cannot be missing. The problem is not convex and the
    iteration need not converge; s_i is at least 0.01. On complete data s = 1, and this is the ordinary
    support vector machine. [H] and [S] have two classes; three or more are handled one against the rest.

    The kernel uses scalar products over the columns observed in both examples, which means that missing
    values are 0: ``exp(-width ‖x - x'‖²)`` of the rows so filled is positive semidefinite, and ``‖w_i‖² =
    Σ_jk c_j c_k k(x_j, x_k)`` with x_j and x_k restricted to the columns of example i. This needs a kernel
    matrix of the support vectors for each missingness pattern. The text of the paper was not available; this
    follows its published outline and later work based on it.

    References
    ----------
    Chechik, Heitz, Elidan, Abbeel, Koller: Max-margin Classification of Data with Absent
    Features, JMLR 9, 2008.

    Examples
    --------
    >>> X = np.array([[1.0, np.nan], [2.0, 1.0], [-1.0, -1.0], [np.nan, -2.0]])
    >>> GeometricMarginClassifier(C=1.0).fit(X, [1, 1, 0, 0]).predict([[0.5, np.nan]])
    array([1])
    """

    def __init__(
        self,
        C: Choice = None,
        iterations: int = 5,
        kernel: str = "linear",
        width: Choice = None,
        scale: bool = True,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.C = C
        self.iterations = iterations
        self.kernel = kernel
        self.width = width
        self.scale = scale
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, X: Floats, Y: Floats, weights: Floats | None) -> None:
        if self.iterations < 1:
            raise ValueError(f"iterations must be 1 or more, not {self.iterations}")
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, not {self.kernel!r}")
        self._scaler = Scaler.of(X, scale=self.scale, weights=weights)
        rows = self._scaler(X)
        cost = np.ones(len(X)) if weights is None else weights
        default = [factor / X.shape[1] for factor in WIDTHS]
        widths = candidates("width", self.width, default) if self.kernel == "rbf" else (None,)
        values = candidates("C", self.C, GRID)

        def trial(setting: _Setting, rest: NDArray[Any], quarter: NDArray[Any]) -> Floats:
            margins = self._trained(rows[rest], Y[rest], cost[rest], setting)
            return np.column_stack([margin.scores(rows[quarter]) for margin in margins])

        settings = [(width, C) for width in widths for C in values]
        best = self._holdout(Y, weights).best(settings, (widths[-1], middle(values, 1.0)), trial)
        self.width_, self.C_ = best
        progress = Progress(self._say, Y.shape[1] * self.iterations, "machines trained")
        self.margins_ = self._trained(rows, Y, cost, best, progress)

    def _scores(self, X: Floats) -> Floats:
        rows = self._scaler(X)
        return np.column_stack([margin.scores(rows) for margin in self.margins_])

    def _trained(
        self, X: Floats, Y: Floats, cost: Floats, setting: _Setting, progress: Progress | None = None
    ) -> list[Margin]:
        return [self._one(X, y, cost, setting, progress) for y in Y.T]

    def _one(
        self, X: Floats, y: Floats, cost: Floats, setting: _Setting, progress: Progress | None
    ) -> Margin:
        width, C = setting
        if np.all(y == y[0]):
            return LinearMargin(np.zeros(X.shape[1]), float(y[0]))
        filled = zero_filled(X)
        K = rbf_kernel(filled, gamma=width) if width is not None else None
        margin: Margin | None = None
        for _ in range(self.iterations):
            s = np.ones(len(X)) if margin is None else margin.shares(X)
            if K is None or width is None:
                w, b, _ = linear_svm(filled / s[:, np.newaxis], y, C * cost)
                margin = LinearMargin(w, b)
            else:
                c, b, _ = kernel_svm(K / np.outer(s, s), y, C * cost)
                margin = RBFMargin(filled, c / s, b, width)
            if progress is not None:
                progress.step()
        assert margin is not None
        return margin
