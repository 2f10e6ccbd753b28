"""Events that come one by one, as dictionaries of numbers: the short way to the core learner.

The long way gathers a batch, and its dozen of arrays cost more than the learning. Compiled code reads this
one out of the dictionary, and comes back to Python for what is seldom.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from operator import is_
from typing import TYPE_CHECKING, Any

from streamkarma.core.reading import NO_DICT
from streamkarma.core.single import THROUGH, UNREAD, UNTIMED, Way
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
        vocabulary, waiting = learner.vocabulary, learner.waiting
        self.way = Way(vocabulary.numeric, vocabulary.owners, vocabulary.numbers, learner.moments,
                       learner.scale, learner.longest, None if waiting is None else waiting.notebook,
                       learner.core)  # fmt: skip

    def is_current(self, learner: Learner) -> bool:
        """Whether the learner has the names and arrays it had."""
        return (
            self._known == learner.vocabulary.coordinate_count
            and all(map(is_, self._parts, _parts(learner)))
            and all(stage.is_current() for stage in self.way.stages)
        )

    def finish(self, record: Record, label: float, weight: float) -> float | None:
        """What ``way.run`` began and was stopped at; what is returned is as of ``Learner.one``."""
        way, chance = self.way, 0.0
        while way.where != THROUGH:
            if way.where == UNREAD:
                if way.said != NO_DICT or not isinstance(record, Mapping):
                    return None
                chance = way.run(way.address, dict(record.items()), label, weight)
            elif way.where != UNTIMED or self._waiting is None:
                chance = way.go_on()
            elif isnan(label):
                self._waiting.ask(way.key)
                chance = way.go_on()
            else:
                chance = way.go_on(self._waiting.delay(way.key, way.raw))
        return chance


def _parts(learner: Learner) -> tuple[Any, ...]:
    return learner.vocabulary, learner.moments, learner.waiting, learner.core
