"""Second moments of pairs observed together, and the conditional mean of what is missing.

A pair of coordinates counts in the events that observe both of their attributes. A category
that holds is 1 on its own coordinate and an observed 0 on its siblings, so counts belong to
pairs of attributes, sums to pairs of coordinates, and an event adds |o|^2 of each. The
constant is one of the coordinates: the first moments are its pairs.

Now and then these become a correlation matrix R. The entry of a pair seen in n events is
multiplied by n / (n + shrink). Entries estimated from different events need not belong to one
distribution: R may have eigenvalues below 0, and the lowest, -tau, says how far they are off.
Of R = V diag(l) V' only what stands out, l > tau, is kept: the projection to the positive
semidefinite cone, without the eigenvalues that cannot be told from error.

What is missing is filled by the conditional mean, in standard deviations from the mean

    z_m = R_mo (R_oo + noise I)^-1 z_o,    noise = LEAST_NOISE + (s tau)^2 + OWN_NOISE K / n,

with K coordinates, n events, and s the share of events that observe an attribute: the errors
count only in the part observed. It is Q_oo^+ of [H, Def. 2] where the data lie on a subspace Q
that is known. Left open there is how Q is learned; all of the above is a choice, by measurement.

Of an observed categorical attribute only the category that holds is conditioned on, not the
zeros of its siblings: the regression on one indicator alone is the mean given that category,
exactly; with all of them the matrix would be singular, and as wide as there are categories.

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from streamkarma.core.jit import borrowing, compiled
from streamkarma.core.passes import Floats, Indices

Square = NDArray[np.float64]
Places = NDArray[np.int64]

#: Variance beyond the correlations, in units of a coordinate's own: the least there is, and
#: the part that fades as K / n. From 14 tabular sets, half withheld, and synthetic streams.
LEAST_NOISE = 1e-3
OWN_NOISE = 3.0

#: Values are cut at so many standard deviations before they explain others: a variance may be
#: older than the value.
FARTHEST = 30.0

#: A variance below this share of the mean square is what rounding left of none.
ROUNDING = 1e-12


#: Matrices this small are not worth threads: where others keep the cores busy, these wait for one
#: another a hundred times as long as they work. And one thread adds up in one order.
_BLAS = ThreadpoolController()


class Pairs(NamedTuple):
    """What is known about K coordinates of A attributes.

    Attributes
    ----------
    sums
        Shape (K, K): sums of products x_i x_j over the events that observe both, in the row
        of the later attribute.
    counts
        Shape (A, A): how many events those are, in the row of the later attribute.
    listed
        Shape (K,): in how many events the coordinate had the value.
    means, deviations
        Shape (K,): where its attribute is observed; a deviation of 0 says that nothing is
        known. From here on all is as of the last ``correlate``.
    correlations
        Shape (K, K): positive semidefinite.
    """

    sums: Square
    counts: Square
    listed: Floats
    means: Floats
    deviations: Floats
    correlations: Square


class Desk(NamedTuple):
    """Room to work in, for up to n items.

    Attributes
    ----------
    there
        Shape (A + 1,): 1 where the event has the attribute, else 0; the last, which stands for no
        attribute, stays 0.
    places, z
        Shape (n,): coordinates that explain others, and their standardised values.
    inverse, triangle
        Shapes (n,) and (n, n): the Cholesky factor, and one over its diagonal.
    """

    there: NDArray[np.uint8]
    places: Places
    z: Floats
    inverse: Floats
    triangle: Square


def empty_pairs(attributes: int, coordinates: int) -> Pairs:
    """Nothing known about so many."""
    square = (coordinates, coordinates)
    return Pairs(np.zeros(square), np.zeros((attributes, attributes)), np.zeros(coordinates),
                 np.zeros(coordinates), np.zeros(coordinates), np.zeros(square))  # fmt: skip


@compiled
def desk(attributes: int, items: int) -> Desk:
    """A desk for so many attributes, and events of so many items."""
    return Desk(
        np.zeros(attributes + 1, np.uint8),
        np.empty(items, np.int64),
        np.empty(items),
        np.empty(items),
        np.empty((items, items)),
    )


@borrowing
def count(pairs: Pairs, attributes: Indices, coordinates: Indices, values: Floats,
          amount: float) -> None:  # fmt: skip
    """Add one event, which counts ``amount`` times."""
    sums, counts, listed = pairs.sums, pairs.counts, pairs.listed
    for i in range(values.size):
        listed[coordinates[i]] += amount
        row, row_counts, part = sums[coordinates[i]], counts[attributes[i]], amount * values[i]
        for j in range(i + 1):
            row_counts[np.uint64(attributes[j])] += amount
            row[np.uint64(coordinates[j])] += part * values[j]


@borrowing
def complete(pairs: Pairs, owners: Indices, noise: float, attributes: Indices, coordinates: Indices,
             values: Floats, work: Desk, completed: Floats) -> None:  # fmt: skip
    """Fill ``completed``, shape (seen,), from one event.

    What is observed is kept, of a category that holds the siblings are 0. Attributes and
    coordinates that were never learned are passed over.
    """
    means, deviations, correlations = pairs.means, pairs.deviations, pairs.correlations
    there, places, z = work.there, work.places, work.z
    seen, known = completed.size, 0
    for j in range(values.size):
        if attributes[j] < there.size - 1:
            there[attributes[j]] = 1
        k = coordinates[j]
        if k < seen and deviations[k] > 0.0:
            places[known] = k
            z[known] = min(max((values[j] - means[k]) / deviations[k], -FARTHEST), FARTHEST)
            known += 1
    _solve(correlations, noise, places[:known], z, work.inverse, work.triangle)
    _multiply(correlations, places[:known], z, completed)
    for k in range(seen):
        # Chosen from two values, not between two ways to go: half of those would be guessed wrong.
        expected = means[k] + deviations[k] * completed[k]
        completed[k] = 0.0 if there[owners[k]] else expected
    for j in range(values.size):
        if attributes[j] < there.size - 1:
            there[attributes[j]] = 0
        if coordinates[j] < seen and owners[coordinates[j]] >= 0:
            completed[coordinates[j]] = values[j]


@borrowing
def _multiply(matrix: Square, places: Places, z: Floats, result: Floats) -> None:
    """R_mo z for every m; four rows a pass, a quarter of the traffic through ``result``."""
    for k in range(result.size):
        result[k] = 0.0
    whole = places.size // 4 * 4
    for j in range(0, whole, 4):
        row, row1 = matrix[np.uint64(places[j])], matrix[np.uint64(places[j + 1])]
        row2, row3 = matrix[np.uint64(places[j + 2])], matrix[np.uint64(places[j + 3])]
        z0, z1, z2, z3 = z[j], z[j + 1], z[j + 2], z[j + 3]
        for k in range(result.size):
            result[k] = result[k] + z0 * row[k] + z1 * row1[k] + z2 * row2[k] + z3 * row3[k]
    for j in range(whole, places.size):
        row, z0 = matrix[np.uint64(places[j])], z[j]
        for k in range(result.size):
            result[k] += z0 * row[k]


@borrowing
def _solve(matrix: Square, noise: float, places: Places, z: Floats, inverse: Floats,
           triangle: Square) -> None:  # fmt: skip
    """z <- (R_oo + noise I)^-1 z, by Cholesky."""
    for i in range(places.size):
        row, entries, rest = matrix[np.uint64(places[i])], triangle[i], z[i]
        pivot = row[np.uint64(places[i])] + noise
        for j in range(i):
            entry, others = row[np.uint64(places[j])], triangle[j]
            for k in range(j):
                entry -= entries[k] * others[k]
            entry *= inverse[j]
            entries[j] = entry
            pivot -= entry * entry
            rest -= entry * z[j]
        inverse[i] = 1.0 / np.sqrt(max(pivot, ROUNDING))
        z[i] = rest * inverse[i]
    for i in range(places.size - 1, -1, -1):
        z[i] *= inverse[i]
        entries, rest = triangle[i], z[i]
        for j in range(i):
            z[j] -= entries[j] * rest


def correlate(pairs: Pairs, owners: Indices, growth: float, shrink: float) -> float:
    """Bring ``pairs`` up to date with its sums, and return the noise.

    Parameters
    ----------
    owners
        Shape (seen,): the attribute of every coordinate seen, -1 for none.
    growth
        What an event of weight 1 adds to the counts now.
    shrink
        How many events without any correlation each pair starts with.
    """
    with np.errstate(all="ignore"):
        return _correlate(pairs, owners, growth, shrink)


def _correlate(pairs: Pairs, owners: Indices, growth: float, shrink: float) -> float:
    seen, known = owners.size, owners >= 0
    place = np.where(known, owners, 0)
    half = pairs.sums[:seen, :seen]
    sums = half + half.T - np.diag(half.diagonal())
    joint = pairs.counts[np.ix_(place, place)]
    # The other triangle is empty, for different attributes; the constant is attribute 0.
    joint = np.where(known[:, None] & known, np.maximum(joint, joint.T), 0.0)
    average = np.divide(sums, joint, out=np.zeros_like(sums), where=joint > 0.0)
    means, squares = average[:, 0].copy(), average.diagonal()
    covariances = np.where(joint > 0.0, average - np.outer(means, means), 0.0)
    variances = covariances.diagonal()
    deviations = np.sqrt(np.where(variances > ROUNDING * squares, variances, 0.0))
    deviations[0] = 0.0
    scale = np.divide(1.0, deviations, out=np.zeros(seen), where=deviations > 0.0)
    shares = joint / (joint + growth * shrink) if shrink > 0.0 else joint > 0.0
    # By one scale after the other: their product may be beyond what a number holds.
    # What overflowed says nothing.
    correlations = np.clip(np.nan_to_num(covariances * scale[:, None] * scale), -1.0, 1.0) * shares
    np.fill_diagonal(correlations, 1.0)
    pairs.correlations[:seen, :seen], tau = project(correlations)
    pairs.means[:seen], pairs.deviations[:seen] = means, deviations
    # A weight says how much an event counts, and no event counts so little as to be all noise.
    total = float(pairs.counts[0, 0])
    observed = pairs.counts.diagonal()
    share = float(observed[observed > 0.0].mean()) / total if total > 0.0 else 1.0
    return LEAST_NOISE + (share * tau) ** 2 + OWN_NOISE * seen / max(total / growth, 1.0)


def project(matrix: Square) -> tuple[Square, float]:
    """What stands out of a symmetric matrix: positive semidefinite; and tau, see above.

    Examples
    --------
    >>> nearest, tau = project(np.array([[1.0, 2.0], [2.0, 1.0]]))
    >>> nearest.round(3).tolist(), round(tau, 3)
    ([[1.5, 1.5], [1.5, 1.5]], 1.0)
    """
    with _BLAS.limit(limits=1):
        values, vectors = np.linalg.eigh(matrix)
        tau = max(-float(values[0]), 0.0)
        kept = vectors[:, values > tau]
        return (kept * values[values > tau]) @ kept.T, tau


def strongest(matrix: Square, rank: int) -> Square:
    """The rows F, of up to ``rank`` columns, for which F F' is nearest to a semidefinite matrix."""
    with _BLAS.limit(limits=1):
        values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
    found = values > ROUNDING
    rows: Square = vectors[:, found] * np.sqrt(values[found])
    return rows
