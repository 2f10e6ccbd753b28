"""KARMA in its support-vector form: Algorithm 1 of [H].

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from streamkarma import _engine
from streamkarma.core.learner import Floats, Learner
from streamkarma.core.theory import Schedule

#: What to do with one support vector too many.
PRUNING = ("merge", "remove", "oldest")


class Rule(NamedTuple):
    """How the learner steps; the same for its whole life.

    Attributes
    ----------
    gamma
        Order of the kernel, 1 or more.
    normalize
        Whether every event has norm 1 in feature space.
    rho
        Strength of the regularisation, above 0.
    eta
        Constant step, or 0 for 1 / (rho t).
    loss
        See ``streamkarma.core.loss``.
    steepness
        The step is held below 1 / (steepness * k(x, x) * weight); 0 for no such limit.
    budget
        Most support vectors kept; 0 for no limit.
    pruning
        One of ``PRUNING``.
    longest
        The most events that the decreasing step is divided by: v fades by 1 / longest with each.
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
    """One support vector: alpha times the vector is what it adds to the model.

    Attributes
    ----------
    attributes
        The observed set.
    vectors
        By coordinate, one entry per class; norm 1 in feature space over all of them.
    alpha
        0 or more.
    """

    attributes: list[int]
    vectors: dict[int, Floats]
    alpha: float


class SupportVectors(Learner):
    """KARMA with support vectors, one for each observed set, and a budget.

    Parameters
    ----------
    rule
        How it steps.
    average
        Keep the average of v_1 … v_T, and predict by it [H, Thm 2.2].

    Examples
    --------
    One event observed in attribute 0 with value 2, learned as positive with the hinge loss;
    then one that shares nothing with it:

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
        return _engine.support_vectors(**self.rule._asdict(), average=self.average)

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
    """KARMA that starts afresh after 1, 3, 7, … events learned, for a stream whose length nobody knows.

    The γ and ρ of the theorem are for T events. With T unknown the model starts afresh, from v = 0,
    each time with the settings for as many events again and one more. Its regret is at most the sum
    of the bounds of its epochs: a constant times that for a T known beforehand.

    Parameters
    ----------
    rule
        How it steps, γ and ρ apart.
    average
        As in ``SupportVectors``: over the iterates since the last start.
    schedule
        Where γ and ρ come from.
    """

    def __init__(self, rule: Rule, average: bool, schedule: Schedule) -> None:
        self.schedule = schedule
        super().__init__(rule, average)

    def create(self) -> _engine.Learner:
        rule, schedule = self.rule, self.schedule
        return _engine.doubling_support_vectors(
            gamma=schedule.gamma,
            regularity=schedule.regularity,
            loss=rule.loss,
            budget=rule.budget,
            pruning=rule.pruning,
            average=self.average,
        )
