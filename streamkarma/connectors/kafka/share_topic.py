"""Creates or checks the topic of shared models."""

from __future__ import annotations

from typing import NamedTuple

from kafka import KafkaAdminClient, errors

from streamkarma.connectors.kafka.errors import reason_of, translate_error
from streamkarma.connectors.kafka.settings import KafkaSettings
from streamkarma.connectors.kafka.topic_configs import Connect, topic_configs
from streamkarma.errors import RunError

#: Settings of a new topic. With small segments, compaction runs sooner and a start reads less.
_CONFIGS = {
    "cleanup.policy": "compact",
    "segment.bytes": str(64 << 20),
    "min.cleanable.dirty.ratio": "0.2",
}
#: Space for a key, and for the overhead of a batch.
_OVERHEAD = 1024
#: The largest batch of a topic or a producer without other settings, and the smallest that is sufficient.
_MOST_BYTES, _LEAST_BYTES = 1 << 20, 4 * _OVERHEAD


class ShareTopic(NamedTuple):
    """A compacted topic.

    Attributes
    ----------
    name
        Its name.
    batch
        The largest batch of records, in bytes, that it accepts and that a producer sends.
    """

    name: str
    batch: int

    @property
    def chunk(self) -> int:
        """The largest part of a model that fits into a record."""
        return self.batch - _OVERHEAD


def open_share_topic(name: str, settings: KafkaSettings, connect: Connect, create: bool) -> ShareTopic:
    """Check that a topic exists and is usable.

    Parameters
    ----------
    name
        The topic.
    settings, connect
        How to connect to the brokers.
    create
        Whether to create it if it does not exist.

    Raises
    ------
    RunError
        If it does not exist and cannot be created, or is not compacted.
    """
    admin = connect(KafkaAdminClient, **settings.admin())
    try:
        if name not in admin.list_topics():
            if not create:
                raise RunError(f"there is no topic {name}")
            _make(admin, name)
        configs = topic_configs(admin, [name])[name]
    except errors.KafkaError as error:
        raise translate_error(error) from error
    finally:
        admin.close()
    policy = configs.get("cleanup.policy", "compact")
    if policy != "compact" and not create:
        raise RunError(f"topic {name} has no models: it has cleanup.policy={policy}, not compact")
    if policy != "compact":
        raise RunError(
            f"the topic {name} has cleanup.policy={policy}, and models in it would be lost; make it compact"
        )
    most = int(settings.get("max_request_size") or _MOST_BYTES)
    batch = min(most, int(configs.get("max.message.bytes", _MOST_BYTES)))
    if batch < _LEAST_BYTES:
        raise RunError(f"the topic {name} takes messages of {batch} bytes; models need {_LEAST_BYTES}")
    return ShareTopic(name, batch)


def _make(admin: KafkaAdminClient, name: str) -> None:
    """Create a topic, unless another process has done so by now."""
    try:
        admin.create_topics({name: {"configs": _CONFIGS}}, wait_for_metadata=True)
    except errors.TopicAlreadyExistsError:
        pass
    except errors.KafkaError as error:
        raise RunError(
            f"there is no topic {name}, and it cannot be created ({reason_of(error)}); "
            "create it with cleanup.policy=compact"
        ) from error
