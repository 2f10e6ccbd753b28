"""Support vector machines solved exactly, in few steps for any C.

Decomposition methods (libsvm) slow down without bound as C grows and the norms of rows differ widely, as they
do for geom; a comparator in hindsight must be exact and fast. An interior-point method is both (Fine,
Scheinberg 2001; Ferris, Munson 2002): some twenty steps suffice, each of O(n d²) on features, where the
Hessian of the dual has rank d plus a diagonal, and of O(n³) on a kernel matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from streamkarma.arrays import Floats

#: Tolerance: the duality gap relative to the objective.
GAP = 1e-9

#: Far more steps than any problem has needed; after these the best result so far is returned.
STEPS = 200

#: The fraction of the distance to the boundary of the box that a step covers.
BACK = 0.995


class Hinge(NamedTuple):
    """A minimum of ``½‖w‖² + Σ_i C_i max(0, 1 - y_i (w·z_i + b))``.

    Attributes
    ----------
    w
        Weights of the columns, shape (d,), or for a kernel of the rows, shape (n,): Σ_i w_i φ(z_i).
    b
        The intercept; 0 without one.
    objective
        The value of the minimum.
    """

    w: Floats
    b: float
    objective: float


def linear_svm(Z: Floats, y: Floats, C: float | Floats, intercept: bool = True) -> Hinge:
    """The minimum over w and b of ``½‖w‖² + Σ_i C_i max(0, 1 - y_i (w·z_i + b))``.

    Parameters
    ----------
    Z
        Array of shape (n, d), finite.
    y
        Array of shape (n,) of -1 and 1, both present.
    C
        Weight of the losses, above 0: one number, or one per row.
    intercept
        Whether b is free, or 0.

    Examples
    --------
    >>> found = linear_svm(np.array([[0.0], [2.0], [4.0]]), np.array([-1.0, 1.0, 1.0]), 10.0)
    >>> found.w.round(6).tolist(), round(found.b, 6)
    ([1.0], -1.0)
    """
    n, d = Z.shape
    if d > n:
        # The rows span at most n dimensions: rotate them into n columns.
        Q, R = np.linalg.qr(Z.T)
        found = linear_svm(R.T, y, C, intercept)
        return found._replace(w=Q @ found.w)
    found = _solved(_Features(y[:, np.newaxis] * Z), y, C, intercept)
    return found._replace(w=Z.T @ found.w)


def kernel_svm(K: Floats, y: Floats, C: float | Floats, intercept: bool = True) -> Hinge:
    """The support vector machine with a kernel matrix ``K`` of shape (n, n); scores are ``K @ w + b``.

    The other parameters are those of ``linear_svm``.

    Examples
    --------
    >>> z = np.array([0.0, 2.0, 4.0])
    >>> found = kernel_svm(np.outer(z, z), np.array([-1.0, 1.0, 1.0]), 10.0, intercept=False)
    >>> round(float(z @ found.w), 6), found.b
    (0.5, 0.0)
    """
    return _solved(_Matrix(y[:, np.newaxis] * K * y), y, C, intercept)


Solve = Callable[[Floats], Floats]


class _Hessian(Protocol):
    """The dual's Hessian H = (y_i k(z_i, z_j) y_j)."""

    def times(self, alpha: Floats) -> Floats:
        """H α."""

    def solver(self, D: Floats) -> Solve:
        """The map from v to (H + diag(D))^-1 v."""


class _Features:
    """H = A A' for a matrix A with few columns."""

    def __init__(self, A: Floats) -> None:
        self.A = A

    def times(self, alpha: Floats) -> Floats:
        return np.asarray(self.A @ (self.A.T @ alpha))

    def solver(self, D: Floats) -> Solve:
        scaled = self.A / D[:, np.newaxis]
        # By the Sherman–Morrison–Woodbury formula, only a d × d matrix is factorised.
        small = _inverse(np.eye(self.A.shape[1]) + self.A.T @ scaled)
        return lambda v: np.asarray(v / D - scaled @ small(scaled.T @ v))


