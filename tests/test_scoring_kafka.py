"""On a real broker: scoring alone, with a model that another process writes."""

from __future__ import annotations

import json
import os
import re
import signal
from typing import Any
from urllib.request import urlopen

import pytest

from tests.cluster import Cluster, Record, events, lines, spread, until
from tests.forked import ForkedProgram
from tests.test_crashes import deadly
from tests.test_share_crashes import SOON

#: A killed process is recognised by this name when it returns, and need not be waited for.
NAMED = ("-X", "group_instance_id=scorer")


def learned(cluster: Cluster, count: int, *given: str, seed: int = 0) -> str:
    """A model that has learned this many events."""
    cluster.learn(lines(events(count, seed)), "--id", "id", "--checkpoint-every", "100000", *given, model="m")
    return "m"


def predicted(cluster: Cluster, given: list[dict[str, Any]], *more: str) -> list[dict[str, Any]]:
    """The same by the command predict."""
    (cluster.folder / "given.jsonl").write_bytes(b"\n".join(lines(given)))
    printed = cluster.run("predict", "m", "given.jsonl", *more, stdout=True)
    return [json.loads(line) for line in printed.splitlines()]


def said_by(process: ForkedProgram) -> str:
    """Terminate a process, and return its messages."""
    process.terminate()
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 143, said
    return said


def test_scoring_is_predicting_and_the_model_stays_as_it_is(cluster: Cluster) -> None:
    given, model = events(1200, seed=5), learned(cluster, 800)
    source, output = cluster.topic("in"), cluster.topic("out")
    cluster.put(source, given)
    before = {path.name: path.read_bytes() for path in cluster.folder.iterdir()}
    arguments = [source, "--no-learn", "--model", model, "--output-topic", output, "--no-row-position"]
    said = cluster.attach(*arguments, "--max-events", "500")
    assert said.startswith("scoring with m, 800 events learned\n")
    said = cluster.attach(*arguments, "--until-end", "--summary", "s.json")
    assert "no --model" not in said
    rows = cluster.rows(output)
    # Each process counts its own events.
    assert [row.pop("n") for row in rows] == [*range(1, 501), *range(1, 701)]
    expected = predicted(cluster, given)
    assert [row.pop("n") for row in expected] == list(range(1, 1201))
    assert rows == expected
    summary = json.loads((cluster.folder / "s.json").read_text())
    assert (summary["events"], summary["learned"], summary["unlabelled"]) == (700, 0, 0)
    assert summary["kafka"]["positions"] == {source: {"0": 1200}}
    assert summary["metrics"]["error_rate"] < 0.35
    after = {path.name: path.read_bytes() for path in cluster.folder.iterdir()}
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == {"s.json", "given.jsonl"}


@pytest.mark.parametrize(
    ("method", "call", "before"),
    [
        ("commit", 4, False),
        ("write_predictions", 5, False),
        pytest.param("commit", 4, True, marks=pytest.mark.slow),
        pytest.param("write_predictions", 5, True, marks=pytest.mark.slow),
    ],
)
def test_killed_at_any_moment_each_event_is_answered_once(
    cluster: Cluster, method: str, call: int, before: bool
) -> None:
    given, model = events(1000, seed=3), learned(cluster, 300)
    source, output, dead = cluster.topic("in", 3), cluster.topic("out"), cluster.topic("dead")
    bad = [Record(b"no json", partition) for partition in range(3)]
    cluster.put(source, [*bad, *spread(given, 3), *bad])
    arguments = [source, "--no-learn", "--model", model, "--until-end", "--output-topic", output]
    arguments += ["--dead-letter-topic", dead, "-X", "max_poll_records=70", *NAMED]
    script = deadly(f"connectors.kafka.sink.TopicSink.{method}", call, before)
    with cluster.start(*arguments, script=script) as process:
        assert process.wait(60) == -signal.SIGKILL
    cluster.attach(*arguments)
    assert sorted(row["id"] for row in cluster.rows(output)) == list(range(1000))
    assert len(cluster.get(dead)) == 6


def test_killed_without_a_topic_to_answer_to_no_event_is_left_out(cluster: Cluster) -> None:
    given, model = events(600, seed=3), learned(cluster, 300)
    source, path = cluster.topic("in", 2), cluster.folder / "rows.jsonl"
    cluster.put(source, spread(given, 2))
    arguments = [source, "--no-learn", "--model", model, "--until-end", "--predictions", "rows.jsonl"]
    arguments += ["-X", "max_poll_records=50", *NAMED]
    method = "connectors.kafka.scoring_offsets.ScoringOffsets.commit"
    with cluster.start(*arguments, script=deadly(method, 4, True)) as process:
        assert process.wait(60) == -signal.SIGKILL
    written = path.read_bytes()
    path.write_bytes(written + b'{"n": 2')
    cluster.attach(*arguments)
    assert path.read_bytes().startswith(written)
    ids = [json.loads(row)["id"] for row in path.read_text().splitlines()]
    assert set(ids) == set(range(600))
    # What was written and not yet committed to the group: one block.
    assert 0 < len(ids) - 600 <= 50


#: Loses the brokers once, after the third block, before anything is committed.
LOSING = """
from streamkarma.connectors.kafka import offsets
from streamkarma.connectors.kafka.errors import RetriableKafkaError
from streamkarma.connectors.kafka.reader import TopicReader
offsets.COMMIT_SECONDS = offsets.QUIET_SECONDS = 60.0
original, left = TopicReader.maybe_commit, 4
def losing(*arguments):
    global left
    left -= 1
    if left == 0:
        raise RetriableKafkaError("the brokers have gone")
    original(*arguments)
TopicReader.maybe_commit = losing
from streamkarma.cli import main
main()
"""


