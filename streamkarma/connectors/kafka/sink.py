"""Predictions and dead letters to Kafka topics, in transactions with the offsets they answer."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafka import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition, errors
from kafka.consumer.fetcher import ConsumerRecord

from streamkarma.connectors.base import DeadLetter
from streamkarma.connectors.histogram import Histogram
from streamkarma.connectors.kafka._private import OVERHEAD, BulkProducer
from streamkarma.connectors.kafka.settings import KafkaSettings
from streamkarma.connectors.rows import Rows, shortened

#: Offsets of a group, and the member of it whose they are.
MemberOffsets = tuple[Mapping[TopicPartition, OffsetAndMetadata], ConsumerGroupMetadata]

#: As much of a dead letter as is sent where the whole does not fit.
SHOWN_BYTES = 1000


#: How long a broker may take to answer, and how much longer what is sent to it may be on its way.
#: When a broker is killed, kafka-python may lose sight of a batch until it is overdue, by default
#: after 120 s. Giving up sooner is safe, for a transaction that fails is aborted and done again.
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
        # kafka-python asks for at least the sum of the two.
        delivery_timeout_ms=request_ms + linger_ms + _DELIVERY_MARGIN_MS,
    )


class TopicSink:
    """Sends rows to one topic and dead letters to another; all of it or nothing is seen.

    Parameters
    ----------
    producer
        A producer with a transactional id, which has not begun anything.
    output_topic, dead_letter_topic
        Where to send rows and dead letters, or None.

    Raises
    ------
    KafkaError
        From every method: the transaction did not come about.
    """

    def __init__(
        self,
        producer: BulkProducer,
        output_topic: str | None,
        dead_letter_topic: str | None,
    ) -> None:
        self._producer = producer
        self._output_topic = output_topic
        self._dead_letter_topic = dead_letter_topic
        self._opened: float | None = None
        #: Of what was sent since the last commit, futures of all batches.
        self._sent: list[Any] = []
        #: The records that rows and dead letters are about.
        self.records: Sequence[ConsumerRecord] = ()
        #: How long commits have taken.
        self.durations = Histogram()
        #: Dead letters are cut to SHOWN_BYTES, as a broker has refused them whole.
        self.cut = False

    def write_predictions(self, rows: Rows, at: Sequence[int]) -> None:
        """Send rows, each under the key of the record it answers."""
        self._begin()
        records = self.records
        lines, keys = self._fitting(rows.lines(), [records[i].key for i in at])
        self._sent += self._producer.send_many(str(self._output_topic), lines, keys)

    def write_dead_letter(self, letter: DeadLetter) -> None:
        """Send a rejected record as it was, with its position and the reason in additional headers."""
        self._begin()
        record = self.records[letter.at]
        # kafka-python reads headers without a value, but cannot write them.
        value, headers = record.value, [(name, each or b"") for name, each in record.headers]
        position = {"topic": record.topic, "partition": str(record.partition), "offset": str(record.offset)}
        own = [(name, text.encode()) for name, text in {**position, "reason": letter.error}.items()]
        carried = sum(len(name.encode()) + len(each) for name, each in headers)
        key = record.key
        most = self._producer.config["max_request_size"] - OVERHEAD - len(key or b"")
        if value is not None and len(value) + carried > (SHOWN_BYTES if self.cut else most):
            kept = value[:SHOWN_BYTES]
            cut = f"{len(kept)} of {len(value)} bytes"
            if carried > SHOWN_BYTES:
                cut += f", none of {len(headers)} headers"
                headers = []
            if key is not None and (self.cut or most < 2 * SHOWN_BYTES) and len(key) > SHOWN_BYTES:
                cut += f", {SHOWN_BYTES} of {len(key)} bytes of the key"
                key = key[:SHOWN_BYTES]
            own.append(("cut", cut.encode()))
            value = kept
        sent = self._producer.send(self._dead_letter_topic, value, key=key, headers=[*headers, *own])
        self._sent.append(sent)

    def write_records(self, partition: TopicPartition, records: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Send keys with their values, in this order."""
        self._begin()
        topic, number = partition
        self._sent += [self._producer.send(topic, value, key, partition=number) for key, value in records]

    def commit(self, *offsets: MemberOffsets) -> None:
        """Make all that was sent visible, and the offsets with it."""
        self._begin()
        began = time.monotonic()
        for each, member in offsets:
            self._producer.send_offsets_to_transaction(dict(each), member)
        self._check_sent()
        self._producer.commit_transaction()
        self.durations.add(time.monotonic() - began)
        self._opened = None

    def _fitting(
        self, lines: list[bytes], keys: list[bytes | None]
    ) -> tuple[list[bytes], list[bytes | None]]:
        """Rows and keys that can be sent: a row that is too long without its longest fields, or its key."""
        most = self._producer.config["max_request_size"] - OVERHEAD
        if max(map(len, lines), default=0) + max((len(key or b"") for key in keys), default=0) <= most:
            return lines, keys
        # Half of the room is the key's, so that all of them fit together.
        keys = [None if key is not None and len(key) > most // 2 else key for key in keys]
        room = most - max(len(key or b"") for key in keys)
        return [line if len(line) <= room else shortened(line, room) for line in lines], keys

    def _check_sent(self) -> None:
        """Wait until all that was sent has arrived; KafkaError if some of it has not.

        kafka-python would commit without a batch that it gave up because its time was over.
        """
        self._producer.flush()
        sent, self._sent = self._sent, []
        missing = next((each for each in sent if not each.succeeded()), None)
        if missing is not None:
            raise missing.exception or errors.KafkaTimeoutError("not all that was sent has arrived")

    def abort(self) -> None:
        """Undo what was sent since the last commit."""
        self._sent = []
        if self._opened is not None:
            self._producer.abort()
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
    def overdue(self) -> bool:
        """Whether the brokers have given up the transaction by now.

        To the producer this looks as if another one had taken its place.
        """
        limit = self._producer.config["transaction_timeout_ms"] / 1000
        return self._opened is not None and time.time() - self._opened >= limit

    def _begin(self) -> None:
        if self._opened is None:
            self._producer.begin_transaction()
            # By the clock on the wall, which goes on while the machine sleeps.
            self._opened = time.time()
