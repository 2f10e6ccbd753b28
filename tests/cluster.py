"""Helpers for tests with a broker: topics, records in and out, and the program attached."""

from __future__ import annotations

import json
import random
import subprocess
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic

import streamkarma
from streamkarma.checkpoint import read
from tests import forked
from tests.broker import Broker
from tests.forked import ForkedProgram

#: A commit is acknowledged before it reaches the partitions of its transaction.
_ENDING = ["PrepareCommit", "PrepareAbort"]


class Record(NamedTuple):
    """A record for a topic."""

    value: bytes | None
    partition: int = 0
    key: bytes | None = None
    headers: list[tuple[str, bytes]] = []  # noqa: RUF012  # never modified
    timestamp_ms: int | None = None


class Cluster:
    """A broker's address, and operations on it; every test has its own topics and groups."""

    def __init__(self, address: str, folder: Path, broker: Broker | None) -> None:
        self.address = address
        self.folder = folder
        #: The broker itself, if the tests started it and may stop it.
        self.broker = broker
        self._name = uuid.uuid4().hex[:8]

    def name(self, what: str) -> str:
        """A name for a topic or a group that no other test has."""
        return f"{what}-{self._name}"

    def topic(self, what: str, partitions: int = 1, **configs: str) -> str:
        """Create a topic; by default its records never expire, whatever their timestamps."""
        admin = KafkaAdminClient(bootstrap_servers=self.address)
        name = self.name(what)
        admin.create_topics([NewTopic(name, partitions, 1, topic_configs={"retention.ms": "-1"} | configs)])
        # It exists, but may appear in the list of topics a little later.
        while name not in admin.list_topics():
            time.sleep(0.01)
        admin.close()
        return name

    def remove(self, topic: str) -> None:
        """Delete a topic."""
        admin = KafkaAdminClient(bootstrap_servers=self.address)
        admin.delete_topics([topic])
        while topic in admin.list_topics():
            time.sleep(0.01)
        admin.close()

    def recreate(self, topic: str, partitions: int = 1, pause: float = 0.0) -> None:
        """Delete a topic, and create another with the same name."""
        self.remove(topic)
        time.sleep(pause)
        admin = KafkaAdminClient(bootstrap_servers=self.address)
        admin.create_topics([NewTopic(topic, partitions, 1)])
        admin.close()

    def put(self, topic: str, records: Iterable[Record | dict[str, Any]]) -> None:
        """Append records; dicts are sent as JSON to partition 0."""
        producer = KafkaProducer(bootstrap_servers=self.address, linger_ms=20)
        for each in records:
            r = each if isinstance(each, Record) else Record(json.dumps(each).encode())
            producer.send(topic, r.value, r.key, r.headers, r.partition, r.timestamp_ms)
        producer.flush()
        producer.close()

    def abort(self, topic: str, records: Iterable[dict[str, Any]]) -> None:
        """Append records to partition 0 that nobody can read, and the mark of their aborted transaction."""
        producer = KafkaProducer(bootstrap_servers=self.address, transactional_id=uuid.uuid4().hex)
        producer.init_transactions()
        producer.begin_transaction()
        for record in records:
            producer.send(topic, json.dumps(record).encode(), partition=0)
        producer.flush()
        producer.abort_transaction()
        producer.close()
        self._finish_transactions()

    def get(self, topic: str, partitions: int = 1, isolation: str = "read_committed") -> list[Any]:
        """All records visible now, by partition; by default only committed ones."""
        self._finish_transactions()
        consumer = KafkaConsumer(
            bootstrap_servers=self.address, isolation_level=isolation, auto_offset_reset="earliest"
        )
        found: list[Any] = []
        for partition in (TopicPartition(topic, number) for number in range(partitions)):
            consumer.assign([partition])
            consumer.seek_to_beginning(partition)
            end = consumer.end_offsets([partition])[partition]
            while consumer.position(partition) < end:
                found += consumer.poll(timeout_ms=500).get(partition, [])
        consumer.close()
        return found

    def _finish_transactions(self) -> None:
        """Wait for transactions that were committed or aborted, but whose records still look open."""
        admin = KafkaAdminClient(bootstrap_servers=self.address)
        while any(admin.list_transactions(state_filters=_ENDING).values()):
            time.sleep(0.01)
        admin.close()

    def rows(self, topic: str) -> list[dict[str, Any]]:
        """The predictions in a topic."""
        return [json.loads(record.value) for record in self.get(topic)]

    def members(self, group: str) -> list[str]:
        """The static members of a group."""
        admin = KafkaAdminClient(bootstrap_servers=self.address)
        described = admin.describe_groups([self.name(group)])[self.name(group)]
        admin.close()
        return [member["group_instance_id"] for member in described["members"]]

    def arguments(self, *given: str, group: str = "group") -> list[str]:
        """The command line of an attachment that writes no rows to standard output."""
        quiet = [] if {"--predictions", "--output-topic"}.intersection(given) else ["--no-predictions"]
        return ["attach", "--brokers", self.address, "--group", self.name(group), *given, *quiet]

    def attach(self, *given: str, group: str = "group", code: int = 0, env: dict[str, str] | None = None,
               stdout: bool = False) -> str:  # fmt: skip
        """Attach until the end of the topics; returns standard error."""
        return self.run(*self.arguments(*given, group=group), code=code, env=env, stdout=stdout)

    def pull(self, *given: str, code: int = 0) -> str:
        """Pull a model; returns standard error."""
        return self.run("pull", "--brokers", self.address, *given, code=code)

    def run(self, *arguments: str, code: int = 0, env: dict[str, str] | None = None,
            stdout: bool = False) -> str:  # fmt: skip
        """Run the program to its end; returns its output."""
        done = forked.run(arguments, b"", self.folder, env)
        said = done.stderr.decode()
        assert done.returncode == code, said
        assert "Traceback" not in said
        assert stdout or not done.stdout
        return done.stdout.decode() if stdout else said

    def start(self, *given: str, group: str = "group", script: str | None = None) -> ForkedProgram:
        """Start the program, or a script that runs it, and leave it running."""
        return ForkedProgram(self.arguments(*given, group=group), self.folder, script)

    def learn(self, lines: Sequence[bytes], *given: str, model: str = "reference.karma") -> list[Any]:
        """Learn the lines from a pipe, for predictions and a model to compare with."""
        done = forked.run(["learn", "--model", model, *given], b"\n".join(lines), self.folder)
        done.check_returncode()
        return [json.loads(line) for line in done.stdout.splitlines()]

    def state(self, model: str) -> Any:
        """Everything that a model has learned, bit for bit."""
        header, arrays = streamkarma.load(self.folder / model).state()
        return header, {name: array.tobytes() for name, array in arrays.items()}

    def kept(self, model: str) -> dict[str, Any]:
        """The run state saved with a model."""
        kept: dict[str, Any] = read(self.folder / model)[0]["run"]
        return kept


