"""How far a process that only scores has answered its partitions."""

from __future__ import annotations

import time

from kafka import TopicPartition, errors

from streamkarma.connectors.kafka.journal import Journal
from streamkarma.connectors.kafka.offsets import CONFIRM_SECONDS, Offsets, raise_if_fenced
from streamkarma.connectors.kafka.start_offsets import say_recreated
from streamkarma.connectors.kafka.tags import Tag


class ScoringOffsets(Offsets):
    """Positions that the group keeps, since no model file does.

    With a topic to write to, a transaction has the answers and the offsets. Without one, offsets are
    committed once the rows are safe in their files: a crash in between has records answered again, and
    none left out.
    """

    def wanted(self, partition: TopicPartition) -> int | None:
        """Where a partition is to begin: where the group is, whoever of it was there last."""
        mine = self.positions.get(partition)
        if partition in self._journal.ends:
            return mine
        committed = self.consumer.committed(partition, metadata=True)
        if committed is None:
            return mine
        if self.is_another(partition.topic, Tag.read(committed.metadata).topic_id):
            if partition.topic not in self._source.recreated:
                say_recreated(self._source, partition.topic)
            return mine
        return int(committed.offset)

    def begin(self, partition: TopicPartition) -> None:
        """Records of a partition are about to be answered."""
        self._note_time()

    def start_at(self, partition: TopicPartition, offset: int) -> None:
        """A partition begins there, which the group is told: else records that come next may be left out."""
        self._for_group[partition] = self.positions[partition] = offset

    def maybe_commit(self, quiet: bool) -> None:
        """Commit if it is time to; ``quiet`` if no records wait."""
        now = time.monotonic()
        if not self._uncommitted:
            if now - self._confirmed >= CONFIRM_SECONDS:
                self._confirm()
            return
        if self._uncommitted_since is None or self._has_waited(now, quiet):
            try:
                self.commit(checkpoint=False)
            except errors.RebalanceInProgressError:
                # A commit can wait for the next poll, and a transaction has failed.
                if self.sink is not None:
                    raise

    def commit(self, checkpoint: bool) -> None:
        """Make what was answered count; errors as in `Offsets`, and there is nothing to write but rows."""
        ends = self._uncommitted
        if not ends:
            return
        self._context.sync_rows()
        if self.sink is not None:
            self.sink.commit((self._tagged(ends), self.consumer.group_metadata()))
        else:
            self._for_group = ends
            self._commit_for_group(ends)
            if self._for_group:
                # The brokers do not answer: what is written stands, and they are told later.
                self._uncommitted_since = time.monotonic()
                return
        self._settle()
        self._note_commit()

    def abandon(self) -> None:
        """Commit nothing any more, unless rows are in files: these stand, and the group is told of them."""
        if self.sink is not None:
            super().abandon()

    async def before_leaving(self) -> None:
        """Partitions are to be given up: others go on where the group is told now."""
        if self.sink is not None:
            self.commit(checkpoint=False)
            return
        if ends := self._uncommitted:
            self._context.sync_rows()
            try:
                await self.consumer.commit_async(self._tagged(ends))
            except errors.KafkaError as error:
                raise_if_fenced(error)
            self._settle()
            self._note_commit()

    @property
    def _uncommitted(self) -> dict[TopicPartition, int]:
        """Where partitions are that the group has not been told of."""
        return {**self._for_group, **self._journal.ends}

    def _settle(self) -> None:
        self._journal, self._for_group = Journal(), {}
