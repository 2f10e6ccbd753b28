"""Nearest neighbours among the latest labelled events."""

from __future__ import annotations

from streamkarma import _engine
from streamkarma.core.learner import Learner

#: Number of events kept at first by a window that grows.
START = 1000


class Neighbors(Learner):
    """A window of the latest labelled events, in which the nearest vote.

    The distance covers the attributes observed in the event: squared differences of standardised numbers,
    clipped at 9, and 2 for a different category; where the other event lacks an attribute, half of the
    expected value. The weight of each attribute is learned. After an abrupt change, detected by ADWIN on the
    errors of the nearest neighbours, earlier events leave the window. An event with more than 128 items
    (numbers, categories, words) is scored by the class shares in the window, or 0 in regression, and does not
    enter the window.

    Parameters
    ----------
    regression
        Whether labels are targets: the score is then the mean over the nearest. Otherwise it is the log-odds
        for two classes, or the logarithm of each class's probability.
    window
        Maximum number of events kept, 1 to 1,048,576. None starts with 1,000: each time the window has been
        completely refilled, it doubles if its newer half alone had larger errors than the whole, and halves,
        to no fewer than 1,000, if it had smaller ones. It has at most 16,000 events, and those beyond the
        first thousand have at most 65,536 values.
    neighbors
        Number of neighbours that vote, 1 to 1,024.

    References
    ----------
    Goldberger, Roweis, Hinton, Salakhutdinov: Neighbourhood Components Analysis, NIPS 2004 (the weights).
    Bifet, Pfahringer, Read, Holmes: Efficient Data Stream Classification via Probabilistic Adaptive Windows,
    SAC 2013 (ADWIN).

    Examples
    --------
    The label is whether two numbers have the same sign, which no linear model can learn:

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

    def __init__(self, regression: bool = False, window: int | None = None, neighbors: int = 10) -> None:
        self.regression, self.window, self.neighbors = regression, window, neighbors

    def create(self) -> _engine.Learner:
        window = START if self.window is None else self.window
        return _engine.neighbors(self.regression, window, self.window is None, self.neighbors)
