"""A run with metrics: the program in a separate process, fed by a pipe."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families


class Watched:
    """The program, learning from a pipe, with ``--metrics``."""

    def __init__(self, folder: Path, *options: str, port: int = 0) -> None:
        self._said = (folder / "said").open("w+")
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "streamkarma",
                "learn",
                "--no-predictions",
                "--metrics",
                str(port),
                *options,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            cwd=folder,
            env=dict(os.environ),
        )
        self.address = self._until_said(r"http://[^\s\"]*/")

    def __enter__(self) -> Watched:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
        self._said.close()

    def feed(self, records: Iterable[Any]) -> None:
        """Send records to it."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(json.dumps(record).encode() + b"\n" for record in records))
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
        raise AssertionError(body)

    def end(self) -> tuple[bytes, str]:
        """End its input; returns its standard output and error."""
        output, _ = self.process.communicate(timeout=60)
        self._said.seek(0)
        return output, self._said.read()

    def _until_said(self, pattern: str) -> str:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            self._said.seek(0)
            if found := re.search(pattern, self._said.read()):
                return found.group()
            assert self.process.poll() is None
        raise AssertionError(pattern)


def samples(text: bytes) -> dict[tuple[str, ...], float]:
    """The samples of an exposition, by name and label values in the order of label names."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }
