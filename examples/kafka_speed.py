"""The speed of `streamkarma attach`, compared with a bare loop of kafka-python and orjson on the same topic.

    python examples/kafka_speed.py HOST:PORT --events 1000000 --rounds 3

It creates a topic with events of about 300 bytes (20 attributes, half of them observed), and a file with the
same events. Then it runs in turn: a loop that only polls, one that also parses, `learn` on the file,
`attach`, and `attach --output-topic`. Rates are measured between the first and the last tenth of the events,
so that connecting and starting, about a second, do not count; rates of whole processes are given as well.
`poll + learn` is polling by kafka-python and then learning; `attach` takes less, because the engine decodes
the records. `python -m tests.broker FOLDER` starts a broker for it.
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
from arguments import COUNT, Example, answering
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic

from streamkarma.synthetic import StreamSpec, records


def fill(brokers: str, topic: str, events: int, copy: Path) -> float:
    """Put events into a topic and a file; returns their mean size in bytes."""
    admin = KafkaAdminClient(bootstrap_servers=brokers)
    admin.create_topics([NewTopic(topic, 1, 1), NewTopic(f"{topic}-out", 1, 1)])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=brokers, linger_ms=50, batch_size=200_000)
    with copy.open("wb") as file:
        for record in records(StreamSpec(attributes=20, rank=5, observed=0.5, seed=1), events):
            named = {f"reading_of_sensor_{k[1:]:0>2}" if k != "y" else k: v for k, v in record.items()}
            value = orjson.dumps(named)
            file.write(value + b"\n")
            producer.send(topic, value, partition=0)
    producer.flush()
    producer.close()
    return copy.stat().st_size / events - 1


def bare(brokers: str, topic: str, events: int, parse: bool) -> float:
    """Events per second of polling, and optionally parsing."""
    consumer = KafkaConsumer(
        bootstrap_servers=brokers, isolation_level="read_committed", enable_auto_commit=False
    )
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek(partition, 0)
    done, begin = 0, 0.0
    while done < events:
        for polled in consumer.poll(timeout_ms=1000).values():
            for record in polled if parse else ():
                orjson.loads(record.value)
            if done < events / 10 <= done + len(polled):
                begin = time.perf_counter()
            done += len(polled)
    seconds = time.perf_counter() - begin
    consumer.close()
    return 0.9 * events / seconds


class Timed(NamedTuple):
    """Events per second, of the loop and of the whole process; memory in MiB over time; the error rate."""

    rate: float
    whole: float
    memory: list[int]
    error: str


def run(command: list[str], events: int) -> Timed:
    """Time a streamkarma process that reads this many events."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "streamkarma", *command, "--no-predictions"]
        words += ["--model", f"{folder}/model.karma", "--report-every", str(events // 10)]
        began, times, memory, error, line = time.perf_counter(), [], [], "", ""
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            for line in process.stderr:
                if " events  " in line:
                    times.append(time.perf_counter())
                    status = Path(f"/proc/{process.pid}/status").read_text()
                    memory.append(int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) >> 10)
                error = line.split()[-1] if line.startswith("error rate") else error
        whole = events / (time.perf_counter() - began)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, words, stderr=line)
    return Timed(0.9 * events / (times[-1] - times[0]), whole, memory, error)


def attached(brokers: str, topic: str, events: int, *options: str) -> Timed:
    """Time `attach`."""
    group = uuid.uuid4().hex
    return run(["attach", topic, "--brokers", brokers, "--group", group, "--until-end", *options], events)


@click.command(cls=Example)
@click.argument("brokers", metavar="HOST:PORT", callback=answering)
@click.option("--events", type=click.IntRange(min=1000), default=1_000_000, show_default=True)
@click.option("--rounds", type=COUNT, default=3, show_default=True)
@click.option("--options", default="--budget 512", show_default=True, help="What learns, for both commands.")
def main(brokers: str, events: int, rounds: int, options: str) -> None:
    """Compare the throughput of attach with that of a bare loop."""
    topic, learner = f"speed-{uuid.uuid4().hex[:8]}", options.split()
    polling, parsing, learning, silent, answering = [], [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "events.jsonl")
        print(f"{events:,} events of {fill(brokers, topic, events, copy):.0f} bytes, {options}")
        for _ in range(rounds):
            polling.append(bare(brokers, topic, events, parse=False))
            parsing.append(bare(brokers, topic, events, parse=True))
            learning.append(run(["learn", str(copy), "--workers", "1", *learner], events))
            silent.append(attached(brokers, topic, events, *learner))
            answering.append(attached(brokers, topic, events, "--output-topic", f"{topic}-out", *learner))
    alone = statistics.median(each.rate for each in learning)
    poll, middle = statistics.median(polling), statistics.median(parsing)
    print(f"{'':28}{'events/s':>10}{'of the bare loop':>18}{'whole process':>15}{'error':>8}{'MiB':>12}")
    both = 1.0 / (1.0 / poll + 1.0 / alone)
    rates = {"poll": poll, "poll and parse": middle, "learn, from a file": alone, "poll + learn": both}
    for name, rate in rates.items():
        print(f"{name:28}{rate:>10,.0f}{rate / middle:>18.2f}")
    for name, runs in (("attach", silent), ("attach --output-topic", answering)):
        rate = statistics.median(each.rate for each in runs)
        whole = statistics.median(each.whole for each in runs) / middle
        memory = f"{runs[0].memory[0]} to {runs[0].memory[-1]}"
        print(f"{name:28}{rate:>10,.0f}{rate / middle:>18.2f}{whole:>15.2f}{runs[0].error:>8}{memory:>12}")
    ratios = [
        (1.0 / each.rate) / (1.0 / first + 1.0 / second.rate)
        for first, second, each in zip(polling, learning, silent, strict=True)
    ]
    print(f"attach takes {statistics.median(ratios):.2f} times what polling and learning take")


if __name__ == "__main__":
    main()
