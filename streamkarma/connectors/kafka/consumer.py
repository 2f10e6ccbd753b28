"""Reading topics, membership in a group, and which partitions belong to this process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

from kafka import AsyncConsumerRebalanceListener, KafkaAdminClient, KafkaConsumer, TopicPartition, errors
from kafka.admin import MemberToRemove
from kafka.consumer.fetcher import ConsumerRecord

from streamkarma.connectors.kafka.settings import KafkaSettings
from streamkarma.connectors.kafka.topics import Topics

Polled = dict[TopicPartition, list[ConsumerRecord]]

#: Read only committed records, whose order is reliable, and never commit or reset offsets automatically.
READING = {"isolation_level": "read_committed", "enable_auto_commit": False, "auto_offset_reset": "none"}
#: How long leaving the group may take, once everything is committed.
LEAVE_MS = 3000


class Assignment(AsyncConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python has no types
    """Tracks the partitions of this process.

    Its methods are called on the consumer's own thread while the main thread waits in
    ``poll``, so nothing else happens meanwhile.

    Parameters
    ----------
    consumer
        The consumer that owns the partitions.
    before_leaving
        Called before partitions are revoked: the moment to save what was learned.

    Attributes
    ----------
    unpositioned
        Partitions that are paused until their start offset is known.
    lost
        Whether partitions were lost without a chance to save anything.
    failure
        What ``before_leaving`` raised.
    """

    def __init__(self, consumer: KafkaConsumer, before_leaving: Callable[[], Awaitable[None]]) -> None:
        self._consumer = consumer
        self._before_leaving = before_leaving
        self.unpositioned: set[TopicPartition] = set()
        self.lost = False
        self.failure: BaseException | None = None

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Partitions are about to be revoked."""
        if not revoked:
            return
        try:
            await self._before_leaving()
        except BaseException as error:
            self.failure = error
            raise
        finally:
            self.unpositioned -= revoked

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """Partitions were assigned; their start offsets are requested when ``poll`` has returned."""
        for partition in assigned:
            self._consumer.seek(partition, 0)
            self._consumer.pause(partition)
        self.unpositioned |= assigned

    async def on_partitions_lost(self, lost: set[TopicPartition]) -> None:
        """The group has moved on without this process."""
        self.lost = bool(lost)
        self.unpositioned -= lost


def subscribe(consumer: KafkaConsumer, topics: Topics, assignment: Assignment) -> None:
    """Subscribe to topics, and to that of labels if there is one; this joins the group."""
    if topics.pattern is not None:
        consumer.subscribe(pattern=topics.expression(), listener=assignment)
        return
    names = [*topics.names, *(() if topics.labels is None else (topics.labels,))]
    consumer.subscribe(topics=names, listener=assignment)
    for name in names:
        # The leader of the group assigns only the partitions it knows.
        consumer.partitions_for_topic(name)


def remove_member(group: str, instance: str, settings: KafkaSettings) -> None:
    """Remove a static member from its group, so that other processes need not wait for it.

    If that fails, they wait until its session ends.
    """
    with suppress(errors.KafkaError):
        admin = KafkaAdminClient(**settings.admin(bootstrap_timeout_ms=2000))
        try:
            admin.remove_group_members(group, [MemberToRemove(group_instance_id=instance)])
        finally:
            admin.close()
