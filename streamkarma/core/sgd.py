"""Stochastic gradient descent with a constant step size, and learners on logarithms."""

from __future__ import annotations

from streamkarma import _engine
from streamkarma.core.explicit import TABLE_BITS, check_bits
from streamkarma.core.learner import Learner


class Sgd(Learner):
    """A linear model on standardised values and on indicators of which attributes are present.

    The step size does not decrease, so that the model follows drift. It is kept below 2 / |x|² in
    classification and 1 / (2 |x|²) in regression, where x are the event's features.

    Parameters
    ----------
    regression
        Squared loss on targets, else the logistic loss on classes.
    eta
        The step size, above 0.
    half_life
        Half-life in events, 1 or more, of the weights; 0 for never.
    table_bits
        log2 of the maximum number of weights, over all classes: 8 to 30.

    Raises
    ------
    UsageError
        If ``table_bits`` is out of range.

    Examples
    --------
    After a thousand events of one kind, two of another are enough to reverse the prediction:

    >>> import numpy as np
    >>> from streamkarma.events.block import Block
    >>> event = Block(np.array([0, 2]), np.int32([0, 1]), np.int32([0, 1]), np.array([1.0, 2.0]))
    >>> model, once = Sgd(regression=True, eta=0.1), np.ones(1)
    >>> for target in [3.0] * 1000 + [-3.0] * 2:
    ...     _ = model.run(event, np.array([target]), once)
    >>> model.scores(event)[0, 0].round(2).item()
    -1.5
    """

    def __init__(
        self,
        regression: bool = False,
        eta: float = 0.03,
        half_life: float = 0.0,
        table_bits: int = TABLE_BITS,
    ) -> None:
        check_bits(table_bits)
        self.regression, self.eta, self.half_life, self.table_bits = regression, eta, half_life, table_bits

    def create(self) -> _engine.Learner:
        return _engine.sgd(self.regression, self.eta, self.half_life, self.table_bits)


class Logarithmic(Learner):
    """A learner on sign(z) log(1 + |z|) of each value z, which compresses heavy tails.

    Parameters
    ----------
    learner
        The learner; a new one with the same settings receives the logarithms.
    """

    def __init__(self, learner: Learner) -> None:
        self.learner = learner

    def create(self) -> _engine.Learner:
        return _engine.logarithmic(self.learner.create())
