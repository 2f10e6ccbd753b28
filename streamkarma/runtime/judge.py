"""Run a batch through a model; what comes back is metrics and predictions as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.estimators.classifier import KARMAClassifier
from streamkarma.estimators.judged import Judged, probabilities
from streamkarma.estimators.regressor import KARMARegressor
from streamkarma.events.batch import Batch
from streamkarma.events.labels import NEW
from streamkarma.runtime.metrics import ClassificationMetrics, RegressionMetrics
from streamkarma.runtime.task import Tasked, text_of

Row = dict[str, Any]


class Judge:
    """Keeps the losses and metrics of a run.

    Parameters
    ----------
    tasked
        The model and its task; the task may settle while the run goes on.
    """

    def __init__(self, tasked: Tasked) -> None:
        self._tasked = tasked
        self._classes = ClassificationMetrics()
        self._numbers = RegressionMetrics()
        self.loss_total = 0.0
        self.loss_events = 0

    def run(self, batch: Batch, labels: Sequence[Any], weights: Sequence[float], rows: bool) -> list[Row]:
        """Predict and learn a batch; with ``rows`` what to print of each event."""
        model = self._tasked.model
        if isinstance(model, KARMARegressor):
            return self._run_regression(model, batch, labels, weights, rows)
        sign = self._tasked.sign()
        judged = model.run(batch, labels, weights)
        self._suffer(judged.losses)
        predicted = _predicted(judged)
        entered = judged.targets >= 0
        self._classes.update(judged.targets[entered], predicted[entered])
        self._classes.update_strangers(int((judged.targets == NEW).sum()))
        chances = self._chances(model, judged)
        if chances is not None:
            fair = (judged.targets >= 0) & (judged.targets < judged.known) & (judged.known > 1)
            self._classes.update_log_loss(chances[fair, judged.targets[fair]])
        signs = np.where(judged.known == judged.known[0], sign, self._tasked.sign())
        if judged.scores.shape[1] == 1 and len(model.classes) == 2:
            both = (judged.targets >= 0) & (judged.known == 2)
            oriented = signs[both] * judged.scores[both, 0]
            self._classes.update_scores(oriented, (judged.targets[both] == 1) == (signs[both] > 0))
        if not rows:
            return []
        return self._rows(model, judged, predicted, chances, signs)

    @property
    def mean_loss(self) -> float | None:
        """Mean loss of the labelled events so far, None before the first."""
        return self.loss_total / self.loss_events if self.loss_events else None

    def result(self) -> dict[str, float]:
        """The metrics so far."""
        if isinstance(self._tasked.model, KARMARegressor):
            return self._numbers.result()
        return self._classes.result()

    def _suffer(self, losses: NDArray[np.float64]) -> None:
        suffered = losses[~np.isnan(losses)]
        self.loss_total += float(suffered.sum())
        self.loss_events += len(suffered)

    def _chances(self, model: KARMAClassifier, judged: Judged) -> NDArray[np.float64] | None:
        """Probability of each class at each event; only the logistic loss has them."""
        if model.loss != "logistic" or len(model.classes) < 2:
            return None
        scores = judged.scores
        if scores.shape[1] > 1:
            unknown = np.arange(scores.shape[1])[None, :] >= judged.known[:, None]
            scores = np.where(unknown & (judged.known[:, None] > 0), -np.inf, scores)
        return probabilities(scores, len(model.classes))

    def _rows(self, model: KARMAClassifier, judged: Judged, predicted: NDArray[np.int64],
              chances: NDArray[np.float64] | None, signs: NDArray[np.int64]) -> list[Row]:  # fmt: skip
        classes = model.classes
        several = self._tasked.name == "multiclass"
        rows: list[Row] = []
        scores, losses = judged.scores.tolist(), judged.losses.tolist()
        for t, known in enumerate(judged.known.tolist()):
            row: Row = {"prediction": classes[predicted[t]] if known else None}
            if several:
                each = scores[t] if len(scores[t]) > 1 else [-scores[t][0] / 2, scores[t][0] / 2]
                shown = zip(classes[:known], each, strict=False)
                row["score"] = {text_of(name): value for name, value in shown if math.isfinite(value)}
            elif signs[t]:
                _put(row, "score", float(signs[t]) * scores[t][0])
            if chances is not None and known > 1:
                _put(row, "probability", float(chances[t, predicted[t]]))
            _put(row, "loss", losses[t])
            rows.append(row)
        return rows

    def _run_regression(self, model: KARMARegressor, batch: Batch, labels: Sequence[Any],
                        weights: Sequence[float], rows: bool) -> list[Row]:  # fmt: skip
        predictions, losses = model.run(batch, labels, weights)
        self._suffer(losses)
        labelled = np.array([label is not None for label in labels], np.bool_)
        targets = np.array([label for label in labels if label is not None], np.float64)
        self._numbers.update(targets, predictions[labelled])
        result: list[Row] = []
        if rows:
            for prediction, loss in zip(predictions.tolist(), losses.tolist(), strict=True):
                row: Row = {}
                _put(row, "prediction", prediction)
                _put(row, "score", prediction)
                _put(row, "loss", loss)
                result.append(row)
        return result


def _predicted(judged: Judged) -> NDArray[np.int64]:
    """Index of the class with the highest score; -1 before any class was known."""
    scores, known = judged.scores, judged.known
    if scores.shape[1] == 1:
        best = ((scores[:, 0] > 0.0) & (known > 1)).astype(np.int64)
    else:
        unknown = np.arange(scores.shape[1])[None, :] >= known[:, None]
        best = np.where(unknown, -np.inf, scores).argmax(axis=1)
    return np.where(known > 0, best, -1)


def _put(row: Row, name: str, value: float) -> None:
    """Numbers are finite or absent."""
    if math.isfinite(value):
        row[name] = value
