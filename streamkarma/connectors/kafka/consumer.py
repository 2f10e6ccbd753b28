"""Records from Kafka topics, by a member of a consumer group."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener
from kafka.structs import MemberState

from streamkarma.errors import RecordError, UsageError
from streamkarma.sources.records import Place, Records

Polled = dict[TopicPartition, list[ConsumerRecord]]

#: Whose order of records can be relied on: committed ones only; and nothing moves by itself.
READING = {"isolation_level": "read_committed", "enable_auto_commit": False, "auto_offset_reset": "none"}
#: How long leaving the group may take, once everything is safe.
LEAVE_MS = 3000


class Topics(NamedTuple):
    """What to read.

    Attributes
    ----------
    names
        Topics by name; empty with a pattern.
    pattern
        A regular expression for whole names, or None.
    labels
        The topic of labels that come later, or None.
    avoid
        Topics that are written to, which a pattern never means.
    """

    names: tuple[str, ...]
    pattern: str | None
    labels: str | None
    avoid: frozenset[str]

    @classmethod
    def of(cls, given: Sequence[str], labels: str | None, written: Sequence[str | None]) -> Topics:
        """Tell names from patterns: a name has letters, digits, dots, dashes and underscores.

        Raises
        ------
        UsageError
            If a name is empty, if there is more than one pattern, or what is read is written to as well.
        """
        if "" in (*given, labels, *written):
            raise UsageError("the name of a topic cannot be empty")
        patterns = [name for name in given if not re.fullmatch(r"[a-zA-Z0-9._-]{1,249}", name)]
        avoid = frozenset(name for name in written if name is not None)
        if patterns and len(given) > 1:
            raise UsageError(f"a pattern stands alone: join {patterns[0]!r} and the others with |")
        for name in patterns:
            try:
                re.compile(name)
            except re.error as error:
                raise UsageError(f"{name!r} is neither a topic's name nor a pattern: {error}") from error
        if both := avoid & {*given, labels}:
            raise UsageError(f"the topic {min(both)} cannot be read and written in one")
        names = () if patterns else tuple(dict.fromkeys(given))
        return cls(names, patterns[0] if patterns else None, labels, avoid)

    def matching(self, there: set[str]) -> set[str]:
        """Those of the topics there are that are meant."""
        if self.pattern is None:
            return there.intersection(self.names)
        return {name for name in there if re.match(self.expression(), name)} - {self.labels}

    def expression(self) -> str:
        """The pattern, with the topic of labels and without those that are written to."""
        avoid = "|".join(map(re.escape, sorted(self.avoid))) or "$^"
        meant = f"(?:{self.pattern})" + (f"|{re.escape(self.labels)}" if self.labels else "")
        return f"^(?!(?:{avoid})$)(?:{meant})$"


class Beside(NamedTuple):
    """What comes beside a record's value, and is to be an attribute.

    Attributes
    ----------
    key, timestamp
        Names of the attributes; None for none. The timestamp is in seconds since 1970.
    headers
        Header to name of the attribute.
    """

    key: str | None = None
    timestamp: str | None = None
    headers: Mapping[str, str] = {}  # read only, as the type says

    def of(self, record: ConsumerRecord) -> dict[str, Any]:
        """The attributes of a record.

        Raises
        ------
        RecordError
            If a key or a header is no text.
        """
        found: dict[str, Any] = {}
        if self.key is not None and record.key is not None:
            found[self.key] = _read("key", record.key)
        if self.timestamp is not None:
            found[self.timestamp] = record.timestamp / 1000.0
        for name, value in record.headers:
            if name in self.headers and value is not None:
                found[self.headers[name]] = _read(f"header {name!r}", value)
        return found

    def __bool__(self) -> bool:
        return self.key is not None or self.timestamp is not None or bool(self.headers)


def _read(what: str, value: bytes) -> Any:
    """A number where the bytes are one as JSON has it, else text."""
    try:
        text = value.decode()
        number = orjson.loads(value)
    except UnicodeDecodeError:
        raise RecordError(f"the {what} is not UTF-8") from None
    except orjson.JSONDecodeError:
        return text
    return number if isinstance(number, (int, float)) and not isinstance(number, bool) else text


def records_of(polled: Sequence[ConsumerRecord], beside: Beside, labels_only: bool, limit: int) -> Records:
    """Consumed records, all with a value, as the loop takes them."""
    values = [record.value for record in polled]
    refused: dict[int, str] = {}
    if not all(values) or max(map(len, values)) > limit or any(map(bytes.isspace, values)):
        for i, value in enumerate(values):
            if not value or value.isspace():
                refused[i] = "empty"
            elif len(value) > limit:
                refused[i] = "longer than the limit; see --max-record-bytes"
    attributes: list[dict[str, Any]] | None = None
    if beside:
        attributes = []
        for i, record in enumerate(polled):
            try:
                attributes.append(beside.of(record))
            except RecordError as error:
                attributes.append({})
                refused.setdefault(i, str(error))

    def place(i: int) -> Place:
        return {"topic": polled[i].topic, "partition": polled[i].partition, "offset": polled[i].offset}

    return Records(
        values,
        len(values),
        place,
        refused,
        attributes,
        labels_only,
        lambda i: float(polled[i].timestamp / 1000.0),
    )


class TopicConsumer(KafkaConsumer):  # type: ignore[misc]  # kafka-python has no types
    """A KafkaConsumer that tells the ids of topics, and that may be polled for moments only.

    An admin client tells ids too, but would have to ask before every block of records. What this
    uses is public but for the attributes it is found in, which is why kafka-python's next minor
    version has to be looked at before it is allowed.
    """

    def topic_id(self, topic: str) -> str | None:
        """The id of a topic as Kafka's tools write it; None if it is unknown or brokers have none."""
        found = self._cluster.topic_id(topic)
        return urlsafe_b64encode(found.bytes).decode().rstrip("=") if found and found.int else None

    def keep_joining(self) -> None:
        """Have the next poll finish the rebalance that the last one was too short for.

        Left alone, kafka-python 3.0 forgets one that began because a topic had got, or lost,
        partitions, and this member never gets any again.
        """
        if self.group_metadata().state == MemberState.REBALANCING:
            self._coordinator.request_rejoin()


class Assignment(AsyncConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python has no types
    """Follows which partitions are this process's.

    Its methods are called on the consumer's own thread while the main thread waits in
    ``poll``, so nothing else happens meanwhile.

    Parameters
    ----------
    consumer
        Whose partitions they are.
    before_leaving
        Called before partitions are given up: the moment to write down what was learned.

    Attributes
    ----------
    fresh
        Partitions that wait, paused, to be told where to begin.
    lost
        Whether partitions were taken away without a chance to write anything down.
    failure
        What ``before_leaving`` raised.
    """

    def __init__(self, consumer: KafkaConsumer, before_leaving: Callable[[], Awaitable[None]]) -> None:
        self._consumer = consumer
        self._before_leaving = before_leaving
        self.fresh: set[TopicPartition] = set()
        self.lost = False
        self.failure: BaseException | None = None

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Partitions are to be given up."""
        if not revoked:
            return
        try:
            await self._before_leaving()
        except BaseException as error:
            self.failure = error
            raise
        finally:
            self.fresh -= revoked

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """Partitions have come; where they begin is asked for when ``poll`` has returned."""
        for partition in assigned:
            self._consumer.seek(partition, 0)
            self._consumer.pause(partition)
        self.fresh |= assigned

    async def on_partitions_lost(self, lost: set[TopicPartition]) -> None:
        """The group has gone on without this process."""
        self.lost = bool(lost)
        self.fresh -= lost
