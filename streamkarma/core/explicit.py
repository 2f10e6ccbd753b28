"""KARMA in its explicit form, and linear models on products and on bins of observed values."""

from __future__ import annotations

from typing import NamedTuple

from streamkarma import _engine
from streamkarma.core.learner import Learner
from streamkarma.errors import UsageError
from streamkarma.printable import shown

#: log2 of the maximum number of weights, by default: 64 MB with their variances.
TABLE_BITS = 22

#: The same for bins, 4 MB; 16 made no difference on twenty streams.
BINS_TABLE_BITS = 18
#: About the maximum number of features of one event for bins: up to 17 numbers belong to two bins each, up to
#: 31 to one. More pairs would cost much; on 21 noisy numbers, bins without pairs had a lower error.
MOST_BINS = 512

SGD, AROW, ADAGRAD = range(3)
UPDATES = {"sgd": SGD, "arow": AROW, "adagrad": ADAGRAD}


class Step(NamedTuple):
    """The update rule of a linear model, which never changes.

    Attributes
    ----------
    update
        AROW, ADAGRAD or SGD.
    loss
        See ``streamkarma.core.loss``; AROW uses the hinge or the squared loss.
    r
        AROW: variance of the noise, above 0.
    eta
        AdaGrad: step size, above 0. SGD: constant step size, or 0 for 1 / (rho t).
    rho, steepness
        SGD: as in ``support.Rule``.
    half_life
        In events, above 0; 0 for never.
    restarts
        Whether the model forgets everything when its errors rise.
    """

    update: int
    loss: int
    r: float
    eta: float
    rho: float
    steepness: float
    half_life: float
    restarts: bool = False


class Explicit(Learner):
    """A linear model on the features of k_gamma, with one weight per feature and no pruning.

    The hypotheses are the same as with support vectors. The cost of an event is proportional to the number of
    its features, |o|^gamma, regardless of the length of the stream and the number of attributes. Every
    feature has its own weight until the table is full; from then on, features are hashed.

    Parameters
    ----------
    gamma
        Order of the kernel: 1, 2 or 3.
    normalize
        Whether every event has norm 1 in feature space.
    step
        The update rule.
    table_bits
        log2 of the maximum number of weights, over all classes: 8 to 30. An event with more features than
        that is learned at a lower order.
    most
        Maximum number of features of one event, or None. An event with more is learned at a lower order, too.

    Raises
    ------
    UsageError
        If ``gamma`` or ``table_bits`` is out of range.

    Examples
    --------
    Two attributes. The first one, and the absence of the second, indicate the positive class:

    >>> import numpy as np
    >>> from streamkarma.core.loss import HINGE
    >>> from streamkarma.events.block import Block
    >>> model = Explicit(2, False, Step(AROW, HINGE, 1.0, 0.0, 0.0, 0.0, 0.0))
    >>> pair = np.array([0, 2, 4]), np.int32([0, 1, 0, 2]), np.int32([0, 1, 0, 2]), np.ones(4)
    >>> scores, losses = model.run(Block(*pair), np.array([1.0, -1.0]), np.ones(2))
    >>> losses.round(2).tolist()
    [1.0, 1.29]
    >>> model.scores(Block(*pair))[:, 0].round(2).tolist()
    [0.71, -0.77]
    """

    def __init__(
        self, gamma: int, normalize: bool, step: Step, table_bits: int = TABLE_BITS, most: int | None = None
    ) -> None:
        if gamma not in (1, 2, 3):
            raise UsageError(f"the explicit form has gamma 1, 2 or 3, not {shown(gamma)}")
        check_bits(table_bits)
        self.gamma, self.normalize, self.step, self.table_bits = gamma, bool(normalize), step, table_bits
        self.most = most

    def create(self) -> _engine.Learner:
        return _engine.explicit(self.gamma, self.normalize, self.step, self.table_bits, self.most)


class Products(Learner):
    """A linear model on the observed values and their products.

    KARMA's features of higher order multiply a value by the *presence* of other attributes; these multiply it
    by their *values*. Missing values are 0, as with gamma = 1.

    Parameters
    ----------
    step, table_bits
        As in ``Explicit``.
    most
        Approximate maximum number of products of one event, or None. Of an event with more, the products of
        its largest values are used.
    """

    def __init__(self, step: Step, table_bits: int, most: int | None = None) -> None:
        check_bits(table_bits)
        self.step, self.table_bits, self.most = step, table_bits, most

    def create(self) -> _engine.Learner:
        return _engine.products(self.step, self.table_bits, self.most)


class Bins(Learner):
    """A linear model on the bins of the observed values, and on pairs of bins.

    Each number belongs to two of eight bins, with degrees that add up to 1, and each category to a bin of its
    own. The score can therefore depend on any two values in any way that is smooth on the scale of half a
    standard deviation. Missing values are in no bin.

    Parameters
    ----------
    step, table_bits
        As in ``Explicit``.
    most
        Approximate maximum number of features of one event. In an event with more, each number belongs to one
        bin; if there are still too many, there are no pairs.

    Examples
    --------
    One class lies between -1 and 1, the other on both sides:

    >>> import numpy as np
    >>> from streamkarma.core.loss import HINGE
    >>> from streamkarma.events.block import Block
    >>> def block(x):
    ...     places = np.tile(np.int32([0, 1]), len(x))
    ...     return Block(2 * np.arange(len(x) + 1), places, places, np.stack([np.ones(len(x)), x], 1).ravel())
    >>> model, x = Bins(Step(AROW, HINGE, 1.0, 0.0, 0.0, 0.0, 0.0)), np.random.default_rng(0).normal(size=500)
    >>> _ = model.run(block(x), np.where(abs(x) < 1, 1.0, -1.0), np.ones(500))
    >>> (model.scores(block(np.array([-1.5, -0.5, 0.5, 1.5])))[:, 0] > 0).tolist()
    [False, True, True, False]
    """

    def __init__(self, step: Step, table_bits: int = BINS_TABLE_BITS, most: int = MOST_BINS) -> None:
        check_bits(table_bits)
        self.step, self.table_bits, self.most = step, table_bits, most

    def create(self) -> _engine.Learner:
        return _engine.bins(self.step, self.table_bits, self.most)


def check_bits(table_bits: int) -> None:
    """Raise UsageError unless this is the log2 of a valid table size."""
    if not 8 <= table_bits <= 30:
        raise UsageError(f"table_bits must be between 8 and 30, not {table_bits!r}")
