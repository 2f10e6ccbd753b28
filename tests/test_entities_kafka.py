"""Entities on a real broker: memories match the offsets, whatever is killed, and labels find entities."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from streamkarma import load
from tests.cluster import Cluster, Record, lines
from tests.test_crashes import deadly
from tests.test_entities import Records, stream
from tests.test_entities_cli import stays


def keyed(records: Records) -> list[Record]:
    """Events of devices, keyed by device, in the partition given by the parity of the device's number."""
    return [
        Record(json.dumps(record).encode(), int(record["device"][1:]) % 2, record["device"].encode())
        for record in records
    ]


def remembered(cluster: Cluster, name: str, device: str) -> dict[str, Any]:
    model = load(cluster.folder / name)
    model.predict_one({"device": device})
    return model.vocabulary.carried()


def test_memories_are_those_of_each_partition_alone_whatever_is_killed(cluster: Cluster) -> None:
    records, labels = stream(600)
    given = [{**record, "why": label} for record, label in zip(records, labels, strict=True)]
    source, output = cluster.topic("in", 2), cluster.topic("out")
    cluster.put(source, keyed(given))
    options = ["--entity", "device", "--target", "why"]
    arguments = [source, *options, "--output-topic", output, "--model", "m", "--until-end"]
    arguments += ["-X", "max_poll_records=40", "--with-key", "key", "--ignore", "key"]
    told = "the entity, device, is not the records' key"
    for call in (3, 5):
        script = deadly("connectors.kafka.sink.TopicSink.commit", call, False)
        with cluster.start(*arguments, script=script) as process:
            assert process.wait(60) == -signal.SIGKILL, process.communicate()[1]
    assert told in cluster.attach(*arguments)
    assert [row["n"] for row in cluster.rows(output)] == list(range(1, 601))
    for parity in (0, 1):
        own = [event for event in given if int(event["device"][1:]) % 2 == parity]
        cluster.learn(lines(own), *options, model=f"alone{parity}")
        for device in {event["device"] for event in own}:
            assert remembered(cluster, "m", device) == remembered(cluster, f"alone{parity}", device)


def test_labels_by_the_key_teach_what_waits_of_their_entity(cluster: Cluster) -> None:
    given = stays(20)
    source, labels = cluster.topic("in"), cluster.topic("labels")
    events = [(stay, {name: value for name, value in event.items() if name != "stay"})
              for stay, each, _ in given for event in each]  # fmt: skip
    cluster.put(source, [Record(json.dumps(event).encode(), key=stay.encode()) for stay, event in events])
    arguments = [source, "--label-topic", labels, "--with-key", "stay", "--entity", "stay", "--model", "m"]
    assert "the records' key" not in cluster.attach(*arguments, "--until-end")
    told = [Record(json.dumps({"y": ill}).encode(), key=stay.encode()) for stay, _, ill in given]
    cluster.put(labels, told)
    cluster.attach(*arguments, "--until-end")
    whole = [event for _, each, _ in given for event in each]
    whole += [{"stay": stay, "y": ill} for stay, _, ill in given]
    cluster.learn(lines(whole), "--entity", "stay", "--pending", "10000")
    assert cluster.state("m") == cluster.state("reference.karma")


def test_the_time_of_a_record_says_how_old_values_are(cluster: Cluster) -> None:
    source = cluster.topic("in")
    given = [({"x": 1.0, "y": True}, 0), ({"z": 2.0, "y": False}, 5), ({"y": True}, 12)]
    begin = 1_700_000_000
    cluster.put(source, [Record(json.dumps(event).encode(), key=b"d", timestamp_ms=1000 * (begin + at))
                         for event, at in given])  # fmt: skip
    beside = ["--with-key", "device", "--with-timestamp", "at"]
    following = ["--entity", "device", "--time", "at", "--carry-for", "10"]
    cluster.attach(source, *beside, *following, "--model", "m", "--until-end")
    cluster.learn(lines([{"device": "d", "at": begin + at, **event} for event, at in given]), *following)
    assert cluster.state("m") == cluster.state("reference.karma")
    model = load(cluster.folder / "m")
    assert model.predict_one({"device": "d", "at": begin + 13}) is not None
    assert model.vocabulary.carried() == {"z": 2.0, "label.last": 1.0, "label.mean": pytest.approx(2 / 3)}
