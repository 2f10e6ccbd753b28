"""A topic on Spark: whatever is killed, and wherever, the final bytes are the same."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from kafka import KafkaAdminClient, TopicPartition

from tests.broker import Broker
from tests.cluster import Cluster, Record
from tests.conftest import Program
from tests.spark import check_spark, environment, inside, session, settings, untidy

check_spark()

import pyarrow as pa

import streamkarma
from streamkarma.cli import cli
from streamkarma.connectors.records import Records
from streamkarma.errors import RunError, UsageError
from streamkarma.estimators.persistence import to_bytes
from streamkarma.runtime.output import Output
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.session import Session
from streamkarma.spark.partitions import RECORD_COLUMNS
from streamkarma.spark.states import State
from streamkarma.spark.store import Store
from streamkarma.spark.streaming import Stream, Subscription
from streamkarma.synthetic import StreamSpec, records

PARTITIONS = 2
EVENTS = list(records(StreamSpec(attributes=5, rank=3, noise=0.05), 1200))
#: A record that is no event, in the first batch.
BAD = 100


def filled(cluster: Cluster) -> str:
    topic = cluster.topic("spark", PARTITIONS)
    values = [b"{" if i == BAD else json.dumps(event).encode() for i, event in enumerate(EVENTS)]
    cluster.put(topic, [Record(value, i % PARTITIONS) for i, value in enumerate(values)])
    return topic


def kafka_settings() -> dict[str, str]:
    """Spark's settings, if it can read Kafka."""
    own = settings()
    if "spark.jars" not in own:
        pytest.skip("no jars with which Spark reads Kafka")
    return own


def arguments(cluster: Cluster, topic: str) -> list[str]:
    """The command line of a stream in three batches."""
    spark = kafka_settings()
    given = ["stream", topic, "--brokers", cluster.address, "--checkpoint", "state", "--until-end"]
    given += ["--max-batch", "400", "--model", "model.karma", "--predictions", "rows"]
    given += ["--dead-letters", "letters", "--summary", "summary.json", "--learner", "explicit"]
    given += ["--master", "local[2]"]
    return given + [word for name, value in spark.items() for word in ("--spark", f"{name}={value}")]


