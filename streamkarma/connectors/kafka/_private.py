"""All non-public parts of kafka-python that are used, each with its reason.

Any version may change them, so kafka-python's next minor version must be reviewed before it is
allowed: see the bound in pyproject.toml. These are used:

- `TopicConsumer.topic_id`: ``_cluster``, whose method `topic_id` is public. An admin client also
  has the ids, but would have to query the brokers before every block of records.
- `TopicConsumer.keep_joining`: ``_coordinator``, whose method `request_rejoin` is public. There is no
  other way to finish a rebalance that a short poll has interrupted.
- `TopicConsumer.next_offset`: ``_subscription``, whose `assignment` is public. `position` returns the same,
  but asks the consumer's thread, which takes a millisecond for each partition.
- `TopicConsumer`: ``_fetcher.PartitionRecords``, and in `_DecodedRecords` the attributes of this class and of
  its batches. They decode records in Python, field by field, which takes longer than learning them.
- `TopicConsumer.poll`: ``_fetcher._next_partition_records``. There is no other way to continue with a
  partition that was paused while it had fetched records.
- `BulkProducer`: ``_partition``, ``_ensure_valid_record_size``, ``_transaction_manager``, ``_sender``
  and ``_accumulator``, with its locks and batches, whose attributes `_fill` changes. `send` does the same for
  one record at a time, but takes longer than learning the record. `commit_transaction`,
  `send_offsets_to_transaction`, `abort_transaction` and `close` wait indefinitely for brokers or topics that
  may be gone, or raise and leave a thread behind.
"""

from __future__ import annotations

import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import repeat
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition, errors
from kafka.consumer.fetcher import ConsumerRecord, Fetcher
from kafka.protocol.consumer import IsolationLevel
from kafka.structs import MemberState

from streamkarma._engine import decode_records, encode_records

#: Space for the overhead of a batch, below the broker's own limit (message.max.bytes).
OVERHEAD = 10_000
#: Seconds within which a producer's thread discards what was not sent.
_STOP_SECONDS = 1.0
#: The number of records decoded at once, so that those of a large batch need not all be in memory.
_DECODED = 1000
#: The first message format with batches of records, which Kafka 0.11 introduced.
_BATCHES = 2


class BulkProducer(KafkaProducer):  # type: ignore[misc]  # kafka-python has no types
    """A KafkaProducer that sends many records at once, encoded by the engine.

    It does the same as ``send``, but shares the common work between records, and returns one future per batch
    instead of one per record.
    """

    def send_many(self, topic: str, values: Sequence[bytes], keys: Sequence[bytes | None]) -> list[Any]:
        """Send records to a topic within a transaction; those without a key go to one partition.

        Returns futures, at least one for each batch that contains the records.
        """
        futures: list[Any] = []
        if not values:
            return futures
        self.partitions_for(topic)
        longest = max(map(len, values)) + max((len(key) for key in keys if key is not None), default=0)
        self._ensure_valid_record_size(longest + OVERHEAD)
        any_partition = self._partition(topic, None, None, None, None, None)
        shares: dict[int, list[tuple[bytes | None, bytes]]] = {}
        for key, value in zip(keys, values, strict=True):
            number = any_partition if key is None else self._partition(topic, None, key, value, key, value)
            shares.setdefault(number, []).append((key, value))
        for number, share in shares.items():
            partition = TopicPartition(topic, number)
            self._transaction_manager.maybe_add_partition_to_transaction(partition)
            futures += self._append_all(partition, share)
        self._sender.wakeup()
        return futures

    def _append_all(self, partition: TopicPartition, share: list[tuple[bytes | None, bytes]]) -> list[Any]:
        """Append records to the current batch, and start others as needed."""
        futures = []
        accumulator = self._accumulator
        now = int(1000 * time.time())
        done = 0
        while done < len(share):
            futures.append(accumulator.append(partition, now, *share[done], [])[0])
            done += 1
            with accumulator._tp_lock(partition):
                filling = accumulator._batches[partition]
                # A batch that was just started may already have been sent.
                if filling:
                    done += _fill(filling[-1].records, now, share[done:])
        return futures

    def send_offsets(self, offsets: dict[TopicPartition, OffsetAndMetadata], member: Any) -> None:
        """The same as ``send_offsets_to_transaction``, but with a timeout."""
        self._finish(self._transaction_manager.send_offsets_to_transaction(offsets, member))

    def commit(self) -> None:
        """Commit the transaction like ``commit_transaction``, but with a timeout.

        After a timeout, the next owner of the transactional id finds out its outcome.
        """
        self._finish(self._transaction_manager.begin_commit())

    def _finish(self, result: Any) -> None:
        self._sender.wakeup()
        milliseconds = self.config["max_block_ms"]
        if not result.wait(timeout_ms=milliseconds):
            raise errors.KafkaTimeoutError(f"a transaction was not answered within {milliseconds / 1000:g} s")

    def abort(self, seconds: float) -> None:
        """Abort the transaction like ``abort_transaction``, but wait at most this long for the brokers."""
        aborted = self._transaction_manager.begin_abort()
        self._sender.wakeup()
        aborted.wait(timeout_ms=int(1000 * seconds))

    def stop(self) -> None:
        """Close without sending what is left, and without raising: the caller reports why it ends.

        ``close`` with a short timeout gives up if something was not sent, and leaves its thread running.
        """
        self._sender.force_close()
        with suppress(errors.KafkaError):
            self.close(timeout=_STOP_SECONDS)


