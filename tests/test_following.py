"""A model file that is replaced again and again while it is used for scoring."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from streamkarma import KARMAClassifier, save
from streamkarma.connectors.base import RecordBlock
from streamkarma.errors import ModelFileError
from streamkarma.runtime.following_session import FollowingSession
from streamkarma.runtime.output import Output
from streamkarma.runtime.plan import Plan
from tests.cluster import events, lines
from tests.conftest import Program
from tests.loops import records_of

#: Learns and saves without a pause.
WRITER = """
import sys
from streamkarma import load, save
model = load(sys.argv[1])
while True:
    model.learn_one({"a": float(model.steps % 3), "b": 1.0}, model.steps % 2 == 0)
    save(model, sys.argv[1])
"""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """A process that replaces the model continuously."""
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)]) as process:
        try:
            yield
        finally:
            process.kill()


def session_of(path: Path, said: list[str], **plan: Any) -> FollowingSession:
    return FollowingSession(Plan(model=str(path), learn=False, follow=True, **plan), str(path), said.append)


@pytest.mark.parametrize("reloads", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_no_torn_read_in_many_reloads(tmp_path: Path, reloads: int) -> None:
    path, said = tmp_path / "m", list[str]()
    model = KARMAClassifier()
    model.learn_one({"a": 1.0, "b": 2.0}, True)
    save(model, path)
    session = session_of(path, said)
    records = records_of(lines([{"a": 1.0}, {"b": 0.5}]))
    rows: list[bytes] = []
    session.new_loop(Output(lambda each, at: rows.extend(each.lines())))
    steps = {1}
    with writing(path):
        for _ in range(reloads):
            assert session.reload(), said[-1]
            steps.add(session.task_model.model.steps)
            session.feed(RecordBlock(records, lambda count: None), 0, 2)
    assert len(steps) > reloads / 100
    assert len(rows) == 2 * reloads
    assert len(said) == reloads
    assert all("was reloaded" in line for line in said)


def test_a_file_is_looked_at_now_and_then_and_loaded_only_if_it_has_changed(
    streamkarma: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, said, path = 100.0, list[str](), tmp_path / "m"
    monkeypatch.setattr("streamkarma.runtime.following_session.time.monotonic", lambda: now)
    streamkarma("learn", "--model", "m", records=events(50))
    session = session_of(path, said)
    streamkarma("learn", "--model", "m", records=events(50, seed=1))
    session.refresh()
    assert said == []
    now += 1.0
    session.refresh()
    assert said == [f"{path} was reloaded, 100 events learned"]
    for _ in range(3):
        now += 1.0
        session.refresh()
    path.rename(tmp_path / "aside")
    for _ in range(3):
        now += 1.0
        session.refresh()
    (tmp_path / "aside").rename(path)
    for _ in range(3):
        now += 1.0
        session.refresh()
    assert said[1:] == [
        f"cannot read the model {path}: No such file or directory; to restore the previous one: "
        f"cp {path}.bak {path}; still using the previous model, 100 events learned",
        f"{path} was reloaded, 100 events learned",
    ]


@pytest.mark.parametrize(
    ("records", "options", "why"),
    [
        ([{"a": 1.0, "y": 2.5}, {"a": 2.0, "y": 7.0}], [], "is now for the task regression, not binary"),
        ([{"a": 1.0}], [], "was started from scratch, and its task is not known yet"),
        (
            [{"a": 1.0, "z": 0}, {"a": 2.0, "z": 1}],
            ["--target", "z"],
            "now has different names for the target",
        ),
    ],
)
def test_a_model_of_another_kind_takes_no_place(
    streamkarma: Program, tmp_path: Path, records: list[dict[str, Any]], options: list[str], why: str
) -> None:
    said, path = list[str](), tmp_path / "m"
    streamkarma("learn", "--model", "m", records=events(50))
    session = session_of(path, said)
    done = streamkarma("learn", "--model", "m", "--fresh", *options, records=records)
    assert done.code == 0
    assert not session.reload()
    assert not session.reload()
    assert len(said) == 1
    assert why in said[0]
    assert session.task_model.model.steps == 50


def test_scoring_may_begin_before_the_task_is_known(streamkarma: Program, tmp_path: Path) -> None:
    said, path = list[str](), tmp_path / "m"
    streamkarma("learn", "--model", "m", records=[{"a": 1.0}])
    session = session_of(path, said)
    rows: list[bytes] = []
    session.new_loop(Output(lambda each, at: rows.extend(each.lines())))
    session.feed(RecordBlock(records_of(lines([{"a": 1.0, "y": 3.5}])), lambda count: None), 0, 1)
    assert said[0].startswith("task: regression, since a label is 3.5")
    # A model that has since determined its task overrides what the scored events suggest.
    streamkarma("learn", "--model", "m", "--fresh", records=events(50))
    assert session.reload(), said
    session.feed(RecordBlock(records_of(lines([{"a": 1.0, "y": 1}])), lambda count: None), 0, 1)
    assert orjson.loads(rows[-1])["prediction"] in (0, 1)
    assert session.loop.evaluator.result().keys() >= {"error_rate"}


def test_with_the_model_comes_its_memory_of_entities(streamkarma: Program, tmp_path: Path) -> None:
    said, path = list[str](), tmp_path / "m"
    given = [{"who": f"d{i % 4}", **event} for i, event in enumerate(events(200))]
    streamkarma("learn", "--model", "m", "--entity", "who", "--id", "id", records=given[:100])
    session = session_of(path, said)
    rows: list[bytes] = []
    session.new_loop(Output(lambda each, at: rows.extend(each.lines())))
    session.feed(RecordBlock(records_of(lines(given[100:150])), lambda count: None), 0, 50)
    streamkarma("learn", "--model", "m", records=given[100:120])
    assert session.reload()
    session.feed(RecordBlock(records_of(lines(given[120:])), lambda count: None), 0, 80)
    (tmp_path / "rest.jsonl").write_bytes(b"\n".join(lines(given[120:])))
    expected = streamkarma("predict", "m", "rest.jsonl").rows
    found = [orjson.loads(row) for row in rows[50:]]
    for row in (*found, *expected):
        del row["n"]
    assert found == expected


def test_what_is_counted_goes_on_and_attributes_that_are_others_are_watched_afresh(
    streamkarma: Program, tmp_path: Path
) -> None:
    said, path = list[str](), tmp_path / "m"
    given = [{"x": 1.0, **event} for event in events(600)]
    streamkarma("learn", "--model", "m", "--id", "id", records=given[:50])
    session = session_of(path, said, drift=True)
    session.new_loop(Output())
    session.feed(RecordBlock(records_of(lines(given[:300])), lambda count: None), 0, 300)
    # What the other process ignores is not counted by this one.
    streamkarma("learn", "--model", "m", records=[{**event, "z" * 2000: 1} for event in given[50:]])
    assert session.reload()
    assert session.loop.counters.events == 300
    assert session.loop.monitor.observed_shares(9, session.task_model.model)
    assert session.task_model.model.ignored == session.ignored_before > 0
    others = [{name: value for name, value in event.items() if name != "b"} for event in given[:50]]
    streamkarma("learn", "--model", "m", "--id", "id", "--fresh", records=others)
    assert session.reload()
    assert not session.loop.monitor.observed_shares(9, session.task_model.model)


def test_an_unreadable_model_at_the_start_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(b"nothing")
    with pytest.raises(ModelFileError, match="is not a streamkarma model"):
        session_of(tmp_path / "m", [])


def test_a_pipe_is_scored_with_the_newest_model(streamkarma: Program, tmp_path: Path) -> None:
    given = lines(events(40, seed=7))
    streamkarma("learn", "--model", "m", records=events(50))
    with subprocess.Popen(
        [sys.executable, "-m", "streamkarma", "predict", "m", "--follow", "--id", "id"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        rows = []
        for part in (given[:20], given[20:]):
            process.stdin.write(b"\n".join([*part, b""]))
            process.stdin.flush()
            rows += [orjson.loads(process.stdout.readline()) for _ in part]
            if len(rows) == 20:
                expected = streamkarma("predict", "m", "--id", "id", text=b"\n".join(given)).rows[:20]
                streamkarma("learn", "--model", "m", records=events(50, seed=1))
                while b"m was reloaded, 100 events learned" not in (line := process.stderr.readline()):
                    assert line
        process.stdin.close()
        assert process.wait(30) == 0
    expected += streamkarma("predict", "m", "--id", "id", text=b"\n".join(given)).rows[20:]
    assert rows == expected
