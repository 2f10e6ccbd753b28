"""Updates of a linear model on sparse features: SGD, AROW and AdaGrad.

A feature vector is a list of places (``index``) with values there (``phi``); nothing here
knows what the places mean, and nothing costs more than the list is long. The model has one
row of ``weights`` for two classes and for regression, else one per class, and beside each
weight a ``spread`` of the same shape, whose meaning depends on the update.

SGD is Algorithm 1 of [H] and needs no spread (give it no columns):

    w <- (1 - eta rho) w - eta l'(f, y) phi,    eta = 1 / (rho t).

AROW [C] keeps a variance sigma beside each weight, 1 to begin with. An event of weight k is
one whose noise is r / k. With v = sum sigma phi^2 and, where y f < 1,

    beta = 1 / (v + r / k),  w <- w + beta (1 - y f) y sigma phi,
    1 / sigma <- 1 / sigma + phi^2 k / r.

Two diagonal forms are in use. This one keeps the diagonal of the inverse covariance; the
other that of the covariance itself, sigma <- sigma - beta sigma^2 phi^2, by which the
variances of a hundred correlated features hardly fall: it erred more at every r, gamma and
scale tried on two low-rank streams of 100,000 events (at r = 1, gamma = 2: 0.1064 against
0.1061 with events of norm 1, 0.123 against 0.113 without).

The paper gives no regression. Here it has the same gain on the error y - f, at every event:
recursive least squares with a diagonal covariance, as in [V]. With several classes the true
class and the highest wrong one are updated, and v is the sum over both.

AdaGrad [D] divides the gradient by the root of the sum G of its squares, which is the
spread and begins at 0; START is added to it.

Forgetting with half-life h multiplies sigma by 2^(1/h) each step, up to 1 again, and
AdaGrad's w and G by its inverse; SGD's t stays at h / log 2, where each step forgets the
like. (With w left alone, AdaGrad's w grows without end where the classes are separable:
its steps have one length whatever the gradients, and each flip takes longer to follow.)

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.
[C] Crammer, Kulesza, Dredze: Adaptive Regularization of Weight Vectors, NIPS 2009.
[V] Vaits, Crammer: Re-adapting the Regularization of Weights for Non-stationary Regression,
    ALT 2011.
[D] Duchi, Hazan, Singer: Adaptive Subgradient Methods, JMLR 2011.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import borrowing, inlined
from streamkarma.core.loss import SQUARED, loss_and_slope, multiclass_loss_and_slopes
from streamkarma.core.scale import LARGEST
from streamkarma.core.sums import dot

Floats = NDArray[np.float64]
Rows = NDArray[np.float64]
Places = NDArray[np.int64]

SGD, AROW, ADAGRAD = range(3)
UPDATES = {"sgd": SGD, "arow": AROW, "adagrad": ADAGRAD}

#: What AdaGrad adds to the sums of squared gradients: below any gradient that matters, so
#: that the first step on a weight is eta whatever the unit of its feature.
START = 1e-8

STEPS, FACTOR = range(2)

#: Where the global factor is multiplied into the arrays: long before anything overflows.
SMALLEST_SCALE = 1e-9
LARGEST_GROWTH = 2.0**64


class Step(NamedTuple):
    """How the model steps; the same for its whole life.

    Attributes
    ----------
    update
        SGD, AROW or ADAGRAD.
    loss
        See ``streamkarma.core.loss``; for AROW HINGE or SQUARED.
    r
        AROW: the variance of the noise, above 0. With events of norm 1, 1 to 3 did best.
    eta
        AdaGrad: the step, above 0; with events of norm 1, 0.1 to 0.3 did best. SGD: a
        constant step, or 0 for 1 / (rho t).
    rho
        SGD: strength of the regularisation, above 0.
    steepness
        SGD: the step is held below 1 / (steepness * |phi|^2 * weight); 0 for no such limit.
    half_life
        Steps after which what was learned counts half, 1 or more; 0 for never.
    """

    update: int
    loss: int
    r: float
    eta: float
    rho: float
    steepness: float
    half_life: float


def first_spread(update: int) -> float:
    """The spread of a weight that was never touched."""
    return 1.0 if update == AROW else 0.0


def new_clock(steps: int = 0) -> Floats:
    """Steps done, and the global factor of SGD's w, AROW's sigma, AdaGrad's 1 / w and 1 / G."""
    return np.array([float(steps), 1.0])


