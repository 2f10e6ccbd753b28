"""KARMA as the paper writes it, every example kept: slow, plain, and what the rest is held to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def kernel(x: Array, z: Array, gamma: int) -> float:
    """k_gamma of two rows with NaN for what is missing, by the definition of G."""
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
        # The averaged predictor is of v_1 … v_t: the one that stands has met no event yet.
        scores.append(total[:t].T @ k / t if average and t else f)
        total += alphas
        step = eta if eta is not None else 1.0 / (rho * (t + 1))
        alphas[:t] *= 1.0 - step * rho
        weight = 1.0 if weights is None else weights[t]
        alphas[t] = -step * weight * np.asarray(slope(f if classes > 1 else f[0], labels[t]))
    return np.array(scores)


def explicit_features(x: Array, gamma: int) -> Array:
    """phi_gamma: one coordinate x_k per sequence of fewer than gamma observed attributes."""
    observed = (~np.isnan(x)).astype(float)
    values = np.nan_to_num(x)
    features = [values]
    marks = np.ones(1)
    for _ in range(gamma - 1):
        marks = np.kron(marks, observed)
        features.append(np.kron(marks, values))
    return np.concatenate(features)


def stream(seed: int, events: int, attributes: int, patterns: int | None = None) -> Array:
    """Random rows with about half missing, of a given number of observed sets if wanted."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((events, attributes))
    masks = rng.random((patterns or events, attributes)) < 0.5
    masks[:, 0] |= ~masks.any(axis=1)
    chosen = rng.integers(0, patterns, events) if patterns else np.arange(events)
    rows[~masks[chosen]] = np.nan
    return rows
