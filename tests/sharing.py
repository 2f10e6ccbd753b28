"""Helpers for tests of models shared in a topic."""

from __future__ import annotations

import json
from typing import Any

from streamkarma.connectors.kafka.shared_models import ModelSnapshot, TopicModels
from streamkarma.estimators.persistence import from_bytes
from streamkarma.runtime.packing import Packing
from tests.cluster import Cluster, lines


def models_of_topic(cluster: Cluster, share: str, partitions: int = 1) -> TopicModels:
    """The models currently in a topic, as seen by a reader of committed records."""
    stored = TopicModels()
    for record in cluster.get(share, partitions):
        stored.take(record.key, record.value)
    return stored


def snapshots(cluster: Cluster, share: str, partitions: int = 1) -> dict[str, ModelSnapshot]:
    """The newest model of each partition, unpacked."""
    stored = models_of_topic(cluster, share, partitions)
    base = stored.base()
    assert base is not None
    packing, found = Packing(base.content), {}
    for name in stored.names(base.epoch):
        newest = stored.models(name, base.epoch)[0]
        found[name] = newest._replace(content=packing.unpack(newest.content, name))
    return found


def state_of(content: bytes) -> Any:
    """Everything that a model has learned, bit for bit."""
    header, arrays = from_bytes(content, "a model")[0].state()
    return header, {name: array.tobytes() for name, array in arrays.items()}


def check_partitions(
    cluster: Cluster, share: str, source: str, given: dict[int, list[dict[str, Any]]], *learning: str
) -> None:
    """Check that each partition's model equals one that learned only this partition, up to its offset."""
    found = snapshots(cluster, share)
    assert sorted(found) == sorted(f"{source}/{number}" for number in given)
    for number, records in given.items():
        snapshot = found[f"{source}/{number}"]
        cluster.learn(lines(records[: snapshot.next]), "--fresh", *learning, model=f"alone-{number}")
        assert state_of(snapshot.content) == cluster.state(f"alone-{number}")


def by_partition(cluster: Cluster, source: str, partitions: int) -> dict[int, list[dict[str, Any]]]:
    """The records of a topic."""
    found: dict[int, list[dict[str, Any]]] = {number: [] for number in range(partitions)}
    for record in cluster.get(source, partitions):
        found[record.partition].append(json.loads(record.value))
    return found