@borrowing
def predict(step: Step, clock: Floats, weights: Rows, index: Places, phi: Floats,
            scores: Floats) -> None:  # fmt: skip
    """Write the score of every class, within ±LARGEST; ``scores`` has shape (C,)."""
    scale = _weight_scale(step, clock)
    for c in range(scores.size):
        score = scale * _product(weights[c], index, phi)
        scores[c] = min(max(score, -LARGEST), LARGEST)


@borrowing
def _weight_scale(step: Step, clock: Floats) -> float:
    """What the weights as stored are to be multiplied by."""
    if step.update == AROW:
        return 1.0
    factor = float(clock[FACTOR])
    return factor if step.update == SGD else 1.0 / factor


@borrowing
def judge(step: Step, scores: Floats, label: float, slopes: Floats) -> float:
    """The loss; ``slopes`` of shape (C,) receives its derivative in each score."""
    if scores.size > 1:
        return multiclass_loss_and_slopes(step.loss, scores, int(label), slopes)
    loss, slopes[0] = loss_and_slope(step.loss, scores[0], label)
    return loss


@borrowing
def learn(step: Step, clock: Floats, weights: Rows, spread: Rows, index: Places, phi: Floats,
          loss: float, slopes: Floats, weight: float, work: Rows) -> None:  # fmt: skip
    """Take one step.

    Parameters
    ----------
    clock
        From ``new_clock``; updated.
    weights, spread
        Shape (C, F); updated. For SGD ``spread`` may be empty.
    index, phi
        Shape (n,): places below F and the values there. A place may occur twice.
    loss, slopes
        From ``judge``; ``slopes`` is overwritten.
    weight
        How often the event counts, above 0.
    work
        Scratch of shape (2, n) or more.
    """
    clock[STEPS] += 1.0
    if step.update == SGD:
        _descend(step, clock, weights, spread, index, phi, slopes, weight)
        return
    if step.update == AROW:
        # Half the slope of the squared loss is the error; the hinge has its lack as loss.
        error = 0.5 if step.loss == SQUARED else loss
        noise = min(max(step.r / weight, 1.0 / LARGEST), LARGEST)
        _regularise(clock[FACTOR], weights, spread, index, phi, error, slopes, noise, work)
    else:
        for c in range(slopes.size):
            slope = min(max(weight * slopes[c], -LARGEST), LARGEST)
            if slope != 0.0:
                _adapt(clock[FACTOR], weights[c], spread[c], index, phi, step.eta, slope, work)
    if step.half_life > 0.0:
        clock[FACTOR] *= 2.0 ** (1.0 / step.half_life)
        if clock[FACTOR] > LARGEST_GROWTH:
            settle(step, clock, weights, spread)


@borrowing
def settle(step: Step, clock: Floats, weights: Rows, spread: Rows) -> None:
    """Multiply the global factor into the arrays and set it to 1."""
    factor, scale = clock[FACTOR], _weight_scale(step, clock)
    for c in range(weights.shape[0]):
        for i in range(weights.shape[1]):
            weights[c, i] *= scale
        for i in range(spread.shape[1]):
            spread[c, i] = min(1.0, factor * spread[c, i]) if step.update == AROW else spread[c, i] / factor
    clock[FACTOR] = 1.0


@inlined
def _product(row: Floats, index: Places, phi: Floats) -> float:
    """Sum of weights times phi; four sums side by side, for none to wait for the last."""
    s0 = s1 = s2 = s3 = 0.0
    whole = index.size // 4 * 4
    for j in range(0, whole, 4):
        s0 += row[np.uint64(index[j])] * phi[j]
        s1 += row[np.uint64(index[j + 1])] * phi[j + 1]
        s2 += row[np.uint64(index[j + 2])] * phi[j + 2]
        s3 += row[np.uint64(index[j + 3])] * phi[j + 3]
    for j in range(whole, index.size):
        s0 += row[np.uint64(index[j])] * phi[j]
    return (s0 + s1) + (s2 + s3)


