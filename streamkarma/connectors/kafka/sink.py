"""Sends predictions and dead letters to Kafka topics, in transactions with the offsets of their records."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kafka import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition, errors
from kafka.consumer.fetcher import ConsumerRecord

from streamkarma.connectors.base import DeadLetter
from streamkarma.connectors.histogram import Histogram
from streamkarma.connectors.kafka._private import OVERHEAD, BulkProducer
from streamkarma.connectors.kafka.errors import RetriableKafkaError, translate_error, unwrapped
from streamkarma.connectors.kafka.settings import KafkaSettings
from streamkarma.connectors.rows import Rows, shortened
from streamkarma.errors import RunError

#: Offsets of a group, and the member that commits them.
MemberOffsets = tuple[Mapping[TopicPartition, OffsetAndMetadata], ConsumerGroupMetadata]

#: How much of a dead letter is sent if the whole does not fit.
SHOWN_BYTES = 1000
#: Overhead of a batch in addition to the key, the value and the headers of its only record, and of each
#: header.
_BATCH_OVERHEAD, _HEADER_OVERHEAD = 100, 10
#: Errors about the size of messages, and the settings of a topic that they refer to.
_TOO_LARGE = {
    errors.MessageSizeTooLargeError: "max.message.bytes",
    errors.RecordListTooLargeError: "segment.bytes",
}
#: For a sink without information about its topics.
_UNKNOWN: Mapping[str, int] = MappingProxyType({})


#: How long a broker may take to answer, and how much longer a delivery may take. When a broker is killed,
#: kafka-python may lose track of a batch until it is overdue, by default after 120 s. Giving up sooner is
#: safe, because a failed transaction is aborted and repeated.
_REQUEST_MS, _DELIVERY_MARGIN_MS = 8000, 2000
_LINGER_MS = 5


def producer_settings(settings: KafkaSettings, longest_batch: int) -> dict[str, Any]:
    """Arguments for a producer of many small transactions, unless the user has set others."""
    request_ms = settings.get("request_timeout_ms") or _REQUEST_MS
    linger_ms = settings.get("linger_ms") or _LINGER_MS
    return settings.producer(
        linger_ms=linger_ms,
        batch_size=longest_batch,
        max_block_ms=20_000,
        request_timeout_ms=request_ms,
        # kafka-python requires at least the sum of the two.
        delivery_timeout_ms=request_ms + linger_ms + _DELIVERY_MARGIN_MS,
    )


class TopicSink:
    """Sends rows to one topic and dead letters to another, atomically.

    Parameters
    ----------
    producer
        A producer with a transactional id, and no open transaction.
    output_topic, dead_letter_topic
        Topics for rows and dead letters, or None.
    longest
        The maximum size of batches of each topic, in bytes, if known.

    Raises
    ------
    KafkaError
        From every method, if the transaction failed.
    """

    def __init__(
        self,
        producer: BulkProducer,
        output_topic: str | None,
        dead_letter_topic: str | None,
        longest: Mapping[str, int] = _UNKNOWN,
    ) -> None:
        self._producer = producer
        self._longest = longest
        self._output_topic = output_topic
        self._dead_letter_topic = dead_letter_topic
        self._opened: float | None = None
        #: Futures of all batches sent since the last commit, with their topics.
        self._sent: list[tuple[str, Any]] = []
        #: The records that rows and dead letters refer to.
        self.records: Sequence[ConsumerRecord] = ()
        #: Durations of commits.
        self.durations = Histogram()
        #: Whether dead letters are cut to SHOWN_BYTES, because a broker has refused a whole one.
        self.cut = False

    def write_predictions(self, rows: Rows, at: Sequence[int]) -> None:
        """Send rows, each with the key of its record."""
        self._begin()
        records = self.records
        lines, keys = self._fitting(rows.lines(), [records[i].key for i in at])
        topic = str(self._output_topic)
        self._sent += [(topic, each) for each in self._producer.send_many(topic, lines, keys)]

    def write_dead_letter(self, letter: DeadLetter) -> None:
        """Send a rejected record unchanged, with its position and the reason in additional headers."""
        self._begin()
        record = self.records[letter.at]
        # kafka-python reads headers without a value, but cannot write them.
        value, headers = record.value, [(name, each or b"") for name, each in record.headers]
        position = {"topic": record.topic, "partition": str(record.partition), "offset": str(record.offset)}
        own = [(name, text.encode()) for name, text in {**position, "reason": letter.error}.items()]
        carried, key, topic = _size(headers), record.key, str(self._dead_letter_topic)
        room = self._room(topic) - _size(own)
        most = room - len(key or b"")
        # If space is short, the value, the key and the headers get a quarter each.
        shown = max(0, min(SHOWN_BYTES, room // 4))
        if value is not None and len(value) + carried > (shown if self.cut else most):
            kept = value[:shown]
            cut = f"{len(kept)} of {len(value)} bytes"
            if carried > shown:
                cut += f", none of {len(headers)} headers"
                headers = []
            if key is not None and (self.cut or most < 2 * SHOWN_BYTES) and len(key) > shown:
                cut += f", {shown} of {len(key)} bytes of the key"
                key = key[:shown]
            own.append(("cut", cut.encode()))
            value = kept
        self._sent.append((topic, self._producer.send(topic, value, key=key, headers=[*headers, *own])))

    def write_records(self, partition: TopicPartition, records: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Send keys with their values, in order."""
        self._begin()
        topic, number = partition
        self._sent += [
            (topic, self._producer.send(topic, value, key, partition=number)) for key, value in records
        ]

    def commit(self, *offsets: MemberOffsets) -> None:
        """Commit everything that was sent, together with the offsets."""
        self._begin()
        began = time.monotonic()
        for each, member in offsets:
            self._producer.send_offsets(dict(each), member)
        self._check_sent()
        self._producer.commit()
        self.durations.add(time.monotonic() - began)
        self._opened = None

    def _fitting(
        self, lines: list[bytes], keys: list[bytes | None]
    ) -> tuple[list[bytes], list[bytes | None]]:
        """Rows and keys that can be sent; a row that is too long loses its longest fields, or its key."""
        most = self._room(str(self._output_topic))
        if max(map(len, lines), default=0) + max((len(key or b"") for key in keys), default=0) <= most:
            return lines, keys
        # A key may take half of the space, so that the rest fits as well.
        keys = [None if key is not None and len(key) > most // 2 else key for key in keys]
        room = most - max(len(key or b"") for key in keys)
        return [line if len(line) <= room else shortened(line, room) for line in lines], keys

    def _room(self, topic: str) -> int:
        """The maximum size of a record's key, value and headers together."""
        request = self._producer.config["max_request_size"] - OVERHEAD
        return int(min(request, self._longest.get(topic, request + _BATCH_OVERHEAD) - _BATCH_OVERHEAD))

    def translate(self, error: errors.KafkaError) -> RunError | RetriableKafkaError:
        """Translate an error of the producer.

        Once a batch was refused, every other call of the producer fails as well, without giving the reason.
        """
        refused = ((topic, each.exception) for topic, each in self._sent if each.failed())
        topic, cause = next(refused, ("", unwrapped(error)))
        if isinstance(cause, errors.ProducerFencedError) and self._overdue:
            # The transaction is void, but this producer was not replaced.
            return RetriableKafkaError("a transaction took too long")
        setting = _TOO_LARGE.get(type(cause))
        if not topic or setting is None:
            return translate_error(cause)
        if topic == self._dead_letter_topic and not self.cut:
            self.cut = True
            return RetriableKafkaError(f"the topic {topic} does not accept a complete dead letter")
        bytes_known = f" ({self._longest[topic]:,})" if topic in self._longest else ""
        return RunError(
            f"topic {topic} does not accept messages of this size; raise its {setting}{bytes_known}"
        )

    def _check_sent(self) -> None:
        """Wait until everything sent has arrived; KafkaError if not.

        kafka-python would commit without a batch that has timed out.
        """
        self._producer.flush(timeout=self._producer.config["max_block_ms"] / 1000)
        missing = next((each for _, each in self._sent if not each.succeeded()), None)
        if missing is not None:
            raise missing.exception or errors.KafkaTimeoutError("not everything sent has arrived")
        self._sent = []

    def abort(self, seconds: float) -> None:
        """Abort what was sent since the last commit, waiting at most this long for the brokers."""
        self._sent = []
        if self._opened is not None:
            self._producer.abort(seconds)
            self._opened = None

    @property
    def takes_predictions(self) -> bool:
        """Whether there is a topic for them."""
        return self._output_topic is not None

    @property
    def takes_dead_letters(self) -> bool:
        """Whether there is a topic for them."""
        return self._dead_letter_topic is not None

    @property
    def _overdue(self) -> bool:
        """Whether the brokers have aborted the transaction by now.

        To the producer, this looks as if another one had replaced it.
        """
        limit = self._producer.config["transaction_timeout_ms"] / 1000
        return self._opened is not None and time.time() - self._opened >= limit

    def _begin(self) -> None:
        if self._opened is None:
            self._producer.begin_transaction()
            # By the wall clock, which continues while the machine sleeps.
            self._opened = time.time()


def _size(headers: Iterable[tuple[str, bytes]]) -> int:
    """The size of headers in bytes."""
    return sum(len(name.encode()) + len(value) + _HEADER_OVERHEAD for name, value in headers)
