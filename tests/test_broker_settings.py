"""Settings that cannot work are refused before a broker is contacted."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamkarma.connectors.kafka.settings import KafkaSettings
from streamkarma.connectors.kafka.sink import producer_settings
from streamkarma.errors import UsageError

TLS = ("security_protocol=SSL",)
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
        ((*TLS, "ssl_cafile=nowhere.pem"), "ssl_cafile: cannot read nowhere.pem: No such file"),
        ((*TLS, "ssl_cafile="), "ssl_cafile: cannot read : No such file"),
        ((*TLS, "ssl_certfile=nowhere.pem"), "ssl_certfile: cannot read nowhere.pem"),
        ((*TLS, "ssl_keyfile=nowhere.pem"), "ssl_keyfile: cannot read nowhere.pem"),
        ((*TLS, f"ssl_cafile={__file__}"), "ssl_cafile: .* cannot be used .*; expected PEM"),
        ((*TLS, f"ssl_certfile={pytest.__file__}"), "ssl_certfile: .* cannot be used .*; expected PEM"),
        ((*TLS, "ssl_cafile=."), "ssl_cafile: cannot read .: Is a directory"),
        (("ssl_cafile=ca.pem",), "ssl_cafile has no meaning without TLS; set -X security_protocol=SSL$"),
        (("ssl_check_hostname=true", "security_protocol=PLAINTEXT"), "ssl_check_hostname has no meaning"),
        (
            ("security_protocol=SASL_PLAINTEXT", *SCRAM[1:], "sasl_plain_password=x", "ssl_cafile=ca.pem"),
            "ssl_cafile has no meaning without TLS; set -X security_protocol=SASL_SSL$",
        ),
    ],
)
def test_settings_that_cannot_work(pairs: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=f"^-X .*{message}"):
        KafkaSettings("localhost:9092", pairs, {})


#: A certificate, and its private key, which is encrypted with a password.
CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIIBdjCCARugAwIBAgIUEIUcPD9EkeNujFtUXZRaP4tbs2gwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjkxMzA4MzRaGA8yMTI2MTEwNTEzMDgz
NFowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIq7
ecvz7SSFwgWmdrUVJufEz7KJv8qVAFFIJcFPIP5X/YJET7Q/L5PpeWfvB+fnslkj
pcir5A2T86CzZPsp85GjUzBRMB0GA1UdDgQWBBRx2P5792daeV38Xdgw4E3i2TWE
MDAfBgNVHSMEGDAWgBRx2P5792daeV38Xdgw4E3i2TWEMDAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0kAMEYCIQDw+UGZvaiqVsrdZiGRfez+0JwoF5y6SgTe
zzC+ws95lAIhAKEPa0STIySsEV5O4iC4Xv95mN4jC98akL8PnyI3TMlg
-----END CERTIFICATE-----
"""
KEY = """-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhs8Cmt0tWcIwICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEDSVbrRhP22NQhvqyKzPlVwEgZAD
OpqGEhJ4IY4e+QuGNgAH2NYrTn0cppmIPY7PUGsA6OodJcQ2oqnZpeGlPGj03OgU
9vXPN6jpRWtx/TOQtl0PGi2Pir0KIDbctE1BNAhqvkJqFjLCWU+wwWR+v+DnAZTO
oVlgyyoYknbh6FE6MP+Xe+DiudOOU0GIlsJxGYPTxsS46khvmAXG5YqI9b+74kA=
-----END ENCRYPTED PRIVATE KEY-----
"""
SECRET = "sesame"


@pytest.mark.parametrize(
    ("password", "message"),
    [
        ((), "is encrypted; set STREAMKARMA_KAFKA_SSL_PASSWORD"),
        (("ssl_password=wrong",), "cannot be decrypted with this ssl_password"),
        ((f"ssl_password={SECRET}",), None),
    ],
)
@pytest.mark.parametrize("together", [False, True])
def test_an_encrypted_key(
    tmp_path: Path, password: tuple[str, ...], message: str | None, together: bool
) -> None:
    certificate, key = tmp_path / "client.pem", tmp_path / "client.key"
    certificate.write_text(CERTIFICATE + (KEY if together else ""))
    key.write_text(KEY)
    name, path = ("ssl_certfile", certificate) if together else ("ssl_keyfile", key)
    files = [f"ssl_certfile={certificate}", *([] if together else [f"ssl_keyfile={key}"])]
    if message is None:
        KafkaSettings("localhost:9092", [*TLS, *files, *password], {})
        return
    with pytest.raises(UsageError) as caught:
        KafkaSettings("localhost:9092", [*TLS, *files, *password], {})
    assert str(caught.value) == f"-X {name}: the key in {path} {message}"


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
