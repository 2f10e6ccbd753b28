"""A run with metrics: the program in a separate process, fed by a pipe."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

from tests.forked import ForkedProgram


class Watched:
    """The program, learning from a pipe, with ``--metrics``."""

    def __init__(self, folder: Path, *options: str, port: int = 0) -> None:
        command = ["learn", "--no-predictions", "--metrics", str(port), *options]
        self.process = ForkedProgram(command, folder)
        self._said = ""
        self.address = self._until_said(r"http://[^\s\"]*/")

    def __enter__(self) -> Watched:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.__exit__(kind, error, trace)

    def feed(self, records: Iterable[Any]) -> None:
        """Send records to it."""
        self.process.stdin.write("".join(json.dumps(record) + "\n" for record in records))
        self.process.stdin.flush()

    def ask(self, path: str, method: str = "GET") -> tuple[HTTPResponse, bytes]:
        """The response to a request, and its body."""
        connection = HTTPConnection(urlsplit(self.address).netloc, timeout=30)
        connection.request(method, path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer, body

    def figures(self, events: int) -> dict[str, Any]:
        """The figures, once they cover this many events."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            answer, body = self.ask("/figures.json")
            if answer.status == 200 and (figures := json.loads(body))["summary"]["events"] == events:
                return dict(figures)
            time.sleep(0.02)
        raise AssertionError(body)

    def end(self) -> tuple[str, str]:
        """End its input; returns its standard output and error."""
        output, said = self.process.communicate(timeout=60)
        return output, self._said + said

    def _until_said(self, pattern: str) -> str:
        for line in iter(self.process.stderr.readline, ""):
            self._said += line
            if found := re.search(pattern, line):
                return found.group()
        raise AssertionError(f"{pattern} is not in {self._said}")


def samples(text: bytes) -> dict[tuple[str, ...], float]:
    """The samples of an exposition, by name and label values in the order of label names."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }
