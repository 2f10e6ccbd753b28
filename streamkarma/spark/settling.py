"""Infers the task in advance, because parts that see only some of the labels could disagree."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamkarma._engine import parse
from streamkarma.connectors.jsonlines.lines import BLOCK
from streamkarma.connectors.records import Records
from streamkarma.errors import RecordError
from streamkarma.events.flatten import is_flat
from streamkarma.runtime.fields import Fields
from streamkarma.runtime.session import Session
from streamkarma.runtime.task import TaskModel
from streamkarma.spark.inputs import Inputs
from streamkarma.spark.partitions import by_partition, records_of
from streamkarma.spark.reading import Chunk
from streamkarma.spark.session import translated
from streamkarma.spark.tasks import over_parts, rows_in_order
from streamkarma.spark.work import windowed

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: The kind of a row with labels.
LABELS = "labels"
#: The labels of consecutive records of a topic, and the position of the first record.
_PLACED = "topic string, partition bigint, offset bigint, labels binary"


def settle(session: Session, inputs: Inputs) -> None:
    """Examine the first labels of each part in order, until the task is known.

    If all labels are the same, it stays open.
    """
    if not session.task_model.settled:
        rows = rows_in_order(over_parts(inputs.frame, inputs.reader, PartLabels(session.fields)))
        _look_at(session.task_model, (row.data for row in rows))


def settle_by_topics(session: Session, frame: DataFrame, longest: int) -> None:
    """Examine the first labels of topics, in the order of names, partitions and offsets.

    If all labels are the same, the task stays open, as in ``settle``. Spark lists partitions in any order, on
    which the order of the classes must not depend.
    """
    if not session.task_model.settled:
        with translated():
            rows = frame.mapInArrow(TopicLabels(session.fields, longest), _PLACED).collect()
        _look_at(session.task_model, (bytes(row.labels) for row in sorted(rows)))


@dataclass(frozen=True)
class PartLabels:
    """Yields the first labels of a part.

    Attributes
    ----------
    fields
        The fields, which name the label.
    """

    fields: Fields

    def __call__(self, part: int, chunks: Iterator[Chunk]) -> Iterator[tuple[str, bytes]]:
        for chunk in windowed(chunks, (0, BLOCK)):
            yield LABELS, _labels_in(chunk.records(), self.fields)


@dataclass(frozen=True)
class TopicLabels:
    """Yields the first labels of a task's partition.

    Attributes
    ----------
    fields
        The fields, which name the label.
    longest
        Maximum length of a record.
    """

    fields: Fields
    longest: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        left = BLOCK
        for (topic, partition), polled in by_partition(batches):
            labels = _labels_in(records_of(topic, partition, polled[:left], self.longest), self.fields)
            row = {"topic": topic, "partition": partition, "offset": polled[0][0], "labels": labels}
            yield pa.RecordBatch.from_pylist([row])
            left -= len(polled)
            if left <= 0:
                return


def _labels_in(records: Records, fields: Fields) -> bytes:
    """The distinct labels of records as JSON, in the order of their first occurrence."""
    found: dict[tuple[type, Any], None] = {}
    for i, value in enumerate(records.values):
        if i not in records.refused:
            with suppress(RecordError):
                label = _label_in(value, fields)
                if isinstance(label, (bool, int, float, str)):
                    # True is not 1.
                    found[type(label), label] = None
    return json.dumps([label for _, label in found]).encode()


def _label_in(value: bytes, fields: Fields) -> Any:
    """The label of a record, or None; RecordError if the record is invalid."""
    record = parse(value)
    if fields.nested and not is_flat(record):
        record = fields.flattened(record)
    return record.get(fields.target)


def _look_at(task_model: TaskModel, rows: Iterable[bytes]) -> None:
    """Pass labels to the task until it is settled."""
    for row in rows:
        for label in json.loads(row):
            with suppress(RecordError):
                if task_model.is_no_label(label):
                    continue
                task_model.model.register_labels([task_model.check(label)], [1.0])
            if task_model.settled:
                return
