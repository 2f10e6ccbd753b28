"""The base of all classifiers: labels, classes that appear later, probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from math import nan
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from streamkarma._engine import Encoded, logistic, relabel
from streamkarma.arrays import Arrays
from streamkarma.checkpoint import checked_float
from streamkarma.core.conformal import PredictionSets
from streamkarma.core.learner import Learner
from streamkarma.core.tickets import LateLabels
from streamkarma.errors import RecordError, UsageError
from streamkarma.estimators.common import KARMABase, Weights
from streamkarma.estimators.costs import Costs, check_threshold, choose, greater_of, plain_costs
from streamkarma.estimators.frames import column_like, frame_like, row_count
from streamkarma.estimators.pipeline import check_weight
from streamkarma.estimators.results import ClassificationResult, joined, padded, probabilities
from streamkarma.estimators.settings import check_count
from streamkarma.events.labels import NEW, NONE, Label, Labels
from streamkarma.events.values import Record, is_missing
from streamkarma.parameters.words import BALANCED
from streamkarma.printable import shown

#: Maximum number of classes with target statistics, the first ones: each of them costs coordinates.
MOST_RATED = 8


class BaseClassifier(KARMABase, base.MiniBatchClassifier):
    """A river classifier around a learner.

    ``loss`` is the name of the loss that the learner reports, one of
    ``core.loss.CLASSIFICATION``.
    """

    loss: str
    scale: bool
    max_attributes: int
    max_coordinates: int
    max_classes: int
    class_weight: str | Mapping[Label, float] | None = None
    threshold: str | float | None = None
    _labels: Labels
    #: None if neither weights nor a threshold are given, so that no counts are needed.
    _costs: Costs | None
    #: The weight of the labels learned before there were two classes, for a regression that takes over.
    _label_weight: float

    def _begin(self, learner: Learner) -> None:
        """Learn with ``learner``; call this once the parameters are set."""
        most = check_count("max_classes", self.max_classes)
        self._start(learner, rates=min(most, MOST_RATED) if most > 2 else 1, regression=False)
        self._labels = Labels(most, self.max_name_bytes)
        self._label_weight = 0.0
        self.class_weight, self.threshold = plain_costs(self.class_weight, self.threshold)
        given = self.class_weight, self.threshold
        self._costs = None if given == (None, None) else Costs(*given, self.forget)

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def classes(self) -> list[Label]:
        return list(self._labels.known)

    @property
    def unmatched_weights(self) -> list[str]:
        """Names in ``class_weight`` that are not a class seen so far."""
        return [] if self._costs is None else self._costs.unmatched(self._labels.known)

    def predict_one(  # type: ignore[override]  # river has no floats as labels
        self, x: Record, **_: Any
    ) -> Label | None:
        """The most probable class, or the one chosen by ``threshold``; None before any is known."""
        chances = self.predict_proba_one(x)
        if self.threshold is None:
            return max(chances, key=chances.__getitem__, default=None)
        [best] = self._decide([list(chances.values())])
        return self._labels.known[best] if best >= 0 else None

    def predict_proba_one(  # type: ignore[override]  # river has no floats as labels
        self, x: Record, **_: Any
    ) -> dict[Label, float]:
        """Probability of every class seen so far; empty before the first."""
        known, scores = self._labels.known, self._one(x)
        if len(known) == 2:
            second = logistic(scores[0])
            return {known[0]: 1.0 - second, known[1]: second}
        return dict(zip(known, probabilities(np.array([scores]), len(known))[0].tolist(), strict=True))

    def learn_one(self, x: Record, y: Any, w: float = 1.0) -> None:
        weight, index, known = check_weight(w), self._labels.index(y), self._labels.known
        if weight == 0.0 or self._pipeline.learner.external_experts or (index == NEW and not is_missing(y)):
            super().learn_one(x, y, w)
            return
        if index == NEW:
            index, scores = NONE, self._pipeline.one(x, nan, weight)
        else:
            label = float(index) if len(known) > 2 else 2.0 * index - 1.0
            scores = self._learn_known(x, index, label, weight, y)
            if len(known) < 2:
                self._label_weight += weight
        if self._conformal is not None:
            count, target = np.array([[len(known)], [index]], np.int64)
            self._sets(np.array([scores]), count, target, np.array([weight]), self._pipeline.ticket)

    def _learn_known(self, x: Record, index: int, label: float, weight: float, given: Any) -> list[float]:
        """Learn an event of a known class; returns its scores from before."""
        if self._costs is None:
            return self._pipeline.one(x, label, weight, given)
        weighed = self._costs.weigh(index, weight, self._labels.known)
        scores = self._pipeline.one(x, label, weighed, given)
        self._costs.count(index, weight, weighed)
        return scores

    def predict_proba_many(self, X: Any) -> Any:
        """Probability of every class seen so far, as a frame of the kind of ``X``, one row per row of it.

        For a list of dicts, as a list of dicts.

        Raises
        ------
        UsageError
            A ValueError: ``X`` is neither.
        """
        return frame_like(X, self._probabilities(X), self._labels.known)

    def predict_many(self, X: Any) -> Any:
        """As ``predict_one`` for every row, in a column of the kind of ``X``; None before the first label.

        For a list of dicts, in a list.

        Raises
        ------
        UsageError
            A ValueError: ``X`` is neither.
        """
        known = self._labels.known
        if not known:
            return column_like(X, [None] * row_count(X))
        chances = self._probabilities(X)
        best = chances.argmax(axis=1) if self.threshold is None else self._decide(chances.tolist())
        return column_like(X, [known[i] for i in best])

    def decide_by(self, threshold: float | None) -> None:
        """Continue with another threshold.

        Raises
        ------
        UsageError
            If it, or the one before, is ``"balanced"``, which needs the counts of all labels so far; or if it
            is a number, and there are more than two classes.
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

    def decision_one(self, x: Record) -> float | dict[Label, float]:
        """The raw score: for up to two classes a number, positive for the second of ``classes``; for more,
        a number for each. With ``entity`` the event is remembered, as by ``predict_one``."""
        scores = self._one(x)
        return scores[0] if len(scores) == 1 else dict(zip(self._labels.known, scores, strict=True))

    def predict_set_one(self, x: Record, coverage: float | None = None) -> list[Label]:
        """A set of classes that contains the class of an event in the given fraction of events.

        The set is remembered until the label is learned, however late, and evaluated then.

        Parameters
        ----------
        x
            The event.
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
            If the model is calibrated for another coverage.
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
        known = len(self._labels.known)
        return probabilities(self._scores(self._read_any(X, [False] * row_count(X))), known)

    def _scores(self, events: Encoded) -> NDArray[np.float64]:
        return self._pipeline.scores(events)

    def run(
        self,
        events: Encoded,
        labels: Sequence[Label | None],
        weights: Weights,
        late: LateLabels | None = None,
    ) -> ClassificationResult:
        """See ``KARMABase.run``; from the third class on, each class has its own vector."""
        count = len(events)
        given = np.array(weights, np.float64)
        weighed = given.copy()
        targets = self._labels.indices(labels)
        learned = (targets != NONE) & (weighed > 0.0)
        self._pipeline.take(events, targets != NONE, targets == NONE, late)
        known, losses = np.empty(count, np.int64), np.empty(count)
        learner = self._pipeline.learner
        pieces: list[tuple[int, NDArray[np.float64]]] = []
        shares: list[NDArray[np.float64]] = []
        begin = 0
        while begin < count:
            known[begin:] = len(self._labels.known)
            if targets[begin] == NEW and learned[begin]:
                self._labels.enter(labels[begin])
                targets[begin:] = self._labels.indices(labels[begin:])
                known[begin + 1 :] = len(self._labels.known)
                if len(self._labels.known) > max(2, learner.classes):
                    learner.widen(len(self._labels.known))
            later = np.flatnonzero((targets[begin:] == NEW) & learned[begin:])
            end = begin + int(later[0]) if later.size else count
            part = slice(begin, end)
            if self._costs is not None:
                now = self._labels.known
                shares.append(self._costs.run(targets[part], weighed[part], now, known[part]))
            codes = np.where(targets[part] < 0, np.nan, targets[part])
            signs = codes if learner.classes > 1 else 2.0 * codes - 1.0
            external_scores = self._external_scores(events, part, targets[part], weighed[part])
            scores, losses[part] = self._pipeline.run(part, signs, weighed[part], external_scores)
            pieces.append((begin, scores))
            begin = end
        # In sequence, so that blocks give the same sum as single events.
        for weight in given[learned & (known < 2)].tolist():
            self._label_weight += weight
        whole = joined(pieces, count, learner.classes)
        members = self._sets(whole, known, targets, weighed, self._pipeline.tickets)
        return ClassificationResult(whole, known, targets, losses, padded(shares), members)

    def _external_scores(
        self, events: Encoded, part: slice, targets: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Scores of external experts, which also learn these events; None without any."""
        return None

    def _external_unlabelled(self, events: Encoded) -> NDArray[np.float64] | None:
        count = len(events)
        return self._external_scores(events, slice(0, count), np.full(count, NONE), np.zeros(count))

    def _shown_scores(self, scores: NDArray[np.float64]) -> Any:
        each = scores.tolist()
        return each[0] if len(each) == 1 else dict(zip(self._labels.known, each, strict=True))

    def check_label(self, label: Any) -> Label:
        """Return ``label`` as it is stored, or raise RecordError if this model cannot have it."""
        return self._checked(label, self._labels)

    def _check_labels(self, labels: Sequence[Any], weights: Sequence[float]) -> list[Any]:
        """See ``KARMABase._check_labels``: each is checked against the classes known so far."""
        met, checked = deepcopy(self._labels), list(labels)
        for t, label in enumerate(labels):
            if label is not None:
                checked[t] = self._checked(label, met)
                if weights[t] > 0.0:
                    met.enter(checked[t])
        return checked

    def _checked(self, label: Any, labels: Labels) -> Label:
        checked, known = labels.check(label), labels.known
        if isinstance(self.threshold, Real) and len(known) == 2 and checked not in known:
            raise RecordError(
                f"the label {shown(checked)} is a third class, and the threshold {self.threshold:g} "
                "is for two; balanced is for any number"
            )
        return checked

    def register_labels(self, labels: Sequence[Label | None], weights: Weights) -> None:
        """See ``KARMABase.register_labels``: the classes."""
        for t in np.flatnonzero(self._labels.indices(labels) == NEW).tolist():
            if weights[t] > 0.0:
                self._labels.enter(labels[t])
        if len(self.classes) > max(2, self._pipeline.learner.classes):
            self._pipeline.learner.widen(len(self.classes))

    def _merge(self, parts: Sequence[Any]) -> None:
        """See ``KARMABase._merge``; the parts' classes are first numbered alike."""
        agreed = self._labels.joined([part._labels for part in parts])
        for model in (self, *parts):
            model._renumber(agreed)
        translations = self._pipeline.merge([part._pipeline for part in parts])
        self._merge_external(parts, translations)
        self._merge_conformal(parts)
        self._label_weight += sum(part._label_weight - self._label_weight for part in parts)
        if self._costs is not None:
            self._costs.merge([part._costs for part in parts])

    def _renumber(self, agreed: Labels) -> None:
        """Renumber the classes in the learner as they are numbered in ``agreed``."""
        places, learner = agreed.places(self._labels), self._pipeline.learner
        if len(agreed.known) > max(2, learner.classes):
            learner.widen(len(agreed.known))
        if places != sorted(places):
            relabel(learner.engine, places)
            if self._costs is not None:
                self._costs.relabel(places)
            self._relabel_external(places)
        self._labels = deepcopy(agreed)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Everything learned, as JSON and arrays."""
        header, arrays = self._state()
        costs = {} if self._costs is None else {"costs": self._costs.state()}
        return {**header, "classes": self._labels.known, "label_weight": self._label_weight, **costs}, arrays

    def restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Restore a ``state``; ValueError if it is inconsistent."""
        for label in header["classes"]:
            self._labels.enter(self._labels.check(label))
        self._restore(header, arrays)
        self._label_weight = checked_float(header["label_weight"])
        known = len(self._labels.known)
        vectors = known if known > 2 else 1
        if known != len(header["classes"]) or vectors != self._pipeline.learner.classes:
            raise ValueError("the classes do not fit the support vectors")
        if isinstance(self.threshold, Real) and known > 2:
            raise ValueError("the threshold is for two classes, but there are more")
        if self._costs is not None:
            self._costs.restore(header["costs"], known)
