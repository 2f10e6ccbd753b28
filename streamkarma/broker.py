"""The way to Kafka's brokers: settings, connecting, and what their errors mean to a user."""

from __future__ import annotations

import difflib
import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, errors
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from streamkarma.errors import FencedError, RunError, UsageError

#: Errors after which somebody else does this process's work.
_FENCED = (errors.ProducerFencedError, errors.FencedInstanceIdError, errors.InvalidProducerEpochError)
#: Errors that come again however often one tries.
_HOPELESS = (
    errors.CorruptRecordError,
    errors.IncompatibleBrokerVersion,
    errors.InvalidTopicError,
    errors.InvalidSessionTimeoutError,
    errors.InconsistentGroupProtocolError,
    errors.InvalidTransactionTimeoutError,
    errors.KafkaConfigurationError,
    errors.SaslAuthenticationFailedError,
    errors.UnsupportedCodecError,
    errors.UnsupportedVersionError,
)

Client = TypeVar("Client")

#: An environment variable of this prefix sets the Kafka setting of the same name, in capitals:
#: the place for passwords, which on a command line everybody can read.
ENVIRONMENT = "STREAMKARMA_KAFKA_"
#: Settings that are this program's business.
_OURS = {
    "bootstrap_servers": "use --brokers",
    "group_id": "use --group",
    "auto_offset_reset": "use --from",
    "enable_auto_commit": "offsets are committed with the model",
    "transactional_id": "it follows from the group and the model",
    "acks": "predictions are sent in transactions",
    "enable_idempotence": "predictions are sent in transactions",
    "allow_auto_create_topics": "topics are to be there",
    "isolation_level": "only committed records are read",
}
_ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
#: Settings whose values are objects of Python.
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
#: How long the first attempt to connect takes at most, and any; in between signals are heeded.
_FIRST_SECONDS, _LONGEST_SECONDS = 0.75, 4.0


class Settings:
    """What was set of kafka-python's configuration, by name.

    Parameters
    ----------
    brokers
        ``host:port``, several with commas.
    pairs
        ``name=value``, as on the command line.
    environment
        Where variables with the prefix ENVIRONMENT are looked up; ``pairs`` win.

    Raises
    ------
    UsageError
        If a setting is unknown, not to be set, or its value is of the wrong type. No value is
        ever part of the message: it may be a password.
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
        for address in self.brokers:
            port = address.rpartition(":")[2]
            if ":" in address and not port.isdigit():
                raise UsageError(f"--brokers: {address} has no port; expected HOST:PORT")

    def get(self, name: str) -> Any:
        """The value of one setting, or None if it was not set."""
        return self._values.get(name)

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
        return {**more, **own, "bootstrap_servers": self.brokers}


def _typed(name: str, text: str) -> Any:
    """A value in the type that kafka-python wants."""
    defaults = {**KafkaProducer.DEFAULT_CONFIG, **KafkaConsumer.DEFAULT_CONFIG}
    if name in _OURS:
        raise UsageError(f"-X {name} cannot be set: {_OURS[name]}")
    if name not in defaults:
        near = difflib.get_close_matches(name, defaults, 1)
        raise UsageError(f"-X {name}: kafka-python has no such setting{f'; {near[0]}?' if near else ''}")
    if name in _OBJECTS:
        raise UsageError(f"-X {name}: its values are no text, and cannot be set here")
    default = defaults[name]
    try:
        if name == "partition_assignment_strategy":
            return [_ASSIGNORS[each.strip()] for each in text.split(",")]
        if name == "api_version":
            return tuple(int(part) for part in text.split("."))
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(default, int) or (default is None and name.endswith(("_ms", "_bytes"))):
            return int(text)
        if isinstance(default, float):
            return float(text)
    except (KeyError, ValueError):
        like = f"a value like {default}" if isinstance(default, (int, float)) else "a number"
        if name == "partition_assignment_strategy":
            like = f"one of {', '.join(_ASSIGNORS)}"
        raise UsageError(f"-X {name}: expected {like}") from None
    return text


class Trouble(logging.Handler):
    """Keeps what kafka-python complains about, so that one line of it can be shown.

    Its log is silenced otherwise: it repeats every failed attempt in several lines.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._log = logging.getLogger("kafka")
        self._before = self._log.propagate
        #: The last complaint about a connection, and when; None while there was none.
        self.connection: str | None = None
        self.at = 0.0
        #: Whether a broker said that who connects is not who they claim to be.
        self.refused = False

    def emit(self, record: logging.LogRecord) -> None:
        """Take a line of the log."""
        text = record.getMessage()
        if "AuthenticationFailed" in text or "SSL" in text or "certificate" in text:
            self.refused = "AuthenticationFailed" in text or "certificate verify failed" in text
            self.connection, self.at = _plain(text), time.monotonic()
        elif record.name.startswith("kafka.net") and "onnection" in text and not self.refused:
            self.connection, self.at = _plain(text), time.monotonic()

    def __enter__(self) -> Trouble:
        self._log.addHandler(self)
        self._log.propagate = False
        return self

    def __exit__(self, *_: object) -> None:
        self._log.removeHandler(self)
        self._log.propagate = self._before


