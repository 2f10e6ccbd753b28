"""A process on its topics, from its model file to the end or to the next setback."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import partial

from kafka import TopicPartition, errors
from kafka.consumer.fetcher import ConsumerRecord
from kafka.structs import MemberState

from streamkarma.connectors.kafka.connection import SetbackError, understood
from streamkarma.connectors.kafka.consumer import (
    LEAVE_MS,
    READING,
    Assignment,
    Polled,
    TopicConsumer,
    records_of,
)
from streamkarma.connectors.kafka.journal import sibling
from streamkarma.connectors.kafka.offsets import QUIET_SECONDS, Ledger
from streamkarma.connectors.kafka.replay import catch_up
from streamkarma.connectors.kafka.sink import BulkProducer, TopicSink
from streamkarma.connectors.kafka.source import Job
from streamkarma.connectors.kafka.start_offsets import place
from streamkarma.errors import FencedError, RunError
from streamkarma.runtime.output import Letter, Output
from streamkarma.runtime.session import Session
from streamkarma.sinks.rows import Rows
from streamkarma.sources.records import Records

#: A poll without records returns after so long, and a signal waits for no longer; and while
#: partitions are still to come, which are placed after a poll.
_POLL_SECONDS, _JOINING_SECONDS = 0.25, 0.05
#: A process that has had no partitions for so long will not get any: there are enough others.
_IDLE_SECONDS = 5.0
#: Records of one poll, and as many of them as are learned before signals are heeded again. What
#: a poll costs beside its records shows in the throughput.
_POLL_RECORDS, _PART = 5000, 2000


class Worker:
    """Reads, learns, answers and keeps.

    Parameters
    ----------
    job
        What to do, and what was done of it by workers before.

    Raises
    ------
    StreamkarmaError
        If the plan makes no sense, or its model cannot be used.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self.session: Session
        self._ledger: Ledger
        self._load()
        self._consumer: TopicConsumer
        self._assignment: Assignment
        self._records: list[ConsumerRecord] = []
        self._idle_since: float | None = None

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """Next offset of every partition the model has learned from."""
        return self._ledger.positions

    def work(self) -> None:
        """Work until the end of the job, or a signal.

        Raises
        ------
        SetbackError
            If what was done since the last commit is void.
        StreamkarmaError
            If the run cannot go on.
        InterruptedError
            If a signal came before the stream was reached.
        """
        job = self._job
        with ExitStack() as stack:
            try:
                if job.writes:
                    self._open_sink(stack)
                # Rows of records that come again, now or from the topic, are written again.
                self.session.go_on_with(job.files, True, job.say)
                if job.writes:
                    # What was answered before is in the topics, but files may have lost it.
                    self.session.new_loop(job.files.output(), fail=False)
                    catch_up(job, self._ledger, self._journal_home(), self._feed_again)
                loop = self.session.new_loop(self._output())
                if job.tally is not None:
                    loop.take_up(job.tally)
                self._join(stack)
                self._consume()
                self._finish()
            except errors.KafkaError as error:
                raise self._understood(error) from error
            except FencedError:
                raise
            except RunError:
                if self._ledger.sink is not None:
                    with suppress(errors.KafkaError):
                        self._ledger.sink.abort()
                raise
            finally:
                self._ledger.void()

    def _understood(self, error: errors.KafkaError) -> Exception:
        """What an error means; a transaction that took too long is void, but nobody else's."""
        sink = self._ledger.sink
        timed_out = isinstance(error, errors.ProducerFencedError) and sink is not None and sink.overdue
        return SetbackError("a transaction took too long") if timed_out else understood(error)

    def _load(self) -> None:
        self.session = Session(self._job.plan, self._job.path, self._job.say)
        self._ledger = Ledger(self._job, self.session)

    def _open_sink(self, stack: ExitStack) -> None:
        """Get ready to send; from here on an older process of the same instance is fenced."""
        job, at = self._job, self._job.at
        producer = job.connect(
            BulkProducer,
            **job.settings.producer(linger_ms=5, batch_size=256 << 10, max_block_ms=20_000),
            transactional_id=f"streamkarma.{at.group}.{job.instance}",
        )
        stack.callback(producer.close, timeout=0)
        producer.init_transactions()
        # An older process may have written the file up to this moment, and no longer.
        self._load()
        sink = TopicSink(producer, at.output_topic, at.dead_letter_topic, *self._journal_home())
        sink.cut = job.setbacks > 1
        self._ledger.sink = sink

    def _journal_home(self) -> tuple[str, TopicPartition]:
        """Group and partition whose offset carries the journal.

        It is a group of its own, for the offsets of the group itself change hands when
        partitions do, and what one process has learned is not for another to overwrite.
        """
        at = self._job.at
        topic = at.output_topic or str(at.dead_letter_topic)
        return sibling(at.group, self._job.instance), TopicPartition(topic, 0)

    def _feed_again(self, partition: TopicPartition, records: list[ConsumerRecord]) -> None:
        loop = self.session.loop
        before = loop.counters.events
        self._feed(partition, records)
        self._job.replayed += loop.counters.events - before

    def _join(self, stack: ExitStack) -> None:
        """Become a member of the group."""
        job = self._job
        static = None if job.plan.model is None else job.instance
        reading = job.settings.consumer(
            allow_auto_create_topics=False, group_instance_id=static, max_poll_records=_POLL_RECORDS
        )
        self._consumer = job.connect(TopicConsumer, **{**reading, **READING}, group_id=job.at.group)
        stack.callback(self._leave)
        self._ledger.consumer = self._consumer
        self._assignment = Assignment(self._consumer, self._ledger.before_leaving)
        if job.topics.pattern is not None:
            self._consumer.subscribe(pattern=job.topics.expression(), listener=self._assignment)
        else:
            labels = () if job.topics.labels is None else (job.topics.labels,)
            names = [*job.topics.names, *labels]
            self._consumer.subscribe(topics=names, listener=self._assignment)
            for name in names:
                # Whoever leads the group shares out the partitions it knows, and only these.
                self._consumer.partitions_for_topic(name)

    def _leave(self) -> None:
        with suppress(errors.KafkaError):
            self._consumer.close(autocommit=False, timeout_ms=LEAVE_MS)

    def _finish(self) -> None:
        """Make all that was learned count; partitions that change hands first are waited for."""
        while True:
            try:
                self._ledger.commit(checkpoint=True)
                return
            except errors.RebalanceInProgressError:
                self._consumer.pause(*self._consumer.assignment())
                self._poll()

    def _consume(self) -> None:
        """The stream itself."""
        job, loop = self._job, self.session.loop
        while not job.stopped() and not job.done(loop.counters.events):
            polled = self._poll()
            for partition, records in polled.items():
                self._learn(partition, records)
            if self._assignment.fresh:
                fresh, self._assignment.fresh = self._assignment.fresh, set()
                place(fresh, self._ledger, job)
            self._ledger.settle(quiet=not polled)
            job.watch(bool(polled))
            job.progress.tell(loop)
            if job.ends is not None and self._reached(job.ends):
                return

    def _poll(self) -> Polled:
        """Records, if there are any; in here partitions come and go."""
        seconds = QUIET_SECONDS if self._ledger.waiting else _POLL_SECONDS
        if not self._consumer.assignment():
            seconds = _JOINING_SECONDS
        polled: Polled = {}
        try:
            # In steps: where a fetch comes in at the wrong moment, kafka-python sleeps although
            # there are records, but not for longer than it was told to wait.
            for milliseconds in (0, 5, int(1000 * seconds)):
                polled = self._consumer.poll(timeout_ms=milliseconds)
                if polled or self._assignment.fresh:
                    break
                self._consumer.keep_joining()
        except errors.OffsetOutOfRangeError as error:
            gone = [tp for tp in error.args[0] if tp in self._consumer.assignment()]
            self._consumer.pause(*gone)
            self._assignment.fresh |= set(gone)
        except errors.KafkaError:
            if self._assignment.failure is not None:
                raise self._assignment.failure from None
            raise
        if self._assignment.lost:
            self._assignment.lost = False
            if self._ledger.unsafe:
                raise SetbackError("the group went on without this process")
            self._ledger.void()
        return self._of_known_topics(polled)

    def _of_known_topics(self, polled: Polled) -> Polled:
        """What was polled, without topics that were recreated: they are told where to begin first."""
        for topic in {tp.topic for tp in polled}:
            if self._ledger.is_another(topic, self._consumer.topic_id(topic)):
                recreated = {tp for tp in self._consumer.assignment() if tp.topic == topic}
                self._consumer.pause(*recreated)
                self._assignment.fresh |= recreated
                polled = {tp: records for tp, records in polled.items() if tp.topic != topic}
        return polled

    def _learn(self, partition: TopicPartition, records: list[ConsumerRecord]) -> None:
        """Predict and learn records, up to where the job ends."""
        job, loop, ledger = self._job, self.session.loop, self._ledger
        if job.ends is not None:
            end = job.ends.get(partition, 0)
            records = [record for record in records if record.offset < end]
        while records and not job.stopped() and not job.done(loop.counters.events):
            events = loop.counters.events
            part = records[: min(job.room(events, _PART), job.progress.room(events))]
            ledger.begin(partition)
            end = self._feed(partition, part)
            if end > part[0].offset:
                job.tombstones += sum(each.value is None and each.offset < end for each in part)
                ledger.note(partition, part[0].offset, end)
            if loop.failure is not None:
                ledger.commit(checkpoint=True)
                raise RunError(loop.failure)
            records = records[len(part) :]
            job.progress.tell(loop)
            ledger.settle(quiet=False)

    def _feed(self, partition: TopicPartition, records: list[ConsumerRecord]) -> int:
        """Hand records to the loop, but for tombstones; returns the offset up to which they are done."""
        loop = self.session.loop
        filled = [record for record in records if record.value is not None]
        done = loop.feed(self._read(partition, filled)) if filled else 0
        if loop.failure is not None:
            return int(filled[done].offset)
        return int(records[-1].offset) + 1

    def _read(self, partition: TopicPartition, records: list[ConsumerRecord]) -> Records:
        self._records = records
        if self._ledger.sink is not None:
            self._ledger.sink.records = records
        at = self._job.at
        return records_of(
            records, at.beside, partition.topic == at.label_topic, self._job.plan.max_record_bytes
        )

    def _output(self) -> Output:
        """Where rows and dead letters go: topics first, as a file's reader may have left."""
        sink, files, at = self._ledger.sink, self._job.files.output(), self._job.at
        to_topic = at.output_topic is not None

        def predictions(rows: Rows, indices: Sequence[int]) -> None:
            if sink is not None and to_topic:
                sink.predictions(rows, indices)
            if files.predictions is not None:
                files.predictions(rows, indices)

        def dead_letters(letter: Letter) -> None:
            # A record that stops the run is not passed, and comes again.
            passed = self.session.loop.failure is None
            if sink is not None and at.dead_letter_topic is not None and passed:
                sink.dead_letter(self._records[letter.at], letter.error)
            if files.dead_letters is not None:
                files.dead_letters(letter)

        return Output(predictions if to_topic or files.predictions else None, dead_letters)

    def _reached(self, ends: dict[TopicPartition, int]) -> bool:
        """Whether all that is this process's has been read to where it ended at the start."""
        mine = self._consumer.assignment()
        if self._consumer.group_metadata().state != MemberState.STABLE or self._assignment.fresh:
            return False
        if mine:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = time.monotonic()
        if self._idle_since is not None:
            return time.monotonic() - self._idle_since > _IDLE_SECONDS
        position = partial(self._consumer.position, timeout_ms=1000)
        return all((position(tp) or 0) >= ends.get(tp, 0) for tp in mine)
