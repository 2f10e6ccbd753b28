"""Settings that cannot work are refused before a broker is contacted."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamkarma.connectors.kafka.settings import KafkaSettings
from streamkarma.connectors.kafka.sink import producer_settings
from streamkarma.errors import UsageError

SASL = ("security_protocol=SASL_SSL",)
PLAIN = (*SASL, "sasl_mechanism=PLAIN")
SCRAM = (*SASL, "sasl_mechanism=SCRAM-SHA-512", "sasl_plain_username=me")


@pytest.mark.parametrize("brokers", ["", " ", ",", " , "])
def test_no_brokers(brokers: str) -> None:
    with pytest.raises(UsageError, match="--brokers names no broker; expected HOST:PORT"):
        KafkaSettings(brokers, (), {})


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (PLAIN, "sasl_mechanism=PLAIN needs a user; set STREAMKARMA_KAFKA_SASL_PLAIN_USERNAME"),
        (
            (*PLAIN, "sasl_plain_username=me"),
            "sasl_mechanism=PLAIN needs a password; set STREAMKARMA_KAFKA_SASL_PLAIN_PASSWORD",
        ),
        (SCRAM, "sasl_mechanism=SCRAM-SHA-512 needs a password"),
        ((*SCRAM, "sasl_plain_password="), "sasl_mechanism=SCRAM-SHA-512 needs a password"),
        (SASL, "security_protocol=SASL_SSL needs -X sasl_mechanism, one of PLAIN"),
        ((*SASL, "sasl_mechanism=OAUTHBEARER"), "one of PLAIN, .*, not OAUTHBEARER"),
        (("sasl_mechanism=PLAIN",), "sasl_mechanism has no meaning without a login"),
        (("security_protocol=SASL_SSL", "sasl_mechanism=plain"), "not plain"),
        (("security_protocol=TLS",), "security_protocol: expected one of PLAINTEXT, SSL"),
        (("ssl_cafile=nowhere.pem",), "ssl_cafile: cannot read nowhere.pem: No such file"),
        (("ssl_cafile=",), "ssl_cafile: cannot read : No such file"),
        (("ssl_certfile=nowhere.pem",), "ssl_certfile: cannot read nowhere.pem"),
        (("ssl_keyfile=nowhere.pem",), "ssl_keyfile: cannot read nowhere.pem"),
        ((f"ssl_cafile={__file__}",), "ssl_cafile: .* cannot be used .*; expected PEM"),
        ((f"ssl_certfile={__file__}",), "ssl_certfile: .* cannot be used .*; expected PEM"),
        (("ssl_cafile=.",), "ssl_cafile: cannot read .: Is a directory"),
    ],
)
def test_settings_that_cannot_work(pairs: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=f"^-X .*{message}"):
        KafkaSettings("localhost:9092", pairs, {})


def test_no_password_is_part_of_a_message(tmp_path: Path) -> None:
    secret = {"STREAMKARMA_KAFKA_SASL_PLAIN_PASSWORD": "open sesame"}
    with pytest.raises(UsageError) as caught:
        KafkaSettings("localhost:9092", (*PLAIN, f"ssl_cafile={tmp_path}"), secret)
    assert "sesame" not in str(caught.value)


def test_settings_that_can(tmp_path: Path) -> None:
    settings = KafkaSettings("a:1, b:2", (*SCRAM, "sasl_plain_password=x"), {})
    assert settings.has_login
    assert settings.consumer()["bootstrap_servers"] == ["a:1", "b:2"]
    assert not KafkaSettings("a:1", (), {}).has_login


@pytest.mark.parametrize(
    ("pairs", "most"),
    [((), 1000), (("reconnect_backoff_max_ms=7",), 7), (("reconnect_backoff_ms=2000",), 2000)],
)
def test_brokers_that_are_back_are_soon_noticed(pairs: tuple[str, ...], most: int) -> None:
    settings = KafkaSettings("b", pairs, {})
    for given in (settings.consumer(), settings.producer(), settings.admin()):
        assert given["reconnect_backoff_max_ms"] == most


@pytest.mark.parametrize(
    "pairs", [(), ("linger_ms=0",), ("linger_ms=500",), ("request_timeout_ms=30000", "linger_ms=100")]
)
def test_what_is_sent_is_given_up_soon_after_a_broker_should_have_answered(pairs: tuple[str, ...]) -> None:
    given = producer_settings(KafkaSettings("b", pairs, {}), 16384)
    asked_for = {name: int(value) for name, value in (pair.split("=") for pair in pairs)}
    assert asked_for.items() <= given.items()
    waited = given["linger_ms"] + given["request_timeout_ms"]
    assert waited <= given["delivery_timeout_ms"] <= waited + 3000
    assert given["request_timeout_ms"] <= asked_for.get("request_timeout_ms", 10_000)