def _fill(records: Any, now: int, more: Sequence[tuple[bytes | None, bytes]]) -> int:
    """Append records to a batch that has one already, as long as there is room; returns how many."""
    batch = records._builder
    if batch is None:
        return 0  # It is closed.
    room = max(0, batch._batch_size - batch.size())
    encoded, count = encode_records(more, records.next_offset(), now - batch._first_timestamp, room)
    if count:
        batch._buffer += encoded
        batch._num_records += count
        batch._last_offset += count
        batch._max_timestamp = max(batch._max_timestamp, now)
        records._next_offset += count
    return count


class _DecodedRecords(Fetcher.PartitionRecords):  # type: ignore[misc]  # kafka-python has no types
    """The fetched records of a partition, decoded by the engine."""

    def _unpack_records(self, partition: TopicPartition, records: Any, *_: Any) -> Iterator[ConsumerRecord]:
        while (batch := records.next_batch()) is not None:
            if batch.magic < _BATCHES:
                yield from super()._unpack_records(partition, _Preceded(batch, records), None, None)
                return
            if self.check_crcs and not batch.validate_crc():
                raise _corrupt(partition, batch, "do not match their checksum")
            self.leader_epoch = batch.leader_epoch
            if not self._is_skipped(batch):
                yield from self._decoded(partition, batch)
            self.next_fetch_offset = batch.next_offset
        self.drain()

    def _is_skipped(self, batch: Any) -> bool:
        """Whether a batch is not for consumers: the end of a transaction, or part of one that was aborted."""
        if self.isolation_level == IsolationLevel.READ_COMMITTED and batch.has_producer_id():
            self._consume_aborted_transactions_up_to(batch.last_offset)
            if self._contains_abort_marker(batch):
                self.aborted_producer_ids.discard(batch.producer_id)
            elif self._is_batch_aborted(batch):
                return True
        return bool(batch.is_control_batch)

    def take(self, n: int | None = None) -> list[ConsumerRecord]:
        """Up to ``n`` records."""
        taken: list[ConsumerRecord] = super().take(n)
        if taken:
            # Further on if the last records were skipped.
            self.next_fetch_offset = max(self.next_fetch_offset, taken[-1].offset + 1)
        return taken

    def _decoded(self, partition: TopicPartition, batch: Any) -> Iterator[ConsumerRecord]:
        iter(batch)  # decompresses it
        content, begin, left = bytes(batch._buffer), batch._pos, batch.records_count
        offset, time = batch.base_offset, batch.first_timestamp
        while left > 0:
            records = decode_records(content, begin, min(left, _DECODED))
            times = [time + each for each in records.timestamps]
            if batch.timestamp_type == batch.LOG_APPEND_TIME:
                times = [batch.max_timestamp] * len(times)
            self.records_read += len(times)
            self.bytes_read += records.end - begin
            columns = (
                *map(repeat, (partition.topic, partition.partition, batch.leader_epoch)),
                [offset + each for each in records.offsets],
                times,
                repeat(batch.timestamp_type),
                records.keys,
                records.values,
                records.headers,
                # A checksum, which this format has for whole batches, and sizes, which nobody here asks for.
                *map(repeat, (None, -1, -1, -1)),
            )
            yield from map(partial(tuple.__new__, ConsumerRecord), zip(*columns, strict=False))
            if len(times) < min(left, _DECODED):
                raise _corrupt(partition, batch, "are malformed")
            begin, left = records.end, left - len(times)
        if begin != len(content):
            raise _corrupt(partition, batch, "are followed by other bytes")


class _Preceded:
    """A batch of records, and then others."""

    def __init__(self, batch: Any, others: Any) -> None:
        self._first, self._others = batch, others

    def next_batch(self) -> Any:
        """The next one; None if there are no more."""
        batch, self._first = self._first, None
        return self._others.next_batch() if batch is None else batch


def _corrupt(partition: TopicPartition, batch: Any, what: str) -> errors.CorruptRecordError:
    return errors.CorruptRecordError(
        f"topic {partition.topic}, partition {partition.partition}: the records from offset "
        f"{batch.base_offset} to {batch.last_offset} {what}"
    )


class TopicConsumer(KafkaConsumer):  # type: ignore[misc]  # kafka-python has no types
    """A KafkaConsumer that decodes fast, provides the ids of topics, and supports very short polls."""

    def __init__(self, *topics: str, **configs: Any) -> None:
        super().__init__(*topics, **configs)
        self._fetcher.PartitionRecords = _DecodedRecords

    def topic_id(self, topic: str) -> str | None:
        """The id of a topic as written by Kafka's tools; None if it is unknown or the brokers have none."""
        found = self._cluster.topic_id(topic)
        return urlsafe_b64encode(found.bytes).decode().rstrip("=") if found and found.int else None

    def next_offset(self, partition: TopicPartition) -> int:
        """The offset after all that was polled, and after what nobody can read; 0 if it is not assigned."""
        state = self._subscription.assignment.get(partition)
        return int(state.position.offset) if state is not None and state.position is not None else 0

    def poll(self, timeout_ms: int = 0, **more: Any) -> Any:
        """Poll, and continue with partitions that were paused while they had fetched records.

        kafka-python 3.0 continues with them only if the partition it read last is None, not if that one has
        been read to its end; a resumed partition could then wait forever.
        """
        if not self._fetcher._next_partition_records:
            self._fetcher._next_partition_records = None
        return super().poll(timeout_ms=timeout_ms, **more)

    def keep_joining(self) -> None:
        """Make the next poll finish a rebalance for which the last one was too short.

        Otherwise kafka-python 3.0 forgets a rebalance that began because a topic gained or lost partitions,
        and this member never gets any again.
        """
        if self.group_metadata().state == MemberState.REBALANCING:
            self._coordinator.request_rejoin()
