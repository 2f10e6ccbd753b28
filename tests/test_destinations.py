"""Rows and the model that covers them, across crashes and restarts."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streamkarma import KARMAClassifier, save
from streamkarma.connectors.jsonlines.sink import JsonLinesSink
from streamkarma.errors import ModelFileError, OutputError, RunError, StreamkarmaError, UsageError
from streamkarma.estimators.persistence import load_with_run
from streamkarma.runtime.context import RunContext
from streamkarma.runtime.describe import describe
from streamkarma.runtime.destinations import marks_from
from streamkarma.synthetic import StreamSpec as Synthetic
from streamkarma.synthetic import records
from tests.conftest import Program
from tests.loops import run_of

EVENTS = [json.dumps(e).encode() for e in records(Synthetic(attributes=6, rank=3), 200)]
LINES = [*EVENTS[:30], b"no", b"", *EVENTS[30:60], b"[1]", *EVENTS[60:]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").write_bytes(b"\n".join([*LINES, b""]))


def learn(source: str = "in", **more: Any) -> int:
    usual: dict[str, Any] = {"model": "m", "predictions": "p", "dead_letters": "d", "learner": "explicit"}
    return run_of(source, **{**usual, "checkpoint_every": 50, **more}).execute()


def content(*names: str) -> list[bytes]:
    return [Path(name).read_bytes() for name in names or ("m", "p", "d")]


def killed(events: int, **more: Any) -> None:
    """Learn this many lines, but end like a killed process: the files have rows beyond the model."""
    Path("part").write_bytes(b"\n".join([*LINES[:events], b""]))
    learn("part", **more)
    for name, rest in (("p", b'{"n":1}\n{"n":2}\n{"n'), ("d", b'{"line":99}\n')):
        with open(name, "ab") as file:
            file.write(rest)


def undisturbed(**more: Any) -> list[bytes]:
    paths = {"model": "m0", "predictions": "p0", "dead_letters": "d0"}
    assert learn(**{**more, **paths}) == 0
    return content("m0", "p0", "d0")


@pytest.mark.parametrize("taken", [1, 31, 63, 100, len(LINES)])
def test_a_crash_costs_no_row_and_doubles_none(taken: int, capsys: pytest.CaptureFixture[str]) -> None:
    killed(taken)
    capsys.readouterr()
    assert learn(resume=True) == 0
    assert content() == undisturbed()
    said = capsys.readouterr().err
    assert "p ends with 2 rows beyond what m has learned: cut off, since the input is read again" in said
    assert "d ends with 1 row beyond" in said


def test_a_record_that_stops_the_run_is_one_dead_letter_however_often_it_is_tried() -> None:
    for _ in range(3):
        with pytest.raises(RunError, match="line 31: not JSON"):
            learn(fail=True, resume=Path("m").exists())
        assert [json.loads(row)["line"] for row in Path("d").read_bytes().splitlines()] == [31]
    assert learn(resume=True) == 0
    assert content() == undisturbed()


def test_without_the_same_input_nothing_that_was_written_is_lost(capsys: pytest.CaptureFixture[str]) -> None:
    killed(100)
    before, letters = content("p", "d")
    Path("rest").write_bytes(b"\n".join([*LINES[100:], b"{", b""]))
    capsys.readouterr()
    assert learn("rest") == 0
    after, now = content("p", "d")
    # All but the torn line.
    assert after.startswith(before[: before.rindex(b"\n") + 1])
    assert [json.loads(row)["n"] for row in after.splitlines()][-1] == 200
    assert now.startswith(letters)
    assert json.loads(now.splitlines()[-1])["record"] == "{"
    assert "p ends with 2 rows beyond what m has learned: kept" in capsys.readouterr().err


def test_a_new_model_begins_with_empty_files() -> None:
    learn()
    before = content()
    Path("m").unlink()
    learn()
    assert content() == before


def test_files_that_were_moved_away_or_are_others(capsys: pytest.CaptureFixture[str]) -> None:
    killed(100)
    whole = undisturbed()
    os.rename("p", "p1")
    Path("d").write_bytes(b'{"other": 1}\n{"to')
    capsys.readouterr()
    assert learn(resume=True) == 0
    said = capsys.readouterr().err
    assert "p is written from the beginning: the rows that m covers are missing" in said
    assert "d is appended to, but the rows that m covers are missing" in said
    p, d = content("p", "d")
    assert whole[1].endswith(p)
    assert json.loads(p.splitlines()[0])["n"] == 98
    assert d == b'{"other": 1}\n{"to\n'
    learn(resume=True)
    assert content("p", "d") == [p, d]
    # The model covers these from the first row on, not only from the first checkpoint.
    assert load_with_run("m")[1]["outputs"]["predictions"]["bytes"] == len(p)


def test_killed_before_the_first_checkpoint_with_other_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(context: RunContext) -> None:
        raise KeyboardInterrupt

    killed(100)
    original = RunContext.checkpoint
    monkeypatch.setattr(RunContext, "checkpoint", dies)
    with pytest.raises(KeyboardInterrupt):
        learn(resume=True, predictions="q")
    monkeypatch.setattr(RunContext, "checkpoint", original)
    assert content("q")[0].count(b"\n") >= 49
    learn(resume=True, predictions="q")
    assert undisturbed()[1].endswith(content("q")[0])
    assert json.loads(content("q")[0].splitlines()[0])["n"] == 98


@pytest.mark.parametrize(
    ("every", "seconds", "expected"),
    [
        (None, 0.0, [50, 100, 150, 200]),
        (None, 1e9, [200]),
        (100, 1e9, [100, 200]),
    ],
)
def test_the_model_is_not_written_all_the_time_unless_asked_for(
    monkeypatch: pytest.MonkeyPatch, every: int | None, seconds: float, expected: list[int]
) -> None:
    """By default after many events, and some time; the second includes the end of the run."""
    written: list[int] = []

    def checkpoint(context: RunContext) -> None:
        written.append(context.events)
        context.postpone_checkpoint()

    monkeypatch.setattr(RunContext, "checkpoint", checkpoint)
    monkeypatch.setattr("streamkarma.runtime.context._EVENTS", 50)
    monkeypatch.setattr("streamkarma.runtime.context._SECONDS", seconds)
    learn(checkpoint_every=every)
    assert sorted(set(written)) == expected


def test_the_model_says_how_much_it_has_taken(streamkarma: Program) -> None:
    learn()
    size = len(b"\n".join([*LINES, b""]))
    assert describe("m")["input"] == {"lines": len(LINES), "bytes": size}
    text = streamkarma("inspect", "m").stdout.decode().split()
    at = text.index("input:")
    assert text[at + 1 : at + 5] == ["lines", str(len(LINES)), "bytes", str(size)]


def test_only_lines_that_were_learned_count() -> None:
    with pytest.raises(RunError, match="line 31: not JSON"):
        learn(fail=True)
    assert describe("m")["input"]["lines"] == 30
    with pytest.raises(RunError, match="line 31: not JSON"):
        learn(fail=True, resume=True)
    assert learn(resume=True) == 0
    assert content("p") == undisturbed()[1:2]
    assert load_with_run("m")[1]["input"] == load_with_run("m0")[1]["input"]


def test_another_input_or_another_model(capsys: pytest.CaptureFixture[str]) -> None:
    learn()
    before = content()
    Path("other").write_bytes(b"\n".join([*reversed(LINES), b""]))
    with pytest.raises(
        RunError, match=r"other does not begin with the 203 lines \([\d,]+ bytes\) that m has read"
    ):
        learn("other", resume=True)
    Path("other").write_bytes(b"\n".join([*LINES[:9], b""]))
    with pytest.raises(RunError, match="other does not begin with"):
        learn("other", resume=True)
    assert content() == before
    save(KARMAClassifier(), "python")
    with pytest.raises(UsageError, match="python does not record how much of an input it has read"):
        learn(model="python", learner=None, resume=True)
    # There is nothing to skip for a model that does not exist yet.
    assert learn(model="new", resume=True) == 0


def test_a_file_counts_from_its_own_beginning_and_a_pipe_goes_on() -> None:
    def through_pipe(*parts: bytes, **more: Any) -> None:
        for part in parts:
            writer = threading.Thread(target=Path("pipe").write_bytes, args=[part])
            writer.start()
            learn("pipe", **more)
            writer.join()

    os.mkfifo("pipe")
    text = b"\n".join([*LINES, b""])
    through_pipe(text[:5000], text[5000:], model="parts", predictions=None, dead_letters=None)
    through_pipe(text, model="whole", predictions=None, dead_letters=None)
    assert describe("parts")["input"]["bytes"] == describe("whole")["input"]["bytes"] == len(text)
    assert load_with_run("parts")[1]["input"]["crc32"] == load_with_run("whole")[1]["input"]["crc32"]
    learn("in", model="whole", predictions=None, dead_letters=None)
    assert describe("whole")["input"]["lines"] == len(LINES)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_pipe_is_read_again_as_well(workers: int) -> None:
    killed(100, workers=workers)
    os.mkfifo("pipe")
    writer = threading.Thread(target=Path("pipe").write_bytes, args=[b"\n".join([*LINES, b""])])
    writer.start()
    assert learn("pipe", resume=True, workers=workers) == 0
    writer.join()
    assert content() == undisturbed()


@pytest.mark.parametrize("link", [None, os.symlink, os.link])
@pytest.mark.parametrize("name", ["model", "predictions", "dead_letters", "summary"])
def test_one_file_for_two_purposes(link: Callable[[str, str], None] | None, name: str) -> None:
    if link is not None:
        link("in", "x")
    path = "x" if Path("x").exists() else "./in"
    with pytest.raises(UsageError, match=f"INPUT and --{name.replace('_', '-')} are the same file, {path}"):
        learn(**{name: path})
    assert content("in") == [b"\n".join([*LINES, b""])]


@pytest.mark.parametrize(
    ("one", "two"), [("model", "predictions"), ("predictions", "dead_letters"), ("dead_letters", "summary")]
)
def test_one_file_that_is_not_there_yet(one: str, two: str) -> None:
    Path("link").symlink_to("new")
    with pytest.raises(UsageError, match="are the same file"):
        learn(**{one: "new", two: "link"})
    assert not Path("new").exists()
    assert learn(predictions="/dev/null", dead_letters="/dev/null") == 0


@pytest.mark.parametrize(
    ("plan", "complaint"),
    [
        ({"source": "gone"}, "cannot read gone: No such file"),
        ({"source": "gone.zst"}, "cannot read gone.zst: No such file"),
        ({"source": "."}, "cannot read .: Is a directory"),
        ({"predictions": "no/where"}, "the folder of --predictions no/where does not exist"),
        ({"dead_letters": "no/where"}, "the folder of --dead-letters no/where does not exist"),
        ({"summary": "no/where"}, "the folder of --summary no/where does not exist"),
        ({"summary": "."}, "--summary . is a folder"),
        ({"predictions": "loop"}, "cannot write loop: Too many levels of symbolic links"),
        ({"source": "loop"}, "cannot read loop: Too many levels of symbolic links"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_touched(
    plan: dict[str, Any], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("p", "d", "s"):
        Path(name).write_bytes(b"{}\n")
    Path("loop").symlink_to("loop")
    with pytest.raises(StreamkarmaError, match=complaint):
        learn(**{"summary": "s", **plan})
    assert content("p", "d", "s") == [b"{}\n"] * 3
    assert not Path("m").exists()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["predictions", "dead_letters", "summary"])
def test_a_full_disk(name: str) -> None:
    with pytest.raises(OutputError, match="cannot write /dev/full: No space left on device"):
        learn(**{name: "/dev/full"})
    assert Path("m").exists() == (name == "summary")


@pytest.mark.parametrize("kept", [3, [1], {"predictions": 1}, {"predictions": {"bytes": -1, "digest": ""}},
                                  {"predictions": {"bytes": "1", "digest": ""}}])  # fmt: skip
def test_what_no_model_says_of_its_files(kept: Any) -> None:
    with pytest.raises(ModelFileError, match="m does not record how far"):
        marks_from(kept, "m")


def test_a_line_that_was_not_written_to_its_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    from streamkarma import files

    sink = JsonLinesSink("rows")
    sink.restart()
    sink.write([{"n": 1}])
    left = 15

    def write_some(file: Any, data: memoryview) -> int:
        nonlocal left
        if not left:
            raise OSError(28, "No space left on device")
        written = file.write(data[:left])
        left -= written
        return int(written)

    monkeypatch.setattr(files, "write_some", write_some)
    with pytest.raises(OutputError, match="cannot write rows: No space left on device"):
        sink.write([{"n": 2}, {"n": 3}])
    sink.close()
    assert content("rows") == [b'{"n":1}\n{"n":2}\n']
