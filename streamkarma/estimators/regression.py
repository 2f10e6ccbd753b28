"""The base of all regressors: targets in their own units and standardised."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import base

from streamkarma import _engine
from streamkarma._engine import Encoded, Target
from streamkarma.arrays import Arrays, Floats
from streamkarma.core.conformal import PredictionIntervals
from streamkarma.core.learner import Learner
from streamkarma.core.loss import REGRESSION
from streamkarma.core.mixture import Mixture
from streamkarma.core.tickets import LateLabels
from streamkarma.errors import RecordError
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.estimators.common import KARMABase, Weights
from streamkarma.estimators.explaining import Columns
from streamkarma.estimators.frames import column_like, row_count
from streamkarma.estimators.pipeline import check_weight, clipped_weights
from streamkarma.events.labels import numbers
from streamkarma.events.values import Record, is_missing
from streamkarma.printable import shown

#: Larger targets are refused, so that sums of their squares stay finite.
LARGEST_TARGET = 1e100


class RegressionResult(NamedTuple):
    """Predictions and losses of a run over T events, in units of the target.

    Attributes
    ----------
    predictions
        Shape (T,), from before each event was learned.
    losses
        Shape (T,): NaN without a target.
    spreads
        Shape (T,): one standard deviation of the target so far, or 1 without ``scale``.
    intervals
        Shape (T, 2): lower and upper ends; None without ``coverage``.
    """

    predictions: Floats
    losses: Floats
    spreads: Floats
    intervals: Floats | None = None


class BaseRegressor(KARMABase, base.MiniBatchRegressor):
    """A river regressor around a learner.

    Attributes
    ----------
    loss
        The name of the loss that the learner reports, one of ``core.loss.REGRESSION``.
    """

    loss: str
    scale: bool
    max_attributes: int
    max_coordinates: int
    _target: Target

    def _begin(self, learner: Learner) -> None:
        """Learn with ``learner``; call this once the parameters are set."""
        self._start(learner, rates=1, regression=True)
        far = isinstance(learner, Mixture) and learner.far
        self._target = Target(bool(self.scale), self._pipeline.longest, far)

    def predict_one(self, x: Record) -> float:
        """The predicted target of an event.

        Parameters
        ----------
        x
            The event, as in ``learn_one``. Nothing is learned from it, but with ``entity`` its values are
            remembered.

        Returns
        -------
        A number in the unit of the target; 0 before anything has been learned.

        Raises
        ------
        RecordError
            A ValueError: a value is invalid.

        Examples
        --------
        >>> from streamkarma import KARMAMixtureRegressor
        >>> model = KARMAMixtureRegressor()
        >>> for t in range(200):
        ...     model.learn_one({"temp": t % 7}, 2.0 * (t % 7))
        >>> round(model.predict_one({"temp": 4}), 1)
        8.0
        """
        if self._pipeline.learner.external_experts:
            return float(self._predict([x])[0])
        centre, spread = self.unit
        score = self._pipeline.one(x, nan, 0.0, unit=(nan, centre, spread))[0]
        return score * spread + centre

    def predict_interval_one(self, x: Record, coverage: float | None = None) -> tuple[float, float]:
        """An interval that contains the target of an event in the given fraction of events.

        The interval is remembered until the target is learned, however late, and evaluated then.

        Parameters
        ----------
        x
            The event, as in ``predict_one``.
        coverage
            The fraction of events, 0.01 to 0.999; None for that of the model, or 0.9. A model without a
            ``coverage`` of its own is calibrated from the first call on, for the coverage of that call.

        Returns
        -------
        Its lower and upper end; infinite before a target has been learned.

        Raises
        ------
        UsageError
            A ValueError: ``coverage`` is out of its range, or the model is calibrated for another coverage.
        RecordError
            A ValueError: a value is invalid.

        Examples
        --------
        >>> from streamkarma import KARMARegressor
        >>> model = KARMARegressor(coverage=0.8)
        >>> for t in range(200):
        ...     model.learn_one({"temp": t % 7}, 2.0 * (t % 7) + t % 3)
        >>> low, high = model.predict_interval_one({"temp": 4})
        >>> low < 9.0 < high
        True
        """
        asked = self._asked_coverage(coverage)
        predicted, nothing = np.array([self.predict_one(x)]), np.full(1, nan)
        if self._conformal is None:
            self._begin_conformal(asked)
        # When the target arrives, the interval given now is evaluated.
        ends = self._intervals(predicted, nothing, np.zeros(1), self._last_ticket)
        assert ends is not None
        return float(ends[0, 0]), float(ends[0, 1])

    def _begin_conformal(self, coverage: float) -> None:
        self._conformal = PredictionIntervals(coverage)

    def _intervals(
        self, predictions: Floats, targets: Floats, weights: Floats, tickets: NDArray[np.uint64]
    ) -> Floats | None:
        """The intervals of events, which are then learned; None without intervals."""
        if self._conformal is None:
            return None
        assert isinstance(self._conformal, PredictionIntervals)
        return np.column_stack(self._conformal.run(predictions, targets, weights, tickets))

    def learn_one(self, x: Record, y: Any, w: float = 1.0) -> None:
        # The same as a block of one event, but faster.
        if self._pipeline.learner.external_experts:
            super().learn_one(x, y, w)
            return
        weight, target = check_weight(w), nan if is_missing(y) else self.check_label(y)
        # Only a valid event may change the statistics of the target.
        standard, centre, spread = self._target.preview(target, weight)
        score = self._pipeline.one(x, standard, weight, target, (target, centre, spread))[0]
        self._target.observe(target, weight)
        if self._conformal is not None:
            predicted, wanted, weighed = np.array([[score * spread + centre], [target], [weight]])
            self._intervals(predicted, wanted, weighed, self._pipeline.ticket)

    def predict_many(self, X: Any) -> Any:
        """The predicted target of each row, as by ``predict_one``.

        Parameters
        ----------
        X
            A data frame of pandas, polars or another library that narwhals supports, or a list of dicts.

        Returns
        -------
        A column of the same kind, or a list for a list.

        Raises
        ------
        UsageError
            A ValueError: ``X`` is neither.
        RecordError
            A ValueError: a value is invalid.

        Examples
        --------
        >>> from streamkarma import KARMAMixtureRegressor
        >>> model = KARMAMixtureRegressor()
        >>> model.learn_many([{"temp": t % 7} for t in range(200)], [2.0 * (t % 7) for t in range(200)])
        >>> [round(target) for target in model.predict_many([{"temp": 4}, {"temp": 5}])]
        [8, 10]
        """
        return column_like(X, self._predict(X))

    def _predict(self, X: Any) -> Floats:
        rows = row_count(X)
        events = self._read_any(X, [False] * rows)
        if self._pipeline.learner.external_experts:
            return self.run(events, [None] * rows, [0.0] * rows).predictions
        centre, spread = self.unit
        return self._pipeline.scores(events, (centre, spread))[:, 0] * spread + centre

    def run(
        self,
        events: Encoded,
        labels: Sequence[float | None],
        weights: Weights,
        late: LateLabels | None = None,
    ) -> RegressionResult:
        wanted = numbers(labels)
        weighed = clipped_weights(weights)
        standard, centres, spreads = self._target.encode(wanted, weighed)
        unknown = np.isnan(wanted)
        self._pipeline.take(events, ~unknown, unknown, late)
        external_scores = self._external_scores(events, wanted, weighed, centres, spreads)
        units, whole = (wanted, centres, spreads), slice(0, len(wanted))
        scores = self._pipeline.run(whole, standard, weighed, external_scores, units)[0][:, 0]
        loss = REGRESSION[self.loss]
        losses = _engine.losses(loss.code, scores, (wanted - centres) / spreads) * spreads**loss.degree
        predictions = scores * spreads + centres
        intervals = self._intervals(predictions, wanted, weighed, self._pipeline.tickets)
        return RegressionResult(predictions, losses, spreads, intervals)

    def _external_scores(
        self, events: Encoded, targets: Floats, weights: Floats, centres: Floats, spreads: Floats
    ) -> Floats | None:
        """Scores of external experts, which also learn these events; None without any."""
        return None

    def _external_unlabelled(self, events: Encoded) -> Floats | None:
        count = len(events)
        none = np.full(count, nan)
        _, centres, spreads = self._target.encode(none, np.zeros(count))
        return self._external_scores(events, none, np.zeros(count), centres, spreads)

    @property
    def unit(self) -> tuple[float, float]:
        """See ``Explains.unit``: centre and spread of the target."""
        _, centre, spread = self._target.preview(nan, 0.0)
        return centre, spread

    def in_units(self, columns: Columns) -> Columns:
        centre, spread = self.unit
        return columns.scaled(spread, centre)

    def spread_by(self, missing: dict[str, Floats]) -> dict[str, Floats]:
        _, spread = self.unit
        return {name: spread * each for name, each in missing.items()}

    def loss_of(self, prediction: float, target: float, spread: float) -> float:
        """The loss of an earlier prediction, as ``run`` would have reported it.

        Parameters
        ----------
        prediction, target
            In the unit of the target.
        spread
            The standard deviation of the target when the prediction was made, or 1 without ``scale``.

        Returns
        -------
        The loss, 0 or more.
        """
        loss = REGRESSION[self.loss]
        off = np.array([(prediction - target) / spread])
        return float(_engine.losses(loss.code, off, np.zeros(1))[0] * spread**loss.degree)

    def check_label(self, label: Any) -> float:
        if isinstance(label, (str, bytes, np.bool_, bool)):
            raise RecordError(f"the target must be a number, not {shown(label)}")
        try:
            number = float(label)
        except (TypeError, ValueError, OverflowError):
            number = float("nan")
        if not abs(number) <= LARGEST_TARGET:
            raise RecordError(f"the target must be a finite number within ±1e100, not {shown(label)}")
        return number

    def take_over(self, classifier: BaseClassifier, target: float | None) -> None:
        """Continue from a classifier with the same parameters that has seen at most one label.

        Its names and statistics are kept, but not what the learner has learned from events without a label.
        Identical targets are 0 when standardised, which is what v = 0 predicts, so only their mean has to be
        learned. (Without ``scale`` the constant would have been learned too; that is lost.)

        Parameters
        ----------
        classifier
            It cannot be used afterwards.
        target
            The value of all labels that it has learned; None if it has learned none.
        """
        self._pipeline.take_over(classifier._pipeline)
        if target is not None:
            self._target.observe(target, classifier._label_weight, self.steps)

    def begin_survey(self) -> None:
        super().begin_survey()
        self._target.begin_survey()

    def end_survey(self) -> None:
        super().end_survey()
        self._target.end_survey()

    def freeze(self, frozen: bool = True) -> None:
        super().freeze(frozen)
        self._target.frozen = frozen

    def register_labels(self, labels: Sequence[Any], weights: Weights) -> None:
        self._target.encode(numbers(labels), np.asarray(weights, np.float64))

    def _merge(self, parts: Sequence[Any]) -> None:
        """See ``KARMABase._merge``; targets are standardised by the merged statistics."""
        learned = [float(part.steps - self.steps) for part in parts]
        targets = self._target.merge([part._target for part in parts], learned)
        translations = self._pipeline.merge([part._pipeline for part in parts], targets)
        self._merge_external(parts, translations)
        self._merge_conformal(parts)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        header, arrays = self._state()
        return header, {**arrays, **self._target.arrays()}

    def restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        self._target.restore(arrays)
        self._restore(header, arrays)
        if self._pipeline.learner.classes != 1:
            raise ValueError("a regression has one vector per support vector")
