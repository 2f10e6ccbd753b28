"""Checks the settings for TLS and for a login before connecting."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any

from streamkarma.errors import UsageError

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_BY_PASSWORD = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
#: OAUTHBEARER is missing because it requires a Python object.
_MECHANISMS = (*_BY_PASSWORD, "GSSAPI", "AWS_MSK_IAM")
_FILES = ("ssl_cafile", "ssl_certfile", "ssl_keyfile", "ssl_crlfile")


def has_login(values: Mapping[str, Any]) -> bool:
    """Whether the settings include a login by SASL."""
    return str(values.get("security_protocol")).startswith("SASL_")


def has_tls(values: Mapping[str, Any]) -> bool:
    """Whether the settings include an encrypted connection."""
    return str(values.get("security_protocol")).endswith("SSL")


def check_security(values: Mapping[str, Any]) -> None:
    """Check the settings of kafka-python for TLS and SASL.

    Raises
    ------
    UsageError
        If a setting is unknown, missing, without effect, or names an unusable file.
    """
    protocol = values.get("security_protocol", "PLAINTEXT")
    if protocol not in _PROTOCOLS:
        raise UsageError(f"-X security_protocol: expected one of {', '.join(_PROTOCOLS)}")
    if has_login(values):
        _check_login(values)
    elif stray := sorted(name for name in values if name.startswith("sasl_")):
        raise UsageError(f"-X {stray[0]} has no meaning without a login; set -X security_protocol=SASL_SSL")
    if has_tls(values):
        _check_files(values)
    elif stray := sorted(name for name in values if name.startswith("ssl_")):
        raise UsageError(
            f"-X {stray[0]} has no meaning without TLS; set -X security_protocol="
            f"{'SASL_SSL' if has_login(values) else 'SSL'}"
        )


def _check_login(values: Mapping[str, Any]) -> None:
    mechanism = values.get("sasl_mechanism")
    if mechanism not in _MECHANISMS:
        raise UsageError(
            f"-X security_protocol={values['security_protocol']} needs -X sasl_mechanism, one of "
            f"{', '.join(_MECHANISMS)}{'' if mechanism is None else f', not {mechanism}'}"
        )
    if mechanism in _BY_PASSWORD:
        for what, name in (("user", "sasl_plain_username"), ("password", "sasl_plain_password")):
            if not values.get(name):
                raise UsageError(
                    f"-X sasl_mechanism={mechanism} needs a {what}; set STREAMKARMA_KAFKA_{name.upper()}"
                )


def _check_files(values: Mapping[str, Any]) -> None:
    """Read the files for TLS like kafka-python, which would report only that it cannot connect."""
    for name in _FILES:
        if name in values:
            try:
                with open(values[name], "rb"):
                    pass
            except OSError as error:
                raise UsageError(f"-X {name}: cannot read {values[name]}: {error.strerror}") from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    name = "ssl_cafile"
    try:
        if "ssl_cafile" in values:
            context.load_verify_locations(values["ssl_cafile"])
        name = "ssl_crlfile"
        if "ssl_crlfile" in values:
            context.load_verify_locations(values["ssl_crlfile"])
        name = "ssl_certfile"
        if "ssl_certfile" in values:
            # Without a password of its own, OpenSSL would ask for one on the terminal.
            password = values.get("ssl_password") or ""
            context.load_cert_chain(values["ssl_certfile"], values.get("ssl_keyfile"), password)
    except ssl.SSLError as error:
        if name == "ssl_certfile" and error.reason is None:
            _check_key(values)
        raise UsageError(
            f"-X {name}: {values[name]} cannot be used ({error.reason or 'not PEM'}); expected PEM, "
            "with its key and password where it is a certificate"
        ) from error


def _check_key(values: Mapping[str, Any]) -> None:
    """Raise UsageError if an encrypted private key is the likely reason for a failure without a reason."""
    name = "ssl_keyfile" if "ssl_keyfile" in values else "ssl_certfile"
    with open(values[name], "rb") as file:
        if b"ENCRYPTED" not in file.read():
            return
    if values.get("ssl_password"):
        raise UsageError(f"-X {name}: the key in {values[name]} cannot be decrypted with this ssl_password")
    raise UsageError(f"-X {name}: the key in {values[name]} is encrypted; set STREAMKARMA_KAFKA_SSL_PASSWORD")