def start(cluster: Cluster, topic: str, folder: Path, *more: str) -> subprocess.Popen[str]:
    """A stream in a process and a folder of its own."""
    folder.mkdir(exist_ok=True)
    env = {**os.environ, **environment(folder)}
    process = subprocess.Popen(
        [sys.executable, "-m", "streamkarma", *arguments(cluster, topic), *more],
        cwd=folder,
        env=env,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    (folder / "kills" / "driver").write_text(str(process.pid))
    return process


def left(folder: Path) -> dict[str, bytes]:
    """All files that a stream leaves, except Spark's own and the summary, which has times."""
    names = ["state/states", "state/together", "state/base", "rows", "letters"]
    files = [path for name in names for path in sorted((folder / name).rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in [*files, folder / "model.karma"]}


def lines_in(folder: Path) -> list[dict[str, Any]]:
    paths = sorted(folder.rglob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


class Whole(NamedTuple):
    """A topic, and the folder of a stream that learned it undisturbed."""

    topic: str
    folder: Path


@pytest.fixture(scope="module")
def whole(broker: Broker | str, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Made once, and on the Java of this process: it takes Spark longer to start than to learn."""
    folder = tmp_path_factory.mktemp("whole")
    cluster = Cluster(broker if isinstance(broker, str) else broker.address, folder, None)
    topic = filled(cluster)
    with inside(folder), pytest.raises(SystemExit) as ended:
        cli.main(arguments(cluster, topic), standalone_mode=False)
    assert ended.value.code == 0
    return Whole(topic, folder)


def test_each_partition_learns_alone_and_all_answer(cluster: Cluster, whole: Whole) -> None:
    topic, folder = whole
    base = (folder / "state" / "base" / "0").read_bytes()
    for partition in range(PARTITIONS):
        own = range(partition, len(EVENTS), PARTITIONS)
        values = [json.dumps(EVENTS[i]).encode() for i in own if i != BAD]
        state = State.from_bytes(base, "the base")
        loop = state.loop(Output())
        loop.feed(Records(values, len(values), lambda i: {"offset": i}))
        states = (folder / "state" / "states" / topic / str(partition)).iterdir()
        last = max(states, key=lambda path: int(path.name))
        found = State.from_bytes(last.read_bytes(), "the last state")
        assert to_bytes(found.model) == to_bytes(loop.task_model.model)
        assert found.kept["offset"] == len(own)
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["events"], summary["learned"], summary["rejected"]) == (1199, 1199, 1)
    # The first batch is answered by an untrained model.
    assert summary["metrics"]["error_rate"] < 0.45
    assert len(lines_in(folder / "rows")) == 1199
    letters = lines_in(folder / "letters")
    place = {"topic": topic, "partition": BAD % PARTITIONS, "offset": BAD // PARTITIONS}
    assert [{name: each[name] for name in place} for each in letters] == [place]
    # On resuming there is nothing more to do, and options must be those it was begun with.
    process = start(cluster, topic, folder, "--r", "3")
    _, said = process.communicate(timeout=300)
    assert process.returncode == 2
    assert "state was made with r " in said.splitlines()[-1]


@untidy
def test_a_stream_goes_on_after_records_expired_and_not_with_another_topic(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic, summary = cluster.topic("spark"), tmp_path / "summary.json"
    plan = Plan(learner="explicit", predictions=str(tmp_path / "rows"), summary=str(summary))
    read = Subscription(
        [topic], cluster.address, str(tmp_path / "state"), "earliest", 1.0, None, True, 1000, {}
    )
    with session(tmp_path, "local[2]", **kafka_settings()) as spark:
        # Spark would log a stack trace for an error that is reported in one line.
        logs = spark._jvm.org.apache.logging.log4j.LogManager
        name = "org.apache.spark.sql.execution.streaming.MicroBatchExecution"
        assert not logs.getLogger(name).isErrorEnabled()
        assert logs.getRootLogger().isErrorEnabled()
        cluster.put(topic, EVENTS[:60])
        assert Stream(plan, read).run(spark) == 0
        cluster.put(topic, EVENTS[60:100])
        admin = KafkaAdminClient(bootstrap_servers=cluster.address)
        admin.delete_records({TopicPartition(topic, 0): 75})
        admin.close()
        assert Stream(plan, read).run(spark) == 0
        said = capsys.readouterr().err
        assert f"topic {topic}, partition 0: offsets 60 to 74 are lost; they had expired" in said
        found = json.loads(summary.read_text())
        assert (found["events"], found["kafka"]["lost"]) == (85, {f"{topic}/0": 15})
        cluster.recreate(topic)
        cluster.put(topic, EVENTS[:30])
        message = f"^topic {topic}, partition 0: offset 100 is past its end, 30; was the topic recreated"
        with pytest.raises(RunError, match=message):
            Stream(plan, read).run(spark)


SIDES = ("before", "after")
FIRST = ["state:base:0", "rows:0:{topic}-1.jsonl", "{topic}:0:0", "state:together:0"]
LATER = ["model", "{topic}:1:1", "state:together:1", "{topic}:0:2"]


@pytest.mark.parametrize(
    ("side", "places"),
    [
        ("before", ["{topic}:1:1"]),
        *(pytest.param(side, places, marks=pytest.mark.slow) for side in SIDES for places in (FIRST, LATER)),
    ],
)
def test_a_killed_driver_loses_nothing(
    cluster: Cluster, whole: Whole, tmp_path: Path, side: str, places: Sequence[str]
) -> None:
    topic, folder = whole.topic, tmp_path / "killed"
    for place in places:
        flag = folder / "kills" / f"{side}-{place.format(topic=topic)}"
        flag.parent.mkdir(parents=True, exist_ok=True)
        flag.touch()
        process = start(cluster, topic, folder)
        _, said = process.communicate(timeout=300)
        assert process.returncode == -9, said
        assert not flag.exists()
    process = start(cluster, topic, folder)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    found, expected = left(folder), left(whole.folder)
    assert sorted(found) == sorted(expected)
    assert [name for name in found if found[name] != expected[name]] == []


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"unlabelled": "ignore"}, "unlabelled learn, not ignore"),
        ({"positive": "False"}, "positive none, not False"),
        ({"options": {"threshold": 0.3}}, "threshold none, not 0.3"),
        ({"fields": {"time": "z"}}, "time none, not z"),
    ],
)
def test_a_stream_is_begun_once(tmp_path: Path, said: dict[str, Any], message: str) -> None:
    begun = Session(Plan(task="binary"), None, print)
    folder = tmp_path / "state" / "base"
    folder.mkdir(parents=True)
    Store(str(folder)).write(0, State.of(begun.task_model.model, begun.described()))
    place = str(tmp_path / "state")
    subscription = Subscription(["t"], "broker:9092", place, "earliest", 1.0, None, True, 1000, {})
    Stream(Plan(quiet=True), subscription)
    with pytest.raises(UsageError, match=f"state was started with {message}; leave the option out, or give"):
        Stream(Plan(quiet=True, **said), subscription)


class Frame:
    """A batch of the topic ``t``, which is processed here instead of by Spark."""

    sparkSession = None  # noqa: N815  # Spark's name

    def __init__(self, begin: int, end: int, partition: int = 0) -> None:
        values = [json.dumps(event).encode() for event in EVENTS[begin:end]]
        columns = [["t"] * len(values), [partition] * len(values), [*range(begin, end)], values]
        self._records = pa.RecordBatch.from_arrays([*map(pa.array, columns)], [*RECORD_COLUMNS])
        self._rows: list[tuple[int, str, bytes]] = []

    def mapInArrow(self, work: Any, columns: str) -> Frame:  # noqa: N802  # Spark's name
        for batch in work([self._records]):
            self._rows += [(row["part"], row["kind"], row["data"]) for row in batch.to_pylist()]
        return self

    def collect(self) -> list[tuple[int, str, bytes]]:
        return self._rows


def on_hand(folder: Path, **given: Any) -> Stream:
    """A stream whose base is there, and whose batches are learned by `Stream._learn`."""
    begun = Session(Plan(task="binary", learner="explicit"), None, print)
    state = folder / "state"
    if not state.exists():
        (state / "base").mkdir(parents=True)
        Store(str(state / "base")).write(0, State.of(begun.task_model.model, begun.described()))
    plan = Plan(learner="explicit", quiet=True, predictions=str(folder / "rows"), **given)
    return Stream(plan, Subscription(["t"], "broker:9092", str(state), "earliest", 1.0, None, True, 1000, {}))


@pytest.mark.parametrize(("gone", "learned", "counted"), [("states/t/0", 60, 120), ("together", 120, 20)])
def test_files_that_are_missing_end_a_stream_before_its_model_is_replaced(
    tmp_path: Path, gone: str, learned: int, counted: int
) -> None:
    model, state = tmp_path / "m", tmp_path / "state"
    stream = on_hand(tmp_path, model=str(model))
    for number, frame in enumerate([Frame(0, 60), Frame(0, 40, partition=1)]):
        stream._learn(cast(Any, frame), number)
    before = model.read_bytes()
    kept = shutil.move(state / gone, tmp_path / "kept")
    with pytest.raises(RunError) as raised:
        stream._learn(cast(Any, Frame(40, 60, partition=1)), 2)
    assert str(raised.value) == (
        f"the models in {state}/states have learned {learned} events, and {state}/together says {counted}: "
        "files are missing; restore the folder of --checkpoint from a copy, or start again with another one"
    )
    assert model.read_bytes() == before
    # Once they are back, the batch is repeated.
    shutil.move(kept, state / gone)
    stream._learn(cast(Any, Frame(40, 60, partition=1)), 2)
    assert streamkarma.load(model).steps == 120


def test_a_folder_that_lacks_batches_ends_a_stream(tmp_path: Path) -> None:
    stream = on_hand(tmp_path)
    for number in range(2):
        stream._learn(cast(Any, Frame(60 * number, 60 * number + 60)), number)
    # The last batch may come again.
    stream._learn(cast(Any, Frame(60, 120)), 1)
    message = f"^{tmp_path}/state/spark lacks batches that were learned; restore"
    with pytest.raises(RunError, match=message):
        stream._learn(cast(Any, Frame(0, 120)), 0)


@pytest.mark.parametrize("option", ["checkpoint", "predictions", "dead-letters"])
def test_a_file_is_no_folder(tmp_path: Path, streamkarma: Program, option: str) -> None:
    (tmp_path / "file").touch()
    said = streamkarma("stream", "t", "--brokers", "h:1", "--checkpoint", "c", f"--{option}", "file")
    assert said.code == 2
    assert said.stderr == f"streamkarma: --{option} file is a file; name a folder\n"
