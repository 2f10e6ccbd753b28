"""The base of all classifiers: labels, classes that appear later, merging."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from math import nan
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma._engine import Encoded, relabel
from streamkarma.arrays import Arrays, Bools, Ints
from streamkarma.checkpoint import checked_float
from streamkarma.core.learner import Learner
from streamkarma.core.tickets import LateLabels
from streamkarma.errors import RecordError
from streamkarma.estimators.common import Weights
from streamkarma.estimators.costs import Costs, plain_costs
from streamkarma.estimators.pipeline import check_weight, clipped_weights
from streamkarma.estimators.predicting import PredictsClasses
from streamkarma.estimators.results import ClassificationResult, joined, padded
from streamkarma.estimators.settings import check_count
from streamkarma.events.labels import NEW, NONE, Label, Labels
from streamkarma.events.values import Record, is_missing
from streamkarma.printable import shown

#: Maximum number of classes with target statistics, the first ones: each of them costs coordinates.
MOST_RATED = 8


class BaseClassifier(PredictsClasses):
    """A river classifier around a learner.

    Attributes
    ----------
    loss
        The name of the loss that the learner reports, one of ``core.loss.CLASSIFICATION``.
    """

    loss: str
    scale: bool
    max_attributes: int
    max_coordinates: int
    max_classes: int
    class_weight: str | Mapping[Label, float] | None = None
    threshold: str | float | None = None
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
        """Whether river may give it more than two classes."""
        return True

    @property
    def unmatched_weights(self) -> list[str]:
        """Names in ``class_weight`` that are not a class seen so far."""
        return [] if self._costs is None else self._costs.unmatched(self._labels.known)

    def learn_one(self, x: Record, y: Any, w: float = 1.0) -> None:
        # The same as a block of one event, but faster.
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

    def run(
        self,
        events: Encoded,
        labels: Sequence[Label | None],
        weights: Weights,
        late: LateLabels | None = None,
    ) -> ClassificationResult:
        # From the third class on, each class has its own vector.
        count = len(events)
        given = clipped_weights(weights)
        weighed = given.copy()
        targets = self._labels.indices(labels)
        learned = (targets != NONE) & (weighed > 0.0)
        self._pipeline.take(events, targets != NONE, targets == NONE, late)
        known, losses = np.empty(count, np.int64), np.empty(count)
        learner = self._pipeline.learner
        pieces: list[tuple[int, NDArray[np.float64]]] = []
        shares: list[NDArray[np.float64]] = []
        for part in self._parts(labels, targets, learned, known):
            if self._costs is not None:
                now = self._labels.known
                shares.append(self._costs.run(targets[part], weighed[part], now, known[part]))
            codes = np.where(targets[part] < 0, np.nan, targets[part])
            signs = codes if learner.classes > 1 else 2.0 * codes - 1.0
            external_scores = self._external_scores(events, part, targets[part], weighed[part])
            scores, losses[part] = self._pipeline.run(part, signs, weighed[part], external_scores)
            pieces.append((part.start, scores))
        # In sequence, so that blocks give the same sum as single events.
        for weight in given[learned & (known < 2)].tolist():
            self._label_weight += weight
        whole = joined(pieces, count, learner.classes)
        members = self._sets(whole, known, targets, weighed, self._pipeline.tickets)
        return ClassificationResult(whole, known, targets, losses, padded(shares), members)

    def _parts(
        self, labels: Sequence[Label | None], targets: Ints, learned: Bools, known: Ints
    ) -> Iterator[slice]:
        """Divide events where a class is learned for the first time, and enter it before its part is yielded.

        Parameters
        ----------
        labels, targets
            The label of each event, and its index, which is updated in place.
        learned
            Whether the label is learned.
        known
            Set to the number of classes that were known before each event.
        """
        begin = 0
        while begin < len(targets):
            known[begin:] = len(self._labels.known)
            if targets[begin] == NEW and learned[begin]:
                self._labels.enter(labels[begin])
                targets[begin:] = self._labels.indices(labels[begin:])
                known[begin + 1 :] = len(self._labels.known)
                self._widen(len(self._labels.known))
            later = np.flatnonzero((targets[begin:] == NEW) & learned[begin:])
            end = begin + int(later[0]) if later.size else len(targets)
            yield slice(begin, end)
            begin = end

    def _widen(self, classes: int) -> None:
        """Widen the learner if it has fewer classes than these; one score is enough for two."""
        if classes > max(2, self._pipeline.learner.classes):
            self._pipeline.learner.widen(classes)

    def _external_scores(
        self, events: Encoded, part: slice, targets: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Scores of external experts, which also learn these events; None without any."""
        return None

    def _external_unlabelled(self, events: Encoded) -> NDArray[np.float64] | None:
        count = len(events)
        return self._external_scores(events, slice(0, count), np.full(count, NONE), np.zeros(count))

    def check_label(self, label: Any) -> Label:
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
        for t in np.flatnonzero(self._labels.indices(labels) == NEW).tolist():
            if weights[t] > 0.0:
                self._labels.enter(labels[t])
        self._widen(len(self.classes))

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
        places = agreed.places(self._labels)
        self._widen(len(agreed.known))
        if places != sorted(places):
            relabel(self._pipeline.learner.engine, places)
            if self._costs is not None:
                self._costs.relabel(places)
            self._relabel_external(places)
        self._labels = deepcopy(agreed)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        header, arrays = self._state()
        costs = {} if self._costs is None else {"costs": self._costs.state()}
        return {**header, "classes": self._labels.known, "label_weight": self._label_weight, **costs}, arrays

    def restore(self, header: dict[str, Any], arrays: Arrays) -> None:
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
