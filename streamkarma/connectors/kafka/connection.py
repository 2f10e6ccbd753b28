"""Connecting to Kafka brokers, and the reasons in the client's log when that fails."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from kafka import errors

from streamkarma.connectors.kafka.errors import reason_of
from streamkarma.connectors.kafka.settings import KafkaSettings
from streamkarma.errors import RunError, UsageError

Client = TypeVar("Client")

#: Time limits of the first attempt to connect and of later ones; signals are handled in between.
_FIRST_SECONDS, _LONGEST_SECONDS = 0.75, 4.0
#: Seconds between two checks of whether the user wants to stop.
_NAP = 0.05
#: Number of consecutive connections closed by a broker that counts as a refusal.
_CLOSED_OFTEN = 2
#: A lost connection is reported if nothing has arrived for this long.
SILENCE_SECONDS = 5.0
#: Reasons of a failure at a port that accepts connections, but does not speak Kafka's protocol in plain.
_NO_KAFKA = (
    "Invalid frame length", "socket disconnected", "reset by peer", "ApiVersions", "Request timed out",
)  # fmt: skip
_CREDENTIALS = "user, password, sasl_mechanism and certificates"


class LogCapture(logging.Handler):
    """Keeps the last warning of kafka-python about a connection, to show it in one line.

    The rest of its log is suppressed, because it reports every failed attempt in several lines.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        #: The last warning about a connection and its time; None if there was none.
        self.connection: str | None = None
        self.at = 0.0
        #: Whether a broker refused authentication.
        self.refused = False
        #: Number of consecutive connections closed without a reason by a broker whose version was known.
        self.closed = 0

    def install(self) -> None:
        """Capture the log for the rest of the process, since some of the clients' threads outlive them."""
        log = logging.getLogger("kafka")
        log.addHandler(self)
        log.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        """Handle a line of the log."""
        text = record.getMessage()
        if "AuthenticationFailed" in text or "SSL" in text or "certificate" in text:
            self.refused = "AuthenticationFailed" in text or "certificate verify failed" in text
            self.connection, self.at = _plain(text), time.monotonic()
        elif "SaslMechanism" in text or "IllegalSaslState" in text:
            self.refused = True
            why = (
                "the brokers require no login there"
                if "Illegal" in text
                else "the brokers do not support this sasl_mechanism"
            )
            self.connection, self.at = why, time.monotonic()
        elif record.name.startswith("kafka.net") and "onnection" in text and not self.refused:
            self._take_loss(text)

    def _take_loss(self, text: str) -> None:
        """Handle a connection that was lost or not established."""
        if self.closed and "timed out" in text:
            # This client ended the attempt itself; a connection closed by the broker is more informative.
            return
        self.connection, self.at = _plain(text), time.monotonic()
        if "Connection lost" in text:
            was_closed = "socket disconnected" in text and "broker_version=unknown" not in text
            self.closed = self.closed + 1 if was_closed else 0


class Silence:
    """Reports once that the brokers do not answer, and once that they are back.

    Parameters
    ----------
    brokers
        Their addresses.
    log
        Where failures to connect are recorded.
    say
        Called with a line for the user.

    Attributes
    ----------
    problem
        That they do not answer, in words; None if they do.
    """

    def __init__(self, brokers: Sequence[str], log: LogCapture, say: Callable[[str], None]) -> None:
        self._brokers, self._log, self._say = ", ".join(brokers), log, say
        self._heard_at = time.monotonic()
        self.problem: str | None = None

    def heard(self) -> None:
        """Brokers have answered."""
        if self.problem is not None:
            self._say("the brokers are back")
        self._heard_at, self.problem = time.monotonic(), None

    def check(self) -> None:
        """Report silence, if connections have failed in the meantime: a topic may have no new records."""
        is_silent = time.monotonic() - self._heard_at > SILENCE_SECONDS
        if self.problem is None and is_silent and self._log.at > self._heard_at:
            self.problem = f"no response from {self._brokers}"
            self._say(f"{self.problem} ({self._log.connection}); waiting")


