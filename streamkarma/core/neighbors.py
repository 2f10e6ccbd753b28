"""Nearest neighbours among the last events with a label."""

from __future__ import annotations

from streamkarma import _engine
from streamkarma.core.learner import Learner


class Neighbors(Learner):
    """A window of the last events with a label, of which the nearest vote.

    The distance is over the attributes that an event has: squared differences of standardised numbers, cut
    at 9, and 2 for another category; where the other event lacks an attribute, half of what is to be
    expected. How much each attribute counts in it is learned. After an abrupt change, which is
    found by ADWIN on the errors of the nearest, the events from before it leave the window. An event of more
    than 32 items (numbers, categories, words) gets the shares of classes in the window, or 0, and does not
    enter it.

    Parameters
    ----------
    regression
        Whether labels are targets: the score is the mean of the nearest. Else it is the log-odds of two
        classes, or the logarithm of each one's probability.
    window
        Events kept, at most, 1 to 1,048,576.
    neighbors
        How many of them vote, 1 to 1,024.

    References
    ----------
    Goldberger, Roweis, Hinton, Salakhutdinov: Neighbourhood Components Analysis, NIPS 2004 (the weights).
    Bifet, Pfahringer, Read, Holmes: Efficient Data Stream Classification via Probabilistic Adaptive Windows,
    SAC 2013 (ADWIN).

    Examples
    --------
    The label is whether two numbers have the same sign, which no linear model can tell:

    >>> import numpy as np
    >>> from streamkarma.events.block import Block
    >>> numbers = np.random.default_rng(0).standard_normal((600, 2))
    >>> values = np.column_stack([np.ones(600), numbers]).ravel()
    >>> places = np.tile(np.int32([0, 1, 2]), 600)
    >>> labels = np.sign(numbers.prod(axis=1))
    >>> scores, _ = Neighbors().run(Block(3 * np.arange(601), places, places, values), labels, np.ones(600))
    >>> bool(np.mean(scores[300:, 0] * labels[300:] > 0) > 0.9)
    True
    """

    def __init__(self, regression: bool = False, window: int = 1000, neighbors: int = 10) -> None:
        self.regression, self.window, self.neighbors = regression, window, neighbors

    def create(self) -> _engine.Learner:
        return _engine.neighbors(self.regression, self.window, self.neighbors)
