"""What is used of kafka-python that is not public: all of it is here, each with its reason.

Since any version may change it, kafka-python's next minor version has to be looked at before it is
allowed: see the bound in pyproject.toml. What is used:

- `TopicConsumer.topic_id`: ``_cluster``, whose method `topic_id` is public. An admin client tells ids
  too, but would have to ask the brokers before every block of records.
- `TopicConsumer.keep_joining`: ``_coordinator``, whose method `request_rejoin` is public. There is no
  other way to finish a rebalance that a short poll has left in the middle.
- `BulkProducer`: ``_partition``, ``_ensure_valid_record_size``, ``_transaction_manager``, ``_sender``
  and ``_accumulator``, with its locks and batches. `send` does the same for one record at a time, in
  three times the time, which is more than learning from the record takes. `commit_transaction`,
  `send_offsets_to_transaction`, `abort_transaction` and `close` wait for ever for brokers, or topics, that
  may have gone, or raise and leave a thread behind.
"""

from __future__ import annotations

import time
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition, errors
from kafka.structs import MemberState

#: Room for what a batch adds to a record, below the broker's own limit (message.max.bytes).
OVERHEAD = 10_000
#: A producer's thread has given up within so long what was not sent.
_STOP_SECONDS = 1.0


class BulkProducer(KafkaProducer):  # type: ignore[misc]  # kafka-python has no types
    """A KafkaProducer that takes many records at once, in a third of the time.

    It does what ``send`` does, but once for all of them where it is the same for all, and makes
    no future for each, but for each batch. For that it uses what the class keeps to itself, which is
    why kafka-python's next minor version has to be looked at before it is allowed.
    """

    def send_many(self, topic: str, values: Sequence[bytes], keys: Sequence[bytes | None]) -> list[Any]:
        """Send records to a topic within a transaction; those without a key to one partition.

        Returns futures, one of each batch at least that the records are in.
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
        """Append records to the batch that is being filled, and begin others as they are needed."""
        futures = []
        accumulator = self._accumulator
        now = int(1000 * time.time())
        rest = iter(share)
        waiting = next(rest, None)
        while waiting is not None:
            futures.append(accumulator.append(partition, now, *waiting, [])[0])
            waiting = next(rest, None)
            with accumulator._tp_lock(partition):
                filling = accumulator._batches[partition]
                # What was begun just now may be on its way already.
                append = filling[-1].records.append if filling else None
                while waiting is not None and append is not None and append(now, *waiting, []) is not None:
                    waiting = next(rest, None)
        return futures

    def send_offsets(self, offsets: dict[TopicPartition, OffsetAndMetadata], member: Any) -> None:
        """Do as ``send_offsets_to_transaction``, but do not wait for brokers for ever."""
        self._finish(self._transaction_manager.send_offsets_to_transaction(offsets, member))

    def commit(self) -> None:
        """Commit the transaction, as ``commit_transaction`` does, but do not wait for brokers for ever.

        Whoever has the transactional id next finds out what has become of it.
        """
        self._finish(self._transaction_manager.begin_commit())

    def _finish(self, result: Any) -> None:
        self._sender.wakeup()
        milliseconds = self.config["max_block_ms"]
        if not result.wait(timeout_ms=milliseconds):
            raise errors.KafkaTimeoutError(f"a transaction was not answered within {milliseconds / 1000:g} s")

    def abort(self, seconds: float) -> None:
        """Abort the transaction, as ``abort_transaction`` does, but wait for brokers no longer than so."""
        aborted = self._transaction_manager.begin_abort()
        self._sender.wakeup()
        aborted.wait(timeout_ms=int(1000 * seconds))

    def stop(self) -> None:
        """Close, without what was not sent yet, and raise nothing: why it ends is for others to say.

        ``close`` with a short timeout gives up as soon as something was not sent, and lets its thread go on.
        """
        self._sender.force_close()
        with suppress(errors.KafkaError):
            self.close(timeout=_STOP_SECONDS)


class TopicConsumer(KafkaConsumer):  # type: ignore[misc]  # kafka-python has no types
    """A KafkaConsumer that tells the ids of topics, and that may be polled for moments only.

    An admin client tells ids too, but would have to ask before every block of records. What this
    uses is public but for the attributes it is found in, which is why kafka-python's next minor
    version has to be looked at before it is allowed.
    """

    def topic_id(self, topic: str) -> str | None:
        """The id of a topic as Kafka's tools write it; None if it is unknown or brokers have none."""
        found = self._cluster.topic_id(topic)
        return urlsafe_b64encode(found.bytes).decode().rstrip("=") if found and found.int else None

    def keep_joining(self) -> None:
        """Have the next poll finish the rebalance that the last one was too short for.

        Left alone, kafka-python 3.0 forgets one that began because a topic had got, or lost,
        partitions, and this member never gets any again.
        """
        if self.group_metadata().state == MemberState.REBALANCING:
            self._coordinator.request_rejoin()
