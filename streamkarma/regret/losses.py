"""The losses for comparing a learner with baselines, for whole tables."""

from __future__ import annotations

import numpy as np

from streamkarma.arrays import Floats

#: By task; the first is used if the learner's own loss is not among them.
LOSSES = {
    "binary": ("logistic", "hinge"),
    "multiclass": ("logistic", "hinge"),
    "regression": ("squared", "absolute"),
}

#: C of linear machines in hindsight, which makes them the best of their class, with just enough of ½‖w‖² to
#: keep w finite on separable rows.
STRENGTH = 1e4


def comparable(task: str, loss: str) -> str:
    """The loss to compare by, given the learner's own loss.

    Examples
    --------
    >>> comparable("binary", "squared_hinge"), comparable("regression", "huber")
    ('logistic', 'squared')
    """
    return loss if loss in LOSSES[task] else LOSSES[task][0]


def pointwise_loss(loss: str, scores: Floats, y: Floats) -> Floats:
    """The loss of each row.

    Parameters
    ----------
    loss
        ``"logistic"``, ``"hinge"``, ``"squared"`` or ``"absolute"``.
    scores
        Shape (n, m): one column for two classes (positive for the second) and for regression,
        else one per class.
    y
        Shape (n,): class index, or target.

    Returns
    -------
    Shape (n,). For three classes or more, the hinge loss is Crammer and Singer's.
    """
    if loss in ("squared", "absolute"):
        off = scores[:, 0] - y
        return np.asarray(off * off if loss == "squared" else np.abs(off))
    if scores.shape[1] == 1:
        margins = np.where(y == 1, 1.0, -1.0) * scores[:, 0]
        return np.logaddexp(0.0, -margins) if loss == "logistic" else np.maximum(0.0, 1.0 - margins)
    rows = np.arange(len(y))
    own = scores[rows, y.astype(np.intp)]
    if loss == "logistic":
        highest = scores.max(axis=1)
        return np.asarray(highest + np.log(np.exp(scores - highest[:, np.newaxis]).sum(axis=1)) - own)
    rivals = scores.copy()
    rivals[rows, y.astype(np.intp)] = -np.inf
    return np.asarray(np.maximum(0.0, 1.0 + rivals.max(axis=1) - own))


def wrong(task: str, scores: Floats, y: Floats) -> Floats:
    """The error of each row: 1 for a wrong class, or the absolute error of a number; shape (n,)."""
    if task == "regression":
        return np.abs(scores[:, 0] - y)
    chosen = scores.argmax(axis=1) if scores.shape[1] > 1 else scores[:, 0] > 0
    return np.asarray(chosen != y, dtype=np.float64)
