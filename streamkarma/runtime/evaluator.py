"""Predict and learn events, and keep the losses and metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma._engine import Encoded
from streamkarma.arrays import Arrays, Floats, Ints
from streamkarma.core.tickets import LateLabels
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.estimators.common import Weights
from streamkarma.estimators.regression import BaseRegressor
from streamkarma.estimators.results import ClassificationResult
from streamkarma.events.labels import NEW, NONE, numbers
from streamkarma.runtime.class_predictions import (
    PredictedClasses,
    class_for,
    class_probabilities,
    predicted_classes,
    with_prior,
)
from streamkarma.runtime.coverage import Coverage
from streamkarma.runtime.metrics import ClassificationMetrics, RegressionMetrics
from streamkarma.runtime.pending import PriorPrediction
from streamkarma.runtime.per_label import PerLabel
from streamkarma.runtime.regret_adapter import Full, RegretAdapter
from streamkarma.runtime.task import TaskModel


class Evaluation(NamedTuple):
    """Predictions for T events, made before they were learned, and their losses.

    Attributes
    ----------
    scores, known
        As in ``PriorPrediction``, shapes (T, C) and (T,).
    losses
        Shape (T,), NaN without a label.
    errors
        Shape (T,): 1 for a wrong class and 0 for the right one, or the absolute error of a number; NaN
        without a label.
    prior
        By position: predictions made when the event arrived, which were evaluated instead of new ones.
    classes
        The predicted classes; None for regression.
    intervals, members
        As in ``RegressionResult`` and ``ClassificationResult``.
    """

    scores: Floats
    known: Ints
    losses: Floats
    errors: Floats
    prior: Mapping[int, PriorPrediction]
    classes: PredictedClasses | None
    intervals: Floats | None = None
    members: NDArray[np.bool_] | None = None


class RunningMetrics:
    """Losses and metrics so far."""

    def __init__(self) -> None:
        self.classification = ClassificationMetrics()
        self.regression = RegressionMetrics()
        self.loss_total = 0.0
        self.loss_events = 0
        self.per_label = PerLabel()
        self.coverage = Coverage()

    def add_losses(self, losses: Floats) -> None:
        """Add the losses of labelled events; NaN is skipped."""
        labelled = losses[~np.isnan(losses)]
        self.loss_total += float(labelled.sum())
        self.loss_events += len(labelled)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All counts, for ``add``, except those of late labels, which are counted one by one."""
        losses = np.array([self.loss_total, self.loss_events], float)
        return {
            "losses": losses,
            **self.classification.arrays(),
            **self.regression.arrays(),
            **self.coverage.arrays(),
        }

    def add(self, arrays: Arrays) -> None:
        """Add the counts of another instance with the same task."""
        total, events = arrays["losses"].tolist()
        self.loss_total += total
        self.loss_events += int(events)
        self.classification.add(arrays)
        self.regression.add(arrays)
        self.coverage.add(arrays)


