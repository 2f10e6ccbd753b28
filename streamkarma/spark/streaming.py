"""Learns topics on Spark: each partition has its own model, and the merged model makes the predictions."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import orjson

from streamkarma.errors import RunError, StreamkarmaError
from streamkarma.estimators.persistence import save
from streamkarma.lock import ModelLock
from streamkarma.runtime import report
from streamkarma.runtime.destinations import check_files
from streamkarma.runtime.output import Output
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.progress import Progress
from streamkarma.runtime.session import Session
from streamkarma.runtime.signals import StopSignal
from streamkarma.spark.bounds import bounds
from streamkarma.spark.files import absolute, folders_in, remove_leftovers
from streamkarma.spark.partitions import ANSWERED, ELSEWHERE, RECORD_COLUMNS, Batch
from streamkarma.spark.session import translated
from streamkarma.spark.settling import settle_by_topics
from streamkarma.spark.states import State, summed, unpacked_counts
from streamkarma.spark.store import Store
from streamkarma.spark.stream_checks import check_end, check_ends, check_folders, check_same
from streamkarma.spark.tasks import ROW_SCHEMA, Row, batch_of, collected
from streamkarma.spark.tree import FAN_IN, STATE, merged_parts, merged_rows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

#: Seconds between checks whether to stop.
_LOOK = 1
#: What to do about a folder of state that is incomplete.
_RESTORE = "; restore the folder of --checkpoint from a copy, or start again with another one"


class Subscription(NamedTuple):
    """The topics to read, and how.

    Attributes
    ----------
    topics
        The names of the topics.
    brokers
        Bootstrap servers.
    checkpoint
        The folder for all state needed to resume, visible to every machine of the cluster.
    start
        Where to start partitions that have not been read before: ``earliest`` or ``latest``.
    every
        Seconds between the starts of two batches.
    most
        Maximum number of records per batch, or None.
    until_end
        Whether to stop at the end offsets seen at start-up.
    longest
        Maximum length of a record.
    settings
        Settings of the Kafka client, by name.
    """

    topics: Sequence[str]
    brokers: str
    checkpoint: str
    start: str
    every: float
    most: int | None
    until_end: bool
    longest: int
    settings: Mapping[str, str]


class Stream:
    """Learns topics batch by batch.

    In a batch, each partition starts from its state after the previous batch, and the merged model of all
    partitions after the previous batch makes the predictions. A repeated batch therefore gives the same
    result.

    Parameters
    ----------
    plan
        The plan; predictions and dead letters are folders.
    subscription
        The topics to read.

    Raises
    ------
    StreamkarmaError
        If the plan is invalid, or a model cannot be used.
    """

    def __init__(self, plan: Plan, subscription: Subscription) -> None:
        check_files({"--model": plan.model}, {"--summary": plan.summary})
        check_folders(
            {
                "--checkpoint": subscription.checkpoint,
                "--predictions": plan.predictions,
                "--dead-letters": plan.dead_letters,
            }
        )
        self._plan, self._subscription = plan, subscription
        self._lock = ModelLock(plan.model) if plan.model is not None else None
        self._progress = Progress(plan, "--dead-letters keeps them all")
        folder = absolute(subscription.checkpoint)
        # Tasks have another working directory.
        outputs = {name: getattr(plan, name) for name in ("predictions", "dead_letters")}
        self._outputs = {name: path and absolute(path) for name, path in outputs.items()}
        self._states, self._queries = f"{folder}/states", f"{folder}/spark"
        self._bases, self._together = Store(f"{folder}/base"), Store(f"{folder}/together")
        self._base = self._bases.before(1)
        if self._base is not None:
            check_same(plan, folder, self._base)
        #: The start of a stream without a state: the model file, if it exists.
        self.session = Session(plan, plan.model if self._base is None else None, self._progress.say)
        self._begin = time.perf_counter()
        self._failure: StreamkarmaError | None = None
        #: Number of expired records, by ``topic/partition``.
        self._lost: dict[str, int] = {}

    def run(self, spark: SparkSession) -> int:
        """Continue until the end or a signal.

        Returns
        -------
        The exit code: 0, or 130 or 143 after a signal.

        Raises
        ------
        RunError
            If it cannot continue. Nothing is lost when it is restarted.
        """
        stop = StopSignal()
        with ExitStack() as stack:
            if self._lock is not None:
                stack.callback(self._lock.release)
            stack.enter_context(stop.installed())
            self._run(spark, stop)
            self._show()
            self._progress.over()
            self._progress.close(self.session, kafka={"lost": self._lost})
        if stop.number is not None:
            return 128 + stop.number
        self._progress.check_use()
        return 0

    def _run(self, spark: SparkSession, stop: StopSignal) -> None:
        with translated():
            query = self._query(spark)
            try:
                while not (stop.has_come() or query.awaitTermination(_LOOK)):
                    pass
                check_ends(query)
            except Exception:
                if self._failure is not None:
                    raise self._failure from None
                raise
            finally:
                query.stop()

    def _query(self, spark: SparkSession) -> StreamingQuery:
        read = self._subscription
        source = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", read.brokers)
            .option("kafka.isolation.level", "read_committed")
            .option("subscribe", ",".join(read.topics))
            .option("startingOffsets", read.start)
            # Restarting would not bring expired records back; they are reported instead.
            .option("failOnDataLoss", "false")
        )
        for name, value in read.settings.items():
            source = source.option(f"kafka.{name}", value)
        if read.most is not None:
            source = source.option("maxOffsetsPerTrigger", read.most)
        sink = source.load().select(*RECORD_COLUMNS).writeStream.foreachBatch(self._take)
        sink = sink.option("checkpointLocation", self._queries)
        if read.until_end:
            return sink.trigger(availableNow=True).start()
        return sink.trigger(processingTime=f"{read.every:g} seconds").start()

    def _take(self, frame: DataFrame, number: int) -> None:
        """Learn a batch; Spark calls it again if it was not completed."""
        try:
            self._learn(frame, number)
        except StreamkarmaError as error:
            self._failure = error
            raise

    def _learn(self, frame: DataFrame, number: int) -> None:
        base = self._base or self._begun(frame)
        if base is None:
            return
        if self._together.newest > number:
            raise RunError(f"{self._queries} lacks batches that were learned{_RESTORE}")
        together = self._together.before(number) or base
        work = Batch(
            number,
            self._states,
            base.to_bytes(),
            together.to_bytes(),
            self._outputs["predictions"],
            self._outputs["dead_letters"],
            self._subscription.longest,
        )
        rows = collected(frame.mapInArrow(work, ROW_SCHEMA))
        elsewhere = [orjson.loads(row.data) for row in rows if row.kind == ELSEWHERE]
        self._look_for_lost(frame.sparkSession, elsewhere)
        for folder in (self._states, *(f"{path}/{number}" for path in self._outputs.values() if path)):
            remove_leftovers(folder)
        answered = [row.data for row in rows if row.kind == ANSWERED]
        counted = [unpacked_counts(data, f"what was counted in batch {number}") for data in answered]
        totals = summed([together.totals, *counted])
        merged = self._merged(frame.sparkSession, base, number)._replace(totals=totals)
        self._check_complete(merged, together.kept["events"] + sum(each.counters.events for each in counted))
        self._together.write(number, merged)
        if self._plan.model is not None:
            save(merged.model, self._plan.model, merged.kept)
        self._together.forget(number)
        remove_leftovers(self._together.path)
        self._show()

    def _look_for_lost(self, spark: SparkSession, elsewhere: Sequence[tuple[str, int, int, int]]) -> None:
        """Report records that expired before they were read.

        Skipped offsets alone are not a loss: transaction markers and compaction also skip some.
        """
        if not elsewhere:
            return
        keys = [(topic, number) for topic, number, _, _ in elsewhere]
        found = bounds(spark, self._subscription.brokers, self._subscription.settings, keys)
        for topic, number, expected, first in elsewhere:
            begin, end = found[topic, number]
            check_end(topic, number, expected, end)
            if (lost := min(begin, first) - expected) > 0:
                name = f"{topic}/{number}"
                self._lost[name] = self._lost.get(name, 0) + lost
                self._progress.say(
                    f"topic {topic}, partition {number}: offsets {expected} to {expected + lost - 1} are "
                    f"lost; they had expired before they were read; reading resumes at {expected + lost}"
                )

    def _begun(self, frame: DataFrame) -> State | None:
        """The base of all partitions, once there is a record from which to infer the task."""
        settle_by_topics(self.session, frame, self._subscription.longest)
        task_model = self.session.task_model
        if frame.isEmpty():
            return None
        if not task_model.settled:
            raise RunError("the first labels do not settle the task; give --task")
        base = State.of(task_model.model, self.session.described())
        self._bases.write(0, base)
        remove_leftovers(self._bases.path)
        self._base = base
        return base

    def _merged(self, spark: SparkSession, base: State, number: int) -> State:
        """The state of all partitions after a batch."""
        folders = folders_in(self._states, 2)
        names = ["/".join(folder.split("/")[-2:]) for folder in folders]
        read = ReadStates(tuple(folders), number + 1)
        if len(folders) <= FAN_IN:
            rows = [Row(part, STATE, data) for part, data in read.states(range(len(folders)))]
            state = merged_rows(base.to_bytes(), rows, names)
        else:
            parts = spark.range(0, len(folders), 1, min(len(folders), spark.sparkContext.defaultParallelism))
            state = merged_parts(parts.mapInArrow(read, ROW_SCHEMA), base.to_bytes(), names)
        kept = {name: value for name, value in state.kept.items() if name != "offset"}
        return state._replace(kept=kept)

    def _check_complete(self, merged: State, events: int) -> None:
        """Raise RunError unless the merged model has learned the events of all batches.

        A partition without a state starts from the base; if its state was removed, its events would be
        forgotten. Without the merged state, the base would have made the predictions.
        """
        if (found := merged.kept["events"]) != events:
            raise RunError(
                f"the models in {self._states} have learned {found:,} events, and {self._together.path} says "
                f"{events:,}: files are missing{_RESTORE}"
            )

    def _show(self) -> None:
        """Report progress."""
        state = self._together.before(sys.maxsize)
        if state is not None:
            self.session.take_over(state.model, state.kept, state.totals, Output())
            seconds = time.perf_counter() - self._begin
            self._progress.say(report.progress(report.run_status(self.session.loop, seconds)))


@dataclass(frozen=True)
class ReadStates:
    """Reads the last states of partitions before a batch.

    Attributes
    ----------
    folders
        The folders of all partitions.
    batch
        The number of the batch.
    """

    folders: tuple[str, ...]
    batch: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The states of the partitions whose numbers are in the only column."""
        for batch in batches:
            for part, data in self.states(batch.column(0).to_pylist()):
                yield batch_of([Row(part, STATE, data)])

    def states(self, parts: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """The numbers and bytes of the states."""
        for part in parts:
            state = Store(self.folders[part]).before(self.batch)
            if state is not None:
                yield part, state.to_bytes()
