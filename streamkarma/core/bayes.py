"""Mixing the scores of experts by log loss, over arrays alone.

Each expert is calibrated (``streamkarma.core.calibration``). One member more, the *blend*,
combines their log-odds,

    two classes   sigmoid(sum_e v_e logit_e),        several   softmax(sum_e v_e logits_e),
    a number      sum_e v_e prediction_e,

with v learned by the same online Newton steps from v_e = 1 / E. It finds what no single
expert knows, and being one member among others it does little harm. The E + 1 members are
mixed by Bayes' rule with fixed share (Cesa-Bianchi and Lugosi 2006, chapter 5):

    p = sum_m w_m p_m,    w_m <- (1 - SHARE) w_m p_m(y) / sum_k w_k p_k(y) + SHARE / (E + 1).

Log loss is mixable: over any stretch of T events in which one member is the best, the mixture
loses at most ln((E + 1) / SHARE) - T ln(1 - SHARE) more than it, and ln(E + 1) in place of the
first term from the start. For a number the members' densities are Gaussian, each with the
running variance of its residuals, and the guarantee is for the log loss of the density; the
prediction is the mixture's mean.

An event of weight w counts w times: p_m(y)^w in Bayes' rule, w times gradient and curvature in
Newton's steps. The share is taken once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.calibration import (
    BEND,
    FARTHEST,
    LIMIT,
    LOOSE,
    LOOSE_NUMBER,
    OFFSET,
    OWN,
    SHARP,
    SLOPE,
    Calibration,
    Cube,
    Table,
    bend,
    bend_each,
    bounded,
    centre,
    curvature,
    fading,
    followed,
    held,
    newton,
    shift,
    sigmoid,
    soften,
)
from streamkarma.core.jit import borrowing, compiled
from streamkarma.core.passes import Floats
from streamkarma.core.sums import dot

Ints = NDArray[np.int64]

#: Weight that moves to all members alike with every event: what a switch of the best member
#: costs is ln of its inverse, and what it costs where there is none is 0.001 an event.
SHARE = 1e-3
#: Variance of each v_e at the start.
LOOSE_BLEND = 0.1
#: The mean weights are over about so many events: each newer one counts 1 / RECENT, which is the
#: mean of all while there are fewer.
RECENT = 1000
#: Events of a larger weight count as this one.
HEAVIEST = 1e100
#: Residuals are held within ± this many standard deviations, so that one target costs a member at
#: most exp(-12.5); variances, in units of the target's mean square, are no smaller than the second.
OUTLYING, NARROWEST = 5.0, 1e-6


class Blend(NamedTuple):
    """How E experts and the blend of them, the last, are mixed.

    Attributes
    ----------
    shares
        Shape (E + 1,): the Bayes weights; above 0, their sum is 1.
    mean_shares
        Shape (E + 1,): their running mean over the last RECENT events, for people: the weights after
        one event say much about that event.
    mix
        Shape (E,): the v_e of the blend.
    looseness
        Shape (E, E): their covariance.
    variances
        Shape (E + 1,): mean square of each member's residuals in a regression, in units of
        the target's mean square; else (0,).
    steps
        Shape (1,): events learned.
    """

    shares: Floats
    mean_shares: Floats
    mix: Floats
    looseness: Table
    variances: Floats
    steps: Ints


class Memory(NamedTuple):
    """How fast statistics forget: the drift of covariances, and the window of means."""

    drift: float
    window: float


@borrowing
def reweigh(shares: Floats, means: Floats, likelihoods: Floats, weight: float, events: int) -> None:
    """Bayes' rule with fixed share, and the running mean of what comes out, after so many events."""
    members, rate = shares.size, 1.0 / min(events, RECENT)
    if weight != 1.0:
        # Against the highest, so that a great weight leaves one of them at 1.
        highest = likelihoods[0]
        for m in range(1, members):
            highest = max(highest, likelihoods[m])
        for m in range(members):
            likelihoods[m] = (likelihoods[m] / highest) ** weight
    total = 0.0
    for m in range(members):
        shares[m] *= likelihoods[m]
        total += shares[m]
    kept = (1.0 - SHARE) / total
    for m in range(members):
        shares[m] = kept * shares[m] + SHARE / members
        means[m] += rate * (shares[m] - means[m])