class Evaluator:
    """Runs events through a model, and keeps the losses and metrics.

    Parameters
    ----------
    task_model
        The model and its task, which may be settled during the run.
    regret_adapter
        Passes the results to the regret tracker; None for no tracker.
    """

    def __init__(self, task_model: TaskModel, regret_adapter: RegretAdapter | None = None) -> None:
        self._task_model = task_model
        self.regret_adapter = regret_adapter
        self.metrics = RunningMetrics()

    def run(
        self,
        events: Encoded,
        labels: Sequence[Any],
        weights: Weights,
        prior: Mapping[int, PriorPrediction],
        full: Full = (),
        late: LateLabels | None = None,
        groups: Sequence[range] = (),
    ) -> Evaluation:
        """Predict and learn events.

        Parameters
        ----------
        events, labels, weights, late
            See ``KARMABase.run``.
        prior
            By position: predictions made when the event arrived. These are evaluated, not the new ones.
        full
            Complete vectors, if there are any.
        groups
            The positions of events that share a label.
        """
        model = self._task_model.model
        # Scores may overflow; the metrics show it, so NumPy need not warn.
        with np.errstate(all="ignore"):
            if isinstance(model, BaseRegressor):
                return self._run_regression(model, events, labels, weights, prior, full, late, groups)
            return self._run_classification(model, events, labels, weights, prior, full, late, groups)

    def continue_with(self, task_model: TaskModel) -> None:
        """Use another model of the same task from now on; its classes may be in another order."""
        before, model = self._task_model.model, task_model.model
        self._task_model = task_model
        if isinstance(model, BaseClassifier) and isinstance(before, BaseClassifier):
            # A class that the new model lacks gets an index of its own.
            every = [*model.classes, *(each for each in before.classes if each not in model.classes)]
            self.metrics.classification.relabel([every.index(each) for each in before.classes])

    @property
    def has_counted_classes(self) -> bool:
        """Whether any labels were counted as classes."""
        return self.metrics.classification.counts()[0] > 0

    def switch_to_regression(self, number: float) -> float:
        """Recount the events so far, whose labels were all the same number, as regression.

        A regressor predicts 0 until it has learned, while a classifier has no class, and then this number.

        Returns
        -------
        The loss of an event before anything was learned.
        """
        model, m = self._task_model.model, self.metrics
        assert isinstance(model, BaseRegressor)
        loss, (events, right) = model.loss_of(0.0, number, 1.0), m.classification.counts()
        m.regression.update_repeated(number, events, events - right)
        m.loss_total = (events - right) * loss
        m.classification = ClassificationMetrics()
        m.per_label.switch_to_regression()
        return loss

    @property
    def mean_loss(self) -> float | None:
        """Mean loss of the labelled events so far; None before the first, or if it is not finite."""
        m = self.metrics
        return m.loss_total / m.loss_events if m.loss_events and math.isfinite(m.loss_total) else None

    def result(self) -> dict[str, float]:
        """The metrics so far."""
        if isinstance(self._task_model.model, BaseRegressor):
            own = self.metrics.regression.result()
        else:
            own = self.metrics.classification.result()
        return {**own, **self.metrics.coverage.result()}

    def _run_classification(
        self,
        model: BaseClassifier,
        events: Encoded,
        labels: Sequence[Any],
        weights: Weights,
        prior: Mapping[int, PriorPrediction],
        full: Full,
        late: LateLabels | None,
        groups: Sequence[range],
    ) -> Evaluation:
        sign_before = self._task_model.sign()
        result = with_prior(model.run(events, labels, weights, late), prior, model.loss)
        signs = np.where(result.known == result.known[0], sign_before, self._task_model.sign())
        predicted = predicted_classes(model, result, signs, prior)
        chances = class_probabilities(model, result)
        if self.regret_adapter is not None:
            self.regret_adapter.classes(result, predicted, weights, full)
        self.metrics.add_losses(result.losses)
        classes = PredictedClasses(predicted, chances, signs)
        self._count_classes(model, result, classes, groups)
        if result.members is not None:
            self.metrics.coverage.add_sets(result.members, result.targets, result.known, model.classes, prior)
        errors = np.where(result.targets == NONE, np.nan, predicted != result.targets)
        return Evaluation(
            result.scores, result.known, result.losses, errors, prior, classes, members=result.members
        )

    def _count_classes(
        self,
        model: BaseClassifier,
        result: ClassificationResult,
        classes: PredictedClasses,
        groups: Sequence[range],
    ) -> None:
        """Add events to the metrics, and labels that several events share to the metrics per label."""
        metrics, (predicted, chances, signs) = self.metrics.classification, classes
        metrics.positive = int(signs[-1] > 0) if len(model.classes) == 2 else None
        labelled = result.targets >= 0
        metrics.update(result.targets[labelled], predicted[labelled])
        metrics.update_unknown(int((result.targets == NEW).sum()))
        self.metrics.per_label.add_classes(
            groups,
            result.targets,
            result.known,
            predicted,
            chances,
            result.scores,
            signs,
            partial(class_for, model, result, signs),
        )
        if not self._task_model.settled and model.classes:
            self.metrics.per_label.add_unsettled(groups, float(model.classes[0]), result.known > 0)
        if chances is not None:
            fair = labelled & (result.targets < result.known) & (result.known > 1)
            metrics.update_log_loss(chances[fair, result.targets[fair]])
        if result.scores.shape[1] == 1 and len(model.classes) == 2:
            both = labelled & (result.known == 2)
            oriented = signs[both] * result.scores[both, 0]
            metrics.update_scores(oriented, (result.targets[both] == 1) == (signs[both] > 0))

    def _run_regression(
        self,
        model: BaseRegressor,
        events: Encoded,
        labels: Sequence[Any],
        weights: Weights,
        prior: Mapping[int, PriorPrediction],
        full: Full,
        late: LateLabels | None,
        groups: Sequence[range],
    ) -> Evaluation:
        # Predictions made before the task turned out to be regression are not numbers.
        prior = {t: before for t, before in prior.items() if len(before.scores) == 2}
        predictions, losses, spreads, intervals = model.run(events, labels, weights, late)
        for t, before in prior.items():
            predictions[t], spreads[t] = before.scores
            losses[t] = model.loss_of(predictions[t], labels[t], spreads[t])
        if self.regret_adapter is not None:
            self.regret_adapter.numbers(predictions, labels, weights, full)
        self.metrics.add_losses(losses)
        targets = numbers(labels)
        labelled = ~np.isnan(targets)
        self.metrics.regression.update(targets[labelled], predictions[labelled])
        self.metrics.per_label.add_numbers(groups, targets, predictions)
        if intervals is not None:
            self.metrics.coverage.add_intervals(intervals, targets, prior)
        known, errors = np.zeros(len(labels), np.int64), np.abs(predictions - targets)
        scores = np.column_stack([predictions, spreads])
        return Evaluation(scores, known, losses, errors, prior, None, intervals)
