"""The KARMA kernel k_gamma [H, Thm 4], for numbers and for batches.

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from streamkarma.arrays import Floats
from streamkarma.errors import UsageError
from streamkarma.printable import shown

Overlap = TypeVar("Overlap", float, Floats)


def growth(overlap: Overlap, gamma: int) -> Overlap:
    """G_gamma(n) = 1 + n + ... + n^(gamma-1), by Horner's rule.

    For two events that share n attributes, this is the number of index sequences shorter than ``gamma`` that
    they have in common: the number of times KARMA's feature map repeats every shared coordinate.

    Parameters
    ----------
    overlap
        n, the number of attributes observed in both events, 0 or more; or an array of such numbers.
    gamma
        Order of the kernel, 1 or more; 1 is zero imputation.

    Examples
    --------
    >>> growth(3.0, 4)  # 1 + 3 + 9 + 27
    40.0
    >>> growth(np.array([0.0, 3.0]), 4)
    array([ 1., 40.])
    """
    total = 0.0 * overlap + 1.0
    for _ in range(gamma - 1):
        total = total * overlap + 1.0
    return total


def gram(X: ArrayLike, Z: ArrayLike | None = None, *, gamma: int = 2, normalize: bool = False) -> Floats:
    """Kernel matrix of events given as rows, with NaN for missing values.

    Parameters
    ----------
    X
        Array of shape (n, d); every column is a numeric attribute, NaN is missing.
    Z
        Array of shape (m, d); ``X`` itself by default.
    gamma
        Order of the kernel, 1 or more.
    normalize
        Divide by ``sqrt(k(x, x) k(z, z))``. A row without an observed nonzero value has norm 0; its entries
        are 0.

    Returns
    -------
    Array of shape (n, m): ``G_gamma(|o ∩ o'|) * sum of x_i x'_i over o ∩ o'``.

    Raises
    ------
    ValueError
        If ``gamma`` is not a positive integer (a UsageError), the shapes do not match, or a value is
        infinite.

    Examples
    --------
    >>> gram([[1.0, 2.0, float("nan")], [1.0, 1.0, 1.0]], gamma=2)
    array([[15.,  9.],
           [ 9., 12.]])
    """
    check_gamma(gamma)
    left = _rows(X, "X")
    right = left if Z is None else _rows(Z, "Z")
    if left.shape[1] != right.shape[1]:
        raise ValueError(f"X has {left.shape[1]} columns, Z has {right.shape[1]}")
    overlap = _observed(left) @ _observed(right).T
    result = np.ones_like(overlap)
    for _ in range(gamma - 1):
        result *= overlap
        result += 1.0
    result *= np.nan_to_num(left) @ np.nan_to_num(right).T
    if normalize:
        result *= _inverse_norms(left, gamma)[:, None]
        result *= _inverse_norms(right, gamma)[None, :]
    return result


def check_gamma(gamma: Any) -> int:
    """Return ``gamma`` if it is a positive integer, else raise UsageError."""
    if isinstance(gamma, bool) or not isinstance(gamma, (int, np.integer)) or gamma < 1:
        raise UsageError(f"gamma must be an integer of 1 or more, not {shown(gamma)}")
    return int(gamma)


def _rows(X: ArrayLike, name: str) -> Floats:
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, not {rows.ndim}")
    if np.isinf(rows).any():
        raise ValueError(f"{name} holds an infinite value")
    return rows


def _observed(rows: Floats) -> Floats:
    observed: Floats = (~np.isnan(rows)).astype(np.float64)
    return observed


def _inverse_norms(rows: Floats, gamma: int) -> Floats:
    sizes = _observed(rows).sum(axis=1)
    squares = np.nansum(rows * rows, axis=1)
    for_each = np.ones_like(sizes)
    for _ in range(gamma - 1):
        for_each = for_each * sizes + 1.0
    squares = squares * for_each
    inverse: Floats = np.divide(1.0, np.sqrt(squares), out=np.zeros_like(squares), where=squares > 0)
    return inverse
