from __future__ import annotations

import gc
import json
import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests import forked
from tests.broker import Broker, UnavailableError
from tests.cluster import Cluster

ROOT = Path(__file__).parents[1]


class Result(NamedTuple):
    """The result of a run of the program."""

    code: int
    rows: list[dict[str, Any]]
    stderr: str
    stdout: bytes


Program = Callable[..., Result]

# On a shared machine, the duration of a test is meaningless. The examples are the same in every run, so that
# a failure is due to a change; `pytest --hypothesis-profile search` draws others, and more of them.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("search"), derandomize=True, max_examples=40)
settings.load_profile("same")


# Modules and tests are a million long-lived objects; scanning them for garbage takes a fifth of the time.
gc.set_threshold(50_000)

#: Groups of tests, by the prefixes of their files, that must run in one process each, since they share a
#: broker or Spark, which are slow to start and which some of them stop. Each process has its own broker. They
#: mostly wait, so there may be more processes than cores.
_TOGETHER = {
    "stopped broker": (
        "tests/test_crashes",
        "tests/test_trouble",
        "tests/test_recreated",
        "tests/test_vanishing",
    ),
    "shared models": ("tests/test_share", "tests/test_group", "tests/test_metrics"),
    "spark": ("tests/test_spark_",),
    "broker": ("",),
}
#: The broker of this process, once it is started.
_BROKER = pytest.StashKey[Broker]()


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run the whole suite in several processes; parts named on the command line are faster in one."""
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    worker = hasattr(config, "workerinput")
    if whole and not worker and not config.option.usepdb and config.option.numprocesses is None:
        config.option.numprocesses = len(_TOGETHER)


def pytest_sessionstart() -> None:
    """Fork the workers of the tests."""
    forked.fork_workers()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the slowest tests."""
    places = {scope: place for place, scope in enumerate(_TOGETHER)}
    items.sort(key=lambda item: places.get(_scope(item.nodeid), len(places)))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Stop a broker that is no longer needed, since even an idle broker uses some CPU."""
    own = item.config.stash.get(_BROKER, None)
    if own is not None and _scope(item.nodeid) not in _TOGETHER:
        own.stop()


def pytest_collection_finish() -> None:
    """Exclude everything loaded so far from garbage collection."""
    gc.collect()
    gc.freeze()


class Scheduling(LoadScopeScheduling):
    """Runs all tests on a broker, and those of a module that share a resource, in one process."""

    def _split_scope(self, nodeid: str) -> str:
        return _scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    """A custom scheduler, since --dist=loadgroup of pytest-xdist 3.8 has no effect with pytest 9.2."""
    return Scheduling(config, log)


def _scope(nodeid: str) -> str:
    """The name of the group of tests that must share a process."""
    path, *_, name = nodeid.partition("[")[0].split("::")
    if name in _tests_on_broker(path) or path.startswith(_TOGETHER["spark"]):
        return next(scope for scope, begins in _TOGETHER.items() if path.startswith(begins))
    return path if 'scope="module"' in _text(path) else nodeid


@cache
def _tests_on_broker(path: str) -> set[str]:
    """Names of the tests that take the cluster as their first argument; xdist has only the names."""
    return set(re.findall(r"^def (\w+)\(\s*cluster: Cluster", _text(path), re.MULTILINE))


@cache
def _text(path: str) -> str:
    return (ROOT / path).read_text()


@pytest.fixture
def streamkarma(tmp_path: Path) -> Program:
    """Runs the program in an empty folder, with records or bytes on its standard input."""

    def run(
        *args: str, records: Any = (), text: bytes | None = None, env: dict[str, str] | None = None
    ) -> Result:
        given = text if text is not None else b"".join(json.dumps(r).encode() + b"\n" for r in records)
        done = forked.run(args, given, tmp_path, env)
        lines = done.stdout.splitlines()
        rows = [json.loads(line) for line in lines] if lines and lines[0][:1] == b"{" else []
        return Result(done.returncode, rows, done.stderr.decode(), done.stdout)

    return run


@pytest.fixture(scope="session")
def broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker | str]:
    """A new broker, or the address in STREAMKARMA_TEST_KAFKA."""
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
    request.config.stash[_BROKER] = own
    yield own
    own.stop()


@pytest.fixture
def cluster(broker: Broker | str, tmp_path: Path) -> Cluster:
    """The broker, with separate topics and groups for the test."""
    if isinstance(broker, str):
        return Cluster(broker, tmp_path, None)
    broker.start()
    return Cluster(broker.address, tmp_path, broker)


@pytest.fixture
def own_broker(broker: Broker | str) -> Broker:
    """The broker, for tests that stop it or use its listener with a password."""
    if isinstance(broker, str):
        pytest.skip("the broker in STREAMKARMA_TEST_KAFKA must not be stopped; unset it")
    broker.start()
    return broker
