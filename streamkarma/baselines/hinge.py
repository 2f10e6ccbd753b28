"""The linear support vector machine solved exactly, in time linear in the rows.

Decomposition methods (libsvm) slow down without bound as C grows and rows of very different
length meet, as they do for geom; a comparator in hindsight has to be exact and quick. With few
columns an interior-point method is both: the Hessian of the dual is of rank d plus a diagonal
(Fine, Scheinberg 2001; Ferris, Munson 2002), so a step costs O(n d²), and some twenty suffice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from streamkarma.baselines.tables import Floats

#: The end: the duality gap as a share of the objective.
GAP = 1e-9

#: Far more steps than any problem has needed; past them the best answer so far stands.
STEPS = 200

#: How much of the way to the border of the box a step goes.
BACK = 0.995


class Hinge(NamedTuple):
    """Weights, intercept, and the objective ``½‖w‖² + Σ_i C_i max(0, 1 - y_i (w·z_i + b))``."""

    w: Floats
    b: float
    objective: float


def linear_svm(Z: Floats, y: Floats, C: float | Floats) -> Hinge:
    """The minimum over w and b of ``½‖w‖² + Σ_i C_i max(0, 1 - y_i (w·z_i + b))``.

    Parameters
    ----------
    Z
        Array of shape (n, d), finite.
    y
        Array of shape (n,) of -1 and 1, both present.
    C
        Above 0: one number, or one per row.

    Examples
    --------
    >>> found = linear_svm(np.array([[0.0], [2.0], [4.0]]), np.array([-1.0, 1.0, 1.0]), 10.0)
    >>> found.w.round(6).tolist(), round(found.b, 6)
    ([1.0], -1.0)
    """
    n, d = Z.shape
    if d > n:
        # Rows span n dimensions at most: the rest of the columns is a rotation away.
        Q, R = np.linalg.qr(Z.T)
        found = linear_svm(R.T, y, C)
        return found._replace(w=Q @ found.w)
    bound = np.full(n, C) if np.isscalar(C) else np.asarray(C, dtype=np.float64)
    A = y[:, np.newaxis] * Z
    best = Hinge(np.zeros(d), 0.0, np.inf)
    point = _start(A, y, bound)
    for _ in range(STEPS):
        alpha, b, s, xi = point
        w = A.T @ alpha
        # The dual's α may lie a little off the plane y·α = 0; the primal is always feasible.
        objective = 0.5 * float(w @ w) + float(bound @ np.maximum(0.0, 1.0 - A @ w - b * y))
        if objective < best.objective:
            best = Hinge(w, float(b), objective)
        gap = float(alpha @ s + (bound - alpha) @ xi)
        if gap <= GAP * max(1.0, objective) and abs(float(y @ alpha)) <= 1e-8 * float(bound.max()):
            break
        point = _stepped(A, y, bound, point)
        if not np.isfinite(point[0]).all():
            break
    return best


_Point = tuple[Floats, float, Floats, Floats]


def _start(A: Floats, y: Floats, bound: Floats) -> _Point:
    """α in the middle of a box that both classes can fill equally; slacks of its residual."""
    share = np.where(y > 0, (bound[y < 0]).sum(), (bound[y > 0]).sum()) / bound.sum()
    alpha = bound * share
    residual = A @ (A.T @ alpha) - 1.0
    size = max(1.0, float(np.abs(residual).max()))
    return alpha, 0.0, np.maximum(residual, 0.0) + size, np.maximum(-residual, 0.0) + size


def _stepped(A: Floats, y: Floats, bound: Floats, point: _Point) -> _Point:
    """One predictor-corrector step (Mehrotra 1992)."""
    alpha, b, s, xi = point
    room = bound - alpha
    residual = A @ (A.T @ alpha) + b * y - 1.0 - s + xi
    off = float(y @ alpha)
    D = s / alpha + xi / room
    scaled = A / D[:, np.newaxis]
    factor = cho_factor(np.eye(A.shape[1]) + A.T @ scaled)

    def solve(v: Floats) -> Floats:
        # (D + A A')^-1 v by Sherman, Morrison and Woodbury: d × d is all that is factorised.
        solved: Floats = v / D - scaled @ cho_solve(factor, scaled.T @ v)
        return solved

    across = solve(y)

    def direction(low: Floats, high: Floats) -> _Point:
        r = -residual + low / alpha - high / room
        straight = solve(r)
        db = (float(y @ straight) + off) / float(y @ across)
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


def _length(alpha: Floats, room: Floats, s: Floats, xi: Floats, da: Floats, ds: Floats,
            dx: Floats) -> float:  # fmt: skip
    """The longest step, at most 1, that leaves every part of the point above 0."""
    longest = 1.0
    for value, change in ((alpha, da), (room, -da), (s, ds), (xi, dx)):
        falling = change < 0
        if falling.any():
            longest = min(longest, float((-value[falling] / change[falling]).min()))
    return longest
