"""The interface of the engine's learners, as the estimators use it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from streamkarma import _engine
from streamkarma._engine import Encoded
from streamkarma.arrays import Arrays, Floats
from streamkarma.core.tickets import LateLabels
from streamkarma.events.block import Block

#: Raw targets, and the centre and spread of their scores.
Units = tuple[Floats, Floats, Floats]

#: Above every attribute and coordinate: the bound for states that come from a learner itself.
ANY = 1 << 31


class Rates(NamedTuple):
    """Target encoding: how categories become numbers; see ``learners/rated`` in the engine.

    Attributes
    ----------
    rates
        Maximum number of classes with rates, for which the encoder has coordinates.
    regression
        Whether labels are targets.
    scale
        Whether numbers are standardised.
    longest
        The number of events that averages cover.
    """

    rates: int
    regression: bool
    scale: bool
    longest: float


class Learner(ABC):
    """A learner of the engine, created from its settings; takes blocks of encoded events, returns scores.

    Unpickling creates a new learner from the same settings and restores the state.
    """

    #: Number of external experts whose scores must be passed to ``run``.
    external_experts = 0

    #: Whether it learns from the terms of texts and tags.
    takes_terms = False

    #: How to encode categories by their labels, or None for not at all. A mixture does it for its experts.
    rates: Rates | None = None

    @cached_property
    def engine(self) -> _engine.Learner:
        """The engine's learner, created on first use: a mixture takes only the settings of its experts."""
        engine = self.create()
        return engine if self.rates is None else _engine.rated(engine, *self.rates)

    @abstractmethod
    def create(self) -> _engine.Learner:
        """Create a new learner with these settings."""

    def __getstate__(self) -> dict[str, Any]:
        settings = {name: value for name, value in self.__dict__.items() if name != "engine"}
        return {"settings": settings, "arrays": self.arrays() if "engine" in self.__dict__ else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state["settings"])
        if state["arrays"] is not None:
            self.restore(state["arrays"], ANY, ANY)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self.__dict__)
        if "engine" in self.__dict__:
            copied.__dict__["engine"] = self.engine.copy()
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
        """Extend to ``classes`` classes; the weights w of two classes become -w/2 and w/2."""
        self.engine.widen(classes)

    def run(
        self,
        events: Block | Encoded,
        labels: Floats,
        weights: Floats,
        late: LateLabels | None = None,
        external_scores: Floats | None = None,
        part: tuple[int, int] | None = None,
        units: Units | None = None,
    ) -> tuple[Floats, Floats]:
        """Predict and then learn each event.

        Parameters
        ----------
        events
            Encoded events.
        labels
            Shape (T,): +1 or -1, a class index, or the target; NaN for events without a label. These are
            learned only by the subspace, which then repeats an earlier event that has a label.
        weights
            Shape (T,): 0 or more; events of weight 0 are only predicted and leave the model unchanged.
        late
            Which events lack their label or received it late; None for no event. A mixture scores its experts
            by their predictions from before the label arrived: by then they may have learned events that
            share it. It also weights late labels by their correlation, see ``learners/mixture`` in the
            engine, unless the weight of an event is its share of a label.
        external_scores
            For a mixture: scores of external experts, shape (F, T, C), each from before the model learned the
            event.
        part
            The range of events to process, as start and end; None for all. The arrays are for these events.
        units
            Of a regression: the targets before they were standardised, and the centre and the spread by which
            a score becomes a prediction, each of shape (T,). None if targets are not standardised.

        Returns
        -------
        Scores of shape (T, C), each from before its event was learned, and losses of shape (T,), NaN without
        a label.

        Raises
        ------
        ValueError
            If the number of labels or weights does not match, or a label is not a class.
        """
        return self.engine.run(events, labels, weights, late, external_scores, part, units)

    def scores(
        self,
        events: Block | Encoded,
        external_scores: Floats | None = None,
        unit: tuple[float, float] = (0.0, 1.0),
    ) -> Floats:
        """Scores of every event, shape (T, C), without learning; ``unit`` is their centre and spread."""
        count = len(events) if isinstance(events, Encoded) else len(events.starts) - 1
        none = np.full(count, np.nan)
        units = none, np.full(count, unit[0]), np.full(count, unit[1])
        return self.run(events, none, np.zeros(count), None, external_scores, units=units)[0]

    def restart(self, steps: int) -> None:
        """Forget everything and continue as if after ``steps`` steps."""
        self.engine.restart(steps)

    def summary(self) -> dict[str, Any]:
        """Sizes of the model, including ``bytes``, and what happened to the examples."""
        return self.engine.summary()

    def arrays(self) -> Arrays:
        """The state, without spare capacity: what ``restore`` takes."""
        return self.engine.arrays()

    def restore(self, arrays: Arrays, attributes: int, coordinates: int) -> None:
        """Restore a state; ValueError if the arrays are inconsistent or have indices out of range."""
        self.engine.restore(arrays, attributes, coordinates)
