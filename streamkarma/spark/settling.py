"""What the task is, before parts that see only some of the labels could disagree."""

from __future__ import annotations

from contextlib import suppress

from streamkarma._engine import parse
from streamkarma.connectors.jsonlines.lines import BLOCK
from streamkarma.errors import RecordError
from streamkarma.events.flatten import is_flat
from streamkarma.events.values import is_missing
from streamkarma.runtime.session import Session
from streamkarma.spark.inputs import Inputs
from streamkarma.spark.reading import Chunk
from streamkarma.spark.tasks import over_parts, rows_in_order
from streamkarma.spark.work import Copy


def settle(session: Session, inputs: Inputs) -> None:
    """Look at the first labels of each part in order, as far as they are needed to know the task.

    If they are all alike, it stays open.
    """
    if session.task_model.settled:
        return
    windows = dict.fromkeys(range(inputs.size), (0, BLOCK))
    for row in rows_in_order(over_parts(inputs.frame, inputs.reader, Copy(windows))):
        for value in Chunk.unpacked(row.data).records().values:
            with suppress(RecordError):
                _look_at(session, value)
            if session.task_model.settled:
                return


def _look_at(session: Session, value: bytes) -> None:
    """Have the task know the label of a record; RecordError if it is none."""
    record = parse(value)
    if session.fields.nested and not is_flat(record):
        record = session.fields.flattened(record)
    label = record.get(session.fields.target)
    if not is_missing(label):
        checked = session.task_model.check(label)
        session.task_model.model.meet([checked], [1.0])
