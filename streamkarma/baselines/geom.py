"""geom: each example's margin in the subspace of what it has (Chechik et al. 2008)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.baselines.base import BaselineClassifier
from streamkarma.baselines.hinge import linear_svm
from streamkarma.baselines.machines import chosen, grid
from streamkarma.baselines.tables import Floats, Scaler, zero_filled

#: Least share of ‖w‖ that an example's subspace is taken to have. Below, its margin would ask
#: for anything: an example none of whose columns carries weight yet would never get one.
LEAST = 1e-2


class GeometricMarginClassifier(BaselineClassifier):
    """Maximum margin, measured for each example in its own observed subspace.

    ``max_w min_i y_i (w_i·x_i + b) / ‖w_i‖`` with w_i the weights of what example i has, in its
    soft form, by the iterative algorithm of Chechik et al. (Section 4.3): with
    ``s_i = ‖w_i‖ / ‖w‖`` held fixed,

        ``min ½‖w‖² + C Σ_i ξ_i   subject to   y_i (w·x_i / s_i + b) ≥ 1 - ξ_i,  ξ_i ≥ 0``

    is an ordinary support vector machine on x_i / s_i; then s is computed anew.

    Parameters
    ----------
    C
        As of ``ImputedClassifier``.
    iterations
        How often the machine is trained; s = 1 the first time. [H] used 5.
    scale
        Standardise each column by its observed values first.
    random_state
        Seed of the held-out quarters.

    Attributes
    ----------
    coef_, intercept_
        Arrays of shape (m, d) and (m,), for the scaled columns; m is 1 for two classes.

    Notes
    -----
    b is not divided by s_i: the intercept is no coordinate that an example could lack. The
    problem is not convex and the iteration need not settle; s_i is held to 0.01 at least.
    On complete data s = 1 and this is the ordinary linear support vector machine. Three
    classes or more are one against the rest. The text of the paper could not be consulted;
    this follows its published outline and the descriptions of those who built on it.

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

    def __init__(self, C: float | None = None, iterations: int = 5, scale: bool = True,
                 random_state: Any = 0) -> None:  # fmt: skip
        self.C = C
        self.iterations = iterations
        self.scale = scale
        self.random_state = random_state

    def _learn(self, X: Floats, Y: Floats) -> None:
        if self.iterations < 1:
            raise ValueError(f"iterations is 1 or more, not {self.iterations}")
        self._scaler = Scaler.of(X, scale=self.scale)
        rows = self._scaler(X)

        def trial(C: float, rest: NDArray[Any], quarter: NDArray[Any]) -> Floats:
            return scores(rows[quarter], *self._trained(rows[rest], Y[rest], C))

        self.C_ = chosen(grid(self.C), 1.0, trial, Y, False, self._rng())
        self.coef_, self.intercept_ = self._trained(rows, Y, self.C_)

    def _scores(self, X: Floats) -> Floats:
        return scores(self._scaler(X), self.coef_, self.intercept_)

    def _trained(self, X: Floats, Y: Floats, C: float) -> tuple[Floats, Floats]:
        pairs = [self._one(X, y, C) for y in Y.T]
        return np.array([w for w, _ in pairs]), np.array([b for _, b in pairs])

    def _one(self, X: Floats, y: Floats, C: float) -> tuple[Floats, float]:
        values = zero_filled(X)
        w, b = np.ones(X.shape[1]), float(y.mean())
        if np.all(y == y[0]):
            return np.zeros(X.shape[1]), b
        for step in range(self.iterations):
            s = shares(X, w) if step else np.ones(len(X))
            w, b, _ = linear_svm(values / s[:, np.newaxis], y, C)
        return w, b


def shares(X: Floats, w: Floats) -> Floats:
    """s_i: the share of ‖w‖ that lies on the columns each row has, ``LEAST`` at least.

    Examples
    --------
    >>> shares(np.array([[1.0, np.nan], [1.0, 1.0]]), np.array([3.0, 4.0])).tolist()
    [0.6, 1.0]
    """
    whole = float(w @ w)
    if whole == 0:
        return np.ones(len(X))
    parts = (~np.isnan(X)).astype(np.float64) @ (w * w)
    return np.maximum(np.sqrt(parts / whole), LEAST)


def scores(X: Floats, coef: Floats, intercept: Floats) -> Floats:
    """``w·x / s + b`` for each row and each pair of w and b."""
    values = zero_filled(X)
    columns = [values @ w / shares(X, w) + b for w, b in zip(coef, intercept, strict=True)]
    return np.column_stack(columns)