def _plain(line: str) -> str:
    """The reason in a line of kafka-python's log, without the names of its classes."""
    reason = re.sub(r"<[^>]*>: |\[Error \d+\] |\b\w+Error: | \(backoff [^)]*\)", "", line)
    return reason.partition(" failed: ")[2] or reason.removeprefix("Connection lost: ")


def connect(make: Callable[[int], Client], settings: Settings, trouble: Trouble, patience: float,
            say: Callable[[str], None], stopped: Callable[[], bool]) -> Client:  # fmt: skip
    """Make a client, trying again with growing pauses while the brokers do not answer.

    Parameters
    ----------
    make
        Makes the client within so many milliseconds, or raises KafkaTimeoutError.
    settings, trouble
        Whom it connects to, and what was complained about.
    patience
        Seconds after which to give up.
    say
        Told once that it takes longer.
    stopped
        Whether the user wants to leave.

    Raises
    ------
    RunError
        If the brokers cannot be reached, or do not let us in.
    InterruptedError
        If the user wanted to leave before.
    """
    where = ", ".join(settings.brokers)
    deadline, attempt, said = time.monotonic() + patience, _FIRST_SECONDS, False
    while True:
        left = max(deadline - time.monotonic(), 0.1)
        try:
            return make(int(1000 * min(left, attempt)))
        except (errors.KafkaConfigurationError, ValueError, OSError, ImportError) as error:
            # A file for TLS that is not there, settings that contradict each other.
            raise RunError(f"cannot connect to {where}: {error}") from error
        except errors.KafkaError as error:
            reason = trouble.connection or reason_of(error)
        if trouble.refused:
            raise RunError(f"{where} refused to let us in: {reason}; check user, password and certificates")
        if time.monotonic() + attempt / 2 > deadline:
            raise RunError(f"no broker at {where} within {patience:g} s: {reason}")
        if not said:
            how_long = f"trying for {patience:g} s" if patience < float("inf") else "waiting"
            say(f"cannot reach {where} ({reason}); {how_long}")
            said = True
        for _ in range(int(attempt / 0.1)):
            if stopped():
                raise InterruptedError
            time.sleep(0.05)
        attempt = min(2 * attempt, _LONGEST_SECONDS)


class SetbackError(Exception):
    """What was done since the last commit is void; begin again from there."""


def understood(error: errors.KafkaError) -> RunError | SetbackError:
    """What an error of Kafka's means for a run: its end, or a new beginning."""
    reason = reason_of(error)
    if isinstance(error, _FENCED):
        return FencedError(
            "another process has taken over this model, or this place in the group; nothing was written "
            f"since ({reason}). Processes of one group need models, or group_instance_ids, of their own"
        )
    if isinstance(error, errors.AuthorizationError):
        return RunError(f"the brokers do not allow it: {reason}")
    if isinstance(error, errors.OffsetMetadataTooLargeError):
        return RunError("the brokers' offset.metadata.max.bytes is too small; 4096, Kafka's default, will do")
    if isinstance(error, _HOPELESS):
        return RunError(f"the brokers or the topic cannot be worked with: {reason}")
    return SetbackError(reason)


def reason_of(error: BaseException) -> str:
    """What a Kafka error says, in one line and without its number."""
    text = " ".join(str(error).split())
    name = type(error).__name__
    return text.partition(f"{name}: ")[2] or text.replace(f"{name}:", "").strip() or name
