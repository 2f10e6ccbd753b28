"""Check, before anything is read, that the brokers and the topics exist, and where the topics end."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafka import KafkaConsumer, TopicPartition, errors

from streamkarma.connectors.kafka.errors import translate_error
from streamkarma.errors import RunError

if TYPE_CHECKING:
    from streamkarma.connectors.kafka.source import TopicSource


def check_topics(source: TopicSource) -> dict[TopicPartition, int] | None:
    """Check that the topics of a source exist, and record their numbers of partitions.

    Returns
    -------
    The offsets to stop at, if the source is read to its end.

    Raises
    ------
    RunError
        If a topic does not exist, or the brokers cannot be reached.
    InterruptedError
        If the user wanted to stop before they answered.
    """
    consumer = _consumer(source)
    topics = source.topics
    try:
        there = consumer.topics()
        labels = () if topics.labels is None else (topics.labels,)
        for name in (*topics.names, *labels, *sorted(topics.avoid)):
            if name not in there:
                near = difflib.get_close_matches(name, sorted(there), 1, 0.8)
                hint = f"; did you mean {near[0]}?" if near else "; create it, or check --brokers"
                raise RunError(f"there is no topic {name}{hint}")
        matching = topics.matching(there)
        if not matching:
            source.say(f"no topic matches {topics.pattern} yet; waiting for one")
        numbers = {name: consumer.partitions_for_topic(name) or () for name in (*matching, *labels)}
        source.partitions = {name: len(each) for name, each in numbers.items()}
        if not source.at.until_end:
            return None
        partitions = [TopicPartition(name, number) for name, each in numbers.items() for number in each]
        if not partitions:
            raise RunError(f"no topic matches {topics.pattern}: there is no end to read to")
        ends: dict[TopicPartition, int] = consumer.end_offsets(partitions)
        return ends
    except errors.KafkaError as error:
        raise RunError(str(translate_error(error))) from error
    finally:
        consumer.close(autocommit=False, timeout_ms=1000)


def check_still_there(source: TopicSource, unread: Iterable[TopicPartition]) -> None:
    """Check that partitions that were not read to their end can still be read.

    Raises
    ------
    RunError
        If the topic of one was deleted since the start.
    RetriableKafkaError
        If the brokers do not know where one ends.
    """
    partitions = sorted(unread)
    if not partitions:
        return
    consumer = _consumer(source)
    try:
        there = consumer.topics()
        for partition in partitions:
            if partition.topic not in there:
                raise RunError(f"topic {partition.topic} was deleted before it was read to its end")
        consumer.end_offsets(partitions)
    except errors.KafkaError as error:
        raise translate_error(error) from error
    finally:
        consumer.close(autocommit=False, timeout_ms=1000)


def _consumer(source: TopicSource) -> KafkaConsumer:
    """A consumer that only asks, outside the group."""
    arguments = source.settings.consumer(isolation_level="read_committed", allow_auto_create_topics=False)
    arguments.pop("group_instance_id", None)
    return source.connect(KafkaConsumer, **arguments)
