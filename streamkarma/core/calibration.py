"""Online calibration: from the score of an expert to a probability, or to a prediction.

A score f is brought to z = f / s, with s its running root mean square, and then

    two classes   p = sigmoid(m z + h g(z) + b),
    several       p = softmax over c of m z_c + h g(z_c - max_{r != c} z_r) / 2 + k g'(z_c) + b_c,
    a number      a f + b,

where m = min(1, s) + a, and g(z) = z / (SHARP + |z|) and g' with SOFT in its place are bounded. The
z_c of several classes have mean 0. All parameters begin at 0, but for the a of a number, which
begins at 1: scores are taken for log-odds at first, as those of a logistic loss are, unless they
are larger on average than log-odds are wont to be. The parameters follow the log loss (the squared
loss) event by event.

A slope and an offset alone (Platt 1999) cannot say that one label in twenty is wrong however far
the score is from 0; g can. Where labels are noisy it more than halves the calibration error. The
scores of the losing classes tell less from each other than that of the winner from theirs: g'.

The parameters are followed by online Newton steps, as in an extended Kalman filter (recursive
least squares for a number): with gradient g x, curvature q x x' and covariance P,

    P <- P - P x q x' P / (1 + q x' P x),    parameters <- parameters - P x g.

P then drifts back towards where it began, so that old events are forgotten slowly and P stays
positive definite whatever came. Left open by the papers is the step where the model errs
grossly: there the curvature p (1 - p) of the log loss vanishes, and Newton would leap. Here
q = r max(r, 1 - r) with r = |p - y|: the curvature where p is fair, and the squared gradient,
that of the online Newton step (Hazan, Agarwal, Kale 2007), where p is wrong.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import borrowing, inlined
from streamkarma.core.passes import Floats

Table = NDArray[np.float64]
Cube = NDArray[np.float64]

#: Log-odds are held within ± this, which is probabilities within 1e-6 of 0 and 1: one event can
#: cost an expert at most a factor of a million, which it makes good within some dozen events in
#: which it is the better one, and being as sure as that all the time costs 1e-6 an event.
LIMIT = math.log(1e6 - 1.0)
#: Scores are held within ± this many times their root mean square.
FARTHEST = 30.0
#: A square counts at most this often the mean square. One wild score then moves it little, and
#: if they are all that large it still grows a millionfold within some ten events.
LEAP = 100.0
#: Scores beyond this are cut, so that their squares stay finite.
LARGEST = 1e100
#: A mean square is no smaller than this, so that it can be divided by.
SMALLEST = 1e-12
#: Means run over this many events: the scale of a score changes while its expert learns.
WINDOW = 1000.0
#: Variance of each parameter at the start, that of a number's (in units of its residuals'), and the
#: share of it that comes back with every event. These and what follows were chosen on 19 tables
#: with half of the attributes withheld and 5 synthetic streams.
LOOSE, LOOSE_NUMBER, DRIFT = 0.5, 0.01, 1e-5
#: Covariances drift by YOUTH / (t + 10)^2 at event t, which keeps the memory a constant share of t:
#: the first events were learned from experts that knew little, and at parameters where the
#: curvature was another. Squared errors have the same curvature everywhere, and go without.
YOUTH = 10.0
#: Where the bounded features bend: sharply for the sign of a score, since a good expert's leave
#: little in between.
SHARP, SOFT = 0.1, 0.25

SLOPE, BEND, OFFSET = range(3)
#: What several classes have in the place of an offset.
OWN = OFFSET


class Calibration(NamedTuple):
    """What is known about the scores of E experts.

    Attributes
    ----------
    squares
        Shape (E,): mean square of the score; of the difference of two classes where there
        are several; of the target in a regression.
    parameters
        Shape (E, K): a, h, b for two classes; a, h, k for several; a, b in a regression.
    covariances
        Shape (E, K, K): how loose they still are.
    offsets, slack
        Shape (E, C): the b_c of several classes and their variances, taken to be
        independent; else (E, 0).
    """

    squares: Floats
    parameters: Table
    covariances: Cube
    offsets: Table
    slack: Table


def fresh(experts: int, classes: int, regression: bool) -> Calibration:
    """Calibrations that have seen nothing."""
    size, loose = (2, LOOSE_NUMBER) if regression else (3, LOOSE)
    several = classes if classes > 1 else 0
    parameters = np.zeros((experts, size))
    parameters[:, SLOPE] = float(regression)
    return Calibration(
        squares=np.ones(experts),
        parameters=parameters,
        covariances=np.tile(loose * np.eye(size), (experts, 1, 1)),
        offsets=np.zeros((experts, several)),
        slack=np.full((experts, several), LOOSE),
    )


def widened(calibration: Calibration, classes: int) -> Calibration:
    """The same for more classes: what two classes got they keep; new ones begin at b_c = 0."""
    experts, before = calibration.offsets.shape
    wide = fresh(experts, classes, False)
    if before:
        wide.offsets[:, :before], wide.slack[:, :before] = calibration.offsets, calibration.slack
        return calibration._replace(offsets=wide.offsets, slack=wide.slack)
    half = calibration.parameters[:, OFFSET] / 2
    wide.offsets[:, 0], wide.offsets[:, 1] = -half, half
    wide.slack[:, :2] = calibration.covariances[:, OFFSET, OFFSET, None]
    wide.parameters[:, :OFFSET] = calibration.parameters[:, :OFFSET]
    wide.covariances[:, :OFFSET, :OFFSET] = calibration.covariances[:, :OFFSET, :OFFSET]
    return wide._replace(squares=calibration.squares)


@inlined
def held(value: float, limit: float) -> float:
    """``value`` within ± ``limit``."""
    return min(max(value, -limit), limit)


@inlined
def bounded(score: float) -> float:
    """``score`` within ±LARGEST; 0 where a broken model gave NaN."""
    return 0.0 if np.isnan(score) else held(score, LARGEST)


@inlined
def followed(mean: float, square: float, rate: float) -> float:
    """A running mean square with one more ``square``, which counts for ``rate`` of it."""
    return max(mean + rate * (min(square, LEAP * max(mean, 1.0)) - mean), SMALLEST)


@inlined
def sigmoid(logit: float) -> float:
    """1 / (1 + exp(-logit)) for logits within ±LIMIT."""
    return float(1.0 / (1.0 + np.exp(-logit)))


@inlined
def bend(z: float, knee: float) -> float:
    """The bounded feature z / (knee + |z|)."""
    return z / (knee + abs(z))


@inlined
def curvature(slope: float) -> float:
    """q of the module's text, for the slope p - y of the log loss in a logit."""
    off = abs(slope)
    return off * max(off, 1.0 - off)


