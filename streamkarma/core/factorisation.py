"""A factorisation machine: the weights of pairs of coordinates factorise."""

from __future__ import annotations

from streamkarma import _engine
from streamkarma.core.explicit import check_bits
from streamkarma.core.learner import Learner


class FactorisationMachine(Learner):
    """A weight for each coordinate, and for each pair the scalar product of their factors.

    Even two categories that never occurred together have a weight as a pair, from how each behaved with
    others. Until there are four coordinates per attribute and 16 more, the learner is inactive: it scores 0
    and costs nothing.

    Parameters
    ----------
    regression
        Squared loss on targets, else the logistic loss on classes.
    eta
        Step size of AdaGrad, above 0.
    shrink
        How strongly parameters are pulled towards their initial values, 0 or more.
    half_life
        Half-life in events, 1 or more; 0 for never.
    table_bits
        log2 of the maximum number of parameters, over all classes: 8 to 30.

    Raises
    ------
    UsageError
        If ``table_bits`` is out of range.

    References
    ----------
    Rendle: Factorization Machines, ICDM 2010.

    Examples
    --------
    Ten users like items of their own parity. Each rates some items, and is then predicted for others:

    >>> import numpy as np
    >>> from streamkarma.events.block import Block
    >>> def block(users, items):
    ...     coordinates = np.array([0 * users, 1 + users, 11 + items], np.int32).T
    ...     attributes, starts = np.tile(np.int32([0, 1, 2]), len(users)), 3 * np.arange(len(users) + 1)
    ...     return Block(starts, attributes, coordinates.ravel(), np.ones(starts[-1]))
    >>> users, items = np.random.default_rng(0).integers(20, size=(2, 2000)) // [[2], [1]]
    >>> asked = (users + items) % 7 > 0
    >>> model, likes = FactorisationMachine(), np.where((users + items) % 2, -1.0, 1.0)
    >>> _ = model.run(block(users[asked], items[asked]), likes[asked], np.ones(asked.sum()))
    >>> float(np.mean(model.scores(block(users[~asked], items[~asked]))[:, 0] * likes[~asked] > 0))
    1.0
    """

    def __init__(
        self,
        regression: bool = False,
        eta: float = 0.5,
        shrink: float = 1e-3,
        half_life: float = 0.0,
        table_bits: int = 18,
    ) -> None:
        check_bits(table_bits)
        self.regression, self.eta, self.shrink = regression, eta, shrink
        self.half_life, self.table_bits = half_life, table_bits

    def create(self) -> _engine.Learner:
        return _engine.factorisation_machine(
            self.regression, self.eta, self.shrink, self.half_life, self.table_bits
        )
