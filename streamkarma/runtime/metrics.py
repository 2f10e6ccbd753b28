"""Progressive metrics, in constant memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streamkarma._engine import logarithms
from streamkarma.arrays import Arrays, Floats, Ints
from streamkarma.estimators.results import clipped

#: Scores are counted in this many bins for the area under the ROC curve. They are spaced by
#: s / (1 + |s|); scores in the same bin count as tied.
SCORE_BINS = 1 << 14


class ClassificationMetrics:
    """Error rate, recall, log loss and ranking metrics of a run; those that are not finite are left out.

    An event before the first known class has no prediction and counts as an error. The log loss covers the
    events whose class had been seen before. AUC and average precision cover binary scores while both classes
    are known; they are exact except for ties: scores in the same of SCORE_BINS bins count as equal. No metric
    is weighted.

    Attributes
    ----------
    positive
        The index of the positive class of two, whose F1 is reported; None if unknown.
    """

    def __init__(self) -> None:
        self._events = np.zeros(2, np.int64)
        self._right = np.zeros(2, np.int64)
        self._predicted = np.zeros(2, np.int64)
        self.positive: int | None = None
        self._unknown = 0
        self._log_loss = 0.0
        self._log_events = 0
        self._scores = np.zeros((2, SCORE_BINS), np.int64)

    def update(self, targets: Ints, predicted: Ints) -> None:
        """Count labelled events, by the indices of the label and the predicted class."""
        size = max(len(self._events), int(targets.max(initial=0)) + 1)
        self._events = _add(self._events, np.bincount(targets, minlength=size))
        self._right = _add(self._right, np.bincount(targets[targets == predicted], minlength=size))
        self._predicted = _add(self._predicted, np.bincount(predicted[predicted >= 0], minlength=size))

    def relabel(self, places: Sequence[int]) -> None:
        """Continue with other class indices: ``places`` has the new index of each class."""
        counted = (self._events, self._right, self._predicted)
        size = max(*map(len, counted), *(place + 1 for place in places))
        order = [*places, *(place for place in range(size) if place not in set(places))]
        for name in ("_events", "_right", "_predicted"):
            counts: Ints = getattr(self, name)
            moved = np.zeros(size, np.int64)
            moved[order[: len(counts)]] = counts
            setattr(self, name, moved)
        if self.positive is not None:
            self.positive = order[self.positive]

    def counts(self) -> tuple[int, int]:
        """The number of events, and of correct predictions."""
        return int(self._events.sum()) + self._unknown, int(self._right.sum())

    def update_unknown(self, events: int) -> None:
        """Count events whose label is not a class of the model: errors that enter no recall."""
        self._unknown += events

    def update_log_loss(self, chances: Floats) -> None:
        """Add the predicted probabilities of the true classes."""
        self._log_loss -= float(logarithms(np.maximum(chances, 1e-15)).sum())
        self._log_events += len(chances)

    def update_scores(self, scores: Floats, positive: NDArray[np.bool_]) -> None:
        """Count binary scores."""
        scores = clipped(scores)
        place = (scores / (1.0 + np.abs(scores)) + 1.0) * (SCORE_BINS / 2)
        bins = np.minimum(place.astype(np.int64), SCORE_BINS - 1) + SCORE_BINS * positive
        self._scores += np.bincount(bins, minlength=2 * SCORE_BINS).reshape(2, SCORE_BINS)

    def arrays(self) -> Arrays:
        """All counts, for ``add``."""
        filled = np.flatnonzero(self._scores)
        positive = -1 if self.positive is None else self.positive
        return {
            "events": self._events,
            "right": self._right,
            "predicted": self._predicted,
            "counts": np.array([self._unknown, self._log_events, positive]),
            "log_loss": np.array([self._log_loss]),
            "filled": filled,
            "scores": self._scores.ravel()[filled],
        }

    def add(self, arrays: Arrays) -> None:
        """Add the counts of another instance with the same classes."""
        self._events = _add(self._events, arrays["events"])
        self._right = _add(self._right, arrays["right"])
        self._predicted = _add(self._predicted, arrays["predicted"])
        unknown, log_events, positive = arrays["counts"].tolist()
        self._unknown += unknown
        self._log_events += log_events
        self._log_loss += float(arrays["log_loss"][0])
        self._scores.ravel()[arrays["filled"]] += arrays["scores"]
        self.positive = positive if positive >= 0 else self.positive

    def result(self) -> dict[str, float]:
        """The metrics, without those that cover no events."""
        total, right = self.counts()
        if not total:
            return {}
        result = {"error_rate": (total - right) / total}
        there = self._events > 0
        if there.any():
            result["balanced_accuracy"] = float((self._right[there] / self._events[there]).mean())
        if self.positive is not None and (f1 := self._f1(self.positive)) is not None:
            result["f1"] = f1
        if not self._events[2:].any():
            # Once there is a third class, they would cover only the first events.
            result |= self._rankings()
        if self._log_events:
            result["log_loss"] = self._log_loss / self._log_events
        return _without_infinite(result)

    def _f1(self, index: int) -> float | None:
        """Harmonic mean of recall and precision of a class; None if it never occurred nor was predicted."""
        counted = int(self._events[index] + self._predicted[index])
        return 2 * int(self._right[index]) / counted if counted else None

    def _rankings(self) -> dict[str, float]:
        """AUC and average precision, if there are scores of both classes."""
        negatives, positives = self._scores.astype(np.float64)
        if not (negatives.any() and positives.any()):
            return {}
        below = np.cumsum(negatives) - negatives / 2
        auc = (positives * below).sum() / negatives.sum() / positives.sum()
        above = np.cumsum(positives[::-1])[::-1]
        # Without positives the precision does not matter.
        precision = above / np.maximum(above + np.cumsum(negatives[::-1])[::-1], 1.0)
        return {
            "auc": float(auc),
            "average_precision": float((positives * precision).sum() / positives.sum()),
        }


class RegressionMetrics:
    """Regression metrics of a run."""

    def __init__(self) -> None:
        self._count = 0
        self._absolute = 0.0
        self._squared = 0.0
        self._mean = 0.0
        self._spread = 0.0

    def update(self, targets: Floats, predictions: Floats) -> None:
        """Count events with a target."""
        if not len(targets):
            return
        errors = predictions - targets
        mean = float(targets.mean())
        spread = float(((targets - mean) ** 2).sum())
        self._add(len(targets), float(np.abs(errors).sum()), float((errors * errors).sum()), mean, spread)

    def update_repeated(self, target: float, events: int, wrong: int) -> None:
        """Count events with the same target, for which all wrong predictions were 0."""
        if events:
            self._add(events, wrong * abs(target), wrong * target**2, target, 0.0)

    def arrays(self) -> Arrays:
        """All counts, for ``add``."""
        return {
            "errors": np.array([self._count, self._absolute, self._squared, self._mean, self._spread], float)
        }

    def add(self, arrays: Arrays) -> None:
        """Add the counts of another instance."""
        count, *sums = arrays["errors"].tolist()
        if count:
            self._add(int(count), *sums)

    def _add(self, count: int, absolute: float, squared: float, mean: float, spread: float) -> None:
        self._absolute += absolute
        self._squared += squared
        # The total variation is that within each set plus that between their means.
        away, total = mean - self._mean, self._count + count
        self._spread += spread + away**2 * self._count * count / total
        self._mean += away * count / total
        self._count = total

    def result(self) -> dict[str, float]:
        """The finite metrics; r2 only if targets differed."""
        if not self._count:
            return {}
        result = {
            "mae": self._absolute / self._count,
            "rmse": float(np.sqrt(self._squared / self._count)),
        }
        if self._spread > 0.0:
            result["r2"] = 1.0 - self._squared / self._spread
        return _without_infinite(result)


def _without_infinite(metrics: dict[str, float]) -> dict[str, float]:
    """The finite metrics; the others are meaningless after an overflow."""
    return {name: value for name, value in metrics.items() if math.isfinite(value)}


def _add(old: Ints, more: Ints) -> Ints:
    if len(old) < len(more):
        more = more.copy()
        more[: len(old)] += old
        return more
    old[: len(more)] += more
    return old
