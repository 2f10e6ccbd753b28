"""Results of classifiers, and what is derived from scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma import _engine
from streamkarma.core.loss import CLASSIFICATION


class ClassificationResult(NamedTuple):
    """Predictions and losses of a run over T events.

    Attributes
    ----------
    scores
        Shape (T, C), from before each event was learned. With C = 1 positive means the
        second of the labels; else one score per label, and only the first ``known`` are valid.
    known
        Shape (T,): how many labels had been seen before the event.
    targets
        Shape (T,): index of the label; negative without one, or for one never learned.
    losses
        Shape (T,): NaN without a target.
    shares
        Shape (T, classes): the shares of the classes before each event, for a balanced threshold; without
        columns without one. See ``costs.Costs.run``.
    members
        Shape (T, classes): which classes are in the set of each event; None without ``coverage``.
    """

    scores: NDArray[np.float64]
    known: NDArray[np.int64]
    targets: NDArray[np.int64]
    losses: NDArray[np.float64]
    shares: NDArray[np.float64]
    members: NDArray[np.bool_] | None = None


def probabilities(scores: NDArray[np.float64], known: int) -> NDArray[np.float64]:
    """Logistic function of one score, or softmax of several: shape (T, known)."""
    if known < 2:
        return np.ones((len(scores), known))
    if scores.shape[1] == 1:
        both = np.empty((len(scores), 2))
        both[:, 1] = _engine.logistics(scores[:, 0])
        np.subtract(1.0, both[:, 1], out=both[:, 0])
        return both
    shifted = _engine.exponentials(scores - scores.max(axis=1, keepdims=True))
    result: NDArray[np.float64] = shifted / shifted.sum(axis=1, keepdims=True)
    return result


def clipped(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The scores made finite for comparisons: infinite ones become ±1e300, and NaN becomes 0.

    Examples
    --------
    >>> clipped(np.array([2.0, np.inf, np.nan])).tolist()
    [2.0, 1e+300, 0.0]
    """
    if np.isfinite(scores).all():
        return scores
    return np.nan_to_num(scores, nan=0.0, posinf=1e300, neginf=-1e300)


def joined(pieces: list[tuple[int, NDArray[np.float64]]], events: int, classes: int) -> NDArray[np.float64]:
    """The scores of consecutive pieces, with a growing number of classes, in one array."""
    joined = np.zeros((events, classes))
    for begin, scores in pieces:
        if scores.shape[1] == 1 < classes:
            scores = np.column_stack([-scores[:, 0] / 2, scores[:, 0] / 2])
        joined[begin : begin + len(scores), : scores.shape[1]] = scores
    return joined


def padded(pieces: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Consecutive pieces in one array, with ones for the classes that earlier pieces lack.

    Examples
    --------
    >>> padded([np.full((1, 1), 0.5), np.full((1, 2), 0.25)]).tolist()
    [[0.5, 1.0], [0.25, 0.25]]
    """
    wide = np.ones((sum(map(len, pieces)), max((piece.shape[1] for piece in pieces), default=0)))
    begin = 0
    for piece in pieces:
        wide[begin : begin + len(piece), : piece.shape[1]] = piece
        begin += len(piece)
    return wide


def loss_of(name: str, scores: NDArray[np.float64], target: int) -> float:
    """Loss of the scores of one event, shape (C,), given the index of its label."""
    code = CLASSIFICATION[name].code
    if scores.size == 1:
        return float(_engine.losses(code, scores, np.array([2.0 * target - 1.0]))[0])
    return _engine.multiclass_loss(code, scores, target)
