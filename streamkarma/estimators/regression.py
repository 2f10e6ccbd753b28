"""What all regressors of this package do alike: targets in their own units and in standard ones."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from math import inf, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import base

from streamkarma import _engine
from streamkarma.core.learning import Arrays, Core
from streamkarma.core.loss import REGRESSION
from streamkarma.core.moments import encode_target, encode_targets
from streamkarma.core.scale import are_rows, constant, nothing
from streamkarma.errors import RecordError
from streamkarma.estimators.classification import CoreClassifier
from streamkarma.estimators.common import KARMABase, Weights
from streamkarma.estimators.frames import column_like
from streamkarma.estimators.learner import check_weight
from streamkarma.events.batch import Batch
from streamkarma.events.frames import records_of
from streamkarma.events.labels import numbers
from streamkarma.events.values import Record

Floats = NDArray[np.float64]

#: Targets beyond this are refused: their squares, and sums of these, must stay finite.
LARGEST_TARGET = 1e100


class Estimated(NamedTuple):
    """What a run over T events said and suffered, in units of the target.

    Attributes
    ----------
    predictions
        Shape (T,), from before each event was learned.
    losses
        Shape (T,): NaN without a target.
    spreads
        Shape (T,): one standard deviation of the target so far, or 1 without ``scale``.
    """

    predictions: Floats
    losses: Floats
    spreads: Floats


class CoreRegressor(KARMABase, base.MiniBatchRegressor):
    """A river regressor around a core learner.

    ``loss`` is the name of the loss that the core learner reports, one of ``core.loss.REGRESSION``.
    """

    loss: str
    scale: bool
    max_attributes: int
    max_coordinates: int
    _target: Floats

    def _begin(self, core: Core) -> None:
        """Learn with ``core``; to be called once the parameters are in place."""
        self._start(core)
        self._target = nothing(1)[0]

    def predict_one(self, x: Record) -> float:
        """The predicted target; 0 before anything was learned."""
        if self._learner.one(x, nan, 1.0) is None:
            return float(self._predict([x])[0])
        _, centre, spread = encode_target(nan, nan, self._target, self.scale, inf)
        return self._learner.said.item() * spread + centre

    def learn_one(self, x: Record, y: Any, w: float = 1.0) -> None:
        """See ``KARMABase.learn_one``."""
        weight, target = check_weight(w), self.check_label(y)
        standard, _, _ = encode_target(target, 0.0, self._target, self.scale, self._learner.longest)
        if weight > 0.0 and self._learner.one(x, standard, weight) is not None:
            encode_target(target, weight, self._target, self.scale, self._learner.longest)
        else:
            super().learn_one(x, y, w)

    def predict_many(self, X: Any) -> Any:
        """The predicted target of every row, as a column of the kind of ``X``."""
        return column_like(X, self._predict(records_of(X)))

    def _predict(self, records: Sequence[Record]) -> Floats:
        nothing = np.full(len(records), np.nan)
        centres, spreads = np.empty_like(nothing), np.empty_like(nothing)
        encode_targets(nothing, nothing, self._target, self.scale, np.inf, centres, spreads)
        return self._learner.scores(records)[:, 0] * spreads + centres

    def run(self, batch: Batch, targets: Sequence[float | None], weights: Weights) -> Estimated:
        """Predict, then learn, the events of a batch in turn; see ``KARMABase.run``."""
        wanted = numbers(targets)
        weighed = np.asarray(weights, np.float64)
        centres, spreads = np.empty_like(wanted), np.empty_like(wanted)
        longest = self._learner.longest
        standard = encode_targets(wanted, weighed, self._target, self.scale, longest, centres, spreads)
        unknown = np.isnan(wanted)
        self._learner.encode(batch, ~unknown & (weighed > 0.0), unknown)
        scores = self._learner.run(slice(0, len(wanted)), standard, weighed)[0][:, 0]
        loss = REGRESSION[self.loss]
        suffered = _engine.losses(loss.code, scores, (wanted - centres) / spreads) * spreads**loss.degree
        return Estimated(scores * spreads + centres, suffered, spreads)

    def suffered(self, prediction: float, target: float, spread: float) -> float:
        """Loss of a prediction, made when one standard deviation of the target was ``spread``."""
        loss = REGRESSION[self.loss]
        off = np.array([(prediction - target) / spread])
        return float(_engine.losses(loss.code, off, np.zeros(1))[0] * spread**loss.degree)

    def check_label(self, target: Any) -> float:
        """``target`` as a float, or RecordError if it is not a finite number."""
        if isinstance(target, (str, bytes, np.bool_, bool)):
            raise RecordError(f"the target must be a number, not {reprlib.repr(target)}")
        try:
            number = float(target)
        except (TypeError, ValueError, OverflowError):
            number = float("nan")
        if not abs(number) <= LARGEST_TARGET:
            raise RecordError(f"the target must be a finite number within ±1e100, not {reprlib.repr(target)}")
        return number

    def take_over(self, classifier: CoreClassifier, target: float) -> None:
        """Go on where a classifier of the same parameters that saw one label leaves off.

        Its names and statistics are kept. Targets that are all the same are 0 once
        standardised, which is what v = 0 predicts: from them nothing but their mean is to
        be learned. (Without ``scale`` they would have taught the constant, and that is lost.)
        """
        self._learner.take_over(classifier._learner)
        if self.scale:
            self._target = constant(target, self.steps, self._learner.longest)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Everything learned, as JSON and arrays."""
        header, arrays = self._learner.state()
        return header, {**arrays, "target": self._target}

    def restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Take over a ``state``; ValueError if it contradicts itself."""
        target = arrays.pop("target")
        if not are_rows(target[None]):
            raise ValueError("the statistics of the target are not a row of them")
        self._target = np.array(target)
        self._learner.restore(header, arrays)
        if self._learner.core.classes != 1:
            raise ValueError("a regression has one vector per support vector")
