"""KARMA: Algorithm 1 of [H], one compiled call for an event or a block of events.

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.

With score f_t = <v_t, phi(x_t)>, loss l(f_t, y_t) and step eta_t = 1 / (rho t):

    v_{t+1} = (1 - eta_t rho) v_t - eta_t l'(f_t, y_t) phi(x_t),    v_1 = 0.

Several classes have one v each, with the same kernel and the slopes of the multiclass loss.
An event of weight w counts w times in the loss: its slope is multiplied by w.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import compiled, inlined
from streamkarma.core.kernel import growth
from streamkarma.core.lanes import borrowed
from streamkarma.core.loss import loss_and_slope, multiclass_loss_and_slopes
from streamkarma.core.passes import (
    Floats,
    Indices,
    count_overlaps,
    find,
    least,
    product,
    raise_gains,
    whole_tiles,
)
from streamkarma.core.pruning import MERGE, OLDEST, closest, free_slot
from streamkarma.core.vectors import (
    ADDED,
    LONGEST,
    MERGED_CLOSEST,
    MERGED_EXACTLY,
    REMOVED,
    REPLACED,
    SCALE,
    SCALE_SUM,
    SMALLEST_SCALE,
    STEPS,
    USED,
    Bytes,
    Cube,
    Ints,
    Shares,
    Table,
    Vectors,
    Workspace,
    add,
    fill,
    lent,
    lent_workspace,
    rescale,
    square_norm,
    workspace,
)
from streamkarma.events.block import Block


class Rule(NamedTuple):
    """How the learner steps; the same for its whole life.

    Attributes
    ----------
    gamma
        Order of the kernel, 1 or more.
    normalize
        Whether every event has norm 1 in feature space.
    rho
        Strength of the regularisation, above 0.
    eta
        Constant step, or 0 for 1 / (rho t).
    loss
        See ``streamkarma.core.loss``.
    steepness
        The step is held below 1 / (steepness * k(x, x) * weight); 0 for no such limit.
    budget
        Most support vectors kept; 0 for no limit.
    pruning
        See ``streamkarma.core.pruning``.
    longest
        The most events that the decreasing step is divided by: v fades by 1 / longest with each.
    """

    gamma: int
    normalize: bool
    rho: float
    eta: float
    loss: int
    steepness: float
    budget: int
    pruning: int
    longest: float = float("inf")


@compiled
def run_block(v: Vectors, rule: Rule, block: Block, labels: Floats, weights: Floats,
              averaged: bool, first: int, scores: NDArray[np.float64],
              losses: Floats) -> int:  # fmt: skip
    """Predict, then learn, every event in turn.

    Parameters
    ----------
    labels
        Shape (T,): +1 or -1, a class number, or the target; NaN is predicted only.
    weights
        Shape (T,): 0 or more; events of weight 0 leave the model as it is.
    averaged
        Whether the scores reported are those of the averaged predictor. Steps and losses
        are always those of v_t, as in Algorithm 1.
    first
        The event to begin with.
    scores, losses
        Shapes (T, C) and (T,): receive the scores before learning and the losses suffered.

    Returns
    -------
    The event at which the arrays have no room for another support vector, or T.
    """
    classes = scores.shape[1]
    work = workspace(v.born.size, max(_widest(block.starts), v.coordinates.shape[1]))
    now, slopes = np.empty(classes), np.empty(classes)
    return _run(v, work, rule, block, labels, weights, averaged, first, now, slopes, scores, losses)


@compiled
def _run(v: Vectors, work: Workspace, rule: Rule, block: Block, labels: Floats, weights: Floats,
         averaged: bool, first: int, now: Floats, slopes: Floats, scores: NDArray[np.float64],
         losses: Floats) -> int:  # fmt: skip
    """``run_block`` with scratch from its caller, who owns all arrays meanwhile."""
    v, work, now, slopes = lent(v), lent_workspace(work), borrowed(now), borrowed(slopes)
    labels, weights, scores, losses = borrowed(labels), borrowed(weights), borrowed(scores), borrowed(losses)
    starts, block_attributes = borrowed(block.starts), borrowed(block.attributes)
    block_coordinates, block_values = borrowed(block.coordinates), borrowed(block.values)
    # Taken out of their tuples once: inside of the loop that would cost as much as a pass.
    values, passed, mask, observed, coordinates = v.values, v.passed, v.mask, v.attributes, v.coordinates
    sizes, lengths, inverse, squares, born = v.sizes, v.lengths, v.inverse, v.squares, v.born
    owners, clock, counts = v.owners, v.clock, v.counts
    events, classes = scores.shape
    few, overlap, gain, ranks = work.few, work.overlap, work.gain, work.ranks
    x, rows, known, amounts, units, kept = work.x, work.rows, work.known, work.amounts, work.units, work.kept
    for t in range(first, events):
        begin, end = starts[t], starts[t + 1]
        size = end - begin
        learns = not np.isnan(labels[t]) and weights[t] > 0.0
        if learns and not _has_room(coordinates, values, counts, rule.budget, size):
            return t
        placed, square = _scale(block_values, block_coordinates, begin, end, values.shape[0], rule, x, rows)
        shared = _known(block_attributes, begin, end, mask.shape[0], known)
        used = counts[USED]
        span = whole_tiles(used)
        most = count_overlaps(mask, known, shared, span, few, overlap)
        raise_gains(overlap, rule.gamma, span, gain)
        for c in range(classes):
            plain = product(values, c, rows, x, placed, span, gain)
            now[c] = scores[t, c] = clock[SCALE] * plain
            if averaged:
                past = product(passed, c, rows, x, placed, span, gain)
                scores[t, c] = (clock[SCALE_SUM] * plain - past) / (counts[STEPS] + 1)
        if not np.isnan(labels[t]):
            if classes == 1:
                losses[t], slopes[0] = loss_and_slope(rule.loss, now[0], labels[t])
            else:
                losses[t] = multiclass_loss_and_slopes(rule.loss, now, int(labels[t]), slopes)
        if not learns:
            continue
        # v <- (1 - eta rho) v, by the global scale alone.
        counts[STEPS] += 1
        eta = _step_size(rule, counts[STEPS], square * weights[t])
        if used > 0:
            clock[SCALE] *= 1.0 - eta * rule.rho
            if clock[SCALE] < SMALLEST_SCALE:
                rescale(v)
        # v <- v - eta l' phi(x)
        norm = 0.0
        for c in range(classes):
            slopes[c] *= -eta * weights[t] / clock[SCALE]
            norm += slopes[c] * slopes[c] * square
        if norm > 0.0:
            for j in range(size):
                amounts[j] = x[j] * x[j]
            slot, place = _choose(rule, norm, size, most, used, sizes, squares, born, inverse, mask, known,
                                  amounts, overlap, gain, units, kept, ranks)  # fmt: skip
            if place == REPLACED:
                free_slot(v, slot, rule.pruning, rule.gamma, work)
            if place in (REPLACED, ADDED):
                fill(slot, counts[STEPS], known, rows, size, rule.gamma, sizes, lengths, inverse, born,
                      observed, coordinates, owners, mask)  # fmt: skip
                counts[USED] = max(used, slot + 1)
            elif place == MERGED_CLOSEST:
                for c in range(classes):
                    slopes[c] *= gain[slot] * inverse[slot]
            if place != REMOVED:
                add(values, mask, owners, coordinates, lengths, slot, known, size, x, rows, slopes)
                squares[slot] = square_norm(values, coordinates, lengths, slot) / inverse[slot]
                counts[LONGEST] = max(counts[LONGEST], lengths[slot])
                if averaged:
                    for c in range(classes):
                        slopes[c] *= clock[SCALE_SUM]
                    add(passed, mask, owners, coordinates, lengths, slot, known, size, x, rows, slopes)
            counts[place] += 1
        clock[SCALE_SUM] += clock[SCALE]
    return int(events)


@compiled
def _widest(starts: Ints) -> int:
    widest = 0
    for t in range(starts.size - 1):
        widest = max(widest, starts[t + 1] - starts[t])
    return int(widest)


@compiled
def _has_room(coordinates: Table, values: Cube, counts: Ints, budget: int,
              size: int) -> bool:  # fmt: skip
    """Whether one more event of ``size`` attributes fits into the arrays for certain."""
    slots, longest = coordinates.shape
    if counts[USED] == slots and (budget == 0 or slots < budget):
        return False
    return bool(longest >= min(2 * max(counts[LONGEST], size), values.shape[0]))


@compiled
def _scale(values: Floats, coordinates: Indices, begin: int, end: int, limit: int, rule: Rule,
           x: Floats, rows: Indices) -> tuple[int, float]:  # fmt: skip
    """Scale an event so that phi of it is the event in feature space.

    Returns how many of its items sit on coordinates below ``limit``, which are those the
    model knows (they are written to ``x`` and ``rows``, in order), and k(x, x).
    """
    square = 0.0
    for j in range(begin, end):
        square += values[j] * values[j]
    square *= growth(float(end - begin), rule.gamma)
    factor = 1.0
    if rule.normalize and square > 0.0:
        factor = 1.0 / np.sqrt(square)
        square = 1.0
    known = 0
    for j in range(begin, end):
        if coordinates[j] < limit:
            x[known] = factor * values[j]
            rows[known] = coordinates[j]
            known += 1
    return known, square


@compiled
def _known(attributes: Indices, begin: int, end: int, limit: int, known: Indices) -> int:
    """Write the attributes of an event below ``limit``, and return how many they are."""
    shared = 0
    for j in range(begin, end):
        if attributes[j] < limit:
            known[shared] = attributes[j]
            shared += 1
    return shared


@compiled
def _step_size(rule: Rule, step: int, curvature: float) -> float:
    eta = rule.eta if rule.eta > 0.0 else 1.0 / (rule.rho * min(float(step), rule.longest))
    if rule.steepness * curvature * eta > 1.0:
        return 1.0 / (rule.steepness * curvature)
    return eta


@inlined
def _choose(rule: Rule, square: float, size: int, most: float, used: int, sizes: Indices,
            squares: Floats, born: Floats, inverse: Floats, mask: Bytes, known: Indices,
            amounts: Floats, overlap: Floats, gain: Floats, units: Shares, kept: Shares,
            ranks: Floats) -> tuple[int, int]:  # fmt: skip
    """Where an event of squared norm ``square`` goes: a slot, and what is to be counted.

    Into the support vector with the very same observed set if there is one, else into a
    slot of its own. In a full model the one of least norm gives way: if that is the
    newcomer, it is itself folded into the closest pattern, or dropped.
    """
    if most == size:
        slot = find(sizes, overlap, size, used)
        if slot >= 0:
            return slot, MERGED_EXACTLY
    if rule.budget == 0 or used < rule.budget:
        return used, ADDED
    if rule.pruning == OLDEST:
        return least(born, used), REPLACED
    slot = least(squares, used)
    if square > squares[slot]:
        return slot, REPLACED
    if rule.pruning == MERGE:
        slot = closest(mask, inverse, known, amounts, size, used, gain, units, kept, ranks)
        if ranks[slot] < 0.0:
            return slot, MERGED_CLOSEST
    return -1, REMOVED
