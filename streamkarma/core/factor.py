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

from streamkarma.core.jit import compiled
from streamkarma.core.pairs import FARTHEST, LEAST_NOISE, ROUNDING
from streamkarma.core.passes import Floats, Indices

Rows = NDArray[np.float64]

#: The steps; as OWN_NOISE, from tabular sets with half withheld and synthetic streams.
STEP_POWER = 0.8
FIRST_STEPS = 10.0

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
    triangle, inverse
        Shape (r, r): the Cholesky factor L of M, and its inverse.
    steps
        Shape (r,): scratch.
    means, deviations, residuals
        Shape (n,), by item: m_k, d_k (0 if nothing is known) and x_k - F_k' mu.
    """

    mean: Floats
    triangle: Rows
    inverse: Rows
    steps: Floats
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
    return Posterior(
        np.zeros(rank),
        np.zeros((rank, rank)),
        np.zeros((rank, rank)),
        np.zeros(rank),
        np.zeros(items),
        np.zeros(items),
        np.zeros(items),
    )


@compiled
def moments(factor: Factor, attribute: int, coordinate: int) -> tuple[float, float]:
    """Mean and standard deviation of a coordinate where its attribute is observed."""
    observed = factor.observed[attribute]
    if observed <= 0.0:
        return 0.0, 0.0
    mean, square = factor.sums[coordinate] / observed, factor.squares[coordinate] / observed
    variance = square - mean * mean
    return mean, np.sqrt(variance) if variance > ROUNDING * square else 0.0


@compiled
def explain(factor: Factor, owners: Indices, noise: float, coordinates: Indices, values: Floats,
            p: Posterior) -> None:  # fmt: skip
    """Fill ``p`` from one event; s^2 is ``noise``. What was never learned is passed over."""
    rows, matrix, mean, inverse = factor.rows, p.triangle, p.mean, p.inverse
    rank = mean.size
    for i in range(rank):
        mean[i] = 0.0
        for j in range(i):
            matrix[i, j] = 0.0
        matrix[i, i] = noise
    for j in range(values.size):
        k = coordinates[j]
        p.means[j], p.deviations[j], p.residuals[j] = 0.0, 0.0, 0.0
        if k >= owners.size or owners[k] < 0:
            continue
        p.means[j], p.deviations[j] = moments(factor, owners[k], k)
        # The constant is no coordinate of the subspace, and has no deviation.
        if p.deviations[j] == 0.0:
            continue
        x = min(max((values[j] - p.means[j]) / p.deviations[j], -FARTHEST), FARTHEST)
        p.residuals[j] = x
        row = rows[k]
        for i in range(rank):
            part, line = row[i], matrix[i]
            mean[i] += part * x
            for other in range(i + 1):
                line[other] += part * row[other]
    _invert(matrix, inverse)
    _times(inverse, mean, p.steps)
    _times_transposed(inverse, p.steps, mean)
    for j in range(values.size):
        if p.deviations[j] > 0.0:
            row = rows[coordinates[j]]
            for i in range(rank):
                p.residuals[j] -= row[i] * mean[i]


@compiled
def learn_event(factor: Factor, attributes: Indices, coordinates: Indices, values: Floats,
                p: Posterior, noise: float, weight: float, growth: float) -> float:  # fmt: skip
    """Learn the event that ``explain`` filled ``p`` from, and return what it says of s^2.

    ``weight`` is how often it counts, ``growth`` what an event of weight 1 adds to the counts.
    """
    rows, mean, inverse, steps, listed = factor.rows, p.mean, p.inverse, p.steps, factor.listed
    rank, energy, surprise, known = mean.size, 1.0, 0.0, 0
    for i in range(rank):
        energy += mean[i] * mean[i]
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
        row, residual = rows[k], p.residuals[j]
        _times(inverse, row, steps)
        variance = 0.0
        for i in range(rank):
            variance += steps[i] * steps[i]
        surprise += residual * residual + noise * variance
        known += 1
        share = listed[k] / factor.observed[attributes[j]]
        if share < 1.0:
            eta = min(eta, 1.0)
            target = share * values[j] / p.deviations[j]
            for i in range(rank):
                row[i] += eta * (target * mean[i] - row[i])
            continue
        eta /= 1.0 + eta * energy
        for i in range(rank):
            part = 0.0
            for other in range(i, rank):
                part += inverse[other, i] * steps[other]
            row[i] += eta * (residual * mean[i] - noise * part)
    return surprise / known if known else noise


@compiled
def next_noise(noise: float, surprise: float, events: float) -> float:
    """s^2 after the step of one event, the ``events``-th."""
    step = (events + FIRST_STEPS) ** -STEP_POWER
    return float(max(noise + step * (surprise - noise), LEAST_NOISE))


@compiled
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


@compiled
def _times(lower: Rows, vector: Floats, result: Floats) -> None:
    for i in range(vector.size):
        line, total = lower[i], 0.0
        for j in range(i + 1):
            total += line[j] * vector[j]
        result[i] = total


@compiled
def _times_transposed(lower: Rows, vector: Floats, result: Floats) -> None:
    for i in range(vector.size):
        total = 0.0
        for j in range(i, vector.size):
            total += lower[j, i] * vector[j]
        result[i] = total
