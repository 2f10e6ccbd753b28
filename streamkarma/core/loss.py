"""Losses l(f, y) and their slopes in the score f.

==================  ==============  =====================================================
name                for             l(f, y)
==================  ==============  =====================================================
hinge               classification  max(0, 1 - y f); three classes or more:
                                    max(0, 1 + max_{r != y} f_r - f_y), the multiclass
                                    hinge of Crammer and Singer (2001)
squared_hinge       classification  the square of the above
logistic            classification  log(1 + exp(-y f)); three classes or more:
                                    log sum_r exp(f_r - f_y)
squared             regression      (f - y)^2
absolute            regression      |f - y|
huber               regression      (f - y)^2 / 2 within DELTA, then linear
epsilon_insensitive regression      max(0, |f - y| - EPSILON)
==================  ==============  =====================================================

In binary classification y is +1 or -1. A loss with an unbounded slope has a ``smoothness``
(its largest second derivative): the step is then held below ``1 / (smoothness * k(x, x))``,
where it reaches the label exactly; the bounds of Algorithm 1 need a Lipschitz loss, and a
longer step would overshoot, each time further.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import borrowing, compiled

Floats = NDArray[np.float64]

#: Where Huber's loss turns linear, and the half width of the insensitive tube; both in
#: standard deviations of the target when the target is standardised.
DELTA = 1.0
EPSILON = 0.1

HINGE, SQUARED_HINGE, LOGISTIC, SQUARED, ABSOLUTE, HUBER, EPSILON_INSENSITIVE = range(7)


class Loss(NamedTuple):
    """What is known about a loss beside its value.

    Attributes
    ----------
    code
        Its number in the compiled functions.
    degree
        The loss of a target measured in other units changes by this power of the unit;
        0 in classification, where a score has no unit.
    smoothness
        Largest second derivative where the slope is unbounded, else 0.
    """

    code: int
    degree: int
    smoothness: float


CLASSIFICATION = {
    "hinge": Loss(HINGE, 0, 0.0),
    "squared_hinge": Loss(SQUARED_HINGE, 0, 2.0),
    "logistic": Loss(LOGISTIC, 0, 0.0),
}
REGRESSION = {
    "squared": Loss(SQUARED, 2, 2.0),
    "absolute": Loss(ABSOLUTE, 1, 0.0),
    "huber": Loss(HUBER, 2, 0.0),
    "epsilon_insensitive": Loss(EPSILON_INSENSITIVE, 1, 0.0),
}


@borrowing
def loss_and_slope(code: int, score: float, label: float) -> tuple[float, float]:
    """Loss of one score and its derivative in the score; the label is +1/-1 or a number."""
    if code == LOGISTIC:
        margin = label * score
        if margin > 0:
            tail = np.exp(-margin)
            return np.log1p(tail), -label * tail / (1.0 + tail)
        tail = np.exp(margin)
        return np.log1p(tail) - margin, -label / (1.0 + tail)
    if code in (HINGE, SQUARED_HINGE):
        lack = 1.0 - label * score
        if lack <= 0.0:
            return 0.0, 0.0
        if code == HINGE:
            return lack, -label
        return lack * lack, -2.0 * label * lack
    residual = score - label
    if code == SQUARED:
        return residual * residual, 2.0 * residual
    size = abs(residual)
    sign = float(np.sign(residual))
    if code == ABSOLUTE:
        return size, sign
    if code == HUBER:
        if size <= DELTA:
            return 0.5 * residual * residual, residual
        return DELTA * (size - 0.5 * DELTA), DELTA * sign
    if size <= EPSILON:
        return 0.0, 0.0
    return size - EPSILON, sign


@borrowing
def multiclass_loss_and_slopes(code: int, scores: Floats, label: int, slopes: Floats) -> float:
    """Loss of one score per class; ``slopes`` receives the derivative in each of them."""
    rival = -1
    for c in range(scores.size):
        slopes[c] = 0.0
        if c != label and (rival < 0 or scores[c] > scores[rival]):
            rival = c
    if rival < 0:
        return 0.0
    if code == LOGISTIC:
        highest = max(scores[rival], scores[label])
        total = 0.0
        for c in range(scores.size):
            slopes[c] = np.exp(scores[c] - highest)
            total += slopes[c]
        for c in range(scores.size):
            slopes[c] /= total
        slopes[label] -= 1.0
        return float(np.log(total) + highest - scores[label])
    lack = 1.0 + scores[rival] - scores[label]
    if lack <= 0.0:
        return 0.0
    slope = 1.0 if code == HINGE else 2.0 * lack
    slopes[rival] = slope
    slopes[label] = -slope
    return float(lack if code == HINGE else lack * lack)


@compiled
def losses(code: int, scores: Floats, labels: Floats) -> Floats:
    """``loss_and_slope`` of many scores: the losses alone, NaN where the label is."""
    result = np.empty(scores.size)
    for t in range(scores.size):
        result[t] = loss_and_slope(code, scores[t], labels[t])[0]
        if np.isnan(labels[t]):
            result[t] = np.nan
    return result


@borrowing
def logistic(score: float) -> float:
    """1 / (1 + exp(-score)), through exp of what is negative, so that nothing overflows."""
    tail = np.exp(-abs(score))
    larger = 1.0 / (1.0 + tail)
    return float(larger if score > 0.0 else tail * larger)


@compiled
def logistics(scores: Floats) -> Floats:
    """``logistic`` of each."""
    chances = np.empty(scores.size)
    for t in range(scores.size):
        chances[t] = logistic(scores[t])
    return chances
