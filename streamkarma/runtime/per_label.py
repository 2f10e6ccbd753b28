"""Metrics that count a label once, however many events it is the label of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.runtime.metrics import ClassificationMetrics, RegressionMetrics

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class PerLabel:
    """Of the events that one label teaches: the last prediction before the label, and the mean of all.

    Attributes
    ----------
    labels
        How many labels were counted.
    """

    def __init__(self) -> None:
        self.labels = 0
        self._classes = {"last": ClassificationMetrics(), "mean": ClassificationMetrics()}
        self._numbers = {"last": RegressionMetrics(), "mean": RegressionMetrics()}

    def add_classes(self, groups: Sequence[range], targets: Ints, known: Ints, chances: Floats) -> None:
        """Count labels of classes.

        Parameters
        ----------
        groups
            The positions of the events of each label, in order of arrival.
        targets, known
            Shape (T,): index of the label; how many classes there were when the event came.
        chances
            Shape (T, classes): what was predicted then.
        """
        for group in groups:
            target, classes = int(targets[group[-1]]), int(known[group].min())
            self.labels += 1
            for name, row in (("last", chances[group[-1]]), ("mean", chances[group].mean(axis=0))):
                metrics = self._classes[name]
                if target < 0 or target >= classes or classes < 2:
                    metrics.update_strangers(1)
                    continue
                metrics.update(np.array([target]), np.array([int(row[:classes].argmax())]))
                metrics.update_log_loss(row[[target]])
                if len(row) == 2:
                    metrics.update_scores(np.array([row[1] - 0.5]), np.array([target == 1]))

    def add_numbers(self, groups: Sequence[range], targets: Floats, predictions: Floats) -> None:
        """Count labels that are numbers."""
        for group in groups:
            self.labels += 1
            target = targets[[group[-1]]]
            self._numbers["last"].update(target, predictions[[group[-1]]])
            self._numbers["mean"].update(target, predictions[group].mean(keepdims=True))

    def result(self) -> dict[str, Any]:
        """The counts so far, as JSON; nothing if no label had several events to teach."""
        if not self.labels:
            return {}
        kinds = self._classes if self._classes["last"].result() else self._numbers
        return {"labels": self.labels, **{name: metrics.result() for name, metrics in kinds.items()}}
