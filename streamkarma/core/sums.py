"""Sums of products, event by event: the same to the last bit however events are cut into blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import borrowing, compiled

Floats = NDArray[np.float64]


@borrowing
def dot(left: Floats, right: Floats) -> float:
    """Sum of products, over as many as ``left`` has; four sums side by side, for none to wait for the last.

    Examples
    --------
    >>> dot(np.arange(6.0), np.ones(6))
    15.0
    """
    s0 = s1 = s2 = s3 = 0.0
    whole = left.size // 4 * 4
    for i in range(0, whole, 4):
        s0 += left[i] * right[i]
        s1 += left[i + 1] * right[i + 1]
        s2 += left[i + 2] * right[i + 2]
        s3 += left[i + 3] * right[i + 3]
    for i in range(whole, left.size):
        s0 += left[i] * right[i]
    return (s0 + s1) + (s2 + s3)


@compiled
def add_products(matrix: NDArray[np.float64], rows: NDArray[np.float64], weights: Floats) -> None:
    """Add ``w v v'`` for each row v, one after another.

    Parameters
    ----------
    matrix
        Shape (k, k), added to.
    rows
        Shape (n, k); mostly zeros, which are passed over.
    weights
        Shape (n,).

    Examples
    --------
    >>> total = np.zeros((2, 2))
    >>> add_products(total, np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([1.0, 3.0]))
    >>> total.tolist()
    [[1.0, 2.0], [2.0, 7.0]]
    """
    width = rows.shape[1]
    there = np.empty(width, np.int64)
    for t in range(rows.shape[0]):
        count = 0
        for k in range(width):
            if rows[t, k] != 0.0:
                there[count] = k
                count += 1
        for i in range(count):
            weighed = weights[t] * rows[t, there[i]]
            for j in range(count):
                matrix[there[i], there[j]] += weighed * rows[t, there[j]]
