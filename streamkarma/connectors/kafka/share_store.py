"""The shared models of a group, stored in a topic."""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from kafka import TopicPartition, errors

from streamkarma.connectors.kafka._private import BulkProducer
from streamkarma.connectors.kafka.share_reader import ShareReader
from streamkarma.connectors.kafka.share_topic import ShareTopic
from streamkarma.connectors.kafka.shared_models import BASE, ModelSnapshot, chunk_key, encode, name_of
from streamkarma.connectors.kafka.sink import TopicSink, producer_settings
from streamkarma.errors import RunError, UsageError

if TYPE_CHECKING:
    from streamkarma.connectors.kafka.source import TopicSource

#: Another process is writing the base of all models.
_FENCED = (errors.ProducerFencedError, errors.InvalidProducerEpochError)

KeyedValues = list[tuple[bytes, bytes | None]]


class ShareStore:
    """The models of a group's partitions in a compacted topic: a `ModelStore`.

    Parameters
    ----------
    source
        The source.
    topic
        The topic of models.
    sink
        Sends models in the transactions of this process.
    reader
        Reads what other processes send.
    position, assigned
        Return the next offset of a partition with the id of its topic, and the partitions of this process.

    Attributes
    ----------
    epoch
        Identifies the base of all models; known once it is agreed on.
    saved
        By name, the next offset of the newest model that this process has sent or loaded.
    """

    def __init__(
        self,
        source: TopicSource,
        topic: ShareTopic,
        sink: TopicSink,
        reader: ShareReader,
        position: Callable[[TopicPartition], tuple[int, str | None]],
        assigned: Callable[[], Iterable[TopicPartition]],
    ) -> None:
        self._source, self._topic = source, topic
        self._sink, self._reader = sink, reader
        self._position, self._assigned = position, assigned
        self.epoch = ""
        self.saved: dict[str, int] = {}
        #: By name, the number of chunks of the newest model that this process has sent.
        self._chunks: dict[str, int] = {}

    @property
    def name(self) -> str:
        """The topic, in words."""
        return f"topic {self._topic.name}"

    def agree(self, base: bytes | None) -> bytes:
        """The base of all models: the one in the topic, or else ``base``, which is then written."""
        self._reader.catch_up()
        while (agreed := self._base()) is None:
            if base is None:
                raise UsageError(
                    f"{self.name} has no models yet: the first process needs --task binary, multiclass or "
                    "regression, since partitions must agree on it before they see labels"
                )
            self._write_base(base)
        self.epoch = agreed.epoch
        return agreed.content

    def keep(self, part: str, model: bytes, events: int) -> None:
        """Send the model of a partition."""
        topic, _, number = part.rpartition("/")
        partition = TopicPartition(topic, int(number))
        offset, topic_id = self._position(partition)
        records = self._records(part, ModelSnapshot(self.epoch, offset, events, topic_id, model))
        self._sink.write_records(self._place(part), records)
        self.saved[part] = offset

    def others(self) -> dict[str, list[bytes]]:
        """The latest models of the partitions of other processes."""
        self._reader.catch_up()
        mine = {name_of(*each) for each in self._assigned()}
        names = (name for name in self._reader.stored.names(self.epoch) if name not in mine)
        return {
            name: [each.content for each in self._reader.stored.models(name, self.epoch)] for name in names
        }

    def models(self, name: str, saved: int | None) -> list[ModelSnapshot]:
        """The latest models of a partition, newest first.

        Parameters
        ----------
        name
            The name of the partition.
        saved
            The next offset of the newest model recorded by the group. If that model cannot be read yet,
            wait for it: open transactions of killed processes hold back later ones.
        """
        stored = self._reader.stored
        least = -1 if saved is None else saved
        self._reader.wait_until(
            lambda: bool(stored.models(name, self.epoch)) or stored.reached(name, self.epoch) >= least,
            f"the model of {name}",
        )
        return stored.models(name, self.epoch)

    def is_broken(self, name: str) -> bool:
        """Whether the newest model of a partition is incomplete or damaged."""
        return name in self._reader.stored.broken()

    def _base(self) -> ModelSnapshot | None:
        """The base in the topic; RunError if it cannot be used."""
        base = self._reader.stored.base()
        if base is None and (why := self._reader.stored.broken().get(BASE)):
            raise RunError(
                f"{self.name} cannot be used: its base is incomplete or damaged ({why}); "
                "delete the topic to start again"
            )
        return base

    def _write_base(self, base: bytes) -> None:
        """Send the base, unless another process does: only the last one to begin can commit."""
        producer = self._source.connect(
            BulkProducer,
            **producer_settings(self._source.settings, self._source.longest_batch),
            transactional_id=f"streamkarma.share.{self._topic.name}",
        )
        sink = TopicSink(producer, None, None)
        try:
            producer.init_transactions()
            self._reader.catch_up()
            if self._base() is None:
                snapshot = ModelSnapshot(uuid.uuid4().hex, 0, 0, None, base)
                sink.write_records(self._place(BASE), self._records(BASE, snapshot))
                sink.commit()
                self._reader.wait_until(lambda: self._base() is not None, "the base of all models")
        except _FENCED:
            self._reader.catch_up()
        finally:
            producer.stop()

    def _records(self, name: str, snapshot: ModelSnapshot) -> KeyedValues:
        """The records of a model, and tombstones for surplus chunks of the previous model."""
        records: KeyedValues = [*encode(name, snapshot, self._topic.chunk)]
        chunks = len(records) - 1
        before = max(self._chunks.get(name, 0), self._reader.stored.chunks(name, self.epoch))
        self._chunks[name] = chunks
        return [*((chunk_key(name, number), None) for number in range(chunks, before)), *records]

    def _place(self, name: str) -> TopicPartition:
        """The partition with the models of a name."""
        return TopicPartition(self._topic.name, zlib.crc32(name.encode()) % self._reader.partitions)
