"""KARMA as in the paper, keeping every example: slow and plain, the reference for the tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.loss import ABSOLUTE, HINGE, HUBER, LOGISTIC, SQUARED, SQUARED_HINGE

Array = NDArray[np.float64]


def kernel(x: Array, z: Array, gamma: int) -> float:
    """k_gamma of two rows with NaN for missing values, by the definition of G."""
    both = ~np.isnan(x) & ~np.isnan(z)
    n = int(both.sum())
    return float(sum(n**level for level in range(gamma)) * (x[both] @ z[both]))


def algorithm_1(rows: Array, labels: Any, gamma: int, normalize: bool, rho: float,
                eta: float | None, slope: Callable[[Any, Any], Any], classes: int = 1,
                average: bool = False, weights: Any = None) -> Array:  # fmt: skip
    """Scores before each event is learned; ``alphas[i]`` is the coefficient of example i."""
    norms = [np.sqrt(kernel(x, x, gamma)) if normalize else 1.0 for x in rows]
    alphas = np.zeros((len(rows), classes))
    total, scores = np.zeros((len(rows), classes)), []
    for t, x in enumerate(rows):
        k = np.array([kernel(rows[i], x, gamma) / (norms[i] * norms[t]) for i in range(t)])
        f = alphas[:t].T @ k if t else np.zeros(classes)
        # The averaged predictor covers v_1 … v_t, before event t is learned.
        scores.append(total[:t].T @ k / t if average and t else f)
        total += alphas
        step = eta if eta is not None else 1.0 / (rho * (t + 1))
        alphas[:t] *= 1.0 - step * rho
        weight = 1.0 if weights is None else weights[t]
        alphas[t] = -step * weight * np.asarray(slope(f if classes > 1 else f[0], labels[t]))
    return np.array(scores)


def explicit_features(x: Array, gamma: int) -> Array:
    """phi_gamma: a coordinate x_k for each sequence of fewer than gamma observed attributes."""
    observed = (~np.isnan(x)).astype(float)
    values = np.nan_to_num(x)
    features = [values]
    marks = np.ones(1)
    for _ in range(gamma - 1):
        marks = np.kron(marks, observed)
        features.append(np.kron(marks, values))
    return np.concatenate(features)


def stream(seed: int, events: int, attributes: int, patterns: int | None = None) -> Array:
    """Random rows with about half of the values missing, optionally with a given number of patterns."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((events, attributes))
    masks = rng.random((patterns or events, attributes)) < 0.5
    masks[:, 0] |= ~masks.any(axis=1)
    chosen = rng.integers(0, patterns, events) if patterns else np.arange(events)
    rows[~masks[chosen]] = np.nan
    return rows


def loss_and_slope(code: int, f: float, y: float) -> tuple[float, float]:
    """The loss of a score by the table in ``core.loss``, and its derivative."""
    lack, off = 1.0 - y * f, f - y
    if code == HINGE:
        return (lack, -y) if lack > 0 else (0.0, 0.0)
    if code == SQUARED_HINGE:
        return (lack**2, -2.0 * y * lack) if lack > 0 else (0.0, 0.0)
    if code == LOGISTIC:
        return float(np.logaddexp(0.0, -y * f)), float(-y * np.exp(-np.logaddexp(0.0, y * f)))
    if code == SQUARED:
        return off**2, 2.0 * off
    if code == ABSOLUTE:
        return abs(off), float(np.sign(off))
    if code == HUBER:
        return (0.5 * off**2, off) if abs(off) <= 1.0 else (abs(off) - 0.5, float(np.sign(off)))
    return (abs(off) - 0.1, float(np.sign(off))) if abs(off) > 0.1 else (0.0, 0.0)


def multiclass_loss_and_slopes(code: int, scores: Array, label: int, slopes: Array) -> float:
    """The same for one score per class; ``slopes`` receives the derivatives."""
    one = np.eye(len(scores))
    if code == LOGISTIC:
        total = np.logaddexp.reduce(scores)
        slopes[:] = np.exp(scores - total) - one[label]
        return float(total - scores[label])
    rival = int(np.argmax(np.where(one[label] > 0, -np.inf, scores)))
    lack = max(0.0, 1.0 + scores[rival] - scores[label])
    slopes[:] = (float(lack > 0.0) if code == HINGE else 2.0 * lack) * (one[rival] - one[label])
    return float(lack if code == HINGE else lack**2)
