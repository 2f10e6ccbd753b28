"""Predictions of classifiers for events from Python: classes, probabilities, scores and sets of classes."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from streamkarma._engine import Encoded, logistic
from streamkarma.core.conformal import PredictionSets
from streamkarma.errors import UsageError
from streamkarma.estimators.common import KARMABase
from streamkarma.estimators.costs import Costs, check_threshold, choose, greater_of
from streamkarma.estimators.frames import column_like, frame_like, row_count
from streamkarma.estimators.results import probabilities
from streamkarma.events.labels import NONE, Label, Labels
from streamkarma.events.values import Record
from streamkarma.parameters.words import BALANCED


class PredictsClasses(KARMABase, base.MiniBatchClassifier):
    """A river classifier as far as it predicts."""

    class_weight: Any
    threshold: str | float | None
    _labels: Labels
    #: None if neither weights nor a threshold are given, so that no counts are needed.
    _costs: Costs | None

    @property
    def classes(self) -> list[Label]:
        """The labels seen so far; both False and True after the first boolean."""
        return list(self._labels.known)

    def predict_one(  # type: ignore[override]  # river has no floats as labels
        self, x: Record, **_: Any
    ) -> Label | None:
        """The class of an event: the most probable one, or the one chosen by ``threshold``.

        Parameters
        ----------
        x
            The event, as in ``learn_one``. Nothing is learned from it, but with ``entity`` its values are
            remembered.

        Returns
        -------
        One of ``classes``; None before the first label.

        Raises
        ------
        RecordError
            A ValueError: a value is invalid.

        Examples
        --------
        >>> from streamkarma import KARMAClassifier
        >>> model = KARMAClassifier()
        >>> print(model.predict_one({"temp": 30.0}))
        None
        >>> model.learn_one({"temp": 31.0}, "dry")
        >>> model.predict_one({"temp": 30.0})
        'dry'
        """
        chances = self.predict_proba_one(x)
        if self.threshold is None:
            return max(chances, key=chances.__getitem__, default=None)
        [best] = self._decide([list(chances.values())])
        return self._labels.known[best] if best >= 0 else None

    def predict_proba_one(  # type: ignore[override]  # river has no floats as labels
        self, x: Record, **_: Any
    ) -> dict[Label, float]:
        """The probabilities of the classes of an event.

        Parameters
        ----------
        x
            The event, as in ``predict_one``.

        Returns
        -------
        The probability of each of ``classes``; they add up to 1. Empty before the first label.

        Raises
        ------
        RecordError
            A ValueError: a value is invalid.

        Examples
        --------
        >>> from streamkarma import KARMAClassifier
        >>> model = KARMAClassifier()
        >>> model.learn_one({"temp": 31.0}, "dry")
        >>> model.learn_one({"temp": 12.0}, "wet")
        >>> chances = model.predict_proba_one({"temp": 30.0})
        >>> list(chances), chances["dry"] > 0.5
        (['dry', 'wet'], True)
        """
        known, scores = self._labels.known, self._one(x)
        if len(known) == 2:
            second = logistic(scores[0])
            return {known[0]: 1.0 - second, known[1]: second}
        return dict(zip(known, probabilities(np.array([scores]), len(known))[0].tolist(), strict=True))

    def predict_proba_many(self, X: Any) -> Any:
        """The probabilities of the classes of each row, as by ``predict_proba_one``.

        Parameters
        ----------
        X
            A data frame of pandas, polars or another library that narwhals supports, or a list of dicts.

        Returns
        -------
        A frame of the same kind, with a column for each of ``classes``; for a list, a list of dicts.

        Raises
        ------
        UsageError
            A ValueError: ``X`` is neither.
        RecordError
            A ValueError: a value is invalid.

        Examples
        --------
        >>> from streamkarma import KARMAClassifier
        >>> model = KARMAClassifier()
        >>> model.learn_many([{"temp": 31.0}, {"temp": 12.0}], ["dry", "wet"])
        >>> [row["dry"] > 0.5 for row in model.predict_proba_many([{"temp": 30.0}, {"temp": 10.0}])]
        [True, False]
        """
        return frame_like(X, self._probabilities(X), self._labels.known)

    def predict_many(self, X: Any) -> Any:
        """The class of each row, as by ``predict_one``.

        Parameters
        ----------
        X
            As in ``predict_proba_many``.

        Returns
        -------
        A column of the kind of ``X``, or a list for a list, with None for each row before the first label.

        Raises
        ------
        UsageError
            A ValueError: ``X`` is neither a data frame nor a list of dicts.
        RecordError
            A ValueError: a value is invalid.

        Examples
        --------
        >>> from streamkarma import KARMAClassifier
        >>> model = KARMAClassifier()
        >>> model.learn_many([{"temp": 31.0}, {"temp": 12.0}], ["dry", "wet"])
        >>> model.predict_many([{"temp": 30.0}, {"temp": 10.0}])
        ['dry', 'wet']
        """
        known = self._labels.known
        if not known:
            return column_like(X, [None] * row_count(X))
        chances = self._probabilities(X)
        best = chances.argmax(axis=1) if self.threshold is None else self._decide(chances.tolist())
        return column_like(X, [known[i] for i in best])

    def decision_one(self, x: Record) -> float | dict[Label, float]:
        """The raw score of an event.

        Parameters
        ----------
        x
            The event, as in ``predict_one``.

        Returns
        -------
        For up to two classes a number, positive for the second of ``classes``; for more, one for each class.

        Raises
        ------
        RecordError
            A ValueError: a value is invalid.

        Examples
        --------
        >>> from streamkarma import KARMAClassifier
        >>> model = KARMAClassifier()
        >>> model.learn_one({"temp": 31.0}, "dry")
        >>> model.learn_one({"temp": 12.0}, "wet")
        >>> model.decision_one({"temp": 30.0}) < 0.0 < model.decision_one({"temp": 10.0})
        True
        """
        scores = self._one(x)
        return scores[0] if len(scores) == 1 else dict(zip(self._labels.known, scores, strict=True))

    def predict_set_one(self, x: Record, coverage: float | None = None) -> list[Label]:
        """A set of classes that contains the class of an event in the given fraction of events.

        The set is remembered until the label is learned, however late, and evaluated then.

        Parameters
        ----------
        x
            The event, as in ``predict_one``.
        coverage
            The fraction of events, 0.01 to 0.999; None for that of the model, or 0.9. A model without a
            ``coverage`` of its own is calibrated from the first call on, for the coverage of that call.

        Returns
        -------
        Some of ``classes``: none if all are less likely than true classes usually are, and all before a label
        has been learned.

        Raises
        ------
        UsageError
            A ValueError: ``coverage`` is out of its range, or the model is calibrated for another coverage.
        RecordError
            A ValueError: a value is invalid.

        Examples
        --------
        >>> from streamkarma import KARMAClassifier
        >>> model = KARMAClassifier(coverage=0.9)
        >>> for t in range(50):
        ...     model.learn_one({"temp": 10.0 + t % 20}, "dry" if t % 20 > 9 else "wet")
        >>> model.predict_set_one({"temp": 29.0})
        ['dry']
        """
        asked = self._asked_coverage(coverage)
        known, scores = self._labels.known, self._one(x)
        if self._conformal is None:
            self._begin_conformal(asked)
        if not known:
            return []
        # When the label arrives, the set given now is evaluated.
        count, nothing = np.array([[len(known)], [NONE]], np.int64)
        members = self._sets(np.array([scores]), count, nothing, np.zeros(1), self._last_ticket)
        assert members is not None
        return [label for label, is_member in zip(known, members[0], strict=True) if is_member]

    def decide_by(self, threshold: float | None) -> None:
        """Continue with another threshold.

        Parameters
        ----------
        threshold
            The probability from which the positive class of two is predicted, 0 to 1; None to predict the
            most probable class.

        Raises
        ------
        UsageError
            A ValueError: it is out of its range; it, or the one before, is ``"balanced"``, which needs the
            counts of all labels so far; or it is a number, and there are more than two classes.

        Examples
        --------
        >>> from streamkarma import KARMAClassifier
        >>> model = KARMAClassifier()
        >>> model.learn_many([{"temp": 31.0}, {"temp": 12.0}], ["dry", "wet"])
        >>> before = model.predict_one({"temp": 30.0})
        >>> model.decide_by(0.1)
        >>> before, model.predict_one({"temp": 30.0})
        ('dry', 'wet')
        """
        if BALANCED in (self.threshold, threshold):
            raise UsageError("a balanced threshold can only be chosen when a model begins")
        if threshold is not None and len(self._labels.known) > 2:
            raise UsageError(f"the threshold {threshold:g} is for two classes; there are more")
        self._costs = self._costs or Costs(self.class_weight, threshold, self.forget)
        self.threshold = check_threshold(threshold)

    def _decide(self, chances: list[list[float]]) -> list[int]:
        """The index of the class to predict for each event, by the threshold and the labels so far."""
        assert self._costs is not None
        assert self.threshold is not None
        known = self._labels.known
        shares, positive = self._costs.shares(len(known)), greater_of(known)
        return [choose(each, self.threshold, shares, positive) for each in chances]

    def _begin_conformal(self, coverage: float) -> None:
        self._conformal = PredictionSets(coverage)

    def _sets(
        self,
        scores: NDArray[np.float64],
        known: NDArray[np.int64],
        targets: NDArray[np.int64],
        weights: NDArray[np.float64],
        tickets: NDArray[np.uint64],
    ) -> NDArray[np.bool_] | None:
        """Membership of the classes in the sets of events, which are then learned; None without sets."""
        if self._conformal is None:
            return None
        assert isinstance(self._conformal, PredictionSets)
        return self._conformal.run(scores, known, targets, weights, tickets, len(self._labels.known))

    def _one(self, x: Record) -> list[float]:
        """Scores of one event, without learning."""
        if self._pipeline.learner.external_experts:
            scores: list[float] = self._scores(self.read([x], [False]))[0].tolist()
            return scores
        return self._pipeline.one(x, nan, 0.0)

    def _probabilities(self, X: Any) -> NDArray[np.float64]:
        """The probabilities of the classes of each row, shape (T, classes)."""
        known = len(self._labels.known)
        return probabilities(self._scores(self._read_any(X, [False] * row_count(X))), known)

    def _scores(self, events: Encoded) -> NDArray[np.float64]:
        """The scores of encoded events, shape (T, C), without learning."""
        return self._pipeline.scores(events)

    def _shown_scores(self, scores: NDArray[np.float64]) -> Any:
        each = scores.tolist()
        return each[0] if len(each) == 1 else dict(zip(self._labels.known, each, strict=True))
