"""Follows a topic of models."""

from __future__ import annotations

import time
from collections.abc import Callable

from kafka import KafkaConsumer, TopicPartition

from streamkarma.connectors.kafka.consumer import LEAVE_MS
from streamkarma.connectors.kafka.settings import KafkaSettings
from streamkarma.connectors.kafka.shared_models import TopicModels
from streamkarma.connectors.kafka.topic_configs import Connect

#: How long one poll waits; signals are handled in between.
_POLL_MS = 100
#: Waits longer than this are reported to the user.
_PATIENCE_SECONDS = 2.0


class ShareReader:
    """Reads a topic of models from its beginning, and follows it.

    Parameters
    ----------
    topic
        Its name.
    settings, connect
        How to connect to the brokers.
    say, stopped
        Called with a line for the user; returns whether the user wants to stop.

    Attributes
    ----------
    stored
        The models that were read.
    """

    def __init__(
        self,
        topic: str,
        settings: KafkaSettings,
        connect: Connect,
        say: Callable[[str], None],
        stopped: Callable[[], bool],
    ) -> None:
        reading = settings.consumer(
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            allow_auto_create_topics=False,
        )
        reading.pop("group_instance_id", None)
        self.stored = TopicModels()
        self._topic = topic
        self._say, self._stopped = say, stopped
        self._reported: set[tuple[str, str]] = set()
        self._consumer = connect(KafkaConsumer, **reading, group_id=None)
        numbers = self._consumer.partitions_for_topic(topic) or {0}
        self._partitions = [TopicPartition(topic, number) for number in sorted(numbers)]
        self._consumer.assign(self._partitions)
        self._consumer.seek_to_beginning(*self._partitions)

    @property
    def partitions(self) -> int:
        """The number of partitions of the topic."""
        return len(self._partitions)

    def catch_up(self) -> None:
        """Read everything that is committed by now.

        Raises
        ------
        InterruptedError
            If the user wants to stop.
        """
        ends = self._consumer.end_offsets(self._partitions)
        while any(self._consumer.position(each) < end for each, end in ends.items()):
            self._poll()
        for name, why in self.stored.broken().items():
            if (name, why) not in self._reported:
                self._reported.add((name, why))
                self._say(
                    f"topic {self._topic}: the newest model of {name} cannot be used, {why}; "
                    "the last good one is used"
                )

    def wait_until(self, there: Callable[[], bool], what: str) -> None:
        """Read until ``there`` returns True; InterruptedError as in ``catch_up``.

        ``what`` names what is being waited for, in the message shown if it takes long.
        """
        self.catch_up()
        patience = time.monotonic() + _PATIENCE_SECONDS
        while not there():
            self._poll()
            if time.monotonic() > patience:
                self._say(f"topic {self._topic}: waiting for {what}, behind a transaction that has not ended")
                patience = float("inf")

    def close(self) -> None:
        """Disconnect."""
        self._consumer.close(autocommit=False, timeout_ms=LEAVE_MS)

    def _poll(self) -> None:
        if self._stopped():
            raise InterruptedError
        for records in self._consumer.poll(timeout_ms=_POLL_MS).values():
            for record in records:
                self.stored.take(record.key, record.value)
