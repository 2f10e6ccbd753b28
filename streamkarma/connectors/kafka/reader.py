"""Reads topics as a member of the consumer group, and commits, until the end or the next failure."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from kafka import TopicPartition, errors
from kafka.consumer.fetcher import ConsumerRecord
from kafka.structs import MemberState

from streamkarma.connectors.base import Context, Position, Reader, ReaderFigures, RecordBlock
from streamkarma.connectors.kafka._private import BulkProducer, TopicConsumer
from streamkarma.connectors.kafka.consumer import LEAVE_MS, READING, Polled, remove_member, subscribe
from streamkarma.connectors.kafka.errors import RetriableKafkaError, translate_error, unwrapped
from streamkarma.connectors.kafka.group_member import GroupMember
from streamkarma.connectors.kafka.in_step import InStep
from streamkarma.connectors.kafka.offsets import Offsets
from streamkarma.connectors.kafka.records import records_of
from streamkarma.connectors.kafka.replay import replay
from streamkarma.connectors.kafka.sink import TopicSink, producer_settings
from streamkarma.connectors.kafka.start_offsets import start
from streamkarma.connectors.kafka.topic_check import check_still_there
from streamkarma.connectors.records import Records
from streamkarma.errors import FencedError, RunError, UsageError

if TYPE_CHECKING:
    from streamkarma.connectors.kafka.source import TopicSource

#: A process that has had no partitions for this long will not get any, because there are enough others.
_IDLE_SECONDS = 5.0
#: Maximum number of records per poll, and of records learned before signals are handled. The overhead of a
#: poll affects the throughput.
_POLL_RECORDS, _PART = 5000, 2000
#: How long to wait for brokers to abort a transaction; and before another attempt, which also ends it, if the
#: brokers may be gone.
_ABORT_SECONDS, _RETRY_SECONDS = 3.0, 0.3
#: Errors of a member that has left the group.
_LEFT = (errors.CommitFailedError, errors.IllegalGenerationError, errors.UnknownMemberIdError)


class TopicReader(Reader):
    """Reads topics as a member of the group, and commits.

    Parameters
    ----------
    source
        The source, with the state left by previous readers.
    context
        The run.
    offsets
        Tracks what was learned and committed, instead of the usual `Offsets`.
    """

    def __init__(self, source: TopicSource, context: Context, offsets: Offsets | None = None) -> None:
        self._source = source
        self._context = context
        self._offsets = offsets or Offsets(source, context)
        self._topic_sink: TopicSink | None = None
        self._stack = ExitStack()
        self._consumer: TopicConsumer
        #: The consumer in its group; None before it has joined.
        self._joined: GroupMember | None = None
        #: If there is a topic of labels: reads it in step with the events.
        self._in_step: InStep | None = None
        self._idle_since: float | None = None
        #: Whether the last poll returned nothing.
        self._is_quiet = True

    @contextmanager
    def working(self) -> Iterator[None]:
        """Be ready to send within the block; what is not committed at its end is discarded."""
        try:
            with self._stack:
                if self._source.writes:
                    self._open_sink()
                with self._aborting():
                    yield
            self._resign()
        except UsageError:
            # With these options it will not be started again.
            self._resign()
            raise
        except errors.KafkaError as error:
            raise translate_error(error) from error
        finally:
            self._offsets.discard()

    @contextmanager
    def _aborting(self) -> Iterator[None]:
        """Abort the open transaction at the end: consumers of what follows would wait for it."""
        sink = self._topic_sink
        try:
            try:
                yield
            except errors.KafkaError as error:
                raise self._translated(error) from error
        except InterruptedError:
            raise
        except BaseException as error:
            # Otherwise leaving the group would commit without what is aborted here, or half a block. If
            # nothing is sent, Kafka's errors occur between blocks.
            of_kafka = isinstance(error.__cause__, errors.KafkaError)
            if sink is not None or not (of_kafka or isinstance(error, RetriableKafkaError)):
                self._offsets.abandon()
            if sink is not None and not isinstance(error, FencedError):
                self._source.cut_dead_letters = sink.cut
                with suppress(errors.KafkaError):
                    sink.abort(_RETRY_SECONDS if isinstance(error, RetriableKafkaError) else _ABORT_SECONDS)
            raise

    def _translated(self, error: errors.KafkaError) -> RunError | RetriableKafkaError:
        """Translate an error of a process that may have been too slow for the group."""
        sink, kind = self._topic_sink, unwrapped(error)
        # Another process in place of this one would have fenced the producer first.
        fenced = sink is not None and isinstance(kind, errors.FencedInstanceIdError)
        if (fenced or isinstance(kind, _LEFT)) and self._joined is not None and self._joined.is_late:
            return RetriableKafkaError(self._joined.too_slow)
        return (translate_error if sink is None else sink.translate)(error)

    def resume(self, kept: Position | None) -> None:
        """Take the model's offsets."""
        self._offsets.resume(kept or {})
        self._source.resumed(self._offsets.positions)

    def replay(self) -> Iterator[RecordBlock]:
        """Yield what was answered but is not in the model file."""
        if not (self._source.writes and self._source.at.learn):
            return
        for partition, records in replay(self._source, self._context, self._offsets):
            filled = [record for record in records if record.value is not None]
            if filled:
                before = self._context.events
                yield RecordBlock(self._records_of(partition, filled), lambda count: None, divisible=False)
                self._source.replayed += self._context.events - before

    def blocks(self) -> Iterator[RecordBlock | None]:
        """Yield the stream."""
        self._join()
        silence = self._source.silence
        silence.heard()
        while not self._reached_end():
            polled = self._member.poll()
            for partition, records in self._in_order(self._before_ends(polled)):
                yield from self._parts(partition, records)
                self._skip_unreadable([partition])
            self._skip_unreadable(self._consumer.assignment() - polled.keys())
            if polled or self._offsets.heard:
                self._offsets.heard = False
                silence.heard()
            silence.check()
            assignment = self._member.assignment
            if assignment.unpositioned:
                unpositioned, assignment.unpositioned = assignment.unpositioned, set()
                start(unpositioned, self._offsets, self._source)
            self._is_quiet = not polled and not self._in_step
            yield None
        self.commit()
        ends, positions = self._source.ends or {}, self._offsets.positions
        check_still_there(self._source, [tp for tp, end in ends.items() if positions.get(tp, 0) < end])

    def maybe_commit(self) -> None:
        """Commit, and write the model, if it is due."""
        self._offsets.maybe_commit(self._is_quiet)

    def commit(self) -> None:
        """Commit everything learned, after any rebalance in progress."""
        while True:
            try:
                self._offsets.commit(checkpoint=True)
                return
            except errors.RebalanceInProgressError:
                self._consumer.pause(*self._consumer.assignment())
                self._member.poll()

    def snapshot(self) -> Position:
        """Offsets, and the ids of their topics."""
        return self._offsets.snapshot()

    def figures(self) -> ReaderFigures:
        """Lag, for partitions whose end offsets are known, and durations."""
        source, mine = self._source, self._member.positioned
        ends = {tp: self._consumer.highwater(tp) for tp in sorted(mine)}
        positions = self._offsets.positions
        lag = [
            (tp.topic, tp.partition, max(0, end - positions[tp]))
            for tp, end in ends.items()
            if end is not None and tp in positions
        ]
        durations = {
            "commit_latency_seconds": source.latency.histogram.counts(),
            "transaction_duration_seconds": source.transactions.counts(),
        }
        return ReaderFigures(bool(mine), lag, durations, source.silence.problem)

    def _open_sink(self) -> None:
        """Prepare to send; from now on, an older process of the same instance is fenced."""
        source, at = self._source, self._source.at
        producer = source.connect(
            BulkProducer,
            **producer_settings(source.settings, source.longest_batch),
            transactional_id=f"streamkarma.{at.group}.{source.instance}",
        )
        self._stack.callback(producer.stop)
        producer.init_transactions()
        sink = TopicSink(producer, at.output_topic, at.dead_letter_topic, source.longest_messages)
        sink.cut, sink.durations = source.cut_dead_letters, source.transactions
        self.sink = self._topic_sink = self._offsets.sink = sink

    def _join(self) -> None:
        """Join the group."""
        source = self._source
        static = source.instance if source.keeps_model else None
        reading = source.settings.consumer(
            allow_auto_create_topics=False, group_instance_id=static, max_poll_records=_POLL_RECORDS
        )
        self._consumer = source.connect(TopicConsumer, **{**reading, **READING}, group_id=source.at.group)
        self._stack.callback(self._leave)
        self._offsets.consumer = self._consumer
        self._joined = GroupMember(self._consumer, self._offsets)
        topics = source.topics
        if topics.labels is not None:
            self._in_step = InStep(self._consumer, topics.labels, self._context.pending)
        subscribe(self._consumer, topics, self._joined.assignment)

    @property
    def _member(self) -> GroupMember:
        assert self._joined is not None
        return self._joined

    def _leave(self) -> None:
        with suppress(errors.KafkaError):
            self._consumer.close(autocommit=False, timeout_ms=LEAVE_MS)

    def _resign(self) -> None:
        """Leave the group for good, so that its other processes need not wait for this one.

        A static member keeps its partitions, which is right after a crash but wrong at the end; but if the
        user gave the instance id, the partitions are meant to be kept.
        """
        source = self._source
        if not source.keeps_model or source.settings.get("group_instance_id") is not None:
            return
        remove_member(source.at.group, source.instance, source.settings)

    def _before_ends(self, polled: Polled) -> Polled:
        """The polled records up to the end of the run."""
        ends = self._source.ends
        if ends is None:
            return polled
        return {
            tp: [each for each in records if each.offset < ends.get(tp, 0)] for tp, records in polled.items()
        }

    def _in_order(self, polled: Polled) -> Iterable[tuple[TopicPartition, list[ConsumerRecord]]]:
        """The records by partition, as they were polled, or in step with their labels."""
        if self._in_step is None:
            return polled.items()
        self._in_step.keep_only(self._member.positioned)
        return self._in_step.take(polled)

    def _parts(self, partition: TopicPartition, records: list[ConsumerRecord]) -> Iterator[RecordBlock]:
        """The records of a partition in blocks, without tombstones."""
        self._is_quiet = False
        for begin in range(0, len(records), _PART):
            part = records[begin : begin + _PART]
            filled = [record for record in part if record.value is not None]
            self._offsets.begin(partition)
            if filled:
                learned = partial(self._learned, partition, part, filled)
                yield RecordBlock(self._records_of(partition, filled), learned)
            else:
                self._note(partition, part, int(part[-1].offset) + 1)

    def _records_of(self, partition: TopicPartition, filled: list[ConsumerRecord]) -> Records:
        if self._topic_sink is not None:
            self._topic_sink.records = filled
        at = self._source.at
        labels_only = partition.topic == at.label_topic
        return records_of(filled, at.metadata, labels_only, at.max_record_bytes, at.row_fields)

    def _learned(
        self, partition: TopicPartition, part: list[ConsumerRecord], filled: list[ConsumerRecord], count: int
    ) -> None:
        """Note that the first records of a block were learned, and tombstones before the next skipped."""
        end = filled[count].offset if count < len(filled) else part[-1].offset + 1
        self._note(partition, part, int(end))

    def _note(self, partition: TopicPartition, part: list[ConsumerRecord], end: int) -> None:
        begin = max(self._offsets.positions.get(partition, 0), part[0].offset)
        if end > begin:
            first, last = (bisect_left(part, offset, key=attrgetter("offset")) for offset in (begin, end))
            passed = part[first:last]
            self._source.tombstones += [each.value for each in passed].count(None)
            self._source.latency.learned([each.timestamp for each in passed])
            self._offsets.note(partition, part[0].offset, end)

    def _skip_unreadable(self, partitions: Iterable[TopicPartition]) -> None:
        """Pass over what no consumer gets, where only that follows the last record."""
        positions, ends = self._offsets.positions, self._source.ends
        for partition in (positions.keys() & partitions) - self._member.assignment.unpositioned:
            end = self._consumer.next_offset(partition)
            if ends is not None:
                # Records from there on were polled, but are not for this run.
                end = min(end, ends.get(partition, 0))
            is_held = self._in_step is not None and self._in_step.holds(partition)
            if end > positions[partition] and not is_held:
                self._offsets.skip(partition, end)

    def _reached_end(self) -> bool:
        """Whether all partitions of this process have been read to their end offsets seen at start-up."""
        ends = self._source.ends
        if ends is None:
            return False
        mine, unpositioned = self._consumer.assignment(), self._member.assignment.unpositioned
        if self._consumer.group_metadata().state != MemberState.STABLE or unpositioned:
            return False
        if mine:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = time.monotonic()
        if self._idle_since is not None:
            return time.monotonic() - self._idle_since > _IDLE_SECONDS
        if self._in_step:
            return False
        return all(self._consumer.next_offset(tp) >= ends.get(tp, 0) for tp in mine)
