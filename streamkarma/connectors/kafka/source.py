"""Topics as a source, and the state that lasts from one attempt to read them to the next."""

from __future__ import annotations

import hashlib
import os
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from kafka import TopicPartition

from streamkarma.connectors.base import Context, Reader, RetriableError, Source
from streamkarma.connectors.histogram import Histogram
from streamkarma.connectors.jsonlines.lines import MAX_RECORD_BYTES
from streamkarma.connectors.kafka.connection import Client, LogCapture, Silence, connect
from streamkarma.connectors.kafka.journal import positions_state, sibling
from streamkarma.connectors.kafka.latency import CommitLatency
from streamkarma.connectors.kafka.reader import TopicReader
from streamkarma.connectors.kafka.records import NO_METADATA, Metadata
from streamkarma.connectors.kafka.row_fields import NO_ROW_FIELDS, RowFields
from streamkarma.connectors.kafka.scoring_offsets import ScoringOffsets
from streamkarma.connectors.kafka.settings import KafkaSettings
from streamkarma.connectors.kafka.share_member import SharingReader
from streamkarma.connectors.kafka.share_topic import ShareTopic, open_share_topic
from streamkarma.connectors.kafka.shared_models import name_of
from streamkarma.connectors.kafka.topic_check import check_topics
from streamkarma.connectors.kafka.topic_configs import longest_messages
from streamkarma.connectors.kafka.topics import Topics
from streamkarma.errors import RunError, UsageError

#: Once the brokers have answered, wait for them until a signal arrives.
_FOREVER = float("inf")
#: The maximum size of a batch of records, if the topics accept it.
_BATCH_BYTES = 256 << 10
_NOT_THE_KEY = (
    "the entity, {}, is not the records' key (--with-key): if several processes share the group, all events "
    "of an entity must be in one partition"
)
#: Not a warning for a pipe, which may be run only for its predictions; a service will be restarted some day.
_NO_MODEL = "no --model: what is learned is lost at the end, and the next run resumes at the group's offsets"


class Attachment(NamedTuple):
    """The topics of a run, and how they are read.

    Attributes
    ----------
    topics
        Names, or one pattern.
    brokers
        ``host:port``, several with commas.
    group
        The consumer group.
    start
        ``earliest`` or ``latest``: where to start a partition without an offset.
    output_topic, dead_letter_topic, label_topic
        Topics for predictions, for bad records, and of late labels; or None.
    until_end
        Whether to stop at the end offsets seen at start-up.
    settings
        ``name=value`` of kafka-python's configuration.
    connect_timeout
        Seconds to try to reach the brokers at the start.
    metadata
        The metadata that become attributes.
    max_record_bytes
        Maximum size of a record.
    entity
        The attribute that identifies the entity of an event, if entities are tracked.
    share
        The topic in which processes share their models; None if each has its own in a file.
    learn
        False to score only; only the group's offsets then record how far the topics were read.
    row_fields
        The fields of records that rows repeat.
    """

    topics: Sequence[str]
    brokers: str
    group: str
    start: str = "earliest"
    output_topic: str | None = None
    dead_letter_topic: str | None = None
    label_topic: str | None = None
    until_end: bool = False
    settings: Sequence[str] = ()
    connect_timeout: float = 30.0
    metadata: Metadata = NO_METADATA
    max_record_bytes: int = MAX_RECORD_BYTES
    entity: str | None = None
    share: str | None = None
    learn: bool = True
    row_fields: RowFields = NO_ROW_FIELDS