class _Matrix:
    """H itself."""

    def __init__(self, H: Floats) -> None:
        self.H = H

    def times(self, alpha: Floats) -> Floats:
        return np.asarray(self.H @ alpha)

    def solver(self, D: Floats) -> Solve:
        return _inverse(self.H + np.diag(D))


def _inverse(M: Floats) -> Solve:
    """The map from v to M^-1 v, for a positive definite M.

    LAPACK is called directly: on small matrices, SciPy's own functions take most of their time for checks.
    """
    factor, info = dpotrf(M)
    if info:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return lambda v: dpotrs(factor, v)[0]


def _solved(H: _Hessian, y: Floats, C: float | Floats, intercept: bool) -> Hinge:
    bound = np.full(len(y), C) if np.isscalar(C) else np.asarray(C, dtype=np.float64)
    best = Hinge(np.zeros(len(y)), 0.0, np.inf)
    point = _start(H, y, bound)
    for _ in range(STEPS):
        alpha, b, s, xi = point
        drawn = H.times(alpha)
        # The dual's α may lie slightly off the plane y·α = 0; the primal is always feasible.
        objective = 0.5 * float(alpha @ drawn) + float(bound @ np.maximum(0.0, 1.0 - drawn - b * y))
        if objective < best.objective:
            best = Hinge(y * alpha, float(b), objective)
        gap = float(alpha @ s + (bound - alpha) @ xi)
        level = not intercept or abs(float(y @ alpha)) <= 1e-8 * float(bound.max())
        if gap <= GAP * max(1.0, objective) and level:
            break
        point = _stepped(H, y, bound, point, intercept)
        if not np.isfinite(point[0]).all():
            break
    return best


_Point = tuple[Floats, float, Floats, Floats]


def _start(H: _Hessian, y: Floats, bound: Floats) -> _Point:
    """α in the middle of a box that both classes can fill equally, with the slacks of its residual."""
    share = np.where(y > 0, (bound[y < 0]).sum(), (bound[y > 0]).sum()) / bound.sum()
    alpha = bound * share
    residual = H.times(alpha) - 1.0
    size = max(1.0, float(np.abs(residual).max()))
    return alpha, 0.0, np.maximum(residual, 0.0) + size, np.maximum(-residual, 0.0) + size


def _stepped(H: _Hessian, y: Floats, bound: Floats, point: _Point, intercept: bool) -> _Point:
    """One predictor-corrector step (Mehrotra 1992)."""
    alpha, b, s, xi = point
    room = bound - alpha
    residual = H.times(alpha) + b * y - 1.0 - s + xi
    off = float(y @ alpha)
    solve = H.solver(s / alpha + xi / room)
    across = solve(y) if intercept else np.zeros_like(y)

    def direction(low: Floats, high: Floats) -> _Point:
        straight = solve(-residual + low / alpha - high / room)
        db = (float(y @ straight) + off) / float(y @ across) if intercept else 0.0
        da = straight - db * across
        return da, db, (low - s * da) / alpha, (high + xi * da) / room

    n = len(y)
    mu = float(alpha @ s + room @ xi) / (2 * n)
    da, _, ds, dx = direction(-alpha * s, -room * xi)
    t = _length(alpha, room, s, xi, da, ds, dx)
    predicted = float((alpha + t * da) @ (s + t * ds) + (room - t * da) @ (xi + t * dx)) / (2 * n)
    centre = mu * (predicted / mu) ** 3
    da, db, ds, dx = direction(centre - alpha * s - da * ds, centre - room * xi + da * dx)
    t = BACK * _length(alpha, room, s, xi, da, ds, dx)
    return alpha + t * da, b + t * db, s + t * ds, xi + t * dx


def _length(alpha: Floats, room: Floats, s: Floats, xi: Floats, da: Floats, ds: Floats, dx: Floats) -> float:
    """The longest step, at most 1, that keeps every part of the point above 0."""
    fastest = max(
        float((-change / value).max()) for value, change in ((alpha, da), (room, -da), (s, ds), (xi, dx))
    )
    return 1.0 / max(1.0, fastest)
