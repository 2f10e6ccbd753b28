"""Topics read once from their beginnings to their current ends, without a consumer group."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from heapq import heapify, heappop, heapreplace
from typing import Any

from kafka import TopicPartition, errors
from kafka.consumer.fetcher import ConsumerRecord

from streamkarma.connectors.base import Context, Position, Reader, RecordBlock, Source
from streamkarma.connectors.kafka._private import TopicConsumer
from streamkarma.connectors.kafka.connection import SILENCE_SECONDS
from streamkarma.connectors.kafka.consumer import LEAVE_MS, READING
from streamkarma.connectors.kafka.errors import RetriableKafkaError, translate_error
from streamkarma.connectors.kafka.records import NO_METADATA, Metadata, records_of
from streamkarma.connectors.kafka.row_fields import NO_ROW_FIELDS, RowFields
from streamkarma.connectors.kafka.source import Attachment, TopicSource
from streamkarma.connectors.kafka.start_offsets import say_lost
from streamkarma.connectors.kafka.topic_check import check_still_there, check_topics
from streamkarma.errors import RunError

_POLL_MS, _POLL_RECORDS = 250, 5000
#: A source needs the name of a group, which this one never uses.
_NO_GROUP = "-"


class BoundedTopics(TopicSource):
    """Topics that are read once, without committing or joining a group.

    Parameters
    ----------
    topics
        A name, or a pattern for names.
    brokers, settings, connect_timeout, max_record_bytes, metadata, row_fields
        As in `Attachment`.
    """

    shared = False

    def __init__(
        self,
        topics: str,
        brokers: str,
        settings: Sequence[str],
        connect_timeout: float,
        max_record_bytes: int,
        metadata: Metadata = NO_METADATA,
        row_fields: RowFields = NO_ROW_FIELDS,
    ) -> None:
        at = Attachment(
            [topics],
            brokers,
            _NO_GROUP,
            until_end=True,
            settings=settings,
            connect_timeout=connect_timeout,
            metadata=metadata,
            max_record_bytes=max_record_bytes,
            learn=False,
            row_fields=row_fields,
        )
        super().__init__(at, None)
        self.dead_letter_hint = Source.dead_letter_hint

    def summary(self) -> dict[str, Any]:
        """The records that were skipped, or had expired."""
        return {"kafka": {"lost": self.lost, "tombstones": self.tombstones}}

    @contextmanager
    def open(self, context: Context) -> Iterator[Reader]:
        """Connect; any failure of the brokers ends the run."""
        self._context = context
        self._log.install()
        try:
            ends = check_topics(self) or {}
            settings = {**self.settings.consumer(), **READING}
            settings.pop("group_instance_id", None)
            settings.setdefault("max_poll_records", _POLL_RECORDS)
            consumer = self.connect(TopicConsumer, **settings, group_id=None)
            try:
                yield _BoundedReader(self, consumer, ends)
            finally:
                consumer.close(autocommit=False, timeout_ms=LEAVE_MS)
        except errors.KafkaError as error:
            raise RunError(str(translate_error(error))) from error
        except RetriableKafkaError as error:
            raise RunError(str(error)) from error


class _BoundedReader(Reader):
    """Reads partitions to their ends, merging several in order of time."""

    def __init__(
        self, source: BoundedTopics, consumer: TopicConsumer, ends: dict[TopicPartition, int]
    ) -> None:
        self._source, self._consumer, self._ends = source, consumer, ends
        #: Records waiting to be merged, and the next offset to read, of each partition.
        self._waiting: dict[TopicPartition, deque[ConsumerRecord]] = {}
        self._next: dict[TopicPartition, int] = {}
        #: Seconds of waiting in which no partition was read on.
        self._silent = 0.0

    def resume(self, kept: Position | None) -> None:
        """Start at the beginning of the partitions."""
        begins = self._consumer.beginning_offsets(list(self._ends))
        self._next = {each: begins[each] for each, end in self._ends.items() if begins[each] < end}
        self._waiting = {each: deque() for each in self._next}

    def blocks(self) -> Iterator[RecordBlock | None]:
        """Yield the records, and None if nothing has arrived for a while."""
        at = self._source.at
        while self._waiting:
            for partition, waiting in self._waiting.items():
                if not waiting:
                    self._ask(partition)
            ready = self._ready()
            if ready:
                records = records_of(ready, at.metadata, False, at.max_record_bytes, at.row_fields)
                yield RecordBlock(records, lambda count: None)
            else:
                yield None

    def _ask(self, partition: TopicPartition) -> None:
        """Read more of a partition that holds up the others.

        Only this one is assigned: kafka-python may never read it while others are paused.
        """
        self._consumer.assign([partition])
        self._consumer.seek(partition, self._next[partition])
        began = time.monotonic()
        try:
            polled = self._consumer.poll(timeout_ms=_POLL_MS).get(partition, [])
            position = self._consumer.position(partition)
        except errors.OffsetOutOfRangeError:
            polled, position = [], self._first_left(partition)
        self._waiting[partition].extend(each for each in polled if each.offset < self._ends[partition])
        if position > self._next[partition]:
            self._next[partition], self._silent = position, 0.0
            return
        self._silent += time.monotonic() - began
        if self._silent > SILENCE_SECONDS:
            check_still_there(self._source, [partition])
            self._silent = 0.0

    def _first_left(self, partition: TopicPartition) -> int:
        """Where to continue a partition that no longer has the next offset."""
        offset, end = self._next[partition], self._ends[partition]
        begin = int(self._consumer.beginning_offsets([partition])[partition])
        if begin <= offset:
            raise RunError(
                f"topic {partition.topic}, partition {partition.partition}: offset {offset} is past its end; "
                "the topic was recreated while it was read"
            )
        say_lost(self._source, partition, offset, min(begin, end))
        return begin

    def _ready(self) -> list[ConsumerRecord]:
        """The records that no later one can precede, up to where more of a partition must be read."""
        ready: list[ConsumerRecord] = []
        for partition in [each for each in self._waiting if self._is_done(each)]:
            del self._waiting[partition]
        if not all(self._waiting.values()):
            return []
        # The numbers keep the order of partitions where times are equal.
        heads = [
            (int(waiting[0].timestamp), number, partition)
            for number, (partition, waiting) in enumerate(self._waiting.items())
        ]
        heapify(heads)
        while heads:
            _, number, partition = heads[0]
            waiting = self._waiting[partition]
            ready.append(waiting.popleft())
            if waiting:
                heapreplace(heads, (int(waiting[0].timestamp), number, partition))
            elif self._is_done(partition):
                del self._waiting[partition]
                heappop(heads)
            else:
                break
        filled = [record for record in ready if record.value is not None]
        self._source.tombstones += len(ready) - len(filled)
        return filled

    def _is_done(self, partition: TopicPartition) -> bool:
        """Whether nothing of a partition is left to be read or merged."""
        return not self._waiting[partition] and self._next[partition] >= self._ends[partition]

    def maybe_commit(self) -> None:
        """Nothing is committed."""

    def commit(self) -> None:
        """Nothing is committed."""

    def snapshot(self) -> Position:
        """Nothing is saved."""
        return {}
