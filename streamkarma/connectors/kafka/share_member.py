"""A member of a group whose processes share one model per partition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kafka import TopicPartition
from kafka.consumer.fetcher import ConsumerRecord

from streamkarma.connectors.base import Context, RecordBlock
from streamkarma.connectors.kafka.reader import TopicReader
from streamkarma.connectors.kafka.share_offsets import SharedOffsets
from streamkarma.connectors.kafka.share_reader import ShareReader
from streamkarma.connectors.kafka.share_store import ShareStore
from streamkarma.connectors.kafka.share_topic import ShareTopic
from streamkarma.connectors.kafka.shared_models import name_of

if TYPE_CHECKING:
    from streamkarma.connectors.kafka.source import TopicSource


class SharingReader(TopicReader):
    """Reads topics as a member of the group, and saves a model for each partition in a topic of models.

    Parameters
    ----------
    source, context
        As for `TopicReader`.
    topic
        The topic of models.
    """

    _offsets: SharedOffsets

    def __init__(self, source: TopicSource, context: Context, topic: ShareTopic) -> None:
        super().__init__(source, context, SharedOffsets(source, context))
        self._topic = topic

    def replay(self) -> Iterator[RecordBlock]:
        """Yield nothing: records to learn again are read with their partition."""
        yield from ()

    def _open_sink(self) -> None:
        """Prepare to send, and to read what other processes send."""
        super()._open_sink()
        source, offsets = self._source, self._offsets
        reader = ShareReader(self._topic.name, source.settings, source.connect, source.say, source.stopped)
        self._stack.callback(reader.close)
        assert self._topic_sink is not None
        self.store = offsets.store = ShareStore(
            source,
            self._topic,
            self._topic_sink,
            reader,
            lambda partition: (offsets.positions[partition], offsets.topic_ids.get(partition.topic)),
            lambda: self._consumer.assignment(),
        )

    def _parts(self, partition: TopicPartition, records: list[ConsumerRecord]) -> Iterator[RecordBlock]:
        """The records of a partition in blocks, first those that were already answered, then the others."""
        name, end = name_of(*partition), self._offsets.answered(partition)
        answered = sum(record.offset < end for record in records)
        for block in super()._parts(partition, records[:answered]):
            yield block._replace(part=name, answered=True)
            self._source.replayed += len(block.records)
        for block in super()._parts(partition, records[answered:]):
            yield block._replace(part=name)
