"""Removes values from complete tables, by the three mechanisms of [S, section 4.1].

Each function takes a complete table and the share of values to remove, and returns a copy with NaN
for the removed values. The removal of 85 % at random in [D] is ``mcar`` with a share of 0.85.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from sklearn.utils import check_array, check_random_state

from streamkarma.arrays import Floats

#: Directions of standardised columns with less than this fraction of the largest variance count as constant.
NO_VARIANCE = 1e-12


class VisibleHalf(NamedTuple):
    """The result of ``nmar``.

    Attributes
    ----------
    X
        Array of shape (n, visible): the visible columns, NaN for removed values.
    columns
        Array of shape (visible,): their indices in the complete table, in increasing order.
    """

    X: Floats
    columns: Any


def mcar(X: ArrayLike, share: float, random_state: Any = 0) -> Floats:
    """Remove values completely at random.

    Parameters
    ----------
    X
        Array of shape (n, d) without NaN.
    share
        Share of all values to remove, above 0 and below 1.
    random_state
        Seed of the removal.

    Returns
    -------
    Array of shape (n, d). Exactly ``share`` of its values, up to rounding, are NaN: the paper speaks of a
    fixed percentage. A row or column may lose all of its values.

    Raises
    ------
    ValueError
        If X is not a table of finite numbers, or the share is out of range.

    Examples
    --------
    >>> int(np.isnan(mcar(np.ones((50, 4)), 0.85)).sum())
    170
    """
    table, rng = _checked(X, share), check_random_state(random_state)
    table.flat[rng.permutation(table.size)[: round(share * table.size)]] = np.nan
    return table


def mar(X: ArrayLike, share: float, random_state: Any = 0) -> Floats:
    """Remove values depending on the position of the row among all rows: missing at random in [S].

    For each column i, a row x_i of the table is drawn, without replacement. Column i of a row x is removed
    with probability exp(-t ‖x - x_i‖), with the Mahalanobis norm of the table's sample covariance. Rows equal
    to x_i keep their column i.

    Parameters
    ----------
    X
        Array of shape (n, d) without NaN, with at least as many rows as columns.
    share
        Share of all values to remove, above 0 and below 1; t is chosen so that this is the expected share,
        and the actual share is close to it.
    random_state
        Seed of the rows x_i and of the removal.

    Returns
    -------
    Array of shape (n, d), NaN for removed values.

    Raises
    ------
    ValueError
        If X is not such a table, or if no t gives the share: rows equal to x_i lose nothing.

    Notes
    -----
    [S] calls this missing at random. Strictly speaking, the probability also depends on the removed values,
    as x is the complete row.

    A singular covariance is inverted only on the directions in which the table varies; rows do not differ in
    any others.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((500, 3))
    >>> round(float(np.isnan(mar(X, 0.3)).mean()), 2)
    0.31
    """
    table, rng = _checked(X, share), check_random_state(random_state)
    points = _drawn(len(table), table.shape[1], rng)
    chances = removal_chances(table, table, points, share)
    table[rng.random_sample(chances.shape) < chances] = np.nan
    return table


def nmar(X: ArrayLike, share: float, random_state: Any = 0) -> VisibleHalf:
    """Remove values depending on columns that are then dropped: not missing at random.

    The columns are split at random into a visible and a hidden half; the visible half has one more if the
    number is odd. For each visible column i, a row x_i is drawn, without replacement, and column i of a row x
    is removed with probability exp(-t ‖x - x_i‖), with the Mahalanobis norm on the hidden columns. Rows equal
    to x_i in all columns keep their column i.

    Parameters
    ----------
    X
        Array of shape (n, d) without NaN, with at least two columns, and at least as many rows as visible
        columns.
    share
        Share of the visible values to remove, above 0 and below 1; t is chosen so that this is the expected
        share.
    random_state
        Seed of the halves, of the rows x_i and of the removal.

    Returns
    -------
    ``VisibleHalf``: the visible columns with NaN for removed values, and their indices.

    Raises
    ------
    ValueError
        If X is not such a table, or if no t gives the share: rows equal to x_i lose nothing, and rows that
        equal it only in the hidden columns always lose their value.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((500, 4))
    >>> left = nmar(X, 0.6)
    >>> left.X.shape, left.columns.tolist(), round(float(np.isnan(left.X).mean()), 2)
    ((500, 2), [0, 1], 0.6)
    """
    table, rng = _checked(X, share), check_random_state(random_state)
    if table.shape[1] < 2:
        raise ValueError("nmar needs at least 2 columns, one of which is hidden")
    order = rng.permutation(table.shape[1])
    hidden, columns = order[: len(order) // 2], np.sort(order[len(order) // 2 :])
    points = _drawn(len(table), len(columns), rng)
    chances = removal_chances(table, table[:, hidden], points, share)
    visible = table[:, columns]
    visible[rng.random_sample(chances.shape) < chances] = np.nan
    return VisibleHalf(visible, columns)


def removal_chances(X: Floats, seen: Floats, points: Any, share: float) -> Floats:
    """The probability that ``mar`` and ``nmar`` remove a value.

    Parameters
    ----------
    X
        Array of shape (n, d): the complete table. Rows equal to x_i in it have probability 0.
    seen
        Array of shape (n, k): the columns used for distances.
    points
        Array of shape (p,): indices of the rows x_i, one for each column that loses values.
    share
        The mean of the probabilities.

    Returns
    -------
    Array of shape (n, p).

    Raises
    ------
    ValueError
        If no t gives the share.
    """
    distances = _distances(seen, points)
    free = np.stack([(X[point] != X).any(axis=1) for point in points], axis=1)

    def chances(log_t: float) -> Floats:
        return np.where(free, np.exp(-np.exp(log_t) * distances), 0.0)

    least, most = float((free & (distances == 0.0)).mean()), float(free.mean())
    if not least < share < most:
        raise ValueError(
            f"a share of {share} cannot be removed from this table: "
            f"it must be between {least:.4g} and {most:.4g}"
        )
    low = high = -np.log(distances[free].mean())
    while chances(low).mean() <= share:
        low -= 1.0
    while chances(high).mean() >= share:
        high += 1.0
    return chances(brentq(lambda log_t: chances(log_t).mean() - share, low, high))


def _distances(seen: Floats, points: Any) -> Floats:
    """Mahalanobis distances of all rows from some of them, shape (n, points)."""
    # Standardising does not change these distances, but keeps columns in small units from counting as
    # constant.
    spread = seen.std(axis=0)
    scaled = (seen - seen.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    variances, directions = np.linalg.eigh(np.atleast_2d(np.cov(scaled.T)))
    kept = variances > NO_VARIANCE * variances.max()
    white = scaled @ (directions[:, kept] / np.sqrt(variances[kept]))
    return np.stack([np.linalg.norm(white - white[point], axis=1) for point in points], axis=1)


def _drawn(rows: int, columns: int, rng: np.random.RandomState) -> Any:
    """The index of the row x_i of each column."""
    if rows < columns:
        raise ValueError(f"{columns} different rows are to be drawn, but the table has {rows}")
    return rng.permutation(rows)[:columns]


def _checked(X: ArrayLike, share: float) -> Floats:
    """A checked copy of the table, to remove values from."""
    if not 0.0 < share < 1.0:
        raise ValueError(f"share must be above 0 and below 1, not {share}")
    return np.asarray(check_array(X, dtype=np.float64, order="C", copy=True, ensure_min_samples=2))