@compiled
def mix_two(scores: Cube, labels: Floats, weights: Floats, calibration: Calibration, blend: Blend,
            memory: Memory, mixed: Table, losses: Floats) -> None:  # fmt: skip
    """Calibrate, mix and learn every event in turn, for two classes; see ``Mixing.run``."""
    experts = scores.shape[0]
    _mix_two(scores, labels, weights, calibration, blend, memory, mixed, losses, np.empty((3, experts)),
             np.empty((2, experts + 1)), np.ones((experts, OFFSET + 1)),
             np.empty(max(experts, OFFSET + 1)))  # fmt: skip


@borrowing
def _mix_two(scores: Cube, labels: Floats, weights: Floats, calibration: Calibration, blend: Blend,
             memory: Memory, mixed: Table, losses: Floats, of_experts: Table, of_members: Table,
             features: Table, gains: Floats) -> None:  # fmt: skip
    squares, parameters, covariances, _, _ = calibration
    shares, means, mix, looseness, _, steps = blend
    experts, events, _ = scores.shape
    now, neutral, logits = of_experts[0], of_experts[1], of_experts[2]
    chances, likelihoods = of_members[0], of_members[1]
    for t in range(events):
        rate, drift = 1.0 / min(steps[0] + 2.0, memory.window), fading(steps[0], memory.drift)
        for e in range(experts):
            score = bounded(scores[e, t, 0])
            now[e] = followed(squares[e], score * score, rate)
            unit = np.sqrt(now[e])
            z, neutral[e] = held(score / unit, FARTHEST), min(1.0, unit)
            features[e, SLOPE], features[e, BEND] = z, bend(z, SHARP)
            logits[e] = held(neutral[e] * z + dot(parameters[e], features[e]), LIMIT)
            chances[e] = sigmoid(logits[e])
        chances[experts] = sigmoid(held(dot(mix, logits), LIMIT))
        chance = dot(shares, chances)
        mixed[t, 0] = np.log(chance / (1.0 - chance))
        if np.isnan(labels[t]):
            continue
        truth = 1.0 if labels[t] > 0.0 else 0.0
        losses[t] = -np.log(1.0 - abs(truth - chance))
        if not weights[t] > 0.0:
            continue
        weight = min(weights[t], HEAVIEST)
        steps[0] += 1
        for m in range(experts + 1):
            likelihoods[m] = 1.0 - abs(truth - chances[m])
        reweigh(shares, means, likelihoods, weight, steps[0])
        slope = float(chances[experts]) - truth
        newton(experts, mix, looseness, logits, weight * slope, weight * curvature(slope), LOOSE_BLEND,
               drift, gains)  # fmt: skip
        for e in range(experts):
            squares[e] = now[e]
            slope = chances[e] - truth
            newton(OFFSET + 1, parameters[e], covariances[e], features[e], weight * slope,
                   weight * curvature(slope), LOOSE, drift, gains)  # fmt: skip
            # A score that points the wrong way is noise: it must not be turned round.
            parameters[e, SLOPE] = max(parameters[e, SLOPE], -neutral[e])
            parameters[e, BEND] = max(parameters[e, BEND], 0.0)


@compiled
def mix_several(scores: Cube, labels: Floats, weights: Floats, calibration: Calibration, blend: Blend,
                memory: Memory, mixed: Table, losses: Floats) -> None:  # fmt: skip
    """``mix_two`` for three classes or more."""
    experts, _, classes = scores.shape
    _mix_several(scores, labels, weights, calibration, blend, memory, mixed, losses,
                 np.empty((2, experts)), np.empty(experts + 1), np.empty((2, experts + 1, classes)),
                 np.empty((experts, OWN + 1, classes)), np.empty((2, max(experts, OWN + 1))))  # fmt: skip


