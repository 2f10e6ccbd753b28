"""Metrics that count each label once, even if several events share it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Floats, Ints
from streamkarma.runtime.metrics import ClassificationMetrics, RegressionMetrics


class PerLabel:
    """Metrics of two predictions for the events that share a label: the last before it, and the mean of all.

    Attributes
    ----------
    labels
        The number of labels counted.
    """

    def __init__(self) -> None:
        self.labels = 0
        self._classes = {"last": ClassificationMetrics(), "mean": ClassificationMetrics()}
        self._numbers = {"last": RegressionMetrics(), "mean": RegressionMetrics()}

    def add_classes(
        self,
        groups: Sequence[range],
        targets: Ints,
        known: Ints,
        predicted: Ints,
        chances: Floats | None,
        scores: Floats,
        signs: Ints,
        decide: Callable[[Floats, int], int],
    ) -> None:
        """Count labels that are classes.

        Parameters
        ----------
        groups
            The positions of the events of each label, in order of arrival.
        targets, known, predicted
            Shape (T,): index of the label; the number of classes known when the event arrived; index of the
            predicted class.
        chances
            Shape (T, classes): the predicted probabilities; None if there are none.
        scores
            Shape (T, columns): the raw scores; one column for two classes.
        signs
            Shape (T,): +1 if the second of two classes is the positive one, else -1.
        decide
            Maps probabilities and the position of an event to the index of the class to predict.
        """
        last, mean = self._classes["last"], self._classes["mean"]
        for group in groups:
            self.labels += 1
            target, end = int(targets[group[-1]]), group[-1]
            if target < 0:
                last.update_unknown(1)
            else:
                last.update(np.array([target]), predicted[[end]])
            if target < 0:
                mean.update_unknown(1)
                continue
            if chances is None and scores.shape[1] == 1 and known[end] == 2:
                _rank(last, scores[[end], 0], target, int(signs[end]))
            if chances is None or not target < known[group].min() or known[group].min() < 2:
                # There are no probabilities to average.
                mean.update(np.array([target]), np.array([_most_frequent(predicted[group].tolist())]))
                continue
            average = chances[group].mean(axis=0)
            mean.update(np.array([target]), np.array([decide(average, group[0])]))
            for metrics, row in ((last, chances[end]), (mean, average)):
                metrics.update_log_loss(row[[target]])
                if len(row) == 2:
                    _rank(metrics, row[[1]] - 0.5, target, int(signs[end]))

    def add_numbers(self, groups: Sequence[range], targets: Floats, predictions: Floats) -> None:
        """Count labels that are numbers."""
        self.labels += len(groups)
        self._add_numbers(groups, targets, predictions)

    def add_unsettled(self, groups: Sequence[range], number: float, learned: NDArray[np.bool_]) -> None:
        """Prepare labels that are counted as a class for ``switch_to_regression``.

        Parameters
        ----------
        groups
            As in ``add_classes``.
        number
            The value of all labels.
        learned
            Shape (T,): whether anything had been learned when the event arrived; before that, a regression
            predicts 0.
        """
        self._add_numbers(groups, np.full(len(learned), number), np.where(learned, number, 0.0))

    def switch_to_regression(self) -> None:
        """Recount all labels so far as numbers."""
        self._classes = {name: ClassificationMetrics() for name in self._classes}

    def _add_numbers(self, groups: Sequence[range], targets: Floats, predictions: Floats) -> None:
        for group in groups:
            target = targets[[group[-1]]]
            self._numbers["last"].update(target, predictions[[group[-1]]])
            self._numbers["mean"].update(target, predictions[group].mean(keepdims=True))

    def result(self) -> dict[str, Any]:
        """The metrics so far, as JSON; empty if no label had several events."""
        if not self.labels:
            return {}
        kinds = self._classes if self._classes["last"].result() else self._numbers
        results = {name: metrics.result() for name, metrics in kinds.items()}
        if kinds is self._classes and "log_loss" not in results["mean"]:
            # Without probabilities there is no mean.
            del results["mean"]
        return {"labels": self.labels, **results}


def _rank(metrics: ClassificationMetrics, score: Floats, target: int, sign: int) -> None:
    """Count a score of a label of two classes, the second of which is the positive one if ``sign`` is 1."""
    metrics.positive = int(sign > 0)
    metrics.update_scores(sign * score, np.array([(target == 1) == (sign > 0)]))


def _most_frequent(predicted: Sequence[int]) -> int:
    """The most frequent prediction, the latest one if tied."""
    return max(reversed(predicted), key=Counter(predicted).__getitem__)
