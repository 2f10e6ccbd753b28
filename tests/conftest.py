from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.broker import Broker, UnavailableError
from tests.cluster import Cluster


class Result(NamedTuple):
    """What a run of the program left."""

    code: int
    rows: list[dict[str, Any]]
    stderr: str
    stdout: bytes


Program = Callable[..., Result]


@pytest.fixture
def streamkarma(tmp_path: Path) -> Program:
    """Run the program in an empty folder; records or bytes go to its standard input."""

    def run(
        *args: str, records: Any = (), text: bytes | None = None, env: dict[str, str] | None = None
    ) -> Result:
        given = text if text is not None else b"".join(json.dumps(r).encode() + b"\n" for r in records)
        done = subprocess.run(
            [sys.executable, "-m", "streamkarma", *args],
            input=given,
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            timeout=120,
            check=False,
        )
        lines = done.stdout.splitlines()
        rows = [json.loads(line) for line in lines] if lines and lines[0][:1] == b"{" else []
        return Result(done.returncode, rows, done.stderr.decode(), done.stdout)

    return run


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker | str]:
    """A broker of our own, or the address in STREAMKARMA_TEST_KAFKA."""
    if address := os.environ.get("STREAMKARMA_TEST_KAFKA"):
        yield address
        return
    try:
        own = Broker(tmp_path_factory.mktemp("broker"))
    except UnavailableError as error:
        if os.environ.get("STREAMKARMA_TEST_KAFKA_REQUIRED"):
            raise
        pytest.skip(f"no Kafka to test with: {error}")
    own.start()
    yield own
    own.stop()


@pytest.fixture
def cluster(broker: Broker | str, tmp_path: Path) -> Cluster:
    """The broker with topics and groups of the test's own."""
    if isinstance(broker, str):
        return Cluster(broker, tmp_path, None)
    return Cluster(broker.address, tmp_path, broker)


@pytest.fixture
def own_broker(broker: Broker | str) -> Broker:
    """The broker, for tests that stop it or use its locked door."""
    if isinstance(broker, str):
        pytest.skip("STREAMKARMA_TEST_KAFKA names a broker that is not ours to stop; unset it")
    return broker
