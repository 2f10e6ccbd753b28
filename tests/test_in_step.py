"""Late labels of a topic are read in step with their events, however many of both wait."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
from kafka import TopicPartition, errors

from streamkarma.connectors.kafka.in_step import InStep
from tests.cluster import Cluster, Record, events

A, B, LABELS = TopicPartition("in", 0), TopicPartition("in", 1), TopicPartition("labels", 0)


class Stored(NamedTuple):
    """A record that a consumer has polled."""

    timestamp: int


class Consumer:
    """A consumer of partitions whose ends, and how far they were read, the test decides."""

    def __init__(self, *partitions: TopicPartition) -> None:
        self.positions = dict.fromkeys(partitions, 0)
        self.marks: dict[TopicPartition, int | None] = dict.fromkeys(partitions, 0)
        self.ends: dict[TopicPartition, int] = {}
        self.paused: set[TopicPartition] = set()

    def position(self, partition: TopicPartition, timeout_ms: int) -> int:
        return self.positions[partition]

    def highwater(self, partition: TopicPartition) -> int | None:
        return self.marks[partition]

    def end_offsets(self, partitions: list[TopicPartition], timeout_ms: int) -> dict[TopicPartition, int]:
        if not self.ends:
            raise errors.KafkaTimeoutError
        return {partition: self.ends[partition] for partition in partitions}

    def pause(self, *partitions: TopicPartition) -> None:
        self.paused |= set(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        self.paused -= set(partitions)


def taken(in_step: InStep, **polled: list[int]) -> list[tuple[str, list[int]]]:
    """The order in which polled records, given by their times, are taken."""
    partitions = {"a": A, "b": B, "labels": LABELS}
    names = {partition: name for name, partition in partitions.items()}
    records = {partitions[name]: list(map(Stored, times)) for name, times in polled.items()}
    return [(names[tp], [each.timestamp for each in some]) for tp, some in in_step.take(records)]


def in_step_of(consumer: Consumer, pending: int = 40) -> InStep:
    in_step = InStep(consumer, "labels", pending)
    in_step.keep_only(consumer.positions)
    return in_step


def test_labels_follow_their_events() -> None:
    in_step = in_step_of(Consumer(A, LABELS), pending=8)
    assert taken(in_step, labels=[1, 2, 3, 9], a=[0, 1, 2, 3, 4, 5]) == [
        ("a", [0, 1]),
        ("labels", [1]),
        ("a", [2, 3]),
        ("labels", [2, 3]),
        ("a", [4, 5]),
        ("labels", [9]),
    ]
    assert not in_step


def test_what_is_ahead_waits_for_what_is_still_to_be_fetched() -> None:
    consumer = Consumer(A, B, LABELS)
    in_step = in_step_of(consumer)
    consumer.marks[LABELS], consumer.ends = 7, {LABELS: 7}
    assert taken(in_step, a=[1, 2], b=[1]) == []
    assert in_step
    # There is nothing else to fetch from B.
    consumer.positions[LABELS] = 7
    assert taken(in_step, labels=[1, 2, 3]) == [("a", [1, 2]), ("b", [1]), ("labels", [1, 2, 3])]


def test_a_partition_at_its_end_holds_up_nothing() -> None:
    in_step = in_step_of(Consumer(A, LABELS))
    assert taken(in_step, a=[5]) == [("a", [5])]
    assert taken(in_step, labels=[6]) == [("labels", [6])]
    assert taken(in_step, a=[2, 1]) == [("a", [2, 1])]


def test_an_open_transaction_of_others_holds_up_nothing() -> None:
    consumer = Consumer(A, LABELS)
    in_step = in_step_of(consumer)
    consumer.marks[LABELS], consumer.ends = 7, {LABELS: 0}
    assert taken(in_step, a=[5]) == [("a", [5])]


@pytest.mark.parametrize("ends", [{LABELS: 7}, {}])
def test_a_partition_that_delivers_nothing_holds_up_nothing_for_long(
    monkeypatch: pytest.MonkeyPatch, ends: dict[TopicPartition, int]
) -> None:
    now = 100.0
    monkeypatch.setattr("streamkarma.connectors.kafka.in_step.time.monotonic", lambda: now)
    consumer = Consumer(A, LABELS)
    in_step = in_step_of(consumer)
    consumer.marks[LABELS], consumer.ends = None, ends
    assert (taken(in_step, a=[5]) == []) == bool(ends)
    now += 3.0
    assert taken(in_step, a=[6])[-1][1][-1] == 6
    # Once it delivers again, it counts again.
    assert taken(in_step, labels=[9], a=[20])[0] == ("labels", [9])


@pytest.mark.parametrize("wrong", [0, 1 << 42])
def test_a_wrong_time_holds_up_nothing(wrong: int) -> None:
    in_step, times = in_step_of(Consumer(A, LABELS), pending=4), list(range(1, 41))
    given = {"a": [*times[:5], wrong, *times[6:]], "labels": [*times[:20], wrong, *times[21:]]}
    order = [(name, time) for name, some in taken(in_step, **given) for time in some]
    assert len(order) == 80
    for label in times[25:]:
        behind = [time for name, time in order[: order.index(("labels", label))] if name == "a"]
        assert label <= behind[-1] <= label + 1


def test_not_more_than_some_polls_are_held_back() -> None:
    consumer = Consumer(A, LABELS)
    in_step = in_step_of(consumer)
    consumer.marks[A], consumer.ends = 3, {A: 3}
    assert taken(in_step, labels=list(range(5000))) == []
    assert consumer.paused == {LABELS}
    consumer.positions[A] = 3
    taken(in_step, a=[0, 4000, 4001])
    assert not consumer.paused


def test_records_of_a_partition_that_starts_anew_are_dropped() -> None:
    consumer = Consumer(A, LABELS)
    in_step = in_step_of(consumer)
    consumer.marks[A], consumer.ends = 3, {A: 3}
    assert taken(in_step, labels=[1, 2]) == []
    in_step.keep_only([A])
    in_step.keep_only([A, LABELS])
    assert not in_step


def summary(cluster: Cluster) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((cluster.folder / "s").read_text())
    return found


def test_no_label_of_a_backlog_is_lost(cluster: Cluster) -> None:
    """More records than are fetched at once, and than may wait, of which labels come 20 events late."""
    count, begin = 12_000, 1_700_000_000_000
    source, labels = cluster.topic("in", 2), cluster.topic("labels")
    made = events(count)
    told = [{"id": event["id"], "y": event.pop("y")} for event in made]
    for topic, records, late in ((source, made, 0), (labels, told, 20)):
        cluster.put(
            topic,
            [
                Record(
                    json.dumps(each).encode(), t % 2 if topic == source else 0, timestamp_ms=begin + t + late
                )
                for t, each in enumerate(records)
            ],
        )
    cluster.attach(source, "--label-topic", labels, "--id", "id", "--pending", "200", "--learner", "explicit",
                   "--task", "binary", "--model", "m", "--until-end", "--summary", "s")  # fmt: skip
    assert summary(cluster)["pending"] == {"matched": count, "unmatched": 0, "expired": 0, "waiting": 0}
