"""A member of the consumer group: polls, and notices what became of its partitions."""

from __future__ import annotations

import time
from collections.abc import Iterable

from kafka import TopicPartition, errors

from streamkarma.connectors.kafka._private import TopicConsumer
from streamkarma.connectors.kafka.consumer import Assignment, Polled
from streamkarma.connectors.kafka.errors import RetriableKafkaError
from streamkarma.connectors.kafka.offsets import QUIET_SECONDS, Offsets

#: The longest poll without records, which delays signals; and while partitions are still to be assigned,
#: which are positioned after a poll.
_POLL_SECONDS, _JOINING_SECONDS = 0.25, 0.05
_TOO_SLOW = (
    "events took longer than max_poll_interval_ms ({:g} s), and the group has moved on without this process; "
    "lower -X max_poll_records, or raise -X max_poll_interval_ms"
)


class GroupMember:
    """A consumer in its group.

    Parameters
    ----------
    consumer
        The consumer; it has not subscribed to anything yet.
    offsets
        Tracks what was learned of its partitions.

    Attributes
    ----------
    assignment
        Its partitions.
    """

    def __init__(self, consumer: TopicConsumer, offsets: Offsets) -> None:
        self._consumer, self._offsets = consumer, offsets
        self.assignment = Assignment(consumer, offsets.before_leaving)
        #: Time of the last poll, and the number of seconds within which the group expects the next one.
        self._polled = time.monotonic()
        self._longest_pause: float = consumer.config["max_poll_interval_ms"] / 1000

    @property
    def is_late(self) -> bool:
        """Whether the last poll is so long ago that the group has removed this member."""
        return time.monotonic() - self._polled >= self._longest_pause

    @property
    def too_slow(self) -> str:
        """The message if it was removed for that."""
        return _TOO_SLOW.format(self._longest_pause)

    @property
    def positioned(self) -> set[TopicPartition]:
        """Its partitions, without those whose start offset is not known yet."""
        return set(self._consumer.assignment()) - self.assignment.unpositioned

    def poll(self) -> Polled:
        """Poll for records; partitions are assigned and revoked in here."""
        seconds = QUIET_SECONDS if self._offsets.waiting else _POLL_SECONDS
        if not self._consumer.assignment():
            seconds = _JOINING_SECONDS
        polled: Polled = {}
        was_late, self._polled = self.is_late, time.monotonic()
        try:
            # In steps: if a fetch arrives at the wrong moment, kafka-python sleeps although there are
            # records, but not for longer than the timeout.
            for milliseconds in (0, 5, int(1000 * seconds)):
                polled = self._consumer.poll(timeout_ms=milliseconds)
                if polled or self.assignment.unpositioned:
                    break
                self._consumer.keep_joining()
        except errors.OffsetOutOfRangeError as error:
            self._hold(tp for tp in error.args[0] if tp in self._consumer.assignment())
        except errors.KafkaError:
            if self.assignment.failure is not None:
                raise self.assignment.failure from None
            raise
        if self.assignment.lost:
            self.assignment.lost = False
            if self._offsets.unsafe:
                raise RetriableKafkaError(
                    self.too_slow if was_late else "the group has moved on without this process"
                )
            self._offsets.discard()
        return self._of_known_topics(polled)

    def _hold(self, partitions: Iterable[TopicPartition]) -> None:
        """Pause partitions until their start offset is known."""
        held = set(partitions)
        self._consumer.pause(*held)
        self.assignment.unpositioned |= held

    def _of_known_topics(self, polled: Polled) -> Polled:
        """The polled records without those of recreated topics, which are positioned first."""
        for topic in {tp.topic for tp in polled}:
            if self._offsets.is_another(topic, self._consumer.topic_id(topic)):
                self._hold(tp for tp in self._consumer.assignment() if tp.topic == topic)
                polled = {tp: records for tp, records in polled.items() if tp.topic != topic}
        return polled
