"""What a worker has learned, and how much of it is committed."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from kafka import ConsumerGroupMetadata, KafkaConsumer, OffsetAndMetadata, TopicPartition, errors

from streamkarma.connectors.base import Context, Position
from streamkarma.connectors.kafka.journal import Journal, positions_from, positions_state
from streamkarma.connectors.kafka.sink import MemberOffsets, TopicSink
from streamkarma.connectors.kafka.tags import Tag
from streamkarma.errors import ModelFileError

if TYPE_CHECKING:
    from streamkarma.connectors.kafka.source import TopicSource

#: The longest time that finished predictions wait for a commit, in a busy stream and in a quiet one. A
#: transaction costs the brokers about as much as 500 events.
COMMIT_SECONDS, QUIET_SECONDS = 0.5, 0.05
#: The model is written at least this often, however slow the stream, and when it is idle.
CHECKPOINT_SECONDS, QUIET_CHECKPOINT_SECONDS = 60.0, 5.0
#: How often an idle process checks whether it still owns its partitions.
CONFIRM_SECONDS = 3.0
#: How long the group may take to answer a commit without predictions.
_COMMIT_MS = 3000


class Offsets:
    """Positions, the journal, and the two steps that commit what was learned.

    First the transaction, with predictions, offsets and the journal; then the model file, with positions.
    After a crash in between, the journal is replayed. Without an output topic there is no transaction, and
    only the file counts. The group's offsets are committed before it, for monitoring of the lag, for the next
    owner of a partition, and because the answer tells whether this process is still its owner.

    The start of a partition is also committed to the group, even if no record arrives: with ``--from latest``
    the next owner would otherwise start at its end, and miss what arrives in the meantime.

    Parameters
    ----------
    source
        The source.
    context
        The run, which writes the model.

    Attributes
    ----------
    positions
        Next offset of every partition the model has learned from.
    topic_ids
        Ids of the topics of these partitions, if known.
    sink
        The sink that sends, or None.
    consumer
        The consumer for whose group offsets are committed; None before the group is joined.
    heard
        Whether the group has answered a commit; the reader resets it.
    """

    def __init__(self, source: TopicSource, context: Context) -> None:
        self._source = source
        self._context = context
        self.positions: dict[TopicPartition, int] = {}
        self.topic_ids: dict[str, str] = {}
        self.sink: TopicSink | None = None
        self.consumer: KafkaConsumer
        self.heard = False
        self._journal = Journal()
        #: Positions of partitions that are neither committed to the group nor part of a transaction.
        self._for_group: dict[TopicPartition, int] = {}
        #: Starts of partitions that are in the model file but not committed to the group.
        self._begun: dict[TopicPartition, int] = {}
        #: Whether a partition starts elsewhere than in the model file.
        self._moved = False
        self._uncommitted_since: float | None = None
        # The first commit is a checkpoint: there may be no model file yet.
        self._checkpointed = float("-inf")
        self._confirmed = time.monotonic()

    def resume(self, kept: Position) -> None:
        """Restore a result of ``snapshot``.

        Raises
        ------
        ModelFileError
            If it is invalid.
        """
        try:
            self.positions.update(positions_from(kept.get("kafka", {})))
            self.topic_ids.update((str(name), str(each)) for name, each in kept.get("topic_ids", {}).items())
        except (AttributeError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"{self._context.model_path} has no valid list of offsets: {error!r}"
            ) from error

    def snapshot(self) -> Position:
        """Offsets, and the ids of their topics, for the model file."""
        ids = {"topic_ids": dict(sorted(self.topic_ids.items()))} if self.topic_ids else {}
        return {"kafka": positions_state(self.positions), **ids}

    @property
    def unsafe(self) -> bool:
        """Whether something was learned that is not in the model file yet."""
        return bool(self._journal)

    @property
    def waiting(self) -> bool:
        """Whether there are uncommitted predictions."""
        return self.sink is not None and self._uncommitted_since is not None

    def begin(self, partition: TopicPartition) -> None:
        """Records of a partition are about to be learned."""
        if self.sink is not None and not self._journal.has_room(partition):
            self.commit(checkpoint=True)
        self._note_time()

    def is_another(self, topic: str, topic_id: str | None) -> bool:
        """Whether this differs from the id of the topic that was learned from."""
        return topic_id is not None and self.topic_ids.get(topic, topic_id) != topic_id

    def is_mine(self, topic: str, committed: OffsetAndMetadata) -> bool:
        """Whether an offset was committed by this instance, and for the topic that it learned from."""
        tag = Tag.read(committed.metadata)
        return tag.instance == self._source.instance and not self.is_another(topic, tag.topic_id)

    def forget(self, topic: str) -> None:
        """Drop the offsets of a deleted topic; what was learned from it is already in the file."""
        for offsets in (self.positions, self._for_group, self._begun):
            for partition in [tp for tp in offsets if tp.topic == topic]:
                del offsets[partition]
        self.topic_ids.pop(topic, None)
        self._moved = True

    def wanted(self, partition: TopicPartition) -> int | None:
        """Where to start a partition: at the model's position, or where another process has left off since.

        None if neither the model nor the group has an offset.
        """
        committed = self.consumer.committed(partition, metadata=True)
        mine = self.positions.get(partition)
        if committed is None:
            return mine
        tag = Tag.read(committed.metadata)
        if self.is_another(partition.topic, tag.topic_id):
            return mine
        by_another = tag.instance not in (None, self._source.instance)
        if mine is None:
            return int(committed.offset)
        if not by_another or committed.offset <= mine:
            return mine
        self._source.say(
            f"topic {partition.topic}, partition {partition.partition}: resumes at {committed.offset}, where "
            f"{tag.instance} left it, and not at {mine}"
        )
        return int(committed.offset)

    def start_at(self, partition: TopicPartition, offset: int) -> None:
        """A partition starts there. The offset is written with the next commit, so a crash skips nothing."""
        self._for_group[partition] = offset
        self._moved |= self.positions.get(partition) != offset
        self.positions[partition] = offset

    def note(self, partition: TopicPartition, first: int, end: int) -> None:
        """Note that records from ``first`` up to ``end`` were learned."""
        self._journal.add(partition, self.positions.get(partition, first), end)
        self.positions[partition] = end
        self._note_time()
        if self.sink is None:
            self._for_group[partition] = end
        else:
            self._for_group.pop(partition, None)

    def skip(self, partition: TopicPartition, end: int) -> None:
        """Note that nobody can read what lies before ``end``: marks of transactions, or aborted records.

        Otherwise they would count as lag, and as lost once they expire. They go into the next model file; a
        transaction for them alone would be wasted.
        """
        if self._journal.has_room(partition):
            self._journal.add(partition, self.positions[partition], end)
            self.positions[partition] = end
            if self.sink is None:
                self._for_group[partition] = end

    def maybe_commit(self, quiet: bool) -> None:
        """Commit, and write the model, if it is due; ``quiet`` if no records wait."""
        now = time.monotonic()
        if not self._journal and not self._moved:
            if now - self._confirmed >= CONFIRM_SECONDS:
                self._confirm()
            return
        due = self._moved or self._context.checkpoint_due
        if due or now - self._checkpointed >= (QUIET_CHECKPOINT_SECONDS if quiet else CHECKPOINT_SECONDS):
            with suppress(errors.RebalanceInProgressError):
                self.commit(checkpoint=True)
        elif self.sink is not None and self._has_waited(now, quiet):
            self.commit(checkpoint=False)

    def commit(self, checkpoint: bool) -> None:
        """Commit what was learned, with ``checkpoint`` in the model file too.

        Raises
        ------
        RebalanceInProgressError
            If partitions are being reassigned; call again after the next poll.
        KafkaError
            If the commit fails.
        """
        is_answered = self._uncommitted_since is not None and bool(self._journal)
        if self.sink is not None and (is_answered or (checkpoint and self._begun)):
            ends = self._tagged({**self._begun, **self._journal.ends})
            self.sink.commit((ends, self.consumer.group_metadata()), self._journaled())
            self._begun = {}
            self._note_commit()
        if not checkpoint:
            return
        if self.sink is None and self._for_group:
            self._commit_for_group(self._for_group)
        if self._journal or self._moved:
            self.save()

    def save(self) -> None:
        """Write the model with its positions; the journal starts over."""
        self._context.checkpoint()
        self._source.stored()
        if self.sink is None:
            self._uncommitted_since = None
            self._source.committed()
        else:
            # Not earlier: offsets that this process has committed beyond the file count as answered.
            self._begun, self._for_group = {**self._begun, **self._for_group}, {}
        self._journal = Journal()
        self._moved = False
        self._checkpointed = time.monotonic()

    def discard(self) -> None:
        """Discard what is not committed; nothing of it is committed when a partition is revoked."""
        self._journal = Journal()
        self._for_group, self._begun = {}, {}
        self._uncommitted_since = None

    def abandon(self) -> None:
        """Stop committing and writing: what was learned since the last commit is discarded."""
        self.discard()
        self._moved = False

    async def before_leaving(self) -> None:
        """Commit before partitions are revoked, so that nothing learned from them is only in memory."""
        if self.sink is not None:
            self.commit(checkpoint=True)
            return
        if self._for_group:
            # Even if this fails: from now on other processes may own them and commit later offsets.
            ends, self._for_group = self._for_group, {}
            try:
                await self.consumer.commit_async(self._tagged(ends))
            except errors.KafkaError as error:
                raise_if_fenced(error)
        if self._journal or self._moved:
            self.save()

    def _journaled(self) -> MemberOffsets:
        """The journal, as the metadata of an offset of its group."""
        group, place = self._source.journal_home
        written = OffsetAndMetadata(self._context.last, self._journal.text(), -1)
        return {place: written}, ConsumerGroupMetadata(group)

    def _note_commit(self) -> None:
        self._uncommitted_since = None
        self._confirmed = time.monotonic()
        self._source.committed()

    def _has_waited(self, now: float, quiet: bool) -> bool:
        """Whether a commit is due."""
        since, limit = self._uncommitted_since, QUIET_SECONDS if quiet else COMMIT_SECONDS
        return since is not None and now - since >= limit

    def _note_time(self) -> None:
        if self._uncommitted_since is None:
            self._uncommitted_since = time.monotonic()

    def _confirm(self) -> None:
        """Repeat the last commit: the answer tells whether another process has taken over.

        The consumer itself would not notice, and continue to read.
        """
        mine = self.consumer.assignment() & self.positions.keys()
        if mine:
            with suppress(errors.RebalanceInProgressError):
                self._commit_for_group({tp: self.positions[tp] for tp in mine})

    def _commit_for_group(self, ends: dict[TopicPartition, int]) -> None:
        self._confirmed = time.monotonic()
        try:
            self.consumer.commit(self._tagged(ends), timeout_ms=_COMMIT_MS)
            self.heard = True
            self._for_group, self._begun = {}, {}
        except errors.KafkaError as error:
            raise_if_fenced(error)

    def _tagged(self, ends: dict[TopicPartition, int]) -> dict[TopicPartition, OffsetAndMetadata]:
        tags = {tp.topic: Tag(self._source.instance, self.topic_ids.get(tp.topic)).text() for tp in ends}
        return {tp: OffsetAndMetadata(end, tags[tp.topic], -1) for tp, end in ends.items()}


def raise_if_fenced(error: errors.KafkaError) -> None:
    """Raise an error if it means that another process has taken over; ignore unavailable brokers."""
    if isinstance(error, (errors.CommitFailedError, errors.FencedInstanceIdError)):
        raise error
    if isinstance(error, (errors.RebalanceInProgressError, errors.AuthorizationError)):
        raise error
