"""Prediction rows from evaluations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Floats, Ints
from streamkarma.connectors.rows import ABSENT, Column, Named, Rows, plain
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.events.labels import Label
from streamkarma.runtime.evaluator import Evaluation
from streamkarma.runtime.event_buffer import EventBatch
from streamkarma.runtime.task import TaskModel, text_of

#: The possible columns, in order.
_ORDER = (
    *("n", "id", "prediction", "score", "probability", "interval", "set", "target", "loss", "observed"),
    *("constant", "contributions", "missing", "topic", "partition", "offset", "headers"),
)


def prediction_columns(task_model: TaskModel, evaluation: Evaluation) -> dict[str, Column]:
    """The columns that come from the model, by name, with one value per event.

    Parameters
    ----------
    task_model
        The model and its task, as they are after the evaluation.
    evaluation
        The predictions. Prior ones are repeated unchanged.
    """
    columns: dict[str, Column]
    classes = evaluation.classes
    if classes is None:
        predictions = evaluation.scores[:, 0]
        columns = {"prediction": predictions, "score": predictions}
        if evaluation.intervals is not None:
            columns["interval"] = _intervals(evaluation.intervals)
    else:
        assert isinstance(task_model.model, BaseClassifier)
        columns = {
            # The last name is for index -1.
            "prediction": Named(classes.indices, [*task_model.model.classes, None]),
            "score": _scores(evaluation, classes.signs, task_model.model.classes, task_model.name),
        }
        if classes.probabilities is not None and task_model.model.classes:
            each = classes.probabilities[np.arange(len(classes.indices)), classes.indices]
            columns["probability"] = np.where(evaluation.known > 0, each, np.nan)
        if evaluation.members is not None:
            columns["set"] = _sets(evaluation.members, evaluation.known, task_model.model.classes)
    if evaluation.prior:
        columns = {name: restored(name, column, evaluation) for name, column in columns.items()}
    return {**columns, "loss": evaluation.losses}


def rows_of(columns: dict[str, Column], batch: EventBatch, first: int, with_ids: bool) -> Rows:
    """Rows with the model's columns and those of the records, in the documented order.

    ``first`` is the number of the first event.
    """
    every = {**columns, "target": batch.targets, "observed": batch.events.sizes}
    if with_ids:
        every["id"] = batch.ids
    every["n"] = np.arange(first, first + len(batch.labels))
    return Rows({name: every[name] for name in _ORDER if name in every})


def rows_at(columns: Mapping[str, Column], events: Sequence[int]) -> list[dict[str, Any]]:
    """The rows of some events, by their positions."""
    values = {name: plain(column) for name, column in columns.items()}
    return [{name: each[t] for name, each in values.items() if each[t] is not ABSENT} for t in events]


def _scores(evaluation: Evaluation, signs: Ints, classes: Sequence[Label], task: str) -> Column:
    """Scores as printed: by class, or one number that is positive for the positive class."""
    scores = evaluation.scores
    if task != "multiclass":
        # Scores may have overflowed; NumPy need not warn.
        with np.errstate(all="ignore"):
            return np.where(signs != 0, signs * scores[:, 0], np.nan)
    if scores.shape[1] == 1:
        scores = np.column_stack([-scores[:, 0] / 2, scores[:, 0] / 2])
    names = [text_of(label) for label in classes]
    return [
        {name: value for name, value in zip(names[:known], row, strict=False) if math.isfinite(value)}
        for known, row in zip(evaluation.known.tolist(), scores.tolist(), strict=True)
    ]


def _intervals(intervals: Floats) -> Column:
    """Pairs of ends; null if they are not finite, which the upper end shows."""
    finite = np.isfinite(intervals[:, 1]).tolist()
    return [ends if there else ABSENT for ends, there in zip(intervals.tolist(), finite, strict=True)]


def _sets(members: NDArray[np.bool_], known: Ints, classes: Sequence[Label]) -> Column:
    """Lists of labels; null before any was known."""
    return [
        [label for label, is_member in zip(classes, row, strict=True) if is_member] if count else ABSENT
        for row, count in zip(members.tolist(), known.tolist(), strict=True)
    ]


def restored(name: str, column: Column, evaluation: Evaluation) -> Column:
    """A column with the original values of prior predictions."""
    values = plain(column)
    for t, before in evaluation.prior.items():
        values[t] = before.row.get(name, ABSENT)
    return values
