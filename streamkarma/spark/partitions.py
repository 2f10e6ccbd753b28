"""The work of a task in one batch: predict and then learn the records of a topic's partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import orjson

from streamkarma._engine import use_threads
from streamkarma.connectors.base import DeadLetter
from streamkarma.connectors.jsonlines.lines import BOM
from streamkarma.connectors.records import Records
from streamkarma.connectors.rows import Rows
from streamkarma.errors import StreamkarmaError
from streamkarma.runtime import report
from streamkarma.runtime.output import Output
from streamkarma.spark.files import written
from streamkarma.spark.states import State, packed_counts
from streamkarma.spark.store import Store
from streamkarma.spark.tasks import PROBLEM, Row, batch_of

if TYPE_CHECKING:
    import pyarrow as pa

#: The fields of a record passed to a task.
RECORD_COLUMNS = ("topic", "partition", "offset", "value")
#: The kind of a row with the counts of a partition.
ANSWERED = "answered"
#: The kind of a row which reports that a batch does not begin where the previous one ended.
ELSEWHERE = "elsewhere"

Key = tuple[str, int]
#: Offset and value.
Polled = tuple[int, bytes | None]
Write = Callable[[bytes], object]


@dataclass(frozen=True)
class Batch:
    """Learns the records of partitions in one batch, starting from their states after the previous batch.

    Attributes
    ----------
    number
        The number of the batch.
    states
        The folder of the partitions' states.
    base
        Bytes of the state from which all partitions started.
    together
        Bytes of the merged state of all partitions after the previous batch, which makes the predictions.
    predictions, dead_letters
        Folders, or None.
    longest
        Maximum length of a record.
    """

    number: int
    states: str
    base: bytes
    together: bytes
    predictions: str | None
    dead_letters: str | None
    longest: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Learn the partitions of a task, one after the other."""
        use_threads(1)
        try:
            for key, parts in groupby(by_partition(batches), itemgetter(0)):
                for kind, data in self._learn(key, (polled for _, polled in parts)):
                    yield batch_of([Row(self.number, kind, data)])
        except StreamkarmaError as error:
            yield batch_of([Row(self.number, PROBLEM, str(error).encode())])

    def _learn(self, key: Key, parts: Iterable[list[Polled]]) -> Iterator[tuple[str, bytes]]:
        """Predict and learn records in the order of their offsets; yields the counts.

        If the batch does not begin at the partition's offset, both offsets are yielded first.
        """
        topic, partition = key
        store = Store(f"{self.states}/{topic}/{partition}")
        before = store.before(self.number)
        state = before or State.from_bytes(self.base, "the base")
        offset = expected = state.kept.get("offset", 0)
        first: int | None = None
        loop = state.loop(Output())
        together = State.from_bytes(self.together, "the model of all partitions")
        with self._file(self.predictions, key) as predicted, self._file(self.dead_letters, key) as rejected:
            answering = together.loop(_output(predicted, rejected), learn=False, first=loop.last + 1)
            for polled in parts:
                first = polled[0][0] if first is None else first
                # No offset is learned twice.
                new = [each for each in polled if each[0] >= offset]
                records = records_of(topic, partition, new, self.longest)
                answering.feed(records)
                loop.feed(records)
                offset = max(offset, polled[-1][0] + 1)
        after = state.after(loop)
        store.write(self.number, State.of(after.model, {**after.kept, "offset": offset}))
        store.forget(self.number)
        if before is not None and first != expected:
            yield ELSEWHERE, orjson.dumps([topic, partition, expected, first])
        yield ANSWERED, packed_counts(after.totals._replace(metrics=answering.evaluator.metrics))

    def _file(self, folder: str | None, key: Key) -> AbstractContextManager[Write | None]:
        """A file for this batch and a partition, or None."""
        return nullcontext() if folder is None else written(f"{folder}/{self.number}/{key[0]}-{key[1]}.jsonl")


def by_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Key, list[Polled]]]:
    """Consecutive records of the same partition in the batches of a task."""
    for batch in batches:
        rows = zip(*(batch.column(name).to_pylist() for name in RECORD_COLUMNS), strict=True)
        for key, own in groupby(rows, itemgetter(0, 1)):
            yield key, [(offset, value) for _, _, offset, value in own]


def records_of(topic: str, partition: int, polled: Sequence[Polled], longest: int) -> Records:
    """Records of a partition for the loop, without tombstones."""
    there = [(offset, value.removeprefix(BOM)) for offset, value in polled if value is not None]
    refused = {}
    for i, (_, value) in enumerate(there):
        if not value or value.isspace():
            refused[i] = "empty"
        elif len(value) > longest:
            refused[i] = "longer than the limit; see --max-record-bytes"
    return Records(
        [value for _, value in there],
        len(there),
        lambda i: {"topic": topic, "partition": partition, "offset": there[i][0]},
        refused,
    )


def _output(predicted: Write | None, rejected: Write | None) -> Output:
    """Writes rows and dead letters, if wanted."""

    def write_rows(rows: Rows, _: Sequence[int]) -> None:
        if predicted is not None:
            predicted(rows.text())

    def write_letter(letter: DeadLetter) -> None:
        if rejected is not None:
            rejected(orjson.dumps(report.dead_letter(letter), option=orjson.OPT_APPEND_NEWLINE))

    return Output(write_rows if predicted is not None else None, write_letter)
