"""Whether streamkarma moves: exit 0 if it does, 1 with the reason if not.

It moves if it has written its model lately, which it does at least once a minute while records
come; or if there is nothing to read beyond the offsets that are in the model.

python docker/healthy.py MODEL --brokers HOST:PORT
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from streamkarma.checkpoint import read
from streamkarma.errors import ModelFileError

#: How long brokers may take to answer, and to send a record that is there.
PATIENCE_MS = 5000


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--brokers", metavar="HOST:PORT,...", required=True)
@click.option(
    "--age", default=180.0, show_default=True, help="Seconds a model may be old where records wait."
)
def main(model: Path, brokers: str, age: float) -> None:
    """Look at MODEL, and if it is old, at the topics that it was learned from."""
    try:
        header, _ = read(model)
        old = time.time() - model.stat().st_mtime
        if old <= age:
            return
        waiting = waits(brokers, header["run"].get("kafka", {}))
    except (ModelFileError, OSError) as error:
        sys.exit(str(error))
    except KafkaError as error:
        sys.exit(
            f"{model} was written {old:.0f} s ago, and {brokers} cannot be reached to find out why: {error}"
        )
    if waiting is not None:
        sys.exit(f"{waiting} waits to be read, and {model} was written {old:.0f} s ago")


def waits(brokers: str, offsets: dict[str, dict[str, int]]) -> str | None:
    """A record from these offsets on, or None if there is none."""
    consumer = KafkaConsumer(
        bootstrap_servers=brokers.split(","),
        bootstrap_timeout_ms=PATIENCE_MS,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        allow_auto_create_topics=False,
    )
    try:
        # Asking for the end of a partition that is gone would take until the timeout.
        there = {topic: consumer.partitions_for_topic(topic) for topic in offsets.keys() & consumer.topics()}
        if offsets and not there:
            sys.exit(f"there is no topic {', '.join(sorted(offsets))}, from which the model was learned")
        begins = {
            TopicPartition(topic, int(number)): offset
            for topic, partitions in offsets.items()
            for number, offset in partitions.items()
            if int(number) in there.get(topic, ())
        }
        ends = consumer.end_offsets(list(begins), timeout_ms=PATIENCE_MS)
        # An end may be past the last record: what ends a transaction has an offset, too.
        behind = {tp: offset for tp, offset in begins.items() if offset < ends[tp]}
        if not behind:
            return None
        consumer.assign(list(behind))
        for partition, offset in behind.items():
            consumer.seek(partition, offset)
        deadline = time.monotonic() + PATIENCE_MS / 1000
        while time.monotonic() < deadline:
            for records in consumer.poll(timeout_ms=200).values():
                first = records[0]
                return f"topic {first.topic}, partition {first.partition}, offset {first.offset}"
            if all(consumer.position(partition) >= ends[partition] for partition in behind):
                return None
        return "something"
    finally:
        consumer.close(autocommit=False)


if __name__ == "__main__":
    main()
