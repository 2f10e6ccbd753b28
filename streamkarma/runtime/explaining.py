"""Explanations in rows: contributions of attributes to the score, and missing attributes worth asking for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from streamkarma.arrays import Floats
from streamkarma.connectors.rows import Column
from streamkarma.estimators.explaining import Columns, columns_of, ranked
from streamkarma.estimators.outcomes import deviations
from streamkarma.runtime.evaluator import Evaluation
from streamkarma.runtime.event_buffer import EventBatch
from streamkarma.runtime.prediction_rows import restored
from streamkarma.runtime.task import TaskModel


class ExplanationLimits(NamedTuple):
    """How much of an explanation a row has.

    Attributes
    ----------
    most
        Maximum number of contributions, the strongest first; None for all.
    missing
        Maximum number of missing attributes, ranked by how much they would change the score.
    """

    most: int | None = None
    missing: int = 0


class Explained(NamedTuple):
    """The contributions to an event's scores, and the deviations due to missing attributes."""

    columns: Columns
    missing: dict[str, Floats]


def explain_batch(
    task_model: TaskModel,
    batch: EventBatch,
    records: Iterable[dict[str, Any]] | None,
) -> list[Explained]:
    """Explain the events of a batch before they are learned.

    ``records`` are the complete events; None if missing attributes are not explained.
    """
    model = task_model.model
    explained = []
    for t, record in enumerate(repeat(None, len(batch.events)) if records is None else records):
        missing = {} if record is None else deviations(model, record, batch.events.one(t))
        columns = model.in_units(columns_of(model, batch.events, t))
        explained.append(Explained(columns, model.spread_by(missing)))
    return explained


def explained_columns(
    explained: Sequence[Explained], evaluation: Evaluation, task: str, explaining: ExplanationLimits
) -> dict[str, Column]:
    """The columns of rows; with several classes they explain the score of the predicted one.

    Prior predictions keep their contributions.
    """
    contributions, constants, missing = [], [], []
    for t, (columns, by_missing) in enumerate(explained):
        column, sign = _shown(evaluation, t, task, len(columns.score))
        strongest = columns.scaled(sign).pairs(column)[: explaining.most]
        contributions.append([[name, part] for name, part in strongest])
        constants.append(sign * float(columns.constant[column]))
        asked = [[name, abs(sign) * float(each[column])] for name, each in ranked(by_missing).items()]
        missing.append(asked[: explaining.missing])
    shown: dict[str, Column] = {"contributions": contributions}
    if explaining.missing:
        shown |= {"constant": constants, "missing": missing}
    return {name: restored(name, column, evaluation) for name, column in shown.items()}


def _shown(evaluation: Evaluation, t: int, task: str, width: int) -> tuple[int, float]:
    """The index of the score that a row explains, and its factor in the row."""
    classes = evaluation.classes
    if classes is None:
        return 0, 1.0
    index = max(int(classes.indices[t]), 0)
    if width > 1:
        return index, 1.0
    return 0, index - 0.5 if task == "multiclass" else float(classes.signs[t] or 1)