def _plain(line: str) -> str:
    """The reason in a line of kafka-python's log, without the names of its classes."""
    reason = re.sub(r"<[^>]*>: |\[Error \d+\] |\b\w+Error: | \(backoff [^)]*\)", "", line)
    return reason.partition(" failed: ")[2] or reason.removeprefix("Connection lost: ")


def connect(
    make: Callable[[int], Client],
    settings: KafkaSettings,
    log: LogCapture,
    patience: float,
    say: Callable[[str], None],
    stopped: Callable[[], bool],
) -> Client:
    """Create a client, retrying with growing pauses while the brokers do not answer.

    Parameters
    ----------
    make
        Creates the client within the given number of milliseconds, or raises KafkaTimeoutError.
    settings, log
        The settings of the connection, and the log of kafka-python.
    patience
        Seconds after which to stop trying.
    say
        Called once, with a line, if it takes longer.
    stopped
        Returns whether the user wants to stop.

    Raises
    ------
    UsageError
        If settings contradict each other, or are not accepted by the client.
    RunError
        If the brokers cannot be reached, or refuse authentication.
    InterruptedError
        If the user wants to stop.
    """
    where = ", ".join(settings.brokers)
    deadline, attempt, reported = time.monotonic() + patience, _FIRST_SECONDS, False
    log.closed = 0
    while True:
        left = max(deadline - time.monotonic(), 0.1)
        try:
            return make(int(1000 * min(left, attempt)))
        except (errors.KafkaConfigurationError, ValueError) as error:
            raise UsageError(f"invalid Kafka settings (-X): {reason_of(error)}") from error
        except (OSError, ImportError) as error:
            # A TLS file is missing.
            raise RunError(f"cannot connect to {where}: {error}") from error
        except errors.KafkaError as error:
            reason = log.connection or reason_of(error)
        if log.refused:
            raise RunError(f"{where}: authentication failed: {reason}; check {_CREDENTIALS}")
        # A broker answers a wrong password and closes the connection immediately; kafka-python may see only
        # the latter. Brokers that were connected before may also be shutting down.
        if log.closed >= _CLOSED_OFTEN and settings.has_login and patience < float("inf"):
            raise RunError(
                f"{where}: authentication failed: connection closed during login; check {_CREDENTIALS}"
            )
        if time.monotonic() + attempt / 2 > deadline:
            hint = _hint(reason, log.closed >= _CLOSED_OFTEN, settings.has_tls)
            raise RunError(f"no broker at {where} within {patience:g} s: {reason}{hint}")
        if not reported:
            how_long = f"trying for {patience:g} s" if patience < float("inf") else "waiting"
            say(f"cannot reach {where} ({reason}); {how_long}")
            reported = True
        # Pause for half the time limit of the attempt.
        for _ in range(int(attempt / 2 / _NAP)):
            if stopped():
                raise InterruptedError
            time.sleep(_NAP)
        attempt = min(2 * attempt, _LONGEST_SECONDS)


def _hint(reason: str, is_closed: bool, has_tls: bool) -> str:
    """What may be wrong with the settings for TLS and a login, to follow the reason of a failed attempt."""
    if has_tls:
        alert = reason.lower().replace("_", " ")
        if any(
            each in alert for each in ("bad certificate", "certificate required", "alert handshake failure")
        ):
            return "; if they require a certificate of the client, set -X ssl_certfile and ssl_keyfile"
        without = "unexpected eof" in alert or "wrong version number" in alert
        return "; this may be a port without TLS: check --brokers and -X security_protocol" if without else ""
    # A broker answers a client that does not begin with TLS by an alert, which is no frame of Kafka's. Other
    # servers wait in silence for the rest.
    is_closed |= any(each in reason for each in _NO_KAFKA)
    return "; if they require a password or TLS, set -X security_protocol" if is_closed else ""
