"""Three processes learn one model from a topic with eight partitions, while one of them is killed.

    python examples/share.py HOST:PORT --events 100000

It writes the stream ``lowrank`` (20 attributes, rank 5, half of them observed, 5 % noise) to a topic, from
which three processes of `streamkarma attach --share` learn. One of them is killed after a third of the events
and replaced. At the end, the shared model is pulled into a file. The error rate of the second half is
compared with those of one process that learns all events in order, and of three that learn a third each
without sharing. `python -m tests.broker FOLDER` starts a broker for it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import orjson
from arguments import Example, answering
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

from streamkarma.synthetic import StreamSpec, records

PARTITIONS, PROCESSES = 8, 3
SPEC = StreamSpec(attributes=20, rank=5, observed=0.5, noise=0.05, seed=1)
PROGRAM = [sys.executable, "-m", "streamkarma"]


def predictions(brokers: str, topic: str, running: list[subprocess.Popen[bytes]]) -> Iterator[dict[str, Any]]:
    """The rows in a topic as they are committed, while the processes that write them are running."""
    consumer = KafkaConsumer(
        bootstrap_servers=brokers, isolation_level="read_committed", auto_offset_reset="earliest"
    )
    consumer.assign([TopicPartition(topic, 0)])
    while all(process.poll() is None for process in running):
        for polled in consumer.poll(timeout_ms=200).values():
            yield from (orjson.loads(record.value) for record in polled)


def error_rate(rows: list[dict[str, Any]]) -> float:
    """The error rate of the predictions with an id in the second half."""
    last = max(row["id"] for row in rows)
    late = [row for row in rows if row["id"] > last / 2]
    errors: int = sum(row["prediction"] != row["target"] for row in late)
    return errors / len(late)


def alone(events: list[dict[str, Any]]) -> float:
    """The error rate of one process that learns these events."""
    given = b"\n".join(map(orjson.dumps, events))
    command = [*PROGRAM, "learn", "--id", "id", "--task", "binary", "--quiet"]
    done = subprocess.run(command, input=given, capture_output=True, check=True)
    return error_rate([orjson.loads(line) for line in done.stdout.splitlines()])


@click.command(cls=Example)
@click.argument("brokers", metavar="HOST:PORT", callback=answering)
@click.option("--events", type=click.IntRange(min=1000), default=100_000, show_default=True)
def main(brokers: str, events: int) -> None:
    """Run the comparison, and print the results."""
    name = f"share-{uuid.uuid4().hex[:6]}"
    admin = KafkaAdminClient(bootstrap_servers=brokers)
    admin.create_topics({name: {"num_partitions": PARTITIONS}, f"{name}-out": {"num_partitions": 1}})
    admin.close()
    stream = [{"id": i, **each} for i, each in enumerate(records(SPEC, events))]
    command = [*PROGRAM, "attach", name, "--brokers", brokers, "--group", name, "--share", f"{name}-models"]
    command += ["--task", "binary", "--id", "id", "--output-topic", f"{name}-out", "--share-every", "1"]
    command += ["--checkpoint-every", "1000"]
    command += ["-X", "session_timeout_ms=6000", "-X", "transaction_timeout_ms=6000", "--quiet"]
    running = [subprocess.Popen(command) for _ in range(PROCESSES)]
    producer = KafkaProducer(bootstrap_servers=brokers, linger_ms=20)
    rows: list[dict[str, Any]] = []
    begin = time.perf_counter()
    for each in stream:
        producer.send(name, orjson.dumps(each), partition=each["id"] % PARTITIONS)
    producer.flush()
    for row in predictions(brokers, f"{name}-out", running):
        rows.append(row)
        if len(rows) == events // 3:
            running[0].kill()
            running[0] = subprocess.Popen(command)
            click.echo(f"{len(rows):,} events are answered: one process is killed, and another comes")
        if len(rows) == events:
            break
    seconds = time.perf_counter() - begin
    for process in running:
        process.terminate()
    ended = [process.wait() for process in running]
    if any(code != 143 for code in ended):
        click.echo(f"the processes ended with {ended}, and not as they should after SIGTERM")
    click.echo(f"{len({row['id'] for row in rows}):,} events answered, each once, in {seconds:.0f} s")
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "merged.karma")
        pull = [*PROGRAM, "pull", "--brokers", brokers, "--share", f"{name}-models", "--model", model]
        subprocess.run(pull, check=True, stderr=sys.stdout)
    click.echo(f"error rate of the second half, shared by {PROCESSES}: {error_rate(rows):.4f}")
    click.echo(f"one process, all events in order:               {alone(stream):.4f}")
    apart = [alone([each for each in stream if each["id"] % PROCESSES == k]) for k in range(PROCESSES)]
    click.echo(f"{PROCESSES} processes, each with its own model (mean):   {sum(apart) / PROCESSES:.4f}")


if __name__ == "__main__":
    main()