@borrowing
def _descend(step: Step, clock: Floats, weights: Rows, spread: Rows, index: Places, phi: Floats,
             slopes: Floats, weight: float) -> None:  # fmt: skip
    eta = step.eta
    if eta == 0.0:
        steps = clock[STEPS]
        if step.half_life > 0.0:
            steps = min(steps, max(step.half_life / np.log(2.0), 1.0))
        eta = 1.0 / (step.rho * steps)
    if step.steepness > 0.0:
        curvature = 0.0
        for j in range(phi.size):
            curvature += phi[j] * phi[j]
        curvature *= step.steepness * weight
        if curvature * eta > 1.0:
            eta = 1.0 / curvature
    clock[FACTOR] *= 1.0 - eta * step.rho
    if clock[FACTOR] < SMALLEST_SCALE:
        settle(step, clock, weights, spread)
    for c in range(slopes.size):
        change = -eta * weight * slopes[c] / clock[FACTOR]
        if change != 0.0:
            for j in range(index.size):
                weights[c, index[j]] += change * phi[j]


@borrowing
def _regularise(growth: float, weights: Rows, spread: Rows, index: Places, phi: Floats, error: float,
                slopes: Floats, noise: float, work: Rows) -> None:  # fmt: skip
    parts, kept = work[0, : index.size], work[1, : index.size]
    variance, inverse = 0.0, 1.0 / growth
    for c in range(slopes.size):
        if slopes[c] != 0.0:
            _gather(growth, spread[c], index, phi, parts)
            variance += dot(parts, phi)
    gain = 1.0 / (variance + noise)
    for c in range(slopes.size):
        if slopes[c] == 0.0:
            continue
        row, variances, change = weights[c], spread[c], -slopes[c] * error * gain
        if slopes.size > 1:
            _gather(growth, variances, index, phi, parts)
        _shrink(noise, phi, parts, kept)
        for j in range(index.size):
            i = np.uint64(index[j])
            row[i] += change * parts[j]
            variances[i] = min(inverse, variances[i]) * kept[j]


@borrowing
def _gather(growth: float, variances: Floats, index: Places, phi: Floats, parts: Floats) -> None:
    """Write sigma phi."""
    for j in range(index.size):
        parts[j] = min(1.0, growth * variances[np.uint64(index[j])]) * phi[j]


@borrowing
def _shrink(noise: float, phi: Floats, parts: Floats, kept: Floats) -> None:
    """Write what is kept of sigma.

    Apart from the table, since the compiler cannot tell that its places do not overlap with these.
    """
    for j in range(phi.size):
        kept[j] = noise / (noise + parts[j] * phi[j])


@borrowing
def _adapt(growth: float, row: Floats, squares: Floats, index: Places, phi: Floats, eta: float,
           slope: float, work: Rows) -> None:  # fmt: skip
    added, steps = work[0, : index.size], work[1, : index.size]
    for j in range(index.size):
        steps[j] = squares[np.uint64(index[j])]
    _divide_by_root(growth, phi, eta, slope, added, steps)
    for j in range(index.size):
        i = np.uint64(index[j])
        squares[i] += added[j]
        row[i] -= steps[j]


@borrowing
def _divide_by_root(growth: float, phi: Floats, eta: float, slope: float, added: Floats,
                    steps: Floats) -> None:  # fmt: skip
    """From G in ``steps``: what is added to it, and the steps; apart from the table as ``_shrink`` is."""
    inverse = 1.0 / growth
    for j in range(phi.size):
        gradient = min(max(slope * phi[j], -LARGEST), LARGEST)
        added[j] = growth * gradient * gradient
        steps[j] = growth * eta * gradient / np.sqrt(START + inverse * (steps[j] + added[j]))
