"""One model from many parts on Spark: the same, to the bit, as the parts merged in one process."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests.spark import check_spark, session, untidy

check_spark()

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from streamkarma import KARMAClassifier, load, spark
from streamkarma.connectors.jsonlines.lines import BLOCK
from streamkarma.errors import RunError, UsageError
from streamkarma.estimators.persistence import to_bytes
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.session import Session
from streamkarma.spark.files import files_of
from streamkarma.spark.inputs import Inputs
from streamkarma.spark.pieces import parts_of
from streamkarma.spark.reading import PieceReader
from streamkarma.spark.scoring import Scoring
from streamkarma.spark.settling import settle_by_topics
from streamkarma.spark.states import State
from streamkarma.spark.tasks import Row
from streamkarma.spark.tree import FAN_IN, merge_rows
from streamkarma.spark.work import Learn, Survey
from streamkarma.synthetic import StreamSpec, records

pytestmark = untidy

#: Labels by topic, partition and first offset of the task that reads them; bytes are no event.
Labels = Mapping[tuple[str, int, int], Sequence[Any]]
STRINGS: Labels = {
    ("a", 2, 0): [b"", b"{", b'{"y": ["none"]}', None],
    ("a", 2, 4): ["first"],
    ("a", 10, 0): ["second"],
    ("b", 0, 0): ["third"],
}
NUMBERS: Labels = {("a", 0, 0): [1, 1], ("a", 1, 0): [0], ("b", 0, 0): [2.5]}
#: Too late in its partition to be looked for.
LATE: Labels = {("a", 0, 0): [None] * BLOCK + [1], ("a", 1, 0): [0, 1]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def cluster_of_spark(folder: Path) -> Iterator[Any]:
    with session(folder) as own:
        yield own


@pytest.fixture(scope="module")
def events(folder: Path) -> Path:
    """Events with numbers, a category and a boolean, as two files."""
    rng = random.Random(0)
    path = folder / "events"
    path.mkdir()
    rows = [
        {**row, "colour": rng.choice(["red", "blue"]), "on": rng.random() < 0.5}
        for row in records(StreamSpec(attributes=6, rank=3, noise=0.05), 3000)
    ]
    for name, part in (("a", rows[:1500]), ("b", rows[1500:])):
        (path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
    return path


def bits(model: Any) -> bytes:
    return to_bytes(model)


def in_one_process(path: Path, parts: int, **options: Any) -> Any:
    """The result expected of Spark, without Spark."""
    session = Session(
        Plan(fields={"target": "y"}, task="binary", options=options, learner="explicit"), None, print
    )
    shared = tuple(parts_of(files_of([str(path)]), parts, 1))
    reader = PieceReader(shared, 1 << 20)

    def done(work: Any, base: bytes) -> State:
        rows = []
        for part, chunks in reader.read([pa.RecordBatch.from_pydict({"part": range(len(shared))})]):
            [(kind, data)] = work(part, chunks)
            rows.append(Row(part, kind, data))
        names = [f"part {part}" for part in range(len(rows))]
        while len(names) > FAN_IN:
            rows = [
                merge_rows(base, names, list(own)) for _, own in groupby(rows, lambda row: row.part // FAN_IN)
            ]
            names = names[::FAN_IN]
        return State.from_bytes(merge_rows(base, names, rows).data, "it")

    first = State.of(session.task_model.model, session.described()).to_bytes()
    surveyed = done(Survey(first), first)
    surveyed.model.end_survey()
    surveyed.model.merged_from = []
    base = State.of(surveyed.model, surveyed.kept).to_bytes()
    return done(Learn(base, {}, False), base).model


def kill_at(folder: Path, place: str) -> Path:
    flag = folder / "kills" / place
    flag.touch()
    return flag


def test_spark_comes_to_what_one_process_comes_to(cluster_of_spark: Any, events: Path) -> None:
    # More parts than are merged at a time.
    model = spark.backfill(str(events), partitions=9, task="binary", learner="explicit")
    assert bits(model) == bits(in_one_process(events, 9))
    assert model.steps == 3000


@pytest.mark.parametrize("place", ["Survey-1", "Learn-2"])
def test_an_executor_that_is_killed_changes_nothing(
    cluster_of_spark: Any, folder: Path, events: Path, place: str
) -> None:
    flag = kill_at(folder, place)
    model = spark.backfill(str(events), partitions=4, task="binary", learner="explicit")
    assert not flag.exists()
    assert bits(model) == bits(in_one_process(events, 4))


def test_all_formats_teach_the_same(cluster_of_spark: Any, folder: Path, events: Path) -> None:
    given: dict[str, Any] = {"partitions": 1, "learner": "explicit"}
    paths = sorted(events.iterdir())
    texts = [path.read_bytes() for path in paths]
    rows = [[json.loads(line) for line in text.splitlines()] for text in texts]
    names = sorted({name for part in rows for row in part for name in row})
    found = {"plain": spark.backfill(str(events), **given)}
    packed = {"a.jsonl.gz": gzip.compress(texts[0]), "b.jsonl.zst": zstandard.compress(texts[1])}
    (folder / "packed").mkdir()
    for name, text in packed.items():
        (folder / "packed" / name).write_bytes(text)
    found["packed"] = spark.backfill(str(folder / "packed"), **given)
    (folder / "parquet").mkdir()
    for name, part in zip("ab", rows, strict=True):
        columns = {each: [row.get(each) for row in part] for each in names}
        pq.write_table(pa.table(columns), folder / "parquet" / f"{name}.parquet", row_group_size=1000)
    found["parquet"] = spark.backfill(str(folder / "parquet"), **given)
    read = cluster_of_spark.read
    one, other = (read.parquet(str(folder / "parquet" / f"{name}.parquet")) for name in "ab")
    found["frame"] = spark.backfill(one.union(other), **given)
    one, other = (read.text(str(path)) for path in paths)
    found["text"] = spark.backfill(one.union(other), **given)
    assert {name for name, model in found.items() if bits(model) != bits(found["plain"])} == set()


def test_the_first_and_the_last_records_are_learned_in_order(
    cluster_of_spark: Any, folder: Path, events: Path
) -> None:
    summary = folder / "summary.json"
    model = spark.backfill(
        str(events), partitions=3, learner="explicit", warm=500, tail=700, summary=str(summary)
    )
    assert model.steps == 3000
    found = json.loads(summary.read_text())
    assert (found["events"], found["learned"], found["rejected"]) == (3000, 3000, 0)
    # All events in order are learned with the scale of all events.
    one = spark.backfill(str(events), partitions=3, learner="explicit", tail=3000)
    other = spark.backfill(str(events), partitions=3, learner="explicit", warm=3000)
    assert bits(one) == bits(other)


def test_records_that_cannot_be_used_are_counted_and_written_aside(
    cluster_of_spark: Any, folder: Path, events: Path
) -> None:
    lines = (events / "a.jsonl").read_text().splitlines()
    wrong = {5: "{", 700: "[]", 1495: '{"y": 7, "x0": 1}'}
    for n, line in wrong.items():
        lines[n - 1] = line
    bad = folder / "bad.jsonl"
    bad.write_text("\n".join(lines))
    letters, summary = folder / "letters", folder / "bad.json"
    given: dict[str, Any] = {"partitions": 3, "warm": 10, "tail": 10, "learner": "explicit"}
    spark.backfill(str(bad), **given, dead_letters=str(letters), summary=str(summary))
    found = [json.loads(line) for line in letters.read_text().splitlines()]
    assert {each["line"]: each["record"] for each in found} == wrong
    assert {each["file"] for each in found} == {str(bad)}
    assert json.loads(summary.read_text())["rejected"] == 3
    with pytest.raises(RunError, match=f"^file {bad}, line 5: not JSON"):
        spark.backfill(str(bad), **given, fail=True)


def test_a_model_that_is_there_is_gone_on_from(cluster_of_spark: Any, folder: Path, events: Path) -> None:
    path = str(folder / "model.karma")
    for events_so_far in (3000, 6000):
        model = spark.backfill(str(events), partitions=2, learner="explicit", model=path)
        assert model.steps == load(path).steps == events_so_far
    with pytest.raises(UsageError, match="was made with learner explicit, not karma"):
        spark.backfill(str(events), learner="karma", model=path)


@pytest.mark.parametrize("task", ["multiclass", "regression"])
def test_other_tasks(cluster_of_spark: Any, folder: Path, task: Any) -> None:
    path = folder / f"{task}.jsonl"
    rows = records(StreamSpec(attributes=5, rank=3, task=task), 3000)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    summary = folder / f"{task}.json"
    model = spark.backfill(str(path), partitions=4, learner="explicit", summary=str(summary))
    assert model.steps == 3000
    assert json.loads(summary.read_text())["task"] == task


def test_what_is_scored_is_what_the_command_line_scores(
    cluster_of_spark: Any, folder: Path, events: Path
) -> None:
    import contextlib
    import io

    from streamkarma.cli import cli
    from streamkarma.runtime.plan import Plan
    from streamkarma.spark.inputs import Inputs
    from streamkarma.spark.scoring import Scoring

    model = str(folder / "scorer.karma")
    spark.backfill(str(events), partitions=2, learner="explicit", model=model, id="x0")
    whole = folder / "whole.jsonl"
    whole.write_bytes(b"".join(path.read_bytes() for path in sorted(events.iterdir())))
    rows = folder / "rows.jsonl"
    with contextlib.redirect_stderr(io.StringIO()), pytest.raises(SystemExit):
        cli.main(["predict", model, str(whole), "--predictions", str(rows), "--quiet"], standalone_mode=False)
    plan = Plan(model=model, learn=False, predictions=None, quiet=True)
    inputs = Inputs.of_files(cluster_of_spark, files_of([str(events)]), 5, 1 << 20)
    Scoring(plan, str(folder / "scored")).run(inputs)
    parts = sorted((folder / "scored").glob("part-*"))
    assert len(parts) == 5
    assert b"".join(part.read_bytes() for part in parts) == rows.read_bytes()
    with pytest.raises(UsageError, match="exists already"):
        Scoring(plan, str(folder / "scored"))

    frame = cluster_of_spark.read.text(str(whole))
    scored = [row.asDict() for row in spark.predict(frame, model).collect()]
    expected = [json.loads(line) for line in rows.read_text().splitlines()]
    assert [row["score"] for row in scored] == [row["score"] for row in expected]
    assert [row["prediction"] for row in scored] == [row["prediction"] for row in expected]
    table = spark.predict(cluster_of_spark.read.json(str(whole)), load(model), target="y", id="x0")
    assert [row["score"] for row in table.collect()] == [row["score"] for row in expected]


@pytest.mark.parametrize("first", [1234567890123456788, 2**70])
def test_integers_beyond_floats_keep_their_digits(cluster_of_spark: Any, folder: Path, first: int) -> None:
    labels = [first + n % 2 for n in range(40)]
    path = folder / f"{first}.jsonl"
    rows = [{"d": label, "a": n % 2, "y": label} for n, label in enumerate(labels)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = {"learner": "explicit", "task": "multiclass", "id": "d"}
    model = str(folder / f"{first}.karma")
    spark.backfill(str(path), partitions=2, model=model, **options)
    assert sorted(load(model).classes) == [first, first + 1]
    for frame in (cluster_of_spark.read.text(str(path)), cluster_of_spark.read.json(str(path))):
        scored = [row.asDict() for row in spark.predict(frame, model).collect()]
        assert [int(row["id"]) for row in scored] == labels
        assert [int(row["target"]) for row in scored] == labels
        assert [int(row["prediction"]) for row in scored] == labels


def test_options_that_there_are_not_are_refused(cluster_of_spark: Any, events: Path) -> None:
    with pytest.raises(UsageError, match="there is no option 'learners'"):
        spark.backfill(str(events), learners="explicit")
    with pytest.raises(UsageError, match="the frame has 1 partitions, not 9"):
        spark.backfill(cluster_of_spark.range(1).repartition(1), partitions=9)
    with pytest.raises(RunError, match="no file matches"):
        spark.backfill(str(events / "*.nothing"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partitions": 0}, "partitions must be an integer from 1, not 0"),
        ({"warm": -1}, "warm must be an integer from 0, not -1"),
        ({"tail": 2.5}, "tail must be an integer from 0, not 2.5"),
        ({"max_record_bytes": 0}, "max_record_bytes must be an integer from 1, not 0"),
        ({"learner": "x"}, "learner must be one of auto, karma"),
        ({"task": "x"}, "task must be one of auto, binary"),
        ({"predictions": "x"}, "there is no option 'predictions'; see streamkarma backfill --help"),
    ],
)
def test_a_backfill_with_a_wrong_option_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        spark.backfill("events.jsonl", **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": "now"}, "start must be one of earliest, latest, not 'now'"),
        ({"most": 0}, "most must be an integer from 1, not 0"),
        ({"every": 0}, "every must be a number above 0, not 0"),
        ({"fail": True}, "there is no option 'fail'; see streamkarma stream --help"),
    ],
)
def test_a_stream_with_a_wrong_option_is_refused(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        spark.attach("events", "localhost:1", str(tmp_path), **options)


def test_what_scoring_does_not_heed_is_refused(cluster_of_spark: Any) -> None:
    frame = cluster_of_spark.range(1)
    with pytest.raises(UsageError, match="there is no field 'threshold'; the fields are target, id, weight"):
        spark.predict(frame, KARMAClassifier(), threshold=0.3)
    with pytest.raises(UsageError, match="model must be a model of streamkarma or its path, not 3"):
        spark.predict(frame, 3)


def test_one_name_to_ignore_is_a_name(cluster_of_spark: Any, tmp_path: Path) -> None:
    rows = [{"temp": float(i), "wind": 1.0, "y": i % 2} for i in range(10)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = spark.backfill(tmp_path / "rows.jsonl", learner="explicit", ignore="wind")
    assert model.vocabulary.attributes == ["temp"]
    frame = cluster_of_spark.createDataFrame(rows)
    scored = spark.predict(frame, model, ignore="temp").collect()
    assert [row["observed"] for row in scored] == [1] * 10  # wind


def test_an_empty_input_is_no_error(cluster_of_spark: Any, tmp_path: Path) -> None:
    nothing = cluster_of_spark.createDataFrame([{"temp": 1.0, "y": 1}]).limit(0)
    (tmp_path / "empty.jsonl").touch()
    path = str(tmp_path / "empty.karma")
    for data in (nothing, tmp_path / "empty.jsonl"):
        assert spark.backfill(data, warm=1, tail=1, model=path, learner="explicit").steps == 0
        assert load(path).steps == 0
    job = Scoring(Plan(model=path, learn=False, predictions=None, quiet=True), str(tmp_path / "scores"))
    job.run(Inputs.of_files(cluster_of_spark, files_of([str(tmp_path / "empty.jsonl")]), None, 1 << 20))
    assert [each.name for each in (tmp_path / "scores").iterdir()] == ["_SUCCESS"]


def listed(cluster_of_spark: Any, labels: Labels) -> Any:
    """A batch of topics with partitions that Spark lists in this order."""
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
    # The first one by name is made last, and is the smallest.
    for name, label in (("b", 0), ("a", 1)):
        rows = [{"x": i, "y": label} for i in range(20 - 10 * label)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = spark.backfill(str(tmp_path), partitions=2, learner="explicit")
    assert model.classes == [1, 0]
