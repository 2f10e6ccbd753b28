"""Run events through a model; what comes back is metrics and predictions as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma._engine import Encoded
from streamkarma.connectors.rows import ABSENT, Column, Named, plain
from streamkarma.estimators.classification import CoreClassifier
from streamkarma.estimators.common import Weights
from streamkarma.estimators.judged import Judged, finite, joined, loss_of, probabilities
from streamkarma.estimators.regression import CoreRegressor
from streamkarma.events.labels import NEW, numbers
from streamkarma.runtime.comparing import Comparing, Full
from streamkarma.runtime.metrics import ClassificationMetrics, RegressionMetrics
from streamkarma.runtime.pending import Made
from streamkarma.runtime.task import Tasked, text_of


class Verdict(NamedTuple):
    """What was said of T events.

    Attributes
    ----------
    columns
        What to print, if that was asked for: by name, of each event.
    scores, known
        As in ``Made``, shapes (T, C) and (T,).
    """

    columns: dict[str, Column]
    scores: NDArray[np.float64]
    known: NDArray[np.int64]

    def rows(self, events: Sequence[int]) -> list[dict[str, Any]]:
        """What to print of some events."""
        values = {name: plain(column) for name, column in self.columns.items()}
        return [{name: each[t] for name, each in values.items() if each[t] is not ABSENT} for t in events]


class Counted:
    """Losses and metrics so far."""

    def __init__(self) -> None:
        self.classes = ClassificationMetrics()
        self.numbers = RegressionMetrics()
        self.loss_total = 0.0
        self.loss_events = 0


class Judge:
    """Keeps the losses and metrics of a run.

    Parameters
    ----------
    tasked
        The model and its task; the task may settle while the run goes on.
    comparing
        Who compares with baselines, or None.
    """

    def __init__(self, tasked: Tasked, comparing: Comparing | None = None) -> None:
        self._tasked = tasked
        self.comparing = comparing
        #: All that is counted.
        self.counted = Counted()

    def run(self, events: Encoded, labels: Sequence[Any], weights: Weights, rows: bool,
            made: Mapping[int, Made], full: Full = ()) -> Verdict:  # fmt: skip
        """Predict and learn events.

        Parameters
        ----------
        events, labels, weights
            See ``KARMABase.run``.
        rows
            Whether to say what to print of each event.
        made
            Events, by position, on which something was said before: that is what their
            loss and the metrics are taken from, and printed again.
        full
            Complete vectors, where there are any.
        """
        model = self._tasked.model
        if isinstance(model, CoreRegressor):
            # What was said of an event before its stream turned out to be a regression is no number.
            made = {t: before for t, before in made.items() if len(before.scores) == 2}
        # Values may be as large as they like: what comes of it is seen, and numpy need not say it as well.
        with np.errstate(all="ignore"):
            if isinstance(model, CoreRegressor):
                verdict, losses = self._run_regression(model, events, labels, weights, rows, made, full)
            else:
                verdict, losses = self._run_classification(model, events, labels, weights, rows, made, full)
        if rows and made:
            for name, column in verdict.columns.items():
                values = plain(column)
                for t, before in made.items():
                    values[t] = before.row.get(name, ABSENT)
                verdict.columns[name] = values
        if rows:
            verdict.columns["loss"] = losses
        return verdict

    def _run_classification(self, model: CoreClassifier, events: Encoded, labels: Sequence[Any],
                            weights: Weights, rows: bool, made: Mapping[int, Made],
                            full: Full) -> tuple[Verdict, NDArray[np.float64]]:  # fmt: skip
        sign = self._tasked.sign()
        judged = as_made(model.run(events, labels, weights), made, model.loss)
        self._suffer(judged.losses)
        predicted = _predicted(judged)
        if self.comparing is not None:
            self.comparing.classes(judged, predicted, weights, full)
        entered = judged.targets >= 0
        self.counted.classes.update(judged.targets[entered], predicted[entered])
        self.counted.classes.update_strangers(int((judged.targets == NEW).sum()))
        chances = self._chances(model, judged)
        if chances is not None:
            fair = (judged.targets >= 0) & (judged.targets < judged.known) & (judged.known > 1)
            self.counted.classes.update_log_loss(chances[fair, judged.targets[fair]])
        signs = np.where(judged.known == judged.known[0], sign, self._tasked.sign())
        if judged.scores.shape[1] == 1 and len(model.classes) == 2:
            both = (judged.targets >= 0) & (judged.known == 2)
            oriented = signs[both] * judged.scores[both, 0]
            self.counted.classes.update_scores(oriented, (judged.targets[both] == 1) == (signs[both] > 0))
        shown = self._columns(model, judged, predicted, chances, signs) if rows else {}
        return Verdict(shown, judged.scores, judged.known), judged.losses

    @property
    def mean_loss(self) -> float | None:
        """Mean loss of the labelled events so far, None before the first and if it is no number."""
        c = self.counted
        return c.loss_total / c.loss_events if c.loss_events and math.isfinite(c.loss_total) else None

    def result(self) -> dict[str, float]:
        """The metrics so far."""
        if isinstance(self._tasked.model, CoreRegressor):
            return self.counted.numbers.result()
        return self.counted.classes.result()

    def _suffer(self, losses: NDArray[np.float64]) -> None:
        suffered = losses[~np.isnan(losses)]
        self.counted.loss_total += float(suffered.sum())
        self.counted.loss_events += len(suffered)

    def _chances(self, model: CoreClassifier, judged: Judged) -> NDArray[np.float64] | None:
        """Probability of each class at each event; only the logistic loss has them."""
        if model.loss != "logistic" or len(model.classes) < 2:
            return None
        scores = finite(judged.scores)
        if scores.shape[1] > 1:
            unknown = np.arange(scores.shape[1])[None, :] >= judged.known[:, None]
            scores = np.where(unknown & (judged.known[:, None] > 0), -np.inf, scores)
        return probabilities(scores, len(model.classes))

    def _columns(
        self,
        model: CoreClassifier,
        judged: Judged,
        predicted: NDArray[np.int64],
        chances: NDArray[np.float64] | None,
        signs: NDArray[np.int64],
    ) -> dict[str, Column]:
        """What to print of each event, but for its loss."""
        classes, known = model.classes, judged.known
        # The last is what -1 means.
        shown: dict[str, Column] = {"prediction": Named(predicted, [*classes, None])}
        if self._tasked.name == "multiclass":
            texts = [text_of(name) for name in classes]
            each = judged.scores
            if each.shape[1] == 1:
                each = np.column_stack([-each[:, 0] / 2, each[:, 0] / 2])
            shown["score"] = [
                {name: value for name, value in zip(texts[:k], row, strict=False) if math.isfinite(value)}
                for k, row in zip(known.tolist(), each.tolist(), strict=True)
            ]
        else:
            shown["score"] = np.where(signs != 0, signs * judged.scores[:, 0], np.nan)
        if chances is not None:
            chosen = chances[np.arange(len(predicted)), predicted]
            shown["probability"] = np.where(known > 1, chosen, np.nan)
        return shown

    def _run_regression(self, model: CoreRegressor, events: Encoded, labels: Sequence[Any],
                        weights: Weights, rows: bool, made: Mapping[int, Made],
                        full: Full) -> tuple[Verdict, NDArray[np.float64]]:  # fmt: skip
        predictions, losses, spreads = model.run(events, labels, weights)
        for t, before in made.items():
            if len(before.scores) < 2:
                continue  # it was made before the labels turned out to be numbers
            predictions[t], spreads[t] = before.scores
            losses[t] = model.suffered(predictions[t], labels[t], spreads[t])
        self._suffer(losses)
        if self.comparing is not None:
            self.comparing.numbers(predictions, labels, weights, full)
        wanted = numbers(labels)
        labelled = ~np.isnan(wanted)
        self.counted.numbers.update(wanted[labelled], predictions[labelled])
        shown: dict[str, Column] = {"prediction": predictions, "score": predictions} if rows else {}
        known = np.zeros(len(labels), np.int64)
        return Verdict(shown, np.column_stack([predictions, spreads]), known), losses


def as_made(judged: Judged, made: Mapping[int, Made], loss: str) -> Judged:
    """``judged``, with what was said of some events before in place of what is said now."""
    if not made:
        return judged
    width = max(judged.scores.shape[1], *(len(before.scores) for before in made.values()))
    scores = joined([(0, judged.scores)], len(judged.known), width)
    known, suffered = judged.known.copy(), judged.losses.copy()
    for t, before in made.items():
        scores[t] = joined([(0, np.array([before.scores]))], 1, width)[0]
        known[t] = before.known
        if judged.targets[t] >= 0:
            suffered[t] = loss_of(loss, scores[t], int(judged.targets[t]))
    return Judged(scores, known, judged.targets, suffered)


def _predicted(judged: Judged) -> NDArray[np.int64]:
    """Index of the class with the highest score; -1 before any class was known."""
    scores, known = judged.scores, judged.known
    if scores.shape[1] == 1:
        best = ((scores[:, 0] > 0.0) & (known > 1)).astype(np.int64)
    else:
        unknown = np.arange(scores.shape[1])[None, :] >= known[:, None]
        best = np.where(unknown, -np.inf, scores).argmax(axis=1)
    return np.where(known > 0, best, -1)
