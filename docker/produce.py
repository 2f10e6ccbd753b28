"""Send the JSON lines of standard input to a Kafka topic, so many a second, as a live stream would.

streamkarma generate lowrank --events 1000 | python docker/produce.py events --brokers HOST:PORT
"""

from __future__ import annotations

import sys
import time

import click
from kafka import KafkaProducer


@click.command()
@click.argument("topic")
@click.option("--brokers", metavar="HOST:PORT,...", required=True)
@click.option("--rate", default=100.0, show_default=True, help="Events a second.")
def main(topic: str, brokers: str, rate: float) -> None:
    """Send lines to TOPIC."""
    producer = KafkaProducer(bootstrap_servers=brokers.split(","), linger_ms=5)
    begin = time.monotonic()
    for sent, line in enumerate(sys.stdin.buffer):
        time.sleep(max(0.0, begin + sent / rate - time.monotonic()))
        producer.send(topic, line.strip())
    producer.close()


if __name__ == "__main__":
    main()