@pytest.mark.parametrize("learns", [True, False])
@pytest.mark.parametrize("sent", ["topic", "stdout"])
def test_after_another_attempt_each_event_is_answered_once(cluster: Cluster, sent: str, learns: bool) -> None:
    given, model = events(300, seed=5), learned(cluster, 100)
    source, output = cluster.topic("in"), cluster.topic("out")
    cluster.put(source, given)
    where = ["--output-topic", output] if sent == "topic" else ["--predictions", "-"]
    arguments = [source, *([] if learns else ["--no-learn"]), "--id", "id", "--model", model, *where]
    arguments += ["--until-end", "-X", "max_poll_records=50"]
    with cluster.start(*arguments, script=LOSING) as process:
        printed, said = process.communicate(timeout=60)
    assert said.count("the brokers have gone; retrying from the last commit") == 1
    rows = cluster.rows(output) if sent == "topic" else [json.loads(line) for line in printed.splitlines()]
    assert [row["id"] for row in rows] == list(range(300))
    assert cluster.kept(model)["events"] == (400 if learns else 100)


def test_whoever_reads_no_further_has_the_rest_left_to_the_next(cluster: Cluster) -> None:
    given, model = events(6000, seed=3), learned(cluster, 300)
    source = cluster.topic("in")
    cluster.put(source, given)
    arguments = [source, "--no-learn", "--model", model, "--predictions", "-", *NAMED]
    with cluster.start(*arguments, "-X", "max_poll_records=100") as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        process.stdout.close()
        assert process.wait(60) == 0
    rest = cluster.attach(*arguments, "--until-end", stdout=True).splitlines()
    assert first["id"] == 0
    assert 0 < len(rest) < 6000
    assert json.loads(rest[-1])["id"] == 5999


def test_a_new_model_is_used_from_then_on_and_a_broken_one_is_not(cluster: Cluster) -> None:
    given, model = events(900, seed=9), learned(cluster, 200)
    source, output = cluster.topic("in"), cluster.topic("out")
    path = cluster.folder / model
    expected = []

    def put(begin: int, process: ForkedProgram) -> None:
        expected.extend(predicted(cluster, given[begin : begin + 100]))
        cluster.put(source, given[begin : begin + 100])
        until(lambda: len(cluster.rows(output)) >= begin + 100, process)

    def wait_for(what: str) -> str:
        assert process.stderr is not None
        while what not in (line := process.stderr.readline()):
            assert line, what
        return line

    arguments = [source, "--no-learn", "--model", model, "--output-topic", output, "--no-row-position"]
    with cluster.start(*arguments, "--metrics", "0") as process:
        address = wait_for("metrics and a live page").split()[-1]
        put(0, process)
        # The model learns on in place, as with another process that learns and saves.
        learned(cluster, 400, seed=1)
        wait_for("m was reloaded, 600 events learned")
        put(100, process)
        good = path.read_bytes()
        path.with_name("broken").write_bytes(good[:-100])
        os.replace(path.with_name("broken"), path)
        wait_for("m is truncated or altered; restore it from a copy")
        path.write_bytes(good)
        wait_for("m was reloaded, 600 events learned")
        put(200, process)
        path.unlink()
        wait_for("cannot read the model m: No such file or directory")
        path.write_bytes(good)
        cluster.learn(lines([{"x": 1.5, "y": 2.5}]), model="other")
        os.replace(cluster.folder / "other", path)
        wait_for("m is now for the task regression, not binary")
        path.write_bytes(good)
        wait_for("m was reloaded")
        put(300, process)
        metrics = urlopen(f"{address}metrics", timeout=30).read().decode()
        assert re.search(r"^streamkarma_learned_total 0.0$", metrics, re.MULTILINE)
        assert "checkpoint_age_seconds " not in metrics
        assert "reloaded" not in said_by(process)
    rows = cluster.rows(output)
    assert [row.pop("n") for row in rows] == list(range(1, 401))
    for row in expected:
        del row["n"]
    assert rows == expected


def test_of_processes_that_share_the_partitions_one_is_killed(cluster: Cluster) -> None:
    given, model = events(1200, seed=3), learned(cluster, 200)
    source, output = cluster.topic("in", 2), cluster.topic("out")
    arguments = [source, "--no-learn", "--model", model, "--output-topic", output, *SOON]
    with cluster.start(*arguments) as one, cluster.start(*arguments) as other:
        until(lambda: len(cluster.members("group")) == 2, one)
        cluster.put(source, spread(given[:600], 2))
        until(lambda: len(cluster.rows(output)) == 600, one)
        cluster.put(source, spread(given[600:], 2))
        other.kill()
        until(lambda: len(cluster.rows(output)) >= 1200, one)
        said_by(one)
    assert sorted(row["id"] for row in cluster.rows(output)) == list(range(1200))


def test_where_the_group_is_decides_and_nothing_that_comes_meanwhile_is_left_out(cluster: Cluster) -> None:
    given, model = events(100, seed=3), learned(cluster, 200)
    source, output = cluster.topic("in"), cluster.topic("out")
    cluster.put(source, given[:40])
    arguments = [source, "--no-learn", "--model", model, "--output-topic", output, "--until-end"]
    cluster.attach(*arguments, "--from", "latest")
    assert cluster.rows(output) == []
    cluster.put(source, given[40:70])
    cluster.attach(*arguments, "--from", "latest")
    assert [row["id"] for row in cluster.rows(output)] == list(range(40, 70))
    cluster.recreate(source)
    cluster.put(source, given[70:])
    cluster.attach(*arguments)
    assert [row["id"] for row in cluster.rows(output)] == list(range(40, 100))
