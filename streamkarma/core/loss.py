"""Losses l(f, y) of a score f, which the engine computes.

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
huber               regression      (f - y)^2 / 2 within 1, then linear
epsilon_insensitive regression      max(0, |f - y| - 0.1)
==================  ==============  =====================================================

In binary classification y is +1 or -1. A loss with an unbounded slope has a ``smoothness``, its largest
second derivative. The step size is then kept below ``1 / (smoothness * k(x, x))``, which reaches the label
exactly: the bounds of Algorithm 1 need a Lipschitz loss, and larger steps would overshoot and diverge. The
squared hinge of several classes moves two vectors at once, and its steps are at most half of that.
"""

from __future__ import annotations

from typing import NamedTuple

HINGE, SQUARED_HINGE, LOGISTIC, SQUARED, ABSOLUTE, HUBER, EPSILON_INSENSITIVE = range(7)


class Loss(NamedTuple):
    """Properties of a loss.

    Attributes
    ----------
    code
        Its number in the engine.
    degree
        The power of the target's unit in the loss; 0 in classification, where scores have no unit.
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
