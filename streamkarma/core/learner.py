"""The interface of every learner in the engine, as the estimators use it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from streamkarma import _engine
from streamkarma._engine import Encoded
from streamkarma.events.block import Block

Floats = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

#: More than any attribute or coordinate: the bound for states that come from a learner itself.
ANY = 1 << 31


class Rates(NamedTuple):
    """How what labels say of categories becomes numbers; see ``learners/rated`` in the engine.

    Attributes
    ----------
    rates
        Most classes that have rates, as many as the encoder has coordinates for.
    regression
        Whether labels are targets.
    scale
        Whether numbers are standardised.
    longest
        Over how many events averages go.
    """

    rates: int
    regression: bool
    scale: bool
    longest: float


class Learner(ABC):
    """A learner of the engine, created from its settings: blocks of encoded events in, scores out.

    Unpickling creates a new learner from the same settings and restores the state.
    """

    #: Number of external models whose scores must be passed to ``run``.
    external = 0

    #: If it is to learn what labels say of categories: how. A mixture's experts learn it from the mixture.
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
        """Extend to ``classes`` classes; the w of two classes becomes -w/2 and w/2."""
        self.engine.widen(classes)

    def run(
        self,
        events: Block | Encoded,
        labels: Floats,
        weights: Floats,
        tickets: NDArray[np.uint64] | None = None,
        external: Floats | None = None,
        part: tuple[int, int] | None = None,
        observed: NDArray[np.bool_] | None = None,
        shared: NDArray[np.bool_] | None = None,
    ) -> tuple[Floats, Floats]:
        """Predict, then learn, each event.

        Parameters
        ----------
        events
            Encoded events.
        labels
            Shape (T,): +1 or -1, a class index, or the target; NaN for events without a label, which teach
            only what needs none: the subspace, which then repeats an earlier event that has one.
        weights
            Shape (T,): 0 or more; events of weight 0 are only predicted and leave the model unchanged.
        tickets
            Shape (T,): see ``core.asked.LateLabels``. A mixture judges its experts by what they said when an
            event was predicted, not when its label comes: by then they may have learned events that share it.
            And it weighs late labels by how much they have in common, see ``learners/mixture`` in the engine.
        external
            For a mixture: scores of external models, shape (F, T, C), each from before the model learned the
            event.
        part
            Of which events, from one up to another; None for all. The arrays are for these events.
        observed
            Shape (T,): see ``core.asked.LateLabels``; None for no event.
        shared
            Shape (T,): whether the label is that of others, too, and the weight is its part of one. A mixture
            then takes it as it is.

        Returns
        -------
        Scores of shape (T, C), each from before its event was learned, and the losses suffered,
        shape (T,), NaN where there is no label.

        Raises
        ------
        ValueError
            If the number of labels or weights differs, or a label is not a class.
        """
        return self.engine.run(events, labels, weights, tickets, external, part, observed, shared)

    def scores(self, events: Block | Encoded, external: Floats | None = None) -> Floats:
        """Scores of every event, shape (T, C), without learning."""
        count = len(events) if isinstance(events, Encoded) else len(events.starts) - 1
        return self.run(events, np.full(count, np.nan), np.zeros(count), None, external)[0]

    def restart(self, steps: int) -> None:
        """Forget everything, and continue as if after ``steps`` steps."""
        self.engine.restart(steps)

    def summary(self) -> dict[str, Any]:
        """Sizes of the model, including ``bytes``, and what became of the examples."""
        return self.engine.summary()

    def arrays(self) -> Arrays:
        """The state, without spare capacity: what ``restore`` takes."""
        return self.engine.arrays()

    def restore(self, arrays: Arrays, attributes: int, coordinates: int) -> None:
        """Restore a state; ValueError if the arrays are inconsistent or have indices out of range."""
        self.engine.restore(arrays, attributes, coordinates)
