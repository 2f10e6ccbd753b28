"""Completion of a matrix of labels and features by fixed-point continuation (Goldberg et al. 2010).

Examples and labels form one matrix Z (here with examples as rows), which has low rank if the labels are
linear in the features. Its unknown entries, missing features and new labels, are completed together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from streamkarma.arrays import Floats
from streamkarma.baselines.tables import zero_filled

#: Factor from one μ of the continuation to the next, and from the first singular value to the
#: first μ [Goldberg et al., Section 3.3].
DECAY = 0.25


class Problem(NamedTuple):
    """The known entries of the matrix, and the treatment of the labels.

    Attributes
    ----------
    Y
        Array of shape (n, m): labels, -1 or 1 or numbers, NaN where unknown.
    X
        Array of shape (n, d): features, NaN where missing.
    ones
        Whether the bias is a column of ones in the matrix (mc1). Otherwise each label column has its own bias
        outside the matrix (mcb).
    squared
        Whether labels have the squared instead of the logistic loss.
    """

    Y: Floats
    X: Floats
    ones: bool
    squared: bool


class _Smooth:
    """The smooth part of the objective: λ/|Ω_Y| Σ c_y(z + b, y) + 1/|Ω_X| Σ ½ (z - x)²."""

    def __init__(self, problem: Problem, weight: float) -> None:
        labelled, seen = ~np.isnan(problem.Y), ~np.isnan(problem.X)
        self._squared = problem.squared
        self._Y, self._X = zero_filled(problem.Y), zero_filled(problem.X)
        # The weight of each entry, 0 if it is unknown.
        self._weights = labelled * (weight / max(labelled.sum(), 1)), seen / max(seen.sum(), 1)

    def __call__(self, Z: Floats, b: Floats) -> tuple[float, Floats, Floats]:
        """Its value, and its gradients in Z and in b."""
        m, d = self._Y.shape[1], self._X.shape[1]
        of_labels, of_features = self._weights
        scores = Z[:, :m] + b
        if self._squared:
            pull = scores - self._Y
            losses = 0.5 * pull**2
        else:
            margins = self._Y * scores
            pull, losses = -self._Y * expit(-margins), np.logaddexp(0.0, -margins)
        away = Z[:, m : m + d] - self._X
        g = np.zeros_like(Z)
        g[:, :m] = of_labels * pull
        g[:, m : m + d] = of_features * away
        value = np.vdot(of_labels, losses) + 0.5 * np.vdot(g[:, m : m + d], away)
        return float(value), g, g[:, :m].sum(axis=0)


class Completed(NamedTuple):
    """The matrix at one μ of the path: Z with labels first, b, and the objective at each step."""

    mu: float
    Z: Floats
    b: Floats
    objectives: list[float]


def complete(
    problem: Problem, weight: float, mu: float, tol: float, max_iter: int, say: Any = lambda text: None
) -> list[Completed]:
    """Fixed-point continuation: proximal gradient steps while μ falls from σ_1/4 to ``mu``.

    Step sizes are those of the paper: τ_Z = min(3.8 |Ω_Y| / λ, |Ω_X|) and τ_b = 4 |Ω_Y| / (λ n), and a
    quarter of them for the squared loss on labels (whose curvature is 1, not ¼).

    Parameters
    ----------
    problem
        The matrix.
    weight
        λ, above 0.
    mu
        Smallest weight of the nuclear norm, where the path ends.
    tol
        Steps at one μ end when the objective falls by less than this fraction.
    max_iter
        Maximum number of steps at one μ.
    say
        Called with lines of progress.

    Returns
    -------
    One ``Completed`` per μ, in decreasing order.
    """
    Y, X, ones, squared = problem
    n = len(Y)
    labels, features = max(int((~np.isnan(Y)).sum()), 1), max(int((~np.isnan(X)).sum()), 1)
    curvature = 1.0 if squared else 0.25
    step = min(0.95 * labels / (weight * curvature), features)
    step_b = 0.0 if ones else labels / (weight * curvature * n)
    Z, b = _rank_one(problem), np.zeros(Y.shape[1])
    path = [max(DECAY * float(np.linalg.norm(Z, 2)), mu)]
    while path[-1] > mu:
        path.append(max(path[-1] * DECAY, mu))
    smooth = _Smooth(problem, weight)
    value, g, g_b = smooth(Z, b)
    done = []
    for at in path:
        objectives = [value + at * _nuclear(Z)]
        for _ in range(max_iter):
            Z, norm = _shrunk(Z - step * g, step * at)
            b = b - step_b * g_b
            if ones:
                Z[:, -1] = 1.0
                norm = _nuclear(Z)
            value, g, g_b = smooth(Z, b)
            objectives.append(value + at * norm)
            if objectives[-2] - objectives[-1] <= tol * abs(objectives[-2]):
                break
        say(f"mu {at:.2g}: {len(objectives) - 1} steps, objective {objectives[-1]:.6g}")
        done.append(Completed(at, Z.copy(), b.copy(), objectives))
    return done


def _rank_one(problem: Problem) -> Floats:
    """The best rank-one approximation of the matrix with 0 for unknown entries."""
    parts = [zero_filled(problem.Y), zero_filled(problem.X)]
    if problem.ones:
        parts.append(np.ones((len(problem.Y), 1)))
    U, s, Vt = np.linalg.svd(np.hstack(parts), full_matrices=False)
    Z: Floats = s[0] * np.outer(U[:, 0], Vt[0])
    if problem.ones:
        Z[:, -1] = 1.0
    return Z


def _shrunk(A: Floats, by: float) -> tuple[Floats, float]:
    """``A`` with its singular values reduced by ``by``, to no less than 0, and their new sum."""
    if A.shape[0] < A.shape[1]:
        Z, norm = _shrunk(A.T, by)
        return Z.T, norm
    # A is tall: the small product A'A is several times as fast as a full decomposition.
    squares, V = np.linalg.eigh(A.T @ A)
    s = np.sqrt(np.maximum(squares, 0.0))
    left = np.maximum(s - by, 0.0)
    kept = left > 0
    return A @ (V[:, kept] * (left[kept] / s[kept])) @ V[:, kept].T, float(left.sum())


def _nuclear(Z: Floats) -> float:
    small = Z.T @ Z if Z.shape[0] >= Z.shape[1] else Z @ Z.T
    return float(np.sqrt(np.maximum(np.linalg.eigvalsh(small), 0.0)).sum())
