"""What the first labels tell: the same, in whatever order Spark lists what it reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.spark import check_spark, session, untidy

check_spark()

from streamkarma import spark
from streamkarma.connectors.jsonlines.lines import BLOCK
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.session import Session
from streamkarma.spark.settling import settle_by_topics

pytestmark = untidy

#: The labels of some tasks by topic, partition and first offset, and what they tell; bytes are no event.
Labels = Mapping[tuple[str, int, int], Sequence[Any]]
STRINGS: Labels = {
    ("a", 2, 0): [b"", b"{", b'{"y": ["none"]}', None],
    ("a", 2, 4): ["first"],
    ("a", 10, 0): ["second"],
    ("b", 0, 0): ["third"],
}
NUMBERS: Labels = {("a", 0, 0): [1, 1], ("a", 1, 0): [0], ("b", 0, 0): [2.5]}
#: Nobody looks so far for a label.
LATE: Labels = {("a", 0, 0): [None] * BLOCK + [1], ("a", 1, 0): [0, 1]}


@pytest.fixture(scope="module")
def cluster_of_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with session(tmp_path_factory.mktemp("spark"), "local[1]") as own:
        yield own


def listed(cluster_of_spark: Any, labels: Labels) -> Any:
    """A batch of topics, whose partitions Spark lists in this order."""
    tasks = []
    for (topic, partition, first), own in labels.items():
        values = [each if isinstance(each, bytes) else json.dumps({"y": each}).encode() for each in own]
        tasks.append([(topic, partition, first + i, value or None) for i, value in enumerate(values)])
    rows = cluster_of_spark.sparkContext.parallelize(tasks, len(tasks)).flatMap(list)
    schema = "topic string, partition int, offset bigint, value binary"
    return cluster_of_spark.createDataFrame(rows, schema)


@pytest.mark.parametrize(("labels", "expected"), [(STRINGS, ["first"]), (NUMBERS, [1, 0]), (LATE, [0, 1])])
def test_partitions_are_looked_at_in_the_order_of_topics(
    cluster_of_spark: Any, labels: Labels, expected: list[Any]
) -> None:
    for places in (list(labels), list(labels)[::-1]):
        own = Session(Plan(fields={"target": "y"}, learner="explicit", quiet=True), None, lambda _: None)
        settle_by_topics(own, listed(cluster_of_spark, {place: labels[place] for place in places}), 1 << 20)
        assert own.task_model.settled
        assert own.task_model.model.classes == expected


def test_files_are_looked_at_in_the_order_of_their_names(cluster_of_spark: Any, tmp_path: Path) -> None:
    # The first one is the last one made, and the smallest.
    for name, label in (("b", 0), ("a", 1)):
        rows = [{"x": i, "y": label} for i in range(20 - 10 * label)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = spark.backfill(str(tmp_path), partitions=2, learner="explicit")
    assert model.classes == [1, 0]