class TopicSource(Source):
    """Topics, read by a member of a consumer group.

    Parameters
    ----------
    at
        The topics, and how to read them.
    model
        Path of the model, or None if it is not saved. When only scoring, the model belongs to another
        process.

    Raises
    ------
    UsageError
        If the topics or the settings are invalid.

    Attributes
    ----------
    instance
        A name for the process with this model, which stays the same when it is restarted.
    partitions
        The number of partitions of each topic at the start.
    ends
        With ``until_end``: the offsets to stop at.
    replayed
        Events that were learned again after a crash.
    lost
        Number of records that had expired, by ``topic/partition``.
    recreated
        Topics whose id has changed because they were deleted and recreated.
    tombstones
        Number of records without a value, which are neither learned nor rejected.
    longest_messages
        The maximum size of batches of each output topic, if its settings may be read.
    cut_dead_letters
        Whether a broker has refused a whole dead letter, so that they are cut.
    silence
        Whether the brokers answer.
    latency, transactions
        The time from records to their commit, and the durations of commits.
    """

    shared = True
    timestamped = True

    def __init__(self, at: Attachment, model: str | None) -> None:
        if not at.group.strip():
            raise UsageError("--group cannot be empty")
        self.at = at
        self.keeps_model = model is not None
        self.sharers = f"group {at.group}"
        self.keeps_models = at.share is not None
        written = [at.output_topic, at.dead_letter_topic, at.share]
        self.topics = Topics.of(at.topics, at.label_topic, written)
        self.settings = KafkaSettings(at.brokers, at.settings, os.environ)
        static = self.settings.get("group_instance_id")
        if static is not None:
            self.sharers += f" (group_instance_id={static})"
        self.instance = _instance(model, static)
        if at.dead_letter_topic is None:
            self.dead_letter_hint = "--dead-letter-topic keeps them all"
        else:
            self.dead_letter_hint = f"all of them are in topic {at.dead_letter_topic}"
        self.partitions: dict[str, int] = {}
        self.ends: dict[TopicPartition, int] | None = None
        self.replayed = 0
        self.lost: dict[str, int] = {}
        #: Of these, those that lie before stored positions.
        self._lost_for_good: dict[str, int] = {}
        self.recreated: set[str] = set()
        self.tombstones = self._tombstones_committed = 0
        self.latency, self.transactions = CommitLatency(), Histogram()
        self._positions: dict[TopicPartition, int] = {}
        self._committed_positions: dict[TopicPartition, int] = {}
        self._log = LogCapture()
        self.silence = Silence(self.settings.brokers, self._log, self.say)
        self._patience = at.connect_timeout
        self.longest_messages: dict[str, int] = {}
        self.cut_dead_letters = False
        self._checked = False
        self._context: Context
        self._share: ShareTopic | None = None

    @contextmanager
    def open(self, context: Context) -> Iterator[Reader]:
        """Connect, and take over from an older process of the same model."""
        self._context = context
        # Records since the last commit are counted again.
        self.tombstones, self.lost = self._tombstones_committed, dict(self._lost_for_good)
        self.latency.discard()
        at = self.at
        if not self._checked:
            self._log.install()
            if at.share is not None:
                self._share = open_share_topic(at.share, self.settings, self.connect, create=True)
            elif at.learn and not self.keeps_model:
                self.say(_NO_MODEL)
            if at.entity not in (None, at.metadata.key):
                self.say(_NOT_THE_KEY.format(at.entity))
            self.ends = check_topics(self)
            if self.topics.avoid:
                self.longest_messages = longest_messages(self.topics.avoid, self.settings, self.connect)
            self._checked, self._patience = True, _FOREVER
        if self._share is not None:
            reader: TopicReader = SharingReader(self, context, self._share)
        else:
            reader = TopicReader(self, context, None if at.learn else ScoringOffsets(self, context))
        try:
            with reader.working():
                yield reader
        except (RunError, RetriableError):
            self._positions = self._committed_positions
            raise

    def summary(self) -> dict[str, Any]:
        """The progress, and anything unusual."""
        kafka = {
            "group": self.at.group,
            "positions": positions_state(self._positions),
            "replayed": self.replayed,
            "lost": self.lost,
            "recreated": sorted(self.recreated),
            "tombstones": self.tombstones,
        }
        return {"kafka": kafka}

    @property
    def journal_home(self) -> tuple[str, TopicPartition]:
        """The group and partition whose offset carries the journal.

        The journal has a group of its own, because the offsets of the consumer group change owners together
        with partitions, and no process may overwrite another's journal.
        """
        topic = self.at.output_topic or str(self.at.dead_letter_topic)
        return sibling(self.at.group, self.instance), TopicPartition(topic, 0)

    @property
    def longest_batch(self) -> int:
        """The maximum size of the batches that are sent, as far as it can be chosen."""
        share = [] if self._share is None else [self._share.batch]
        return min(_BATCH_BYTES, *share, *self.longest_messages.values())

    @property
    def writes(self) -> bool:
        """Whether anything is sent to a topic."""
        return bool(self.topics.avoid)

    def say(self, line: str) -> None:
        """Print a line for the user."""
        self._context.say(line)

    def stopped(self) -> bool:
        """Whether the user wants to stop."""
        return self._context.stopped()

    def committed(self) -> None:
        """A commit has succeeded."""
        self._tombstones_committed = self.tombstones
        self.stored()
        self._committed_positions = dict(self._positions)
        self.latency.committed()
        self._context.committed()

    def stored(self) -> None:
        """The positions are stored, so that what is lost before them will not be counted again."""
        self._lost_for_good = dict(self.lost)

    def count_lost(self, partition: TopicPartition, records: int) -> None:
        """Count records of a partition that can no longer be read."""
        name = name_of(*partition)
        self.lost[name] = self.lost.get(name, 0) + records

    def resumed(self, positions: dict[TopicPartition, int]) -> None:
        """A new reader has started, which keeps these positions up to date."""
        self._positions, self._committed_positions = positions, dict(positions)

    def connect(self, kind: Callable[..., Client], **arguments: Any) -> Client:
        """Create a client of kafka-python; the wait for brokers is limited at first, and unlimited later."""

        def make(milliseconds: int) -> Client:
            return kind(**{**arguments, "bootstrap_timeout_ms": milliseconds})

        return connect(make, self.settings, self._log, self._patience, self.say, self.stopped)


def _instance(model: str | None, static: str | None) -> str:
    """The identity of a model's process: its static member id, or else derived from its path.

    It is not saved in the model file, so that the same events give the same bytes. It serves as the
    transactional id and as the member id, so that there is nothing to wait for after a crash, and the older
    of two processes with the same identity is fenced.
    """
    if static is not None:
        return static
    if model is None:
        return uuid.uuid4().hex
    path = Path(model).resolve()
    stem = re.sub(r"[^a-zA-Z0-9._-]", "_", path.stem)[:100]
    return f"{stem}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}"
