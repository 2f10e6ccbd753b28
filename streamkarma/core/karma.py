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

from streamkarma.core.jit import borrowing, compiled, inlined
from streamkarma.core.kernel import growth
from streamkarma.core.loss import loss_and_slope, multiclass_loss_and_slopes
from streamkarma.core.passes import (
    Floats,
    Rounded,
    keeper,
    least,
    shared,
    whole_tiles,
)
from streamkarma.core.pruning import MERGE, OLDEST, free_slot
from streamkarma.core.scoring import scale, score
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
    Cube,
    Ints,
    Table,
    Vectors,
    Workspace,
    add,
    fill,
    rescale,
    round_off,
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
    work = workspace(v.born.size, max(_widest(block.starts), v.coordinates.shape[1]))
    now, slopes = np.empty(scores.shape[1]), np.empty(scores.shape[1])
    return _run(v, work, rule, block, labels, weights, averaged, first, now, slopes, scores, losses)


@borrowing
def _run(v: Vectors, work: Workspace, rule: Rule, block: Block, labels: Floats, weights: Floats,
         averaged: bool, first: int, now: Floats, slopes: Floats, scores: NDArray[np.float64],
         losses: Floats) -> int:  # fmt: skip
    """``run_block`` with scratch from its caller."""
    # The tuples themselves are handed only to what is inlined, or rare: to copy them costs as much as a pass.
    values, passed, mask, coordinates, lengths = v.values, v.passed, v.mask, v.coordinates, v.lengths
    inverse, squares, owners, clock, counts = v.inverse, v.squares, v.owners, v.clock, v.counts
    x, rows, known = work.x, work.rows, work.known
    events, classes = scores.shape
    weakest = -1
    for t in range(first, events):
        begin, end = block.starts[t], block.starts[t + 1]
        learns = not np.isnan(labels[t]) and weights[t] > 0.0
        if learns and not _has_room(coordinates, values, counts, rule.budget, end - begin):
            return t
        size, square = scale(block.attributes, block.coordinates, block.values, begin, end, mask.shape[0],
                             values.shape[0], rule.gamma, rule.normalize, known, rows, x, work.light,
                             work.units)  # fmt: skip
        used = counts[USED]
        span = whole_tiles(used)
        # With a budget they are approximate anyway.
        same = score(v, work, rule.gamma, rule.budget > 0, size, span, averaged, now, scores[t])
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
                weakest = -1
        # v <- v - eta l' phi(x)
        norm = 0.0
        for c in range(classes):
            slopes[c] *= -eta * weights[t] / clock[SCALE]
            norm += slopes[c] * slopes[c] * square
        if norm > 0.0:
            place = MERGED_EXACTLY
            slot = same
            if same < 0:
                full = rule.budget > 0 and used >= rule.budget
                if full and weakest < 0:
                    weakest = least(v.born if rule.pruning == OLDEST else squares, used)
                slot, place = _choose(rule, norm, full, used, weakest, squares, span, work.ranks)
            if place == REPLACED:
                free_slot(v, slot, rule.pruning, rule.gamma, work)
                weakest = -1
            if place in (REPLACED, ADDED):
                fill(v, slot, known, rows, size, rule.gamma)
                counts[USED] = max(used, slot + 1)
            if place != REMOVED:
                if place == MERGED_CLOSEST:
                    kept = growth(shared(mask, known, size, slot), rule.gamma) * inverse[slot]
                    for c in range(classes):
                        slopes[c] *= kept
                add(values, mask, owners, coordinates, lengths, slot, known, size, x, rows, slopes)
                squares[slot] = round_off(values, v.rounded, coordinates, lengths, slot) / inverse[slot]
                counts[LONGEST] = max(counts[LONGEST], lengths[slot])
                if rule.pruning != OLDEST:
                    weakest = _weakest(squares, weakest, slot)
                if averaged:
                    for c in range(classes):
                        slopes[c] *= clock[SCALE_SUM]
                    add(passed, mask, owners, coordinates, lengths, slot, known, size, x, rows, slopes)
            counts[place] += 1
        clock[SCALE_SUM] += clock[SCALE]
    return int(events)


@borrowing
def _widest(starts: Ints) -> int:
    widest = 0
    for t in range(starts.size - 1):
        widest = max(widest, starts[t + 1] - starts[t])
    return int(widest)


@borrowing
def _has_room(coordinates: Table, values: Cube, counts: Ints, budget: int,
              size: int) -> bool:  # fmt: skip
    """Whether one more event of ``size`` attributes fits into the arrays for certain."""
    slots, longest = coordinates.shape
    if counts[USED] == slots and (budget == 0 or slots < budget):
        return False
    return bool(longest >= min(2 * max(counts[LONGEST], size), values.shape[0]))


@borrowing
def _step_size(rule: Rule, step: int, curvature: float) -> float:
    eta = rule.eta if rule.eta > 0.0 else 1.0 / (rule.rho * min(float(step), rule.longest))
    if rule.steepness * curvature * eta > 1.0:
        return 1.0 / (rule.steepness * curvature)
    return eta


@inlined
def _weakest(squares: Floats, weakest: int, changed: int) -> int:
    """The first slot of least norm, after one was ``changed``; -1 if that takes a search."""
    if weakest < 0 or changed == weakest:
        return -1
    if squares[changed] > squares[weakest] or (squares[changed] == squares[weakest] and changed > weakest):
        return weakest
    return changed


@inlined
def _choose(rule: Rule, square: float, full: bool, used: int, weakest: int, squares: Floats,
            span: int, ranks: Rounded) -> tuple[int, int]:  # fmt: skip
    """Where an event of squared norm ``square`` goes: a slot, and what is to be counted.

    Its observed set is that of no support vector, so it gets a slot of its own. In a full model the
    ``weakest`` gives way: if that is the newcomer, it is itself folded into the closest pattern, or dropped.
    """
    if not full:
        return used, ADDED
    if rule.pruning == OLDEST or square > squares[weakest]:
        return weakest, REPLACED
    if rule.pruning == MERGE:
        slot = keeper(ranks, span)
        if slot >= 0:
            return slot, MERGED_CLOSEST
    return -1, REMOVED