def until(true: Callable[[], bool], process: ForkedProgram, seconds: float = 60.0) -> None:
    """Wait for an effect of a running process."""
    waited = 0.0
    while not true():
        try:
            # Some effects are looked for on the broker, which takes as long.
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            waited += 0.1
        else:
            raise AssertionError(f"ended with {process.returncode}: {process.communicate()[1]}")
        if waited > seconds:
            process.kill()
            raise AssertionError(f"not within {seconds} s: {process.communicate()[1]}")


def events(n: int, seed: int = 0, labelled: bool = True, first: int = 0) -> list[dict[str, Any]]:
    """Events with five attributes, each observed half of the time; ``first`` is the id of the first one."""
    rng = random.Random(seed)
    made = []
    for i in range(n):
        x = {name: round(rng.gauss(0, 1), 4) for name in "abcde"}
        y = int(x["a"] + x["b"] - x["c"] + rng.gauss(0, 0.5) > 0)
        seen = {name: value for name, value in x.items() if rng.random() < 0.5}
        made.append({"id": first + i, **seen, **({"y": y} if labelled else {})})
    return made


def lines(records: list[dict[str, Any]]) -> list[bytes]:
    """Records as JSON."""
    return [json.dumps(record).encode() for record in records]


def spread(records: list[dict[str, Any]], partitions: int) -> list[Record]:
    """Distribute records over partitions at random."""
    rng = random.Random(1)
    return [Record(json.dumps(r).encode(), rng.randrange(partitions)) for r in records]


def last(said: str) -> str:
    """The last line of an output."""
    return said.splitlines()[-1]
