"""KARMA in its support-vector form: Algorithm 1 of [H].

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from streamkarma import _engine
from streamkarma.arrays import Floats
from streamkarma.core.learner import Learner
from streamkarma.core.theory import Schedule

#: What to do when there is one support vector too many.
PRUNING = ("merge", "remove", "oldest")


class Rule(NamedTuple):
    """The update rule of the learner, which never changes.

    Attributes
    ----------
    gamma
        Order of the kernel, 1 or more.
    normalize
        Whether every event has norm 1 in feature space.
    rho
        Strength of the regularisation, above 0.
    eta
        Constant step size, or 0 for 1 / (rho t).
    loss
        See ``streamkarma.core.loss``.
    steepness
        The step size is kept below 1 / (steepness * k(x, x) * weight); 0 for no such limit.
    budget
        Maximum number of support vectors; 0 for no limit.
    pruning
        One of ``PRUNING``.
    longest
        The decreasing step is divided by at most this many events: from then on v decays by 1 / longest with
        each event.
    """

    gamma: int
    normalize: bool
    rho: float
    eta: float
    loss: int
    steepness: float
    budget: int
    pruning: str
    longest: float = float("inf")


class Member(NamedTuple):
    """One support vector, which adds alpha times its vector to the model.

    Attributes
    ----------
    attributes
        The set of observed attributes.
    vectors
        By coordinate, one entry per class; the norm over all of them in feature space is 1.
    alpha
        0 or more.
    """

    attributes: list[int]
    vectors: dict[int, Floats]
    alpha: float


class SupportVectors(Learner):
    """KARMA with support vectors, one for each pattern, and a budget.

    Parameters
    ----------
    rule
        The update rule.
    average
        Keep the average of v_1 … v_T and predict with it [H, Thm 2.2].

    Examples
    --------
    An event with value 2 of attribute 0, learned as positive with the hinge loss, and one that shares nothing
    with it:

    >>> from streamkarma.core.loss import HINGE
    >>> from streamkarma.events.block import Block
    >>> model = SupportVectors(Rule(2, False, 1.0, 0.0, HINGE, 0.0, 0, "merge"), average=False)
    >>> first = Block(np.array([0, 1]), np.int32([0]), np.int32([0]), np.array([2.0]))
    >>> other = Block(np.array([0, 1]), np.int32([1]), np.int32([1]), np.array([2.0]))
    >>> scores, losses = model.run(first, np.array([1.0]), np.array([1.0]))
    >>> float(losses[0])
    1.0
    >>> float(model.scores(first)[0, 0]), float(model.scores(other)[0, 0])
    (8.0, 0.0)
    """

    def __init__(self, rule: Rule, average: bool) -> None:
        self.rule, self.average = rule, average

    def create(self) -> _engine.Learner:
        return _engine.support_vectors(self.rule, self.average)

    def members(self) -> list[Member]:
        """The support vectors."""
        a = self.arrays()
        attributes = np.split(a["attributes"], np.cumsum(a["sizes"])[:-1])
        coordinates = np.split(a["coordinates"], np.cumsum(a["lengths"])[:-1])
        values = np.split(a["values"], np.cumsum(a["lengths"])[:-1])
        found = []
        for observed, listed, vectors, square in zip(
            attributes, coordinates, values, a["squares"], strict=False
        ):
            norm = float(np.sqrt(square))
            units = vectors / norm if norm else vectors
            pairs = dict(zip(listed.tolist(), units, strict=True))
            found.append(Member(observed.tolist(), pairs, norm * float(a["clock"][0])))
        return found


class DoublingSupportVectors(SupportVectors):
    """KARMA restarted after 1, 3, 7, … events (the doubling trick), for a stream of unknown length.

    The γ and ρ of the theorem are for T events. With T unknown, the model restarts from v = 0, each time with
    the settings for an epoch of twice as many events. Its regret is at most the sum of the bounds of its
    epochs: a constant times the bound for a T known beforehand.

    Parameters
    ----------
    rule
        The update rule, except γ and ρ.
    average
        As in ``SupportVectors``, over the iterates since the last restart.
    schedule
        The source of γ and ρ.
    """

    def __init__(self, rule: Rule, average: bool, schedule: Schedule) -> None:
        self.schedule = schedule
        super().__init__(rule, average)

    def create(self) -> _engine.Learner:
        return _engine.doubling_support_vectors(self.rule, self.average, self.schedule)
