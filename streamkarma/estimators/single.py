"""Events that come one by one, as dictionaries of numbers: the short way to the core learner.

The long way gathers a batch, and its dozen of arrays cost more than the learning. Compiled code reads this
one out of the dictionary, and comes back to Python for what is seldom.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from streamkarma.core.reading import NO_DICT
from streamkarma.core.single import Way
from streamkarma.events.values import Record

if TYPE_CHECKING:
    from streamkarma.estimators.learner import Learner


class Single:
    """One event at a time through a learner as it stands: with these names and these arrays.

    Parameters
    ----------
    learner
        Which one; it gets room for all its names.
    """

    def __init__(self, learner: Learner) -> None:
        learner.make_room()
        self._parts = _parts(learner)
        self._known = learner.vocabulary.coordinate_count
        self._waiting = learner.waiting
        self._step = learner.core.engine.step
        vocabulary = learner.vocabulary
        self._way = Way(vocabulary.numeric, vocabulary.owners, vocabulary.numbers, learner.moments,
                        learner.scale, learner.longest)  # fmt: skip
        #: Scores of the last event, shape (1, C); the next overwrites them.
        self.scores = np.zeros((1, learner.core.classes))

    def is_current(self, learner: Learner) -> bool:
        """Whether the learner has the names and arrays it had."""
        return (
            self._known == learner.vocabulary.coordinate_count
            and self.scores.shape[1] == learner.core.classes
            and all(map(is_, self._parts, _parts(learner)))
        )

    def one(self, record: Record, label: float, weight: float) -> float | None:
        """As of ``Learner.one``."""
        way = self._way
        size = way.run(way.address, record, label)
        if size == NO_DICT and isinstance(record, Mapping):
            size = way.run(way.address, dict(record.items()), label)
        if size < 0:
            return None
        delay = 0.0 if self._waiting is None else self._waiting.delay(way.raw, not isnan(label))
        chance: float = self._step(way.block, label, weight, delay, self.scores)
        return chance


def _parts(learner: Learner) -> tuple[Any, ...]:
    return learner.vocabulary, learner.moments, learner.waiting, learner.core
