"""What every learner of the engine can do: the estimators ask for no more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamkarma import _engine
from streamkarma._engine import Encoded
from streamkarma.events.block import Block

Floats = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

#: More than any attribute or coordinate: a bound for states that come from a learner itself.
ANY = 1 << 31


class Core(ABC):
    """A learner of the engine, made from its settings: blocks of encoded events in, scores out.

    A copy, and what is unpickled, is made from the same settings and takes over the state.
    """

    #: How many models from elsewhere there are, whose scores are to be handed to ``run``.
    others = 0

    @cached_property
    def engine(self) -> _engine.Learner:
        """The learner itself, made when it is first used: an expert of a mixture gives its settings only."""
        return self.make()

    @abstractmethod
    def make(self) -> _engine.Learner:
        """A new learner with these settings."""

    def __getstate__(self) -> dict[str, Any]:
        settings = {name: value for name, value in self.__dict__.items() if name != "engine"}
        return {"settings": settings, "arrays": self.arrays() if "engine" in self.__dict__ else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state["settings"])
        if state["arrays"] is not None:
            self.restore(state["arrays"], ANY, ANY)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = type(self).__new__(type(self))
        copied.__setstate__(self.__getstate__())
        memo[id(self)] = copied
        return copied

    @property
    def classes(self) -> int:
        """Columns of the scores: 1 for two classes and for regression, else one per class."""
        return self.engine.classes

    @property
    def steps(self) -> int:
        """Events learned."""
        return self.engine.steps

    def widen(self, classes: int) -> None:
        """Go to ``classes`` classes; from w of two classes to -w/2 and w/2."""
        self.engine.widen(classes)

    def run(
        self,
        events: Block | Encoded,
        labels: Floats,
        weights: Floats,
        delays: Floats | None = None,
        others: Floats | None = None,
        part: tuple[int, int] | None = None,
    ) -> tuple[Floats, Floats]:
        """Predict, then learn, each event.

        Parameters
        ----------
        events
            Encoded events.
        labels
            Shape (T,): +1 or -1, a class number, or the target; NaN is predicted only.
        weights
            Shape (T,): 0 or more; events of weight 0 leave the model as it is.
        delays
            Shape (T,), 0 or more: how late the label comes. In a mixture, not for its experts, an
            event counts 1 / (1 + delay) times. Labels that come late come in bunches that have much
            in common; experts that have learned the first of a bunch look wise on the others, and
            who trusts them is wrong on the next. In the worst case this is the price of a delay.
        others
            For a mixture, scores of models from elsewhere, shape (F, T, C), each from before the model
            learned the event.

        Returns
        -------
        Scores of shape (T, C), each from before its event was learned, and the losses suffered,
        shape (T,), NaN where there is no label.

        Raises
        ------
        ValueError
            If there are not as many labels and weights, or a label is no class.
        """
        return self.engine.run(events, labels, weights, delays, others, part)

    def scores(self, events: Block | Encoded, others: Floats | None = None) -> Floats:
        """Scores of every event, shape (T, C), without learning."""
        count = len(events) if isinstance(events, Encoded) else len(events.starts) - 1
        return self.run(events, np.full(count, np.nan), np.ones(count), None, others)[0]

    def restart(self, steps: int) -> None:
        """Forget everything, and go on as after ``steps`` steps."""
        self.engine.restart(steps)

    def summary(self) -> dict[str, Any]:
        """Sizes of the model, ``bytes`` among them, and what became of the examples."""
        return self.engine.summary()

    def arrays(self) -> Arrays:
        """The state, without spare room: what ``restore`` takes."""
        return self.engine.arrays()

    def restore(self, arrays: Arrays, attributes: int, coordinates: int) -> None:
        """Take over a state; ValueError if the arrays contradict each other or point outside."""
        self.engine.restore(arrays, attributes, coordinates)