@borrowing
def _mix_several(scores: Cube, labels: Floats, weights: Floats, calibration: Calibration, blend: Blend,
                 memory: Memory, mixed: Table, losses: Floats, of_experts: Table, likelihoods: Floats,
                 of_classes: Cube, features: Cube, of_parameters: Table) -> None:  # fmt: skip
    squares, parameters, covariances, offsets, slack = calibration
    shares, means, mix, looseness, _, steps = blend
    experts, events, classes = scores.shape
    now, neutral = of_experts[0], of_experts[1]
    logits, chances = of_classes[0], of_classes[1]
    direction, gains = of_parameters[0], of_parameters[1]
    for t in range(events):
        rate, drift = 1.0 / min(steps[0] + 2.0, memory.window), fading(steps[0], memory.drift)
        logits[experts] = 0.0
        for e in range(experts):
            z = features[e, SLOPE]
            now[e] = followed(squares[e], centre(scores[e, t], z), rate)
            unit = np.sqrt(now[e])
            neutral[e] = min(1.0, unit)
            for c in range(classes):
                z[c] = held(z[c] / unit, FARTHEST)
            bend_each(z, features[e, BEND], features[e, OWN])
            for c in range(classes):
                logits[e, c] = neutral[e] * z[c] + dot(parameters[e], features[e, :, c]) + offsets[e, c]
            soften(logits[e], chances[e])
            for c in range(classes):
                logits[experts, c] += mix[e] * logits[e, c]
        soften(logits[experts], chances[experts])
        for c in range(classes):
            mixed[t, c] = np.log(dot(shares, chances[:, c]))
        if np.isnan(labels[t]):
            continue
        label = int(labels[t])
        losses[t] = -mixed[t, label]
        if not weights[t] > 0.0:
            continue
        weight = min(weights[t], HEAVIEST)
        steps[0] += 1
        for m in range(experts + 1):
            likelihoods[m] = chances[m, label]
            chances[m, label] -= 1.0  # from here on the slopes of the log loss
        reweigh(shares, means, likelihoods, weight, steps[0])
        for e in range(experts):
            direction[e] = dot(chances[experts], logits[e])
        newton(experts, mix, looseness, direction, weight, weight, LOOSE_BLEND, drift, gains)
        for e in range(experts):
            squares[e] = now[e]
            for k in range(OWN + 1):
                direction[k] = dot(chances[e], features[e, k])
            newton(OWN + 1, parameters[e], covariances[e], direction, weight, weight, LOOSE, drift, gains)
            parameters[e, SLOPE] = max(parameters[e, SLOPE], -neutral[e])
            for k in (BEND, OWN):
                parameters[e, k] = max(parameters[e, k], 0.0)
            shift(offsets[e], slack[e], chances[e], weight, drift)


@compiled
def mix_numbers(scores: Cube, targets: Floats, weights: Floats, calibration: Calibration, blend: Blend,
                memory: Memory, mixed: Table, losses: Floats) -> None:  # fmt: skip
    """``mix_two`` for a regression. All is in units of the target's root mean square."""
    experts = scores.shape[0]
    _mix_numbers(scores, targets, weights, calibration, blend, memory, mixed, losses,
                 np.empty((2, experts + 1)), np.ones((experts, 2)), np.empty(max(experts, 2)))  # fmt: skip


@borrowing
def _mix_numbers(scores: Cube, targets: Floats, weights: Floats, calibration: Calibration, blend: Blend,
                 memory: Memory, mixed: Table, losses: Floats, of_members: Table, features: Table,
                 gains: Floats) -> None:  # fmt: skip
    squares, parameters, covariances, _, _ = calibration
    shares, mean_shares, mix, looseness, variances, steps = blend
    experts, events, _ = scores.shape
    means, likelihoods = of_members[0], of_members[1]
    for t in range(events):
        seen = min(steps[0] + 1.0, memory.window)
        unit = np.sqrt(squares[0])
        for e in range(experts):
            features[e, SLOPE] = held(bounded(scores[e, t, 0]) / unit, FARTHEST)
            means[e] = dot(parameters[e], features[e])
        means[experts] = dot(mix, means)
        mixed[t, 0] = unit * dot(shares, means)
        if np.isnan(targets[t]):
            continue
        losses[t] = (mixed[t, 0] - targets[t]) ** 2
        if not weights[t] > 0.0:
            continue
        weight = min(weights[t], HEAVIEST)
        steps[0] += 1
        target = held(targets[t] / unit, FARTHEST)
        squares[:] = followed(squares[0], targets[t] * targets[t], 1.0 / (seen + 1.0))
        for m in range(experts + 1):
            deviation = np.sqrt(variances[m])
            residual = held(means[m] - target, OUTLYING * deviation)
            likelihoods[m] = np.exp(-0.5 * residual * residual / variances[m]) / deviation
            variances[m] += weight / (weight + seen) * (residual * residual - variances[m])
            variances[m] = max(variances[m], NARROWEST)
            if m == experts:
                newton(experts, mix, looseness, means, weight * residual, weight, LOOSE_BLEND,
                       memory.drift, gains)  # fmt: skip
            else:
                newton(2, parameters[m], covariances[m], features[m], weight * residual, weight, LOOSE_NUMBER,
                       memory.drift, gains)  # fmt: skip
                parameters[m, SLOPE] = max(parameters[m, SLOPE], 0.0)
        reweigh(shares, mean_shares, likelihoods, weight, steps[0])
