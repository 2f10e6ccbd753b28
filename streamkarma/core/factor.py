"""A subspace of many coordinates as a low-rank factor, learned from incomplete events.

The model is x_k = m_k + d_k (F_k' z + e_k) with the latent z ~ N(0, I) of dimension r and e_k
of variance s^2: probabilistic PCA [T], by online EM. Given what an event observes, z has

    covariance s^2 M^-1, mean mu = M^-1 F_o' x_o,  M = F_o' F_o + s^2 I    (x standardised),

and E[z z'] = mu mu' + s^2 M^-1. Every observed row takes a step towards the solution of the M
step, E[x_k mu'] = F_k E[z z'],

    F_k <- F_k + eta ((x_k - F_k' mu) mu' - s^2 F_k M^-1),

and s^2 towards the mean of (x_k - F_k' mu)^2 + s^2 F_k' M^-1 F_k. [T] leaves open the online
form and its steps; here eta = (n_k + FIRST_STEPS)^-STEP_POWER in the row's n_k-th event, held
below what would overshoot. Work is |o| r^2 + r^3, memory r numbers per coordinate: the r^2 of
statistics per row that an exact M step wants are not kept.

The zeros beside a category that holds are never visited. A row that has a value in a share p
of its attribute's events is drawn towards p E[x_k mu' | it has one] / d_k, which is where the M
step leads if mu is 0 on average in the events of the attribute.

[T] Tipping, Bishop: Probabilistic Principal Component Analysis, JRSS B 61, 1999.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import borrowing, compiled
from streamkarma.core.pairs import FARTHEST, LEAST_NOISE, ROUNDING
from streamkarma.core.passes import Floats, Indices
from streamkarma.core.sums import dot

Rows = NDArray[np.float64]

#: The steps; as OWN_NOISE, from tabular sets with half withheld and synthetic streams.
STEP_POWER = 0.8
FIRST_STEPS = 10.0

#: So many rows are added up in one pass.
TOGETHER = 4

#: Standard deviation of a row's norm before it has learned anything: from 0 no row would move.
START = 0.3
SEED = 1


class Factor(NamedTuple):
    """What is known about K coordinates of A attributes.

    Attributes
    ----------
    rows
        Shape (K, r): F.
    observed
        Shape (A,): events that observed the attribute.
    listed, sums, squares
        Shape (K,): events that gave the coordinate a value, and sums of the value and its
        square.
    """

    rows: Rows
    observed: Floats
    listed: Floats
    sums: Floats
    squares: Floats


class Posterior(NamedTuple):
    """What an event of up to n items says about the latent.

    Attributes
    ----------
    mean
        Shape (r,): mu.
    rows, columns
        Shapes (n, r) and (r, n): F_k of each item, once more the other way round; 0 where nothing
        is known. Here and below n and r are rounded up to ``TOGETHER``, with zeros.
    explained
        Shape (r,): F_o' x_o.
    triangle, inverse, covariance
        Shape (r, r): the Cholesky factor L of M, its inverse, and M^-1.
    pulls
        Shape (n, r): F_k' M^-1 of each item.
    means, deviations, residuals
        Shape (n,), by item: m_k, d_k (0 if nothing is known) and x_k - F_k' mu.
    """

    mean: Floats
    rows: Rows
    columns: Rows
    explained: Floats
    triangle: Rows
    inverse: Rows
    covariance: Rows
    pulls: Rows
    means: Floats
    deviations: Floats
    residuals: Floats


def empty_factor(attributes: int, coordinates: int, rank: int) -> Factor:
    """Nothing known about so many; the rows do not depend on how many others there are."""
    spread = START * np.sqrt(3.0 / max(rank, 1))
    rows = np.random.default_rng(SEED).uniform(-spread, spread, (coordinates, rank))
    return Factor(rows, np.zeros(attributes), np.zeros(coordinates), np.zeros(coordinates),
                  np.zeros(coordinates))  # fmt: skip


@compiled
def posterior(rank: int, items: int) -> Posterior:
    """Room for one, for events of so many items."""
    n, r = _rounded(items), _rounded(rank)
    by_item, square, numbers = np.zeros((2, n, r)), np.zeros((3, r, r)), np.zeros((3, items))
    return Posterior(np.zeros(rank), by_item[0], np.zeros((r, n)), np.zeros(r), square[0], square[1],
                     square[2], by_item[1], numbers[0], numbers[1], numbers[2])  # fmt: skip


@borrowing
def _rounded(size: int) -> int:
    return (size + TOGETHER - 1) // TOGETHER * TOGETHER


@borrowing
def moments(factor: Factor, attribute: int, coordinate: int) -> tuple[float, float]:
    """Mean and standard deviation of a coordinate where its attribute is observed."""
    observed = factor.observed[attribute]
    if observed <= 0.0:
        return 0.0, 0.0
    mean, square = factor.sums[coordinate] / observed, factor.squares[coordinate] / observed
    variance = square - mean * mean
    return mean, np.sqrt(variance) if variance > ROUNDING * square else 0.0


@borrowing
def explain(factor: Factor, owners: Indices, noise: float, coordinates: Indices, values: Floats,
            p: Posterior) -> None:  # fmt: skip
    """Fill ``p`` from one event; s^2 is ``noise``. What was never learned is passed over."""
    rows, mean, explained = factor.rows, p.mean, p.explained
    rank = mean.size
    for i in range(rank):
        explained[i] = 0.0
    for j in range(values.size):
        k = coordinates[j]
        p.means[j], p.deviations[j], p.residuals[j] = 0.0, 0.0, 0.0
        if k < owners.size and owners[k] >= 0:
            p.means[j], p.deviations[j] = moments(factor, owners[k], k)
        # The constant is no coordinate of the subspace, and has no deviation.
        if p.deviations[j] == 0.0:
            _copy(p.rows, p.columns, j, rank, 0.0, mean)
            continue
        x = min(max((values[j] - p.means[j]) / p.deviations[j], -FARTHEST), FARTHEST)
        p.residuals[j] = x
        _copy(p.rows, p.columns, j, rank, 1.0, rows[k])
        for i in range(rank):
            explained[i] += rows[k, i] * x
    size = _rounded(values.size)
    for j in range(values.size, size):
        _copy(p.rows, p.columns, j, rank, 0.0, mean)
    _set_diagonal(p.triangle, noise)
    _add_products(p.rows[:size], p.rows[:size], p.triangle)
    _invert(p.triangle, p.inverse)
    _set_diagonal(p.covariance, 0.0)
    _add_products(p.inverse, p.inverse, p.covariance)
    for i in range(rank):
        mean[i] = dot(p.covariance[i], explained)
    for j in range(values.size):
        p.residuals[j] -= dot(p.rows[j, :rank], mean)


@borrowing
def learn_event(factor: Factor, attributes: Indices, coordinates: Indices, values: Floats,
                p: Posterior, noise: float, weight: float, growth: float) -> float:  # fmt: skip
    """Learn the event that ``explain`` filled ``p`` from, and return what it says of s^2.

    ``weight`` is how often it counts, ``growth`` what an event of weight 1 adds to the counts.
    """
    rows, mean, listed, size = factor.rows, p.mean, factor.listed, _rounded(values.size)
    rank, surprise, known = mean.size, 0.0, 0
    energy = 1.0 + dot(mean, mean)
    pulls = p.pulls[:size]
    pulls[:] = 0.0
    _add_products(p.columns[:, :size], p.covariance, pulls)
    amount = weight * growth
    for j in range(values.size):
        k = coordinates[j]
        factor.observed[attributes[j]] += amount
        listed[k] += amount
        factor.sums[k] += amount * values[j]
        factor.squares[k] += amount * values[j] * values[j]
        if p.deviations[j] == 0.0:
            continue
        eta = weight * (listed[k] / growth + FIRST_STEPS) ** -STEP_POWER
        row, residual, pull = rows[k], p.residuals[j], pulls[j]
        surprise += residual * residual + noise * dot(row, pull)
        known += 1
        share = listed[k] / factor.observed[attributes[j]]
        if share < 1.0:
            eta = min(eta, 1.0)
            # The deviation is from before the event, as that of a value which had been forgotten may be.
            target = min(max(share * values[j] / p.deviations[j], -FARTHEST), FARTHEST)
            for i in range(rank):
                row[i] += eta * (target * mean[i] - row[i])
            continue
        eta /= 1.0 + eta * energy
        for i in range(rank):
            row[i] += eta * (residual * mean[i] - noise * pull[i])
    return surprise / known if known else noise


@borrowing
def next_noise(noise: float, surprise: float, events: float) -> float:
    """s^2 after the step of one event, the ``events``-th."""
    step = (events + FIRST_STEPS) ** -STEP_POWER
    return float(max(noise + step * (surprise - noise), LEAST_NOISE))


@borrowing
def _invert(matrix: Rows, inverse: Rows) -> None:
    """The lower triangle of ``matrix`` becomes its Cholesky factor, ``inverse`` the inverse of that."""
    for i in range(len(matrix)):
        line = matrix[i]
        for j in range(i):
            other, entry = matrix[j], line[j]
            for k in range(j):
                entry -= line[k] * other[k]
            line[j] = entry * inverse[j, j]
            line[i] -= line[j] * line[j]
        line[i] = np.sqrt(max(line[i], ROUNDING))
        inverse[i, i] = 1.0 / line[i]
        for j in range(i):
            entry = 0.0
            for k in range(j, i):
                entry -= line[k] * inverse[k, j]
            inverse[i, j] = entry * inverse[i, i]


@borrowing
def _copy(rows: Rows, columns: Rows, j: int, rank: int, factor: float, row: Floats) -> None:
    """``factor`` times ``row`` as that of item ``j``."""
    for i in range(rank):
        rows[j, i] = columns[i, j] = factor * row[i]


@borrowing
def _set_diagonal(matrix: Rows, value: float) -> None:
    for i in range(len(matrix)):
        for j in range(len(matrix)):
            matrix[i, j] = 0.0
        matrix[i, i] = value


@borrowing
def _add_products(left: Rows, right: Rows, result: Rows) -> None:
    """Add left' right, of as many rows as ``TOGETHER`` divides."""
    for j in range(0, len(right), TOGETHER):
        row0, row1, row2, row3 = right[j], right[j + 1], right[j + 2], right[j + 3]
        for i in range(len(result)):
            line, x0, x1, x2, x3 = result[i], left[j, i], left[j + 1, i], left[j + 2, i], left[j + 3, i]
            for k in range(line.size):
                line[k] += (x0 * row0[k] + x1 * row1[k]) + (x2 * row2[k] + x3 * row3[k])
