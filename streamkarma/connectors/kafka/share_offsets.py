"""What a process with shared models has learned, and how much of it is committed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kafka import OffsetAndMetadata, TopicPartition

from streamkarma.connectors.base import Context
from streamkarma.connectors.kafka.journal import Journal
from streamkarma.connectors.kafka.offsets import Offsets
from streamkarma.connectors.kafka.share_store import ShareStore
from streamkarma.connectors.kafka.shared_models import name_of
from streamkarma.connectors.kafka.tags import Tag

if TYPE_CHECKING:
    from streamkarma.connectors.kafka.source import TopicSource


class SharedOffsets(Offsets):
    """Positions of partitions with one model each.

    A transaction contains predictions, offsets and, at a checkpoint, the models. Models do not depend on the
    order of partitions, so there is no journal: a new owner of a partition continues from its model, and
    learns again what was answered since.

    Attributes
    ----------
    store
        The store of the models, once there is a sink.
    """

    store: ShareStore

    def __init__(self, source: TopicSource, context: Context) -> None:
        super().__init__(source, context)
        #: The offset up to which each partition was answered before this process got it.
        self._answered: dict[TopicPartition, int] = {}
        #: Partitions of recreated topics, with models that are loaded here and continue.
        self._recreated: set[TopicPartition] = set()

    def answered(self, partition: TopicPartition) -> int:
        """The offset up to which a partition was answered before."""
        return self._answered.get(partition, 0)

    def begin(self, partition: TopicPartition) -> None:
        """Records of a partition are about to be learned."""
        self._note_time()

    def start_at(self, partition: TopicPartition, offset: int) -> None:
        """A partition starts there; its model, if it is stored with another offset, is stored again."""
        super().start_at(partition, offset)
        if self.store.saved.get(name_of(*partition), offset) != offset:
            self._context.save_part(name_of(*partition))

    def skip(self, partition: TopicPartition, end: int) -> None:
        """Note that nobody can read what lies before ``end``; it goes with the partition's next model."""
        self._journal.add(partition, self.positions[partition], end)
        self.positions[partition] = end
        self._context.save_part(name_of(*partition))

    def forget(self, topic: str) -> None:
        """Drop the offsets of a deleted topic, but not what was learned from it."""
        self._recreated |= {tp for tp in self.positions if tp.topic == topic}
        super().forget(topic)

    def wanted(self, partition: TopicPartition) -> int | None:
        """Where to start a partition: at the position of its model, which is loaded if necessary."""
        committed = self.consumer.committed(partition, metadata=True)
        tag = Tag(None) if committed is None else Tag.read(committed.metadata)
        known = committed is not None and not self.is_another(partition.topic, tag.topic_id)
        end = int(committed.offset) if known else None
        mine = self.positions.get(partition)
        if mine is not None and (mine == end or partition in self._journal.ends):
            return mine
        self._answered[partition] = end or 0
        if partition in self._recreated:
            self._recreated.remove(partition)
            return end
        return self._load(partition, end, tag.saved if known and tag.epoch == self.store.epoch else None)

    def _load(self, partition: TopicPartition, end: int | None, saved: int | None) -> int | None:
        """Load the model of a partition; returns where to continue.

        ``end`` is the group's offset, and ``saved`` the next offset of the newest model, as recorded by the
        group.
        """
        name = name_of(*partition)
        models = self.store.models(name, saved)
        chosen = self._context.load_part(name, [model.content for model in models])
        if chosen < len(models):
            self.store.saved[name] = models[chosen].next
            stale = self.is_another(partition.topic, models[chosen].topic_id)
            return end if stale else models[chosen].next
        if models or self.store.is_broken(name):
            begin = int(self.consumer.beginning_offsets([partition])[partition])
            self._source.say(
                f"topic {partition.topic}, partition {partition.partition}: no usable model; all available "
                f"events are learned again, from {begin}"
            )
            return begin
        return end

    def commit(self, checkpoint: bool) -> None:
        """Commit what was learned, with ``checkpoint`` the models too; errors as in `Offsets`.

        The first transaction with events of a partition also contains its model: otherwise the offset where
        the model begins would not be recorded.
        """
        ends = {**self._for_group, **self._journal.ends}
        if not ends or (self._uncommitted_since is None and not checkpoint):
            return
        if checkpoint or not self.store.saved.keys() >= {name_of(*each) for each in self._journal.ends}:
            checkpoint = True
            self._context.checkpoint()
        assert self.sink is not None
        self.sink.commit((self._tagged(ends), self.consumer.group_metadata()))
        self._for_group = {}
        self._note_commit()
        if checkpoint:
            self._journal, self._moved = Journal(), False
            self._checkpointed = time.monotonic()

    def _tagged(self, ends: dict[TopicPartition, int]) -> dict[TopicPartition, OffsetAndMetadata]:
        made = {}
        for partition, end in ends.items():
            saved = self.store.saved.get(name_of(*partition))
            tag = Tag(self._source.instance, self.topic_ids.get(partition.topic), self.store.epoch, saved)
            made[partition] = OffsetAndMetadata(max(end, self.answered(partition)), tag.text(), -1)
        return made
