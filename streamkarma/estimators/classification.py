"""What all classifiers of this package do alike: labels, classes that come later, probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from streamkarma._engine import Encoded, logistic
from streamkarma.core.learning import Arrays, Core
from streamkarma.estimators.common import KARMABase, Weights
from streamkarma.estimators.frames import column_like, frame_like
from streamkarma.estimators.judged import Judged, joined, probabilities
from streamkarma.estimators.learner import check_weight
from streamkarma.estimators.settings import check_count
from streamkarma.events.labels import NEW, NONE, Label, Labels
from streamkarma.events.values import Record


class CoreClassifier(KARMABase, base.MiniBatchClassifier):
    """A river classifier around a core learner.

    ``loss`` is the name of the loss that the core learner reports, one of
    ``core.loss.CLASSIFICATION``.
    """

    loss: str
    scale: bool
    max_attributes: int
    max_coordinates: int
    max_classes: int
    _labels: Labels

    def _begin(self, core: Core) -> None:
        """Learn with ``core``; to be called once the parameters are in place."""
        self._start(core)
        self._labels = Labels(check_count("max_classes", self.max_classes), self.max_name_bytes)

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def classes(self) -> list[Label]:
        return list(self._labels.known)

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
        """See ``KARMABase.learn_one``."""
        weight, index = check_weight(w), self._labels.index(y)
        if index == NEW or weight == 0.0 or self._learner.core.others:
            super().learn_one(x, y, w)
        else:
            label = float(index) if len(self._labels.known) > 2 else 2.0 * index - 1.0
            self._learner.one(x, label, weight)

    def predict_proba_many(self, X: Any) -> Any:
        """Probability of every class seen so far, as a frame of the kind of ``X``, one row per row of it."""
        return frame_like(X, self._probabilities(X), self._labels.known)

    def predict_many(self, X: Any) -> Any:
        """The most probable class of every row, in a column of the kind of ``X``; None before the first."""
        known = self._labels.known
        if not known:
            return column_like(X, [None] * len(X))
        best = self._probabilities(X).argmax(axis=1)
        return column_like(X, [known[i] for i in best])

    def decision_one(self, x: Record) -> float | dict[Label, float]:
        """The raw score: with up to two classes a number that is positive for the second of
        ``classes``, with more a number for each."""
        scores = self._one(x)
        return scores[0] if len(scores) == 1 else dict(zip(self._labels.known, scores, strict=True))

    def _one(self, x: Record) -> list[float]:
        """Scores of one event, which leaves no trace."""
        if self._learner.core.others:
            scores: list[float] = self._scores(self.read([x], [False]))[0].tolist()
            return scores
        return self._learner.one(x, nan, 1.0)

    def _probabilities(self, X: Any) -> NDArray[np.float64]:
        known = len(self._labels.known)
        return probabilities(self._scores(self._read_any(X, [False] * len(X))), known)

    def _scores(self, events: Encoded) -> NDArray[np.float64]:
        return self._learner.scores(events)

    def run(self, events: Encoded, labels: Sequence[Label | None], weights: Weights) -> Judged:
        """See ``KARMABase.run``; a third class and each one after it gets a vector of its own."""
        count = len(events)
        weighed = np.asarray(weights, np.float64)
        targets = self._labels.indices(labels)
        learned = (targets != NONE) & (weighed > 0.0)
        self._learner.take(events, learned, targets == NONE)
        known, losses = np.empty(count, np.int64), np.empty(count)
        core = self._learner.core
        pieces: list[tuple[int, NDArray[np.float64]]] = []
        begin = 0
        while begin < count:
            known[begin:] = len(self._labels.known)
            if targets[begin] == NEW and learned[begin]:
                self._labels.enter(labels[begin])
                targets[begin:] = self._labels.indices(labels[begin:])
                known[begin + 1 :] = len(self._labels.known)
                if len(self._labels.known) > max(2, core.classes):
                    core.widen(len(self._labels.known))
            later = np.flatnonzero((targets[begin:] == NEW) & learned[begin:])
            end = begin + int(later[0]) if later.size else count
            part = slice(begin, end)
            codes = np.where(targets[part] < 0, np.nan, targets[part])
            signs = codes if core.classes > 1 else 2.0 * codes - 1.0
            others = self._others(events, part, targets[part], weighed[part])
            scores, losses[part] = self._learner.run(part, signs, weighed[part], others)
            pieces.append((begin, scores))
            begin = end
        return Judged(joined(pieces, count, core.classes), known, targets, losses)

    def _others(self, events: Encoded, part: slice, targets: NDArray[np.int64],
                weights: NDArray[np.float64]) -> NDArray[np.float64] | None:  # fmt: skip
        """Scores of models from elsewhere, which learn the events of that part: none here."""
        return None

    def check_label(self, label: Any) -> Label:
        """``label`` as it will be kept, or RecordError if it cannot be one of this model's."""
        return self._labels.check(label)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Everything learned, as JSON and arrays."""
        header, arrays = self._learner.state()
        return {**header, "classes": self._labels.known}, arrays

    def restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Take over a ``state``; ValueError if it contradicts itself."""
        for label in header["classes"]:
            self._labels.enter(self._labels.check(label))
        self._learner.restore(header, arrays)
        known = len(self._labels.known)
        vectors = known if known > 2 else 1
        if known != len(header["classes"]) or vectors != self._learner.core.classes:
            raise ValueError("the classes do not fit the support vectors")
