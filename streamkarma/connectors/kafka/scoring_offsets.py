"""The offsets of a process that only scores."""

from __future__ import annotations

import time

from kafka import TopicPartition, errors

from streamkarma.connectors.kafka.journal import Journal
from streamkarma.connectors.kafka.offsets import CONFIRM_SECONDS, Offsets, raise_if_fenced
from streamkarma.connectors.kafka.start_offsets import say_recreated
from streamkarma.connectors.kafka.tags import Tag


class ScoringOffsets(Offsets):
    """Positions that only the group stores, since there is no model file to write.

    With an output topic, a transaction contains the predictions and the offsets. Without one, offsets are
    committed once the rows are on disk: after a crash in between, records are predicted again, but none is
    left out.
    """

    def wanted(self, partition: TopicPartition) -> int | None:
        """Where to start a partition: at the group's offset, whichever member committed it."""
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
        """Records of a partition are about to be predicted."""
        self._note_time()

    def start_at(self, partition: TopicPartition, offset: int) -> None:
        """A partition starts there, which is committed: otherwise the next records might be left out."""
        self._for_group[partition] = self.positions[partition] = offset

    def skip(self, partition: TopicPartition, end: int) -> None:
        """Note that nobody can read what lies before ``end``, which is committed like predictions."""
        self.note(partition, self.positions[partition], end)

    def maybe_commit(self, quiet: bool) -> None:
        """Commit if it is due; ``quiet`` if no records wait."""
        now = time.monotonic()
        if not self._uncommitted:
            if now - self._confirmed >= CONFIRM_SECONDS:
                self._confirm()
            return
        if self._uncommitted_since is None or self._has_waited(now, quiet):
            try:
                self.commit(checkpoint=False)
            except errors.RebalanceInProgressError:
                # A plain commit can wait for the next poll, but a transaction has failed.
                if self.sink is not None:
                    raise

    def commit(self, checkpoint: bool) -> None:
        """Commit what was predicted; errors as in `Offsets`. Only rows are written."""
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
                # The brokers do not answer: what is written stays valid, and is committed later.
                self._uncommitted_since = time.monotonic()
                return
        self._clear_uncommitted()
        self._note_commit()

    def abandon(self) -> None:
        """Stop committing, except for rows in files, which are final."""
        if self.sink is not None:
            super().abandon()

    async def before_leaving(self) -> None:
        """Commit before partitions are revoked: their next owners continue from there."""
        if self.sink is not None:
            self.commit(checkpoint=False)
            return
        if ends := self._uncommitted:
            self._context.sync_rows()
            try:
                await self.consumer.commit_async(self._tagged(ends))
            except errors.KafkaError as error:
                raise_if_fenced(error)
            self._clear_uncommitted()
            self._note_commit()

    @property
    def _uncommitted(self) -> dict[TopicPartition, int]:
        """Positions that are not committed to the group yet."""
        return {**self._for_group, **self._journal.ends}

    def _clear_uncommitted(self) -> None:
        self._journal, self._for_group = Journal(), {}
