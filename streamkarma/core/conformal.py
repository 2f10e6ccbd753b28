"""Intervals and sets with a given coverage, by online conformal calibration.

The score of an event measures how badly its prediction fitted its label: ``|y - f|`` for a number, and 1
minus the probability of a class. The interval or set of the next event contains every label whose score is at
most a quantile of the latest 250 scores; the level of the quantile adapts to past misses (adaptive conformal
inference, Gibbs and Candès 2021). Over any long stretch of the stream the coverage is therefore the one
requested, whatever the learner and however the stream changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamkarma import _engine
from streamkarma.arrays import Arrays, Floats

Tickets = NDArray[np.uint64]


class _Conformal:
    """What intervals and sets have in common.

    Parameters
    ----------
    coverage
        The share of labels to cover, between 0 and 1.
    """

    engine: _engine.PredictionIntervals | _engine.PredictionSets

    def __init__(self, coverage: float) -> None:
        self.coverage = coverage
        self._create()

    def _create(self) -> None:
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        return {"coverage": self.coverage, "arrays": self.arrays()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.coverage = state["coverage"]
        self._create()
        self.restore(state["arrays"])

    @property
    def bytes(self) -> int:
        """The memory in use."""
        return self.engine.bytes

    def arrays(self) -> Arrays:
        """The state: what ``restore`` takes."""
        return self.engine.arrays()

    def restore(self, arrays: Arrays) -> None:
        """Restore a state; ValueError if its parts are inconsistent."""
        self.engine.restore(arrays)

    def merge(self, parts: Sequence[Self]) -> None:
        """Merge what the parts have learned since each of them was a copy of this one.

        The latest scores are the latest of all parts, by their age when their part ended. The miss rate is
        the mean over the parts, weighted by the labels they learned. Outstanding labels are dropped.
        ValueError if the coverage of a part differs.
        """
        self.engine.merge([part.engine for part in parts])  # type: ignore[misc]  # all of one kind


class PredictionIntervals(_Conformal):
    """Symmetric intervals around predicted numbers.

    Parameters
    ----------
    coverage
        The share of numbers that should lie within, between 0 and 1.

    References
    ----------
    Gibbs, Candès: Adaptive Conformal Inference Under Distribution Shift, NeurIPS 2021.

    Examples
    --------
    Halfway through, the noise becomes ten times as large:

    >>> import numpy as np
    >>> noise = np.random.default_rng(0).normal(size=4000) * np.repeat([1.0, 10.0], 2000)
    >>> intervals = PredictionIntervals(0.8)
    >>> low, high = intervals.run(np.zeros(4000), noise, np.ones(4000), np.zeros(4000, np.uint64))
    >>> held = (low <= noise) & (noise <= high)
    >>> [round(float(part.mean()), 2) for part in np.split(held, 2)]
    [0.8, 0.8]
    """

    engine: _engine.PredictionIntervals

    def _create(self) -> None:
        self.engine = _engine.PredictionIntervals(self.coverage)

    def run(
        self, predictions: Floats, targets: Floats, weights: Floats, tickets: Tickets
    ) -> tuple[Floats, Floats]:
        """Lower and upper ends of the intervals of T events, each from before its target was learned.

        Parameters
        ----------
        predictions, targets
            Shape (T,); NaN for an event without a target.
        weights
            Shape (T,): events of weight 0 are not learned; all others count once.
        tickets
            Shape (T,): see ``core.tickets``. An event whose target arrives late is scored by the interval it
            had when it was predicted.
        """
        return self.engine.run(predictions, targets, weights, tickets)


class PredictionSets(_Conformal):
    """Sets of classes; of all sets with the same coverage, the smallest on average.

    A set is empty if every class is less probable than true classes usually are.

    Parameters
    ----------
    coverage
        The share of sets that should contain the class, between 0 and 1.

    References
    ----------
    Sadinle, Lei, Wasserman: Least Ambiguous Set-Valued Classifiers With Bounded Error Levels, Journal of the
    American Statistical Association 114, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=4000)
    >>> classes = (rng.random(4000) < 1 / (1 + np.exp(-scores))).astype(np.int64)
    >>> sets, known = PredictionSets(0.9), np.full(4000, 2)
    >>> members = sets.run(scores[:, None], known, classes, np.ones(4000), np.zeros(4000, np.uint64), 2)
    >>> float(members[np.arange(4000), classes].mean().round(2))
    0.9
    """

    engine: _engine.PredictionSets

    def _create(self) -> None:
        self.engine = _engine.PredictionSets(self.coverage)

    def run(
        self,
        scores: Floats,
        known: NDArray[np.int64],
        targets: NDArray[np.int64],
        weights: Floats,
        tickets: Tickets,
        classes: int,
    ) -> NDArray[np.bool_]:
        """Membership of the classes in the sets of T events, shape (T, ``classes``).

        Each set is from before its event was learned.

        Parameters
        ----------
        scores
            Shape (T, C); C is 1 or the number of classes.
        known
            Shape (T,): the number of classes known at each event.
        targets
            Shape (T,): the index of the label, negative without one.
        weights, tickets
            As in ``PredictionIntervals.run``.
        classes
            The number of classes at the end.
        """
        return self.engine.run(scores, known, targets, weights, tickets, classes)
