"""How fast is `streamkarma attach`? Against a bare loop of kafka-python and orjson, on one topic.

    python examples/kafka_speed.py HOST:PORT --events 1000000 --rounds 3

Makes a topic of events of about 300 bytes (20 attributes, half of them observed), then in turns
reads it with a loop that polls and parses and does nothing else, with `attach`, and with
`attach --output-topic`. Rates are those between the first and the last tenth of the events, so
that connecting and loading compiled code, about a second and a half, do not count; whole
processes are given beside. `python tests/broker.py FOLDER` starts a broker to try it on.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import NamedTuple

import click
import orjson
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic

from streamkarma.synthetic import Plan, records


def fill(brokers: str, topic: str, events: int) -> float:
    """Put events into a topic; returns their mean size in bytes."""
    admin = KafkaAdminClient(bootstrap_servers=brokers)
    admin.create_topics([NewTopic(topic, 1, 1), NewTopic(f"{topic}-out", 1, 1)])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=brokers, linger_ms=50, batch_size=200_000)
    size = 0
    for record in records(Plan(attributes=20, rank=5, observed=0.5, seed=1), events):
        named = {f"reading_of_sensor_{k[1:]:0>2}" if k != "y" else k: v for k, v in record.items()}
        value = orjson.dumps(named)
        size += len(value)
        producer.send(topic, value, partition=0)
    producer.flush()
    producer.close()
    return size / events


def bare(brokers: str, topic: str, events: int) -> float:
    """Events per second of polling and parsing."""
    consumer = KafkaConsumer(
        bootstrap_servers=brokers, isolation_level="read_committed", enable_auto_commit=False
    )
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek(partition, 0)
    done, begin = 0, 0.0
    while done < events:
        for polled in consumer.poll(timeout_ms=1000).values():
            for record in polled:
                orjson.loads(record.value)
            if done < events / 10 <= done + len(polled):
                begin = time.perf_counter()
            done += len(polled)
    seconds = time.perf_counter() - begin
    consumer.close()
    return 0.9 * events / seconds


class Timed(NamedTuple):
    """Events per second, and of the whole process; memory in MiB as it went; the error rate."""

    rate: float
    whole: float
    memory: list[int]
    error: str


def attached(brokers: str, topic: str, events: int, *options: str) -> Timed:
    """Time `attach`."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "streamkarma", "attach", topic, "--brokers", brokers, *options]
        command += ["--group", uuid.uuid4().hex, "--until-end", "--no-predictions"]
        command += ["--model", f"{folder}/model.karma", "--report-every", str(events // 10)]
        began, times, memory, error = time.perf_counter(), [], [], ""
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            for line in process.stderr:
                if " events  " in line:
                    times.append(time.perf_counter())
                    status = Path(f"/proc/{process.pid}/status").read_text()
                    memory.append(int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) >> 10)
                error = line.split()[-1] if line.startswith("error rate") else error
        whole = events / (time.perf_counter() - began)
    return Timed(0.9 * events / (times[-1] - times[0]), whole, memory, error)


@click.command()
@click.argument("brokers", metavar="HOST:PORT")
@click.option("--events", default=1_000_000, show_default=True)
@click.option("--rounds", default=3, show_default=True)
def main(brokers: str, events: int, rounds: int) -> None:
    """Compare the throughput of attach with that of a bare loop."""
    topic = f"speed-{uuid.uuid4().hex[:8]}"
    print(f"{events:,} events of {fill(brokers, topic, events):.0f} bytes")
    plain, silent, answering = [], [], []
    for _ in range(rounds):
        plain.append(bare(brokers, topic, events))
        silent.append(attached(brokers, topic, events))
        answering.append(attached(brokers, topic, events, "--output-topic", f"{topic}-out"))
    print(f"{'':28}{'events/s':>10}{'of the bare loop':>18}{'whole process':>15}{'error':>8}{'MiB':>12}")
    middle = statistics.median(plain)
    print(f"{'poll and parse':28}{middle:>10,.0f}{1.0:>18.2f}")
    for name, runs in (("attach", silent), ("attach --output-topic", answering)):
        rate = statistics.median(run.rate for run in runs)
        whole = statistics.median(run.whole for run in runs) / middle
        memory = f"{runs[0].memory[0]} to {runs[0].memory[-1]}"
        print(f"{name:28}{rate:>10,.0f}{rate / middle:>18.2f}{whole:>15.2f}{runs[0].error:>8}{memory:>12}")


if __name__ == "__main__":
    main()
