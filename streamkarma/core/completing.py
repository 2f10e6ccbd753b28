"""The subspace learner's compiled loops: complete each event, weigh it, learn it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.adaptive import LARGEST_GROWTH, Rows, Step, judge, learn, predict
from streamkarma.core.factor import (
    Factor,
    Posterior,
    explain,
    learn_event,
    moments,
    next_noise,
    posterior,
)
from streamkarma.core.jit import borrowing, compiled
from streamkarma.core.pairs import Desk, Places, complete, count, desk
from streamkarma.core.passes import Floats, Indices
from streamkarma.core.space import DUE, EVENTS, GROWTH, NOISE, SEEN, WIDE, Space
from streamkarma.events.block import Block

#: An event counts at most so often in the moments: their sums must stay finite.
HEAVIEST = 1e6


class Model(NamedTuple):
    """The weights; see ``core.adaptive``.

    Latent i has place i, the value on coordinate k place r + 2 k, and the indicator that
    attribute a is observed place r + 2 a + 1, whichever of them are in use.
    """

    step: Step
    clock: Floats
    weights: Rows
    spread: Rows


class Setting(NamedTuple):
    """How events become features: bound of ``pairs``, whether with indicators, half-life."""

    bound: int
    indicators: bool
    half_life: float


@compiled
def run_block(setting: Setting, space: Space, model: Model, block: Block, labels: Floats,
              weights: Floats, unlabelled: bool, first: int, scores: NDArray[np.float64],
              losses: Floats) -> int:  # fmt: skip
    """Predict, then learn, every event in turn.

    Parameters
    ----------
    labels
        Shape (T,): +1 or -1, a class number, or the target; NaN is predicted only.
    weights
        Shape (T,): how often each event counts; 0 leaves no trace.
    unlabelled
        Whether events without a label are learned too, as far as that goes.
    first
        The event to begin with.
    scores, losses
        Shapes (T, C) and (T,): receive the scores before learning and the losses suffered.

    Returns
    -------
    T, or the event to go on with once the correlations, which are due, or the form, which
    has no place for it, have been changed.
    """
    wide, rank, items = space.clock[WIDE] > 0.0, space.factor.rows.shape[1], _widest(block.starts)
    most = rank + len(space.pairs.sums) + 2 * items
    return _run(setting, space, model, block, labels, weights, unlabelled, first, scores, losses,
                desk(len(space.pairs.counts), 0 if wide else items), posterior(rank, items),
                np.empty(most, np.int64), np.empty(most), np.empty((2, most)),
                np.empty(scores.shape[1]))  # fmt: skip


@borrowing
def _run(setting: Setting, space: Space, model: Model, block: Block, labels: Floats, weights: Floats,
         unlabelled: bool, first: int, scores: NDArray[np.float64], losses: Floats, work: Desk, p: Posterior,
         index: Places, phi: Floats, steps: Rows, slopes: Floats) -> int:  # fmt: skip
    """``run_block``, which makes room for it."""
    starts, block_attributes, block_coordinates, block_values = block
    clock, owners, known, pairs, factor = space
    step, model_clock, model_weights, spread = model
    wide, rank = clock[WIDE] > 0.0, factor.rows.shape[1]
    for t in range(first, labels.size):
        attributes = block_attributes[starts[t] : starts[t + 1]]
        coordinates = block_coordinates[starts[t] : starts[t + 1]]
        values = block_values[starts[t] : starts[t + 1]]
        labelled = not np.isnan(labels[t])
        learns = weights[t] > 0.0 and (labelled or unlabelled)
        if learns:
            if not wide and _beyond(setting.bound, attributes, coordinates):
                return t
            _claim(clock, owners, known, attributes, coordinates)
        if wide:
            explain(factor, owners, clock[NOISE], coordinates, values, p)
            size = _weigh_residuals(owners, coordinates, values, p, index, phi)
        else:
            size = int(clock[SEEN])
            complete(pairs, owners, clock[NOISE], attributes, coordinates, values, work, phi[:size])
            for k in range(size):
                index[k] = rank + 2 * k
        if setting.indicators:
            size = _indicate(known, attributes, rank, index, phi, size)
        predict(step, model_clock, model_weights, index[:size], phi[:size], scores[t])
        if labelled:
            losses[t] = judge(step, scores[t], labels[t], slopes)
            if learns:
                learn(step, model_clock, model_weights, spread, index[:size], phi[:size], losses[t],
                      slopes, weights[t], steps)  # fmt: skip
        if not learns:
            continue
        clock[EVENTS] += 1.0
        weight = min(weights[t], HEAVIEST)
        if wide:
            surprise = learn_event(factor, attributes, coordinates, values, p, clock[NOISE], weight,
                                   clock[GROWTH])  # fmt: skip
            memory = setting.half_life / np.log(2.0) if setting.half_life > 0.0 else np.inf
            clock[NOISE] = next_noise(clock[NOISE], surprise, min(clock[EVENTS], memory))
        else:
            count(pairs, attributes, coordinates, values, weight * clock[GROWTH])
        if setting.half_life > 0.0:
            clock[GROWTH] *= 2.0 ** (1.0 / setting.half_life)
            if clock[GROWTH] > LARGEST_GROWTH:
                _settle(space)
        if not wide and clock[EVENTS] >= clock[DUE]:
            return t + 1
    return int(labels.size)


@compiled
def complete_block(space: Space, block: Block, completed: Rows) -> None:
    """Fill ``completed``, shape (T, K): what is observed as it is, the rest by its mean given that."""
    starts, block_attributes, block_coordinates, block_values = block
    clock, owners, known, pairs, factor = space
    wide, rank, items = clock[WIDE] > 0.0, factor.rows.shape[1], _widest(starts)
    seen = min(int(clock[SEEN]), completed.shape[1])
    work = desk(len(pairs.counts), 0 if wide else items)
    p = posterior(rank, items)
    there = np.zeros(known.size, np.uint8)
    means, deviations = np.zeros(seen), np.zeros(seen)
    if wide:
        for k in range(seen):
            if owners[k] >= 0:
                means[k], deviations[k] = moments(factor, owners[k], k)
    for t in range(len(completed)):
        attributes = block_attributes[starts[t] : starts[t + 1]]
        coordinates = block_coordinates[starts[t] : starts[t + 1]]
        values, row = block_values[starts[t] : starts[t + 1]], completed[t]
        if wide:
            explain(factor, owners, clock[NOISE], coordinates, values, p)
            _fill(factor, owners, means, deviations, attributes, p, there, row[:seen])
        else:
            complete(pairs, owners, clock[NOISE], attributes, coordinates, values, work, row[:seen])
        for j in range(values.size):
            if coordinates[j] < row.size:
                row[coordinates[j]] = values[j]


@borrowing
def _fill(factor: Factor, owners: Indices, means: Floats, deviations: Floats, attributes: Indices,
          p: Posterior, there: NDArray[np.uint8], row: Floats) -> None:  # fmt: skip
    """The completion by the factor; 0 for what is observed."""
    for attribute in attributes:
        if attribute < there.size:
            there[attribute] = 1
    for k in range(row.size):
        row[k] = 0.0
        if owners[k] >= 0 and not there[owners[k]]:
            part, line = 0.0, factor.rows[k]
            for i in range(p.mean.size):
                part += line[i] * p.mean[i]
            row[k] = means[k] + deviations[k] * part
    for attribute in attributes:
        if attribute < there.size:
            there[attribute] = 0


@borrowing
def _widest(starts: NDArray[np.int64]) -> int:
    widest = 0
    for t in range(starts.size - 1):
        widest = max(widest, starts[t + 1] - starts[t])
    return int(widest)


@borrowing
def _beyond(bound: int, attributes: Indices, coordinates: Indices) -> bool:
    beyond = False
    for j in range(coordinates.size):
        beyond |= coordinates[j] >= bound or attributes[j] >= bound
    return beyond


@borrowing
def _claim(clock: Floats, owners: Indices, known: NDArray[np.uint8], attributes: Indices,
           coordinates: Indices) -> None:  # fmt: skip
    """Take note of what an event to be learned has."""
    for j in range(coordinates.size):
        owners[coordinates[j]] = attributes[j]
        known[attributes[j]] = 1
        clock[SEEN] = max(clock[SEEN], coordinates[j] + 1.0)


@borrowing
def _weigh_residuals(owners: Indices, coordinates: Indices, values: Floats, p: Posterior,
                     index: Places, phi: Floats) -> int:  # fmt: skip
    """Features of the factor form: the latent and, in the values' units, the residuals."""
    rank = p.mean.size
    for i in range(rank):
        index[i], phi[i] = i, p.mean[i]
    size = rank
    for j in range(values.size):
        k = coordinates[j]
        if k < owners.size and owners[k] >= 0:
            index[size] = rank + 2 * k
            # Coordinate 0 is the constant, which takes up all means.
            phi[size] = p.deviations[j] * p.residuals[j] if k > 0 else values[j]
            size += 1
    return size


@borrowing
def _indicate(known: NDArray[np.uint8], attributes: Indices, rank: int, index: Places, phi: Floats,
              size: int) -> int:  # fmt: skip
    """Append the indicators of what is observed."""
    for attribute in attributes:
        if attribute < known.size and known[attribute]:
            index[size] = rank + 2 * attribute + 1
            phi[size] = 1.0
            size += 1
    return size


@borrowing
def _settle(space: Space) -> None:
    """Divide all counts and sums by the growth and set it to 1."""
    inverse = 1.0 / space.clock[GROWTH]
    pairs, factor = space.pairs, space.factor
    for table in (pairs.sums, pairs.counts):
        for row in table:
            for j in range(row.size):
                row[j] *= inverse
    for row in (pairs.listed, factor.observed, factor.listed, factor.sums, factor.squares):
        for j in range(row.size):
            row[j] *= inverse
    space.clock[GROWTH] = 1.0
