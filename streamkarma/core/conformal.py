"""Intervals and sets that hold the label as often as was asked for, by online conformal calibration.

The score of an event says how badly its prediction fitted its label: ``|y - f|`` of a number, and 1 less
the probability of a class. What is said of the next event are all labels whose score is at most a quantile of
the latest 250; which quantile follows what was missed (adaptive conformal inference, Gibbs and Candès 2021).
The share of labels that are held is therefore the one asked for over any longer stretch of the stream,
whatever the learner, and however the stream changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamkarma import _engine
from streamkarma.core.learner import Arrays, Floats

Tickets = NDArray[np.uint64]


class _Conformal:
    """What intervals and sets have in common.

    Parameters
    ----------
    coverage
        How often the label is to be held, between 0 and 1.
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
        """The memory of what is kept."""
        return self.engine.bytes

    def arrays(self) -> Arrays:
        """The state: what ``restore`` takes."""
        return self.engine.arrays()

    def restore(self, arrays: Arrays) -> None:
        """Restore a state; ValueError if its parts are inconsistent."""
        self.engine.restore(arrays)

    def merge(self, parts: Sequence[Self]) -> None:
        """Take in what parts have learned since each of them was as this one.

        The latest scores of all parts are the latest, each as old as it is where its part ended, and the
        share that may be missed is the mean of the parts', by the labels they learned. Nothing waits for its
        label any more. ValueError if a part has another coverage.
        """
        self.engine.merge([part.engine for part in parts])  # type: ignore[misc]  # all of one kind


class PredictionIntervals(_Conformal):
    """Intervals around predicted numbers; the same distance to either side.

    Parameters
    ----------
    coverage
        How often the number is to lie within, between 0 and 1.

    References
    ----------
    Gibbs, Candès: Adaptive Conformal Inference Under Distribution Shift, NeurIPS 2021.

    Examples
    --------
    The noise gets ten times as loud in the middle:

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
        """The lower and upper ends of the intervals of T events, each from before its target was learned.

        Parameters
        ----------
        predictions, targets
            Shape (T,); NaN for an event without a target.
        weights
            Shape (T,): events of weight 0 are not learned; all others count once.
        tickets
            Shape (T,): see ``core.asked``. An event whose target comes late is judged by the interval that
            it got when it was predicted.
        """
        return self.engine.run(predictions, targets, weights, tickets)


class PredictionSets(_Conformal):
    """Sets of classes, of all that hold the class as often the smallest on average.

    A set is empty where the classes are all less likely than what usually comes true.

    Parameters
    ----------
    coverage
        How often the class is to be in the set, between 0 and 1.

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
        """Which classes are in the sets of T events, shape (T, ``classes``), each from before it was learned.

        Parameters
        ----------
        scores
            Shape (T, C); C is 1 or as many as there are classes.
        known
            Shape (T,): how many classes there were.
        targets
            Shape (T,): the index of the label, negative without one.
        weights, tickets
            As in ``PredictionIntervals.run``.
        classes
            How many there are after all.
        """
        return self.engine.run(scores, known, targets, weights, tickets, classes)
