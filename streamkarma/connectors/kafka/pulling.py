"""Reads the shared models of a group without joining it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from kafka import TopicPartition, errors

from streamkarma.connectors.base import Position
from streamkarma.connectors.kafka.connection import LogCapture, connect
from streamkarma.connectors.kafka.errors import RetriableKafkaError, reason_of
from streamkarma.connectors.kafka.journal import positions_state
from streamkarma.connectors.kafka.settings import KafkaSettings
from streamkarma.connectors.kafka.share_reader import ShareReader
from streamkarma.connectors.kafka.share_topic import open_share_topic
from streamkarma.connectors.kafka.shared_models import BASE, ModelSnapshot
from streamkarma.connectors.kafka.topics import check_name
from streamkarma.errors import RunError


class PulledModels(NamedTuple):
    """The models of a topic.

    Attributes
    ----------
    name
        The name of the topic in messages.
    base
        The base of all models.
    parts
        The latest models of each partition, newest first.
    """

    name: str
    base: bytes
    parts: Mapping[str, Sequence[ModelSnapshot]]

    def contents(self) -> dict[str, list[bytes]]:
        """The latest models of each partition, as bytes."""
        return {name: [each.content for each in models] for name, models in self.parts.items()}

    def position(self, chosen: Mapping[str, int]) -> Position:
        """The position for a model file, given the index of the chosen model of each partition."""
        offsets, ids = {}, {}
        for name, index in chosen.items():
            topic, _, number = name.rpartition("/")
            snapshot = self.parts[name][index]
            offsets[TopicPartition(topic, int(number))] = snapshot.next
            if snapshot.topic_id is not None:
                ids[topic] = snapshot.topic_id
        return {"kafka": positions_state(offsets), **({"topic_ids": ids} if ids else {})}


def pull(
    topic: str, brokers: str, pairs: Sequence[str], connect_timeout: float, say: Callable[[str], None]
) -> PulledModels:
    """Read the models of a topic.

    Parameters
    ----------
    topic
        The topic.
    brokers, pairs, connect_timeout
        See ``Attachment``.
    say
        Called with a line for the user.

    Raises
    ------
    UsageError
        If the settings or the topic's name are invalid.
    RunError
        If there are no models, or the brokers cannot be reached.
    """
    check_name(topic)
    settings, log = KafkaSettings(brokers, pairs, os.environ), LogCapture()
    log.install()

    def make(kind: Callable[..., Any], **arguments: Any) -> Any:
        return connect(
            lambda milliseconds: kind(**{**arguments, "bootstrap_timeout_ms": milliseconds}),
            settings, log, connect_timeout, say, lambda: False,
        )  # fmt: skip

    try:
        open_share_topic(topic, settings, make, create=False)
        with closing(ShareReader(topic, settings, make, say, lambda: False)) as reader:
            reader.catch_up()
            stored = reader.stored
    except (errors.KafkaError, RetriableKafkaError) as error:
        raise RunError(reason_of(error)) from error
    base = stored.base()
    if base is None:
        raise RunError(f"topic {topic} has no models: {stored.broken().get(BASE, 'no process has started')}")
    parts = {name: stored.models(name, base.epoch) for name in stored.names(base.epoch)}
    if not parts:
        raise RunError(f"topic {topic} has no models yet: no partition has learned anything")
    return PulledModels(f"topic {topic}", base.content, parts)
