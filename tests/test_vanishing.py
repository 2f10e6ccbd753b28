"""On a real broker: topics, records and brokers that vanish while a topic is read to its end."""

from __future__ import annotations

import json

import pytest
from kafka import KafkaAdminClient, TopicPartition

from tests.broker import Broker
from tests.cluster import Cluster, events, last, lines
from tests.forked import ForkedProgram

#: Small fetches, so that the first of them do not have all records.
SMALL = ("-X", "max_partition_fetch_bytes=3000", "-X", "max_poll_records=50")
COUNT = 1000

#: Stops after the third poll, until a line arrives on standard input, and reports silence earlier.
PAUSED = """
import sys
from kafka import KafkaConsumer
from streamkarma.connectors.kafka import bounded, connection, reader
connection.SILENCE_SECONDS = bounded.SILENCE_SECONDS = reader._IDLE_SECONDS = 0.5
original, left = KafkaConsumer.poll, 3
def poll(self, *arguments, **more):
    global left
    polled = original(self, *arguments, **more)
    left -= bool(polled)
    if left == 0:
        left = -1
        print("paused", file=sys.stderr, flush=True)
        sys.stdin.readline()
    return polled
KafkaConsumer.poll = poll
from streamkarma.cli import main
main()
"""


def paused(cluster: Cluster, *arguments: str) -> ForkedProgram:
    """Start the program, and wait until it has read a little."""
    process = ForkedProgram([*arguments, "--summary", "s.json"], cluster.folder, PAUSED)
    assert any(line == "paused\n" for line in iter(process.stderr.readline, "")), "it ended before"
    return process


def filled(cluster: Cluster) -> str:
    """A topic to score with the model m."""
    given, source = events(COUNT), cluster.topic("in")
    cluster.put(source, given)
    cluster.learn(lines(given[:50]), "--learner", "explicit", model="m")
    return source


def predicting(cluster: Cluster, source: str) -> ForkedProgram:
    """Start to predict a topic."""
    return paused(cluster, "predict", "m", source, "--brokers", cluster.address, *SMALL,
                  "--connect-timeout", "1")  # fmt: skip


def truncate(cluster: Cluster, source: str, offset: int) -> None:
    """Remove the records before an offset, as if they had expired."""
    admin = KafkaAdminClient(bootstrap_servers=cluster.address)
    admin.delete_records({TopicPartition(source, 0): offset})
    admin.close()


def test_a_topic_that_is_deleted_ends_its_prediction(cluster: Cluster) -> None:
    source = filled(cluster)
    with predicting(cluster, source) as process:
        cluster.remove(source)
        rows, said = process.communicate("\n", timeout=60)
    assert process.returncode == 1
    assert last(said) == f"streamkarma: topic {source} was deleted before it was read to its end"
    assert 0 < rows.count("\n") < COUNT


def test_brokers_that_stop_end_a_prediction(cluster: Cluster, own_broker: Broker) -> None:
    source = filled(cluster)
    with predicting(cluster, source) as process:
        own_broker.stop()
        try:
            said = process.communicate("\n", timeout=60)[1]
        finally:
            own_broker.start()
    assert process.returncode == 1
    assert last(said).startswith(f"streamkarma: no broker at {cluster.address} within 1 s: ")


@pytest.mark.parametrize("left", [10, 0])
def test_records_that_expire_while_they_are_predicted_are_reported(cluster: Cluster, left: int) -> None:
    source = filled(cluster)
    with predicting(cluster, source) as process:
        cluster.put(source, events(5))
        truncate(cluster, source, COUNT - left if left else COUNT + 2)
        rows, said = process.communicate("\n", timeout=60)
    assert process.returncode == 0, said
    lost = json.loads((cluster.folder / "s.json").read_text())["kafka"]["lost"][f"{source}/0"]
    assert rows.count("\n") == COUNT - lost
    assert lost >= COUNT // 2
    begin, end = COUNT - left - lost, COUNT - left - 1
    assert f"topic {source}, partition 0: offsets {begin} to {end} are lost; they expired" in said


def test_a_topic_that_is_recreated_ends_its_prediction(cluster: Cluster) -> None:
    source = filled(cluster)
    with predicting(cluster, source) as process:
        cluster.recreate(source, pause=1.0)
        said = process.communicate("\n", timeout=60)[1]
    assert process.returncode == 1
    assert last(said).startswith(f"streamkarma: topic {source}, partition 0: offset ")
    assert last(said).endswith(" is past its end; the topic was recreated while it was read")


@pytest.mark.parametrize("learns", [True, False])
def test_a_deleted_topic_is_not_the_end_of_a_topic(cluster: Cluster, learns: bool) -> None:
    source = filled(cluster)
    # With another topic the process keeps a partition; otherwise it has none any more.
    more = [cluster.topic("other")] if learns else ["--no-learn"]
    arguments = cluster.arguments(source, *more, "--until-end", "--model", "m", *SMALL)
    with paused(cluster, *arguments) as process:
        cluster.remove(source)
        said = process.communicate("\n", timeout=60)[1]
    assert process.returncode == 1, said
    assert last(said) == f"streamkarma: topic {source} was deleted before it was read to its end"
    read = json.loads((cluster.folder / "s.json").read_text())["events"]
    assert 0 < read < COUNT
    # What was learned is kept.
    assert cluster.kept("m")["events"] == 50 + (read if learns else 0)


def test_a_recreated_topic_has_its_own_end(cluster: Cluster) -> None:
    source = filled(cluster)
    arguments = cluster.arguments(source, "--until-end", "--model", "other", *SMALL)
    with paused(cluster, *arguments) as process:
        cluster.recreate(source, pause=1.0)
        said = process.communicate("\n", timeout=60)[1]
    assert process.returncode == 0, said
    assert said.count("has changed (it was recreated") == 1