@inlined
def fading(steps: int, drift: float) -> float:
    """The drift of covariances after ``steps`` events: early on, more than ``drift``."""
    return max(drift, YOUTH / (steps + 10.0) ** 2)


@inlined
def newton(size: int, parameters: Floats, covariance: Table, x: Floats, slope: float, curved: float,
           loose: float, drift: float, gains: Floats) -> None:  # fmt: skip
    """One step of the module's text, and the drift of ``covariance`` back to ``loose`` times 1.

    Parameters
    ----------
    size
        K; a constant, if it is known, lets the compiler unroll the loops.
    parameters, covariance
        Shapes (K,) and (K, K): updated. The covariance is symmetric to the bit, and stays so.
    x
        Shape (K,): the direction of the gradient.
    slope, curved
        g and q, times the weight of the event.
    gains
        Scratch of K or more.
    """
    for i in range(size):
        gains[i] = 0.0
    for j in range(size):
        for i in range(size):
            gains[i] += covariance[j, i] * x[j]
    spread = 1.0
    for i in range(size):
        spread += curved * gains[i] * x[i]
    step, shrinking, kept = slope / spread, curved / spread, 1.0 - drift
    for i in range(size):
        parameters[i] -= step * gains[i]
        for j in range(size):
            covariance[i, j] = kept * (covariance[i, j] - shrinking * (gains[i] * gains[j]))
        covariance[i, i] += drift * loose


@borrowing
def centre(scores: Floats, z: Floats) -> float:
    """Write the scores of several classes less their mean to ``z``.

    Returns the mean square of the difference of two of them.
    """
    classes = z.size
    mean = 0.0
    for c in range(classes):
        z[c] = bounded(scores[c])
        mean += z[c] / classes
    square = 0.0
    for c in range(classes):
        z[c] -= mean
        square += z[c] * z[c]
    return 2.0 * square / (classes - 1)


@borrowing
def bend_each(z: Floats, margins: Floats, own: Floats) -> None:
    """The two bounded features of several classes; see the module's text."""
    first, second = -np.inf, -np.inf
    for c in range(z.size):
        if z[c] > first:
            first, second = z[c], first
        elif z[c] > second:
            second = z[c]
    for c in range(z.size):
        margins[c] = 0.5 * bend(z[c] - (second if z[c] == first else first), SHARP)
        own[c] = bend(z[c], SOFT)


@borrowing
def soften(logits: Floats, chances: Floats) -> None:
    """Softmax, with logits held within LIMIT of the highest."""
    highest = logits[0]
    for c in range(1, logits.size):
        highest = max(highest, logits[c])
    total = 0.0
    for c in range(logits.size):
        logits[c] = max(logits[c] - highest, -LIMIT)
        chances[c] = np.exp(logits[c])
        total += chances[c]
    for c in range(logits.size):
        chances[c] /= total


@borrowing
def shift(offsets: Floats, slack: Floats, slopes: Floats, weight: float, drift: float) -> None:
    """A step of each class's offset on its own, by the slopes p_c - y_c of the log loss."""
    for c in range(offsets.size):
        slack[c] /= 1.0 + weight * curvature(slopes[c]) * slack[c]
        offsets[c] -= weight * slopes[c] * slack[c]
        slack[c] = (1.0 - drift) * slack[c] + drift * LOOSE
