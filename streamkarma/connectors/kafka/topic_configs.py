"""The settings of topics."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from kafka import KafkaAdminClient, errors
from kafka.admin import ConfigResource

from streamkarma.connectors.kafka.errors import translate_error
from streamkarma.connectors.kafka.settings import KafkaSettings

#: Creates a client of kafka-python with keyword arguments.
Connect = Callable[..., Any]

#: Settings of a topic that limit a batch of records, even of one record.
_BOUNDS = ("max.message.bytes", "segment.bytes")


def topic_configs(admin: KafkaAdminClient, names: Collection[str]) -> dict[str, dict[str, Any]]:
    """The settings of each topic with their values; empty if they may not be read."""
    found = admin.describe_configs([ConfigResource("topic", name) for name in names], config_filter="all")
    settings = found.get("topic", {})
    return {name: {key: each["value"] for key, each in settings.get(name, {}).items()} for name in names}


def longest_messages(names: Collection[str], settings: KafkaSettings, connect: Connect) -> dict[str, int]:
    """The largest batch accepted by each topic, in bytes, if its settings may be read.

    Parameters
    ----------
    names
        The topics.
    settings, connect
        How to connect to the brokers.

    Raises
    ------
    RunError, RetriableKafkaError
        If the brokers do not answer properly.
    """
    admin = connect(KafkaAdminClient, **settings.admin())
    try:
        configs = topic_configs(admin, names)
    except errors.AuthorizationError:
        return {}
    except errors.KafkaError as error:
        raise translate_error(error) from error
    finally:
        admin.close()
    bounds = {name: [int(own[each]) for each in _BOUNDS if each in own] for name, own in configs.items()}
    return {name: min(own) for name, own in bounds.items() if own}
