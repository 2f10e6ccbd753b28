"""Ports that speak TLS with a client that does not, and the other way round: the message says what to set."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from tests.conftest import Program
from tests.test_broker_settings import CERTIFICATE, KEY, SECRET

PLAIN = "if they require a password or TLS, set -X security_protocol"
NO_TLS = "this may be a port without TLS: check --brokers and -X security_protocol"
CLIENT = "if they require a certificate of the client, set -X ssl_certfile and ssl_keyfile"


@contextmanager
def port(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """The address of a port that answers each client, and then closes the connection."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                client = server.accept()[0]
                with client, suppress(OSError):
                    answer(client)

    thread = threading.Thread(target=serve)
    thread.start()
    with closing(server):
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def alerted(client: socket.socket) -> None:
    """Answer like Kafka to a client that does not begin with TLS: by an alert (internal error)."""
    client.recv(1000)
    client.sendall(b"\x15\x03\x03\x00\x02\x02\x50")


def secured(folder: Path) -> Callable[[socket.socket], None]:
    """An answer by a server that requires a certificate of the client."""
    path = folder / "server.pem"
    path.write_text(CERTIFICATE + KEY)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path, password=SECRET)
    # Of TLS 1.3, the client may see the end of the connection before the alert.
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_REQUIRED
    return lambda client: context.wrap_socket(client, server_side=True).close()


def last(streamkarma: Program, address: str, *settings: str) -> str:
    given = ["--brokers", address, "--group", "g", "--connect-timeout", "1", "--no-predictions"]
    done = streamkarma("attach", "t", *given, *(word for each in settings for word in ("-X", each)))
    assert done.code == 1
    return done.stderr.splitlines()[-1]


def silent(client: socket.socket) -> None:
    """Wait for the rest of what is no beginning of TLS, until the client gives up."""
    while client.recv(1000):
        pass


@pytest.mark.parametrize("answer", [alerted, silent, lambda client: None])
def test_a_client_without_tls_at_a_port_with_it(
    streamkarma: Program, answer: Callable[[socket.socket], None]
) -> None:
    with port(answer) as address:
        said = last(streamkarma, address)
    assert said.startswith(f"streamkarma: no broker at {address} within 1 s: ")
    assert said.endswith(f"; {PLAIN}")


def test_a_client_with_tls_at_a_port_without_it(streamkarma: Program) -> None:
    with port(lambda client: None) as address:
        said = last(streamkarma, address, "security_protocol=SSL")
    assert said.endswith(f"; {NO_TLS}")


def test_a_port_that_wants_a_certificate(streamkarma: Program, tmp_path: Path) -> None:
    with port(secured(tmp_path)) as address:
        said = last(streamkarma, address, "security_protocol=SSL", f"ssl_cafile={tmp_path / 'server.pem'}",
                    "ssl_check_hostname=false")  # fmt: skip
    assert said.endswith(f"; {CLIENT}")


def test_no_broker_is_no_question_of_tls(streamkarma: Program) -> None:
    with port(lambda client: None) as address:
        pass
    assert "; " not in last(streamkarma, address).removeprefix("streamkarma: ")
