"""Serves the figures of a run in a separate thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6, socket
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson

from streamkarma.errors import RunError, UsageError
from streamkarma.events.values import EXACT
from streamkarma.files import reason
from streamkarma.monitoring.page import page
from streamkarma.monitoring.watcher import Watcher

_LOOPBACK = "127.0.0.1"
#: Maximum number of concurrent requests. Idle connections count, too, so the limit is high.
_MOST_REQUESTS = 128
#: Timeouts for receiving a request, short because of idle connections, and for sending its answer.
_REQUEST_SECONDS, _ANSWER_SECONDS = 2.0, 10.0
#: The page has its own script and style, and requests figures only from here.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Answer(NamedTuple):
    """An HTTP response."""

    status: HTTPStatus
    kind: str
    body: bytes


def text(status: HTTPStatus, line: str) -> Answer:
    """A response with a line of text."""
    return Answer(status, "text/plain; charset=utf-8", line.encode() + b"\n")


def address_of(given: str) -> tuple[str, int]:
    """Host and port as given by the user; a port alone is on localhost.

    Raises
    ------
    UsageError
        If they are invalid.

    Examples
    --------
    >>> address_of("9100"), address_of("0.0.0.0:9100"), address_of("[::1]:0")
    (('127.0.0.1', 9100), ('0.0.0.0', 9100), ('::1', 0))
    """
    host, _, port = given.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise UsageError(f"--metrics {given!r} is not HOST:PORT or PORT, a number below 65536")
    return host.strip("[]") or _LOOPBACK, int(port)


@contextmanager
def serving(given: str) -> Iterator[Watcher]:
    """Serve the watcher's figures at an address within the block.

    Raises
    ------
    UsageError
        If it is not an address, or prometheus_client is missing.
    RunError
        If listening there fails.
    """
    try:
        from streamkarma.monitoring.exposition import exposition
    except ModuleNotFoundError:
        raise UsageError("--metrics needs prometheus_client: pip install 'streamkarma[metrics]'") from None
    address = address_of(given)
    try:
        server = _Server(address)
    except OSError as error:
        raise RunError(f"--metrics: cannot listen on {given}: {reason(error)}") from error
    with server:
        host = f"[{address[0]}]" if ":" in address[0] else address[0]
        watcher = Watcher(f"http://{host}:{server.server_address[1]}/")
        server.answers = {
            "/": partial(Answer, HTTPStatus.OK, "text/html; charset=utf-8", page()),
            "/metrics": partial(_metrics, watcher, exposition),
            "/figures.json": partial(_figures, watcher),
            "/healthz": partial(_health, watcher),
            "/readyz": partial(_readiness, watcher),
        }
        thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
        thread.start()
        try:
            yield watcher
        finally:
            server.shutdown()


def _metrics(watcher: Watcher, exposition: Callable[[Watcher], tuple[str, bytes]]) -> Answer:
    return Answer(HTTPStatus.OK, *exposition(watcher))


def _figures(watcher: Watcher) -> Answer:
    figures = watcher.figures
    if figures is None:
        return text(HTTPStatus.SERVICE_UNAVAILABLE, "no figures yet")
    content = {
        **figures._asdict(),
        "rows": list(map(_for_browsers, figures.rows)),
        "error": figures.error,
        "history": watcher.history.columns(figures.point()),
        "unready": watcher.unready,
    }
    return Answer(HTTPStatus.OK, "application/json", orjson.dumps(content, default=_as_dict))


def _for_browsers(value: Any) -> Any:
    """A value with integers as strings if a browser would round them."""
    if isinstance(value, Mapping):
        return {name: _for_browsers(each) for name, each in value.items()}
    if isinstance(value, list):
        return list(map(_for_browsers, value))
    return str(value) if isinstance(value, int) and abs(value) >= EXACT else value


def _as_dict(value: Any) -> dict[str, Any]:
    """Convert a named tuple, or a mapping that orjson does not know."""
    return dict(value._asdict() if hasattr(value, "_asdict") else value)


def _health(watcher: Watcher) -> Answer:
    if (seconds := watcher.stuck_for) is not None:
        return text(HTTPStatus.SERVICE_UNAVAILABLE, f"no progress for {seconds:.0f} s")
    return text(HTTPStatus.OK, "alive")


def _readiness(watcher: Watcher) -> Answer:
    if (why := watcher.unready) is not None:
        return text(HTTPStatus.SERVICE_UNAVAILABLE, why)
    return text(HTTPStatus.OK, "ready")


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD, and nothing else."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "streamkarma", ""
    timeout = _REQUEST_SECONDS
    server: _Server

    def do_GET(self) -> None:  # the name that http.server looks for
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: standard error belongs to the run."""

    def _answer(self, with_body: bool) -> None:
        self.connection.settimeout(_ANSWER_SECONDS)
        found = self.server.answers.get(urlsplit(self.path).path)
        status, kind, body = text(HTTPStatus.NOT_FOUND, "not found") if found is None else found()
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "Content-Security-Policy": _POLICY,
            "X-Content-Type-Options": "nosniff",
            "Connection": "close",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    """A server with a thread for each request, and a limited number of them."""

    def __init__(self, address: tuple[str, int]) -> None:
        if ":" in address[0]:
            self.address_family = AF_INET6
        #: The functions that answer, by path.
        self.answers: dict[str, Callable[[], Answer]] = {}
        self._room = threading.BoundedSemaphore(_MOST_REQUESTS)
        super().__init__(address, _Handler)

    def process_request(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        """Answer in a thread; beyond the limit, a request waits until another one ends."""
        self._room.acquire()
        super().process_request(request, client_address)

    def process_request_thread(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        """Answer, and make room for another request."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing: the client is gone."""
