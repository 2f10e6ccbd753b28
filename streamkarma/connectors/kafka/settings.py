"""Settings of kafka-python, and checks of them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from streamkarma.connectors.kafka.security import check_security, has_login, has_tls
from streamkarma.errors import UsageError

#: Environment variables with this prefix set Kafka settings, named in capitals. Use them for passwords, which
#: anyone could read on a command line.
ENVIRONMENT = "STREAMKARMA_KAFKA_"
#: Kafka settings that this program chooses itself.
_OURS = {
    "bootstrap_servers": "use --brokers",
    "group_id": "use --group",
    "auto_offset_reset": "use --from",
    "enable_auto_commit": "offsets are committed with the model",
    "transactional_id": "it follows from the group and the model",
    "acks": "predictions are sent in transactions",
    "enable_idempotence": "predictions are sent in transactions",
    "allow_auto_create_topics": "topics must exist",
    "isolation_level": "only committed records are read",
}
_ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
#: Kafka settings whose values are Python objects.
_OBJECTS = {
    "default_offset_commit_callback",
    "kafka_client",
    "key_deserializer",
    "key_serializer",
    "metric_reporters",
    "partitioner",
    "sasl_oauth_token_provider",
    "selector",
    "socket_options",
    "ssl_context",
    "value_deserializer",
    "value_serializer",
}


#: Settings for which kafka-python accepts 0 or less, only to fail or wait forever later.
_POSITIVE = {"max_in_flight_requests_per_connection", "max_poll_records", "transaction_timeout_ms"}
#: The longest pause between two attempts to connect. It is 30 s in kafka-python, which may then notice half a
#: minute late that brokers are back.
_RECONNECT_MS = 1000
#: The largest integer of settings in Kafka's protocol.
_LARGEST = 2**31 - 1


class KafkaSettings:
    """Settings of kafka-python, by name.

    Parameters
    ----------
    brokers
        ``host:port``, several with commas.
    pairs
        ``name=value``, as on the command line.
    environment
        Environment variables with the prefix ENVIRONMENT; ``pairs`` take precedence.

    Raises
    ------
    UsageError
        If there is no broker, or if a setting is unknown, reserved, of the wrong type, or required by others
        but missing. The message never contains a password.
    """

    def __init__(self, brokers: str, pairs: Iterable[str], environment: Mapping[str, str]) -> None:
        self.brokers = [address.strip() for address in brokers.split(",") if address.strip()]
        given = {
            name.removeprefix(ENVIRONMENT).lower(): value
            for name, value in environment.items()
            if name.startswith(ENVIRONMENT)
        }
        for pair in pairs:
            name, equals, value = pair.partition("=")
            if not equals:
                raise UsageError(f"-X {name}: expected NAME=VALUE")
            given[name.strip().replace(".", "_")] = value
        self._values = {name: _typed(name, value) for name, value in given.items()}
        if not self.brokers:
            raise UsageError("--brokers names no broker; expected HOST:PORT, comma-separated")
        check_security(self._values)
        for address in self.brokers:
            port = address.rpartition(":")[2]
            if ":" in address and not port.isdigit():
                raise UsageError(f"--brokers: {address} has no port; expected HOST:PORT")

    def get(self, name: str) -> Any:
        """The value of one setting, or None if it was not set."""
        return self._values.get(name)

    @property
    def has_login(self) -> bool:
        """Whether clients must authenticate by SASL."""
        return has_login(self._values)

    @property
    def has_tls(self) -> bool:
        """Whether connections are encrypted."""
        return has_tls(self._values)

    def consumer(self, **more: Any) -> dict[str, Any]:
        """Arguments for a KafkaConsumer; the keyword arguments are defaults."""
        return self._of(KafkaConsumer, more)

    def producer(self, **more: Any) -> dict[str, Any]:
        """Arguments for a KafkaProducer; the keyword arguments are defaults."""
        return self._of(KafkaProducer, more)

    def admin(self, **more: Any) -> dict[str, Any]:
        """Arguments for a KafkaAdminClient; the keyword arguments are defaults."""
        return self._of(KafkaAdminClient, more)

    def _of(self, kind: Any, more: dict[str, Any]) -> dict[str, Any]:
        known = kind.DEFAULT_CONFIG
        own = {name: value for name, value in self._values.items() if name in known}
        most = max(_RECONNECT_MS, own.get("reconnect_backoff_ms", 0))
        return {"reconnect_backoff_max_ms": most, **more, **own, "bootstrap_servers": self.brokers}


def _typed(name: str, text: str) -> Any:
    """A value in the type that kafka-python expects."""
    defaults = {**KafkaProducer.DEFAULT_CONFIG, **KafkaConsumer.DEFAULT_CONFIG}
    if name in _OURS:
        raise UsageError(f"-X {name} cannot be set: {_OURS[name]}")
    if name not in defaults:
        near = difflib.get_close_matches(name, defaults, 1)
        raise UsageError(f"-X {name}: kafka-python has no such setting{f'; {near[0]}?' if near else ''}")
    if name in _OBJECTS:
        raise UsageError(f"-X {name}: its values are not strings, so it cannot be set here")
    default = defaults[name]
    try:
        if name == "partition_assignment_strategy":
            return [_ASSIGNORS[each.strip()] for each in text.split(",")]
        if name == "api_version":
            return tuple(int(part) for part in text.split("."))
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(default, int) or (default is None and name.endswith(("_ms", "_bytes"))):
            return _integer(name, text)
        if isinstance(default, float):
            return float(text)
    except (KeyError, ValueError):
        like = f"a value like {default}" if isinstance(default, (int, float)) else "a number"
        if name in _POSITIVE:
            like += ", 1 or more"
        if name == "partition_assignment_strategy":
            like = f"one of {', '.join(_ASSIGNORS)}"
        raise UsageError(f"-X {name}: expected {like}") from None
    return text


def _integer(name: str, text: str) -> int:
    value = int(text)
    if value > _LARGEST or (name in _POSITIVE and value < 1):
        raise ValueError(f"{value} is out of range")
    return value
