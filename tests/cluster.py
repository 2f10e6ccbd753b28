"""What tests do with a broker: topics, records in, records out, and the program attached."""

from __future__ import annotations

import json
import random
import subprocess
import sys
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


class Record(NamedTuple):
    """What to put into a topic."""

    value: bytes | None
    partition: int = 0
    key: bytes | None = None
    headers: list[tuple[str, bytes]] = []  # noqa: RUF012  # read only
    timestamp_ms: int | None = None


class Running(subprocess.Popen[str]):
    """A process that a failing test takes down with it."""

    def __exit__(self, *error: Any) -> None:
        if error[0] is not None:
            self.kill()
        super().__exit__(*error)


class Cluster:
    """A broker's address, and what tests do there; every test has topics and groups of its own."""

    def __init__(self, address: str, folder: Path, broker: Broker | None) -> None:
        self.address = address
        self.folder = folder
        #: The broker itself, if it is ours to stop.
        self.broker = broker
        self._name = uuid.uuid4().hex[:8]

    def name(self, what: str) -> str:
        """A name for a topic or a group that no other test has."""
        return f"{what}-{self._name}"

    def topic(self, what: str, partitions: int = 1, **configs: str) -> str:
        """Make a topic; unless asked to, it loses nothing, however old its records say they are."""
        admin = KafkaAdminClient(bootstrap_servers=self.address)
        name = self.name(what)
        admin.create_topics([NewTopic(name, partitions, 1, topic_configs={"retention.ms": "-1"} | configs)])
        # It is made, but whoever asks for a list of topics may see it a little later.
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
        """Delete a topic, and make another of that name."""
        self.remove(topic)
        time.sleep(pause)
        admin = KafkaAdminClient(bootstrap_servers=self.address)
        admin.create_topics([NewTopic(topic, partitions, 1)])
        admin.close()

    def put(self, topic: str, records: Iterable[Record | dict[str, Any]]) -> None:
        """Append records; dictionaries go as JSON to partition 0."""
        producer = KafkaProducer(bootstrap_servers=self.address, linger_ms=20)
        for each in records:
            r = each if isinstance(each, Record) else Record(json.dumps(each).encode())
            producer.send(topic, r.value, r.key, r.headers, r.partition, r.timestamp_ms)
        producer.flush()
        producer.close()

    def get(self, topic: str, partitions: int = 1, isolation: str = "read_committed") -> list[Any]:
        """All records that a reader, by default one of committed records, sees now, by partition."""
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

    def rows(self, topic: str) -> list[dict[str, Any]]:
        """The predictions in a topic."""
        return [json.loads(record.value) for record in self.get(topic)]

    def members(self, group: str) -> list[str]:
        """Named members of a group."""
        admin = KafkaAdminClient(bootstrap_servers=self.address)
        described = admin.describe_groups([self.name(group)])[self.name(group)]
        admin.close()
        return [member["group_instance_id"] for member in described["members"]]

    def arguments(self, *given: str, group: str = "group") -> list[str]:
        """The command line of an attachment, which keeps its peace on stdout."""
        quiet = [] if {"--predictions", "--output-topic"}.intersection(given) else ["--no-predictions"]
        return ["attach", "--brokers", self.address, "--group", self.name(group), *given, *quiet]

    def attach(self, *given: str, group: str = "group", code: int = 0, env: dict[str, str] | None = None,
               stdout: bool = False) -> str:  # fmt: skip
        """Attach to the end; returns what was said."""
        return self.run(*self.arguments(*given, group=group), code=code, env=env, stdout=stdout)

    def pull(self, *given: str, code: int = 0) -> str:
        """Pull a model; returns what was said."""
        return self.run("pull", "--brokers", self.address, *given, code=code)

    def run(self, *arguments: str, code: int = 0, env: dict[str, str] | None = None,
            stdout: bool = False) -> str:  # fmt: skip
        """Run the program to its end; returns what it said."""
        done = forked.run(arguments, b"", self.folder, env)
        said = done.stderr.decode()
        assert done.returncode == code, said
        assert "Traceback" not in said
        assert stdout or not done.stdout
        return done.stdout.decode() if stdout else said

    def start(self, *given: str, group: str = "group", script: str | None = None) -> Running:
        """Start the program, or a script that ends up in it, and leave it running."""
        how = ["-m", "streamkarma"] if script is None else ["-c", script]
        return Running(
            [sys.executable, *how, *self.arguments(*given, group=group)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
        )  # fmt: skip

    def learn(self, lines: Sequence[bytes], *given: str, model: str = "reference.karma") -> list[Any]:
        """The same by the pipe: predictions and a model to compare with."""
        done = forked.run(["learn", "--model", model, *given], b"\n".join(lines), self.folder)
        done.check_returncode()
        return [json.loads(line) for line in done.stdout.splitlines()]

    def state(self, model: str) -> Any:
        """All that a model has learned, to the bit."""
        header, arrays = streamkarma.load(self.folder / model).state()
        return header, {name: array.tobytes() for name, array in arrays.items()}

    def kept(self, model: str) -> dict[str, Any]:
        """What is kept beside a model."""
        kept: dict[str, Any] = read(self.folder / model)[0]["run"]
        return kept


def until(true: Callable[[], bool], process: Running, seconds: float = 60.0) -> None:
    """Wait for something that a running process brings about."""
    waited = 0.0
    while not true():
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            waited += 0.05
        else:
            raise AssertionError(f"ended with {process.returncode}: {process.communicate()[1]}")
        if waited > seconds:
            process.kill()
            raise AssertionError(f"not within {seconds} s: {process.communicate()[1]}")


def events(n: int, seed: int = 0, labelled: bool = True, first: int = 0) -> list[dict[str, Any]]:
    """Events of five attributes, each there half of the time; ``first`` is the id of the first one."""
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
    """Records over partitions, at random."""
    rng = random.Random(1)
    return [Record(json.dumps(r).encode(), rng.randrange(partitions)) for r in records]


def last(said: str) -> str:
    """The last line of what was said."""
    return said.splitlines()[-1]
