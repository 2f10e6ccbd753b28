"""Predicted classes and their probabilities, from the scores of events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from streamkarma.arrays import Floats, Ints
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.estimators.costs import decide
from streamkarma.estimators.results import ClassificationResult, clipped, joined, loss_of, probabilities
from streamkarma.runtime.pending import PriorPrediction


class PredictedClasses(NamedTuple):
    """Class predictions for T events.

    Attributes
    ----------
    indices
        Shape (T,): index of the predicted class, -1 before any was known.
    probabilities
        Shape (T, classes); None unless the loss is logistic.
    signs
        Shape (T,): +1 if a positive score means the positive class, -1 if the negative, 0 if unknown.
    """

    indices: Ints
    probabilities: Floats | None
    signs: Ints


def with_prior(
    result: ClassificationResult, prior: Mapping[int, PriorPrediction], loss: str
) -> ClassificationResult:
    """``result`` with the new predictions of some events replaced by prior ones."""
    if not prior:
        return result
    width = max(result.scores.shape[1], *(len(before.scores) for before in prior.values()))
    scores = joined([(0, result.scores)], len(result.known), width)
    known, losses = result.known.copy(), result.losses.copy()
    for t, before in prior.items():
        target = int(result.targets[t])
        scores[t], known[t] = _scores_then(before, width, target), before.known
        if target >= 0:
            losses[t] = loss_of(loss, scores[t], target)
    return ClassificationResult(scores, known, result.targets, losses, result.shares, result.members)


def _scores_then(before: PriorPrediction, width: int, target: int) -> Floats:
    """The scores of a prior prediction, with minus infinity for the classes that came later.

    If the label is one of these, it has the mean score of the others: a new class has the score 0, and scores
    are relative to each other.
    """
    scores: Floats = joined([(0, np.array([before.scores]))], 1, width)[0]
    # A score is that of a second class even while only one is known.
    known = max(before.known, 2)
    if width > known:
        scores[known:] = -np.inf
        if target >= known:
            scores[target] = scores[:known].mean()
    return scores


def predicted_classes(
    model: BaseClassifier,
    result: ClassificationResult,
    signs: Ints,
    prior: Mapping[int, PriorPrediction],
) -> Ints:
    """Index of the predicted class; -1 before any class was known."""
    if model.threshold is None:
        return _highest(result)
    chances, positive = _probabilities(result, len(model.classes)), (signs > 0).astype(np.int64)
    predicted = decide(chances, result.known, model.threshold, result.shares, positive)
    known = model.classes
    for t, before in prior.items():
        # The shares of the classes were different then.
        earlier = before.row.get("prediction")
        predicted[t] = known.index(earlier) if earlier in known else -1
    return predicted


def class_for(
    model: BaseClassifier, result: ClassificationResult, signs: Ints, chances: Floats, t: int
) -> int:
    """Index of the class to predict for event t from given probabilities."""
    if model.threshold is None:
        return int(chances.argmax())
    positive = (signs[[t]] > 0).astype(np.int64)
    [best] = decide(chances[None], result.known[[t]], model.threshold, result.shares[[t]], positive)
    return int(best)


def class_probabilities(model: BaseClassifier, result: ClassificationResult) -> Floats | None:
    """Probability of each class for each event; only the logistic loss has them."""
    return _probabilities(result, len(model.classes)) if model.loss == "logistic" else None


def _highest(result: ClassificationResult) -> Ints:
    """Index of the class with the highest score; -1 before any class was known."""
    scores, known = result.scores, result.known
    if scores.shape[1] == 1:
        best = ((scores[:, 0] > 0.0) & (known > 1)).astype(np.int64)
    else:
        unknown = np.arange(scores.shape[1])[None, :] >= known[:, None]
        best = np.where(unknown, -np.inf, scores).argmax(axis=1)
    return np.where(known > 0, best, -1)


def _probabilities(result: ClassificationResult, classes: int) -> Floats:
    """Logistic function or softmax of the scores, 0 for classes that were not known; shape (T, classes).

    A score is that of a second class even while only one is known, since another may come.
    """
    scores = clipped(result.scores)
    if scores.shape[1] > 1:
        unknown = np.arange(scores.shape[1])[None, :] >= np.maximum(result.known, 2)[:, None]
        scores = np.where(unknown & (result.known[:, None] > 0), -np.inf, scores)
    return probabilities(scores, max(classes, 2))[:, :classes]
