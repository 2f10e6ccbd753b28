from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streamkarma import KARMAClassifier, KARMARegressor, load, save
from streamkarma.checkpoint import read
from streamkarma.cli import cli, main
from streamkarma.synthetic import StreamSpec, records
from streamkarma.synthetic.devices import DeviceSpec, device_records
from streamkarma.synthetic.events import EventSpec, event_records
from streamkarma.synthetic.oracle import Oracle
from tests.conftest import Program

EVENTS = list(records(StreamSpec(attributes=6, rank=3), 300))


def summary_of(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def test_learning_from_a_pipe(streamkarma: Program, tmp_path: Path) -> None:
    result = streamkarma("learn", "--summary", "s.json", "--id", "who",
                         records=[{**e, "who": i} for i, e in enumerate(EVENTS)])  # fmt: skip
    assert result.code == 0
    assert [row["n"] for row in result.rows] == list(range(1, 301))
    assert [row["id"] for row in result.rows] == list(range(300))
    last = result.rows[-1]
    assert list(last) == ["n", "id", "prediction", "score", "probability", "target", "loss", "observed"]
    assert last["prediction"] in (0, 1)
    assert (last["score"] > 0) == (last["prediction"] == 1)
    assert 0.5 <= last["probability"] <= 1.0
    assert [row["target"] for row in result.rows] == [e["y"] for e in EVENTS]
    assert [row["observed"] for row in result.rows] == [len(e) - 1 for e in EVENTS]
    assert result.rows[0]["prediction"] is None
    assert "task: binary, since the labels are 0 and 1" in result.stderr
    summary = summary_of(tmp_path / "s.json")
    assert (summary["events"], summary["learned"], summary["rejected"]) == (300, 300, 0)
    assert (summary["task"], summary["learner"]) == ("binary", "auto")
    errors = sum(row["prediction"] != row["target"] for row in result.rows)
    assert summary["metrics"]["error_rate"] == pytest.approx(errors / 300)
    total = sum(row["loss"] for row in result.rows)
    assert summary["loss"] == {
        "name": "logistic",
        "mean": pytest.approx(total / 300),
        "total": pytest.approx(total),
    }
    assert set(summary["metrics"]) == {
        "error_rate",
        "balanced_accuracy",
        "f1",
        "auc",
        "average_precision",
        "log_loss",
    }
    wanted = {"attributes", "coordinates", "support_vectors", "patterns", "budget",
              "merged_exactly", "merged_closest", "removed", "bytes"}  # fmt: skip
    assert wanted <= set(summary["model"])
    assert summary["model"]["attributes"] == 6


def test_with_and_without_predictions_the_model_is_the_same(streamkarma: Program, tmp_path: Path) -> None:
    """The fast path for plain lines and the general one agree to the bit."""

    def learned(name: str) -> Any:
        header, arrays = read(tmp_path / name)
        # The bytes read and written may differ.
        for section in ("input", "outputs"):
            header["run"].pop(section, None)
        return header, {name: array.tobytes() for name, array in arrays.items()}

    streamkarma("learn", "--model", "a", "--no-predictions", "--quiet", records=EVENTS)
    streamkarma("learn", "--model", "b", "--predictions", "p.jsonl", "--quiet", records=EVENTS)
    spaced = b"".join(json.dumps({"é": None, **e}, ensure_ascii=False).encode() + b" \r\n" for e in EVENTS)
    streamkarma("learn", "--model", "c", "--no-predictions", "--quiet", text=spaced)
    assert learned("a") == learned("b") == learned("c")
    assert len((tmp_path / "p.jsonl").read_bytes().splitlines()) == 300


@pytest.mark.parametrize(
    "line",
    ['{{"a":{0},"y":"{1}"}}', '{{"a":{0},"y":36.40619000000000{0}}}', '{{"a":{0}.5e-3,"b":"x","y":{2}}}',
     '{{"a":{0},"y":{2}}}', '{{"a":{0},"n":{{"b":1}},"y":{2}}}', '{{"a":null,"y":null}}'],
)  # fmt: skip
def test_streams_that_the_scanner_leaves_alone(streamkarma: Program, tmp_path: Path, line: str) -> None:
    """Long enough for the scanner to be tried: an unusual first line of a block once crashed the run."""
    true_or_false = ("true", "false")
    lines = [line.format(i % 7 + 1, "ab"[i % 2], true_or_false[i % 2]) for i in range(1800)]
    text = "\n".join(lines).encode()
    assert streamkarma("learn", "--no-predictions", "--model", "a", text=text).code == 0
    assert len(streamkarma("learn", "--model", "b", text=text).rows) == 1800
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert streamkarma("predict", "a", "--no-predictions", text=text).code == 0


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("stop", [1, 2, 100])
def test_stopping_and_resuming_is_not_stopping(
    streamkarma: Program, tmp_path: Path, task: Any, stop: int
) -> None:
    events = list(records(StreamSpec(attributes=6, rank=3, task=task), 150))
    whole = streamkarma("learn", "--model", "whole", "--budget", "20", records=events)
    first = streamkarma("learn", "--model", "parts", "--budget", "20", records=events[:stop])
    second = streamkarma("learn", "--model", "parts", records=events[stop:])
    assert first.stdout + second.stdout == whole.stdout
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("stop", [3, 7, 8, 20])
def test_stopping_before_the_task_shows(streamkarma: Program, tmp_path: Path, stop: int) -> None:
    """Seven labels of 0 may be a class or a number; then the first 2.5 arrives."""
    events = [{**e, "y": 2.5 if i > 6 and i % 3 == 0 else 0} for i, e in enumerate(EVENTS[:40])]
    options = ("--gamma", "3", "--budget", "10", "--no-scale", "--quiet")
    whole = streamkarma("learn", "--model", "whole", *options, records=events)
    first = streamkarma("learn", "--model", "parts", *options, records=events[:stop])
    second = streamkarma("learn", "--model", "parts", records=events[stop:])
    assert second.code == 0
    assert first.stdout + second.stdout == whole.stdout
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


def test_the_first_prediction_of_a_slow_pipe_comes_at_once() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "streamkarma", "learn", "--quiet"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        for n, event in enumerate(EVENTS[:3], 1):
            process.stdin.write(json.dumps(event).encode() + b"\n")
            process.stdin.flush()
            # The pipe stays open: were anything held back, this would wait for ever.
            assert json.loads(process.stdout.readline())["n"] == n
        process.stdin.close()


def test_bad_records_are_set_aside_and_counted(streamkarma: Program, tmp_path: Path) -> None:
    bad = {
        b"hello": "not JSON",
        b"[1, 2]": "expected an object, not an array",
        b'{"x0": 1e999, "y": 1}': "the record contains an infinite number",
        b'{"x0": 1, "y": {"a": 1}}': "the label must be|a label must be",
        b'{"x0": 1, "y": "yes"}': "but the labels so far are numbers",
        b'{"x0": 1, "y": 7}': "neither of the two classes",
        b'{"a.b": 1, "a": {"b": 2}, "y": 1}': "two nested names become",
        b'{"x0": "' + b"z" * 3000 + b'"}': "longer than the limit",
        b"\xff\xfe\x00": "not JSON",
        b'{"x":' * 40 + b"1" + b"}" * 40: "nested deeper than 32",
    }
    good = [json.dumps(e).encode() for e in EVENTS[:20]]
    lines = [*good, b"", *bad, b"   ", *good]
    result = streamkarma(
        "learn", "--dead-letters", "dead.jsonl", "--summary", "s.json", "--max-record-bytes", "2000",
        text=b"\n".join(lines),
    )  # fmt: skip
    assert result.code == 0
    assert len(result.rows) == 40
    assert "first rejected" not in result.stderr
    summary = summary_of(tmp_path / "s.json")
    assert (summary["events"], summary["rejected"]) == (40, len(bad))
    dead = [json.loads(line) for line in (tmp_path / "dead.jsonl").read_bytes().splitlines()]
    assert [row["line"] for row in dead] == list(range(22, 22 + len(bad)))
    for row, (line, reason) in zip(dead, bad.items(), strict=True):
        assert re.search(reason, row["error"]), row
        assert line.decode(errors="replace").startswith(row["record"])
    undisturbed = streamkarma("learn", text=b"\n".join([*good, *good]))
    assert [{**row, "n": 0} for row in result.rows] == [{**row, "n": 0} for row in undisturbed.rows]


def test_a_bad_record_can_end_the_run(streamkarma: Program, tmp_path: Path) -> None:
    lines = [json.dumps(e).encode() for e in EVENTS[:10]]
    result = streamkarma(
        "learn", "--on-error", "fail", "--model", "m", "--quiet", text=b"\n".join([*lines, b"{", *lines])
    )
    skipped = streamkarma("learn", text=b"\n".join([*lines, b"{", b"["]))
    assert "first rejected: line 11: not JSON" in skipped.stderr
    assert result.code == 1
    assert re.fullmatch(r"streamkarma: line 11: not JSON: .*\n", result.stderr)
    assert len(result.rows) == 10
    assert json.loads(streamkarma("inspect", "m", "--json").stdout)["learned"] == 10


@pytest.mark.parametrize("slow", [(), ("--full", "f"), ("--ignore", "f.a")])
@pytest.mark.parametrize("option", ["target", "id", "weight", "time", "ignore"])
def test_a_name_may_be_empty(streamkarma: Program, option: str, slow: tuple[str, ...]) -> None:
    # A table with an unnamed index has an empty key when it becomes JSON.
    def rows_with(name: str) -> list[Any]:
        records = [{"a": t % 3 - 1.0, "y": t % 2, name: t % 2, "f": {"a": 1.0}} for t in range(20)]
        done = streamkarma("learn", f"--{option}", name, "--learner", "explicit", *slow, records=records)
        assert (done.code, "warning" in done.stderr) == (0, False)
        return done.rows

    assert rows_with("") == rows_with("k")


def test_an_empty_name_of_no_target_is_seen_in_the_warning(streamkarma: Program) -> None:
    done = streamkarma("learn", "--target", "", records=EVENTS[:3])
    assert "warning: no event had the target '', so no label was learned" in done.stderr


@pytest.mark.parametrize("text", [b"", b"\n", b"\n \n"])
def test_an_empty_input_is_no_error(streamkarma: Program, tmp_path: Path, text: bytes) -> None:
    result = streamkarma("learn", "--summary", "s.json", "--model", "m", text=text)
    assert (result.code, result.stdout) == (0, b"")
    summary = summary_of(tmp_path / "s.json")
    assert (summary["events"], summary["metrics"], summary["loss"]["mean"]) == (0, {}, None)
    assert streamkarma("learn", "--model", "m", records=EVENTS[:3]).code == 0


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["learn", "--gamma", "0"], "--gamma"),
        (["learn", "--gamma", "x"], "--gamma"),
        (["learn", "--rho", "0"], "--rho"),
        (["learn", "--nothing"], "--nothing"),
        (["learn", "--pruning", "all"], "--pruning"),
        (["learn", "--learner", "magic"], "--learner"),
        (["learn", "--regret", "nought"], "no such baseline"),
        (["learn", "--regret", ","], "--regret ',' names no baseline; there are all, fast, none,"),
        (["learn", "--regret", ""], "--regret '' names no baseline"),
        (["regret", "--baselines", "none"], "nothing to compare with"),
        (["regret", "--regret", "none"], "--regret none leaves nothing to compare with"),
        (["regret", "--baselines", " ,none,"], "nothing to compare with"),
        (["regret", "--learner", ", "], "--learner ', ' names no learner; there are auto,"),
        (["regret", "--plot", "a.gif"], ".png"),
        (["learn", "--full", "f", "--id", "i", "--pending", "3"], "--full has no meaning"),
        (["learn", "--loss", "none"], "loss must be one of"),
        (["learn", "--task", "regression", "--loss", "hinge"], "--loss must be one of"),
        (["learn", "--task", "binary", "--loss", "squared"], "--loss squared is for numbers, and --task"),
        (["regret", "--task", "multiclass", "--loss", "huber"], "--loss huber is for numbers, and"),
        (["learn", "--horizon", "100"], "--horizon needs --rho auto"),
        (["learn", "--regularity", "0.3"], "--regularity needs --gamma auto and --rho auto"),
        (["learn", "--model", "-"], "--model cannot be standard input or output; give the path of a file"),
        (["learn", "--window", "10", "--trees", "5"], "no learner has --trees and --window; leave one out"),
        (["learn", "--gamma", "auto"], "--gamma auto needs --rho auto"),
        (["learn", "--rho", "auto", "--eta", "1"], "--eta cannot be combined with --rho auto"),
        (["learn", "--eta", "0.1", "--update", "arow"], "--eta has no meaning with --update arow"),
        (["learn", "--rho", "10", "--eta", "1"], "eta * rho"),
        (["learn", "--task", "regression", "--positive", "1"], "--positive"),
        (["learn", "--predictions", "x", "--no-predictions"], "contradict"),
        (["generate", "lowrank", "--rank", "30"], "rank"),
        (["generate", "lowrank", "--blocks", "3"], "--blocks"),
        (["generate", "blocks", "--allow-empty"], "--allow-empty does not apply to blocks"),
        (["generate", "lowrank", "--margin", "4"], "margin must be between 0 and 3"),
        (["generate", "lowrank", "--label", "blocks"], "label blocks needs the kind blocks"),
        (["generate", "lowrank", "--users", "9"], "--users does not apply to lowrank"),
        (["generate", "events", "--users", "1000000000"], "'--users': 1000000000 is not in the range"),
        (["generate", "events", "--allow-empty"], "--allow-empty does not apply to events"),
        (["generate", "events", "--task", "multiclass"], "task binary or regression"),
        (["generate", "devices", "--junk", "3"], "--junk does not apply to devices"),
        (["generate", "devices", "--gaps", "1"], "gaps must be at least 0 and below 1"),
        (["generate", "events", "--gaps", "0"], "--gaps does not apply to events"),
        (["generate", "spiral"], "spiral"),
        (["wash"], "wash"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(streamkarma: Program, args: list[str], complaint: str) -> None:
    result = streamkarma(*args, records=EVENTS[:3])
    assert result.code == 2
    assert result.stdout == b""
    assert result.stderr.count("\n") == 1
    assert complaint in result.stderr


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("no/where", "the folder of {} no/where does not exist"),
        (".", "{} . is a folder; give the path of a file"),
        ("", "{} is empty; give the path of a file"),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        "learn --model", "learn --predictions", "learn --dead-letters", "learn --summary",
        "predict m --summary", "predict m --predictions", "explain m - --dead-letters",
        "profile --json", "profile --html", "regret --json", "merge m --model",
    ],
)  # fmt: skip
def test_where_no_file_can_be_none_is_written(
    streamkarma: Program, tmp_path: Path, command: str, path: str, complaint: str
) -> None:
    assert streamkarma("learn", "--learner", "explicit", "--model", "m", records=EVENTS[:3]).code == 0
    result = streamkarma(*command.split(), path, records=EVENTS[:3])
    assert (result.code, result.stdout) == (2, b"")
    assert result.stderr == f"streamkarma: {complaint.format(command.split()[-1])}\n"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["m"]


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["learn", "none.jsonl"], "cannot read none.jsonl: No such file or directory"),
        (["learn", "--model", "text"], "text is not a streamkarma model"),
        (["predict", "none"], "cannot read the model none"),
        (["inspect", "text"], "text is not a streamkarma model"),
        (["learn", "broken.gz"], "broken.gz"),
    ],
)
def test_a_failed_run_is_one_line_and_exit_1(
    streamkarma: Program, tmp_path: Path, args: list[str], complaint: str
) -> None:
    (tmp_path / "text").write_text("hello")
    (tmp_path / "broken.gz").write_bytes(b"\x1f\x8b\x08\x00")
    result = streamkarma(*args, "--quiet" if args[0] != "inspect" else "--json", records=EVENTS[:3])
    assert result.code == 1
    assert result.stderr.count("\n") == 1
    assert complaint in result.stderr


@pytest.fixture
def hangups_arrive() -> Iterator[None]:
    """Restore the default for hangups: processes inherit that they are ignored, as under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hangups_arrive")
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_save_and_say_so(tmp_path: Path, number: signal.Signals, workers: str) -> None:
    command = ["learn", "--model", "m", "--summary", "s.json", "--workers", workers]
    with subprocess.Popen(
        [sys.executable, "-m", "streamkarma", *command],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        for event in EVENTS[:5]:
            process.stdin.write(json.dumps(event).encode() + b"\n")
        process.stdin.write(b'{"x0": 1.5, "y')  # half a line is neither a record nor a bad one
        process.stdin.flush()
        for _ in range(5):
            process.stdout.readline()
        process.send_signal(number)
        assert process.wait(timeout=120) == 128 + number
    summary = summary_of(tmp_path / "s.json")
    assert (summary["learned"], summary["rejected"]) == (5, 0)
    assert (tmp_path / "m").exists()


def test_nohup_outlives_the_terminal(tmp_path: Path) -> None:
    with subprocess.Popen(
        ["nohup", sys.executable, "-m", "streamkarma", "learn", "--quiet"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tmp_path,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        for number in (1, 2):
            process.stdin.write(json.dumps(EVENTS[number]).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["n"] == number
            process.send_signal(signal.SIGHUP)
        process.stdin.close()
        assert process.wait(timeout=120) == 0


@pytest.mark.parametrize(
    "args", [["profile", "events"], ["profile", "events", "--html", "-"], ["explain", "m"], ["inspect", "m"]]
)
def test_output_is_utf_8_in_any_locale(streamkarma: Program, tmp_path: Path, args: list[str]) -> None:
    events = [{"größe": t % 7, "y": ("naïve", "日本")[t % 2]} for t in range(40)]
    (tmp_path / "events").write_text("".join(json.dumps(e) + "\n" for e in events))
    streamkarma("learn", "events", "--model", "m", "--no-predictions")
    done = subprocess.run(
        [sys.executable, "-m", "streamkarma", *args], cwd=tmp_path, capture_output=True, check=False,
        env={**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "größe" in done.stdout.decode()


def test_a_reader_that_goes_ends_the_program_quietly(tmp_path: Path) -> None:
    (tmp_path / "events").write_text("".join(json.dumps(e) + "\n" for e in EVENTS * 40))
    done = subprocess.run(
        f"set -o pipefail; {sys.executable} -m streamkarma learn events --quiet --model m | head -n 1",
        shell=True, executable="/bin/bash", cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr, done.stdout.count(b"\n")) == (0, b"", 1)
    assert (tmp_path / "m").exists()


def test_a_reader_of_a_generated_stream_may_go_too() -> None:
    command = f"set -o pipefail; {sys.executable} -m streamkarma generate lowrank --events 100000 | head -n 1"
    done = subprocess.run(command, shell=True, executable="/bin/bash", capture_output=True, check=False)
    assert (done.returncode, done.stderr, done.stdout.count(b"\n")) == (0, b"", 1)


def test_predicting_learns_nothing(streamkarma: Program, tmp_path: Path) -> None:
    streamkarma("learn", "--model", "m", "--id", "who", "--target", "label", "--quiet",
                records=[{**e, "who": 1, "label": e["y"] == 1, "y": None} for e in EVENTS])  # fmt: skip
    before = (tmp_path / "m").read_bytes()
    new = [
        {**e, "who": i, "label": e["y"] == 1, "y": None} for i, e in enumerate(records(StreamSpec(6, 3), 400))
    ][300:]
    scored = streamkarma("predict", "m", "--summary", "s.json", records=new)
    assert (tmp_path / "m").read_bytes() == before
    assert [row["id"] for row in scored.rows] == list(range(300, 400))
    assert [row["n"] for row in scored.rows] == list(range(1, 101))
    assert summary_of(tmp_path / "s.json")["learned"] == 0
    assert summary_of(tmp_path / "s.json")["metrics"]["error_rate"] < 0.4
    unlabelled = streamkarma(
        "predict", "m", records=[{k: v for k, v in e.items() if k != "label"} for e in new]
    )
    assert [row["score"] for row in unlabelled.rows] == [row["score"] for row in scored.rows]
    assert not any("target" in row or "loss" in row for row in unlabelled.rows)


@pytest.mark.parametrize("more", [(), ("--id", "meta.id"), ("--time", "meta.t"), ("--weight", "meta.w")])
def test_nothing_is_taken_of_what_is_ignored_however_deep(
    streamkarma: Program, tmp_path: Path, more: tuple[str, ...]
) -> None:
    events = [
        {"y": k % 2, "x": k, "audit": {"y": k % 2, "log": [{"y": k % 2}]}, "bits": [k % 2, {"a": 1}],
         "meta": {"id": k, "t": k, "w": 1.0, "raw": {"y": k % 2}}}
        for k in range(20)
    ]  # fmt: skip
    ignored = [word for name in ("audit", "bits", "meta.raw") for word in ("--ignore", name)]
    plain = streamkarma("learn", *ignored, *more, "--model", "a", records=events)
    assert plain.code == 0
    names = set(load(tmp_path / "a").vocabulary.attributes)
    assert names - {"meta.id", "meta.t", "meta.w"} == {"x"}
    # Also where only Python reads the records.
    streamkarma("learn", *ignored, *more, "--full", "f", "--model", "b", "--regret", "none", records=events)
    assert set(load(tmp_path / "b").vocabulary.attributes) == names


def test_ignored_records_without_a_label_are_predicted_only(streamkarma: Program, tmp_path: Path) -> None:
    mixed = [{**e, "y": None} if i % 3 == 0 else e for i, e in enumerate(EVENTS)]
    result = streamkarma(
        "learn", "--unlabelled", "ignore", "--summary", "s.json", "--model", "a", records=mixed
    )
    summary = summary_of(tmp_path / "s.json")
    assert (summary["unlabelled"], summary["learned"]) == (100, 200)
    assert len(result.rows) == 300
    streamkarma("learn", "--model", "b", records=[e for i, e in enumerate(EVENTS) if i % 3])
    assert self_scores(streamkarma, "a") == self_scores(streamkarma, "b")


def self_scores(streamkarma: Program, model: str) -> list[float]:
    return [row["score"] for row in streamkarma("predict", model, records=EVENTS[:20]).rows]


def test_fields_beside_the_attributes(streamkarma: Program, tmp_path: Path) -> None:
    odd = [
        {**e, "weight": i % 2, "junk": i, "meta": {"label": e["y"], "id": f"e{i}"}}
        for i, e in enumerate(EVENTS)
    ]
    for e in odd:
        del e["y"]
    result = streamkarma(
        "learn", "--target", "meta.label", "--id", "meta.id", "--weight", "weight", "--ignore", "junk",
        "--summary", "s.json", "--model", "a", records=odd,
    )  # fmt: skip
    summary = summary_of(tmp_path / "s.json")
    assert (summary["events"], summary["learned"], summary["model"]["attributes"]) == (300, 150, 6)
    assert result.rows[7]["id"] == "e7"
    streamkarma("learn", "--model", "b", records=EVENTS[1::2])
    a = streamkarma("predict", "a", "--target", "y", records=EVENTS[:20])
    b = streamkarma("predict", "b", records=EVENTS[:20])
    assert [row["score"] for row in a.rows] == [row["score"] for row in b.rows]


def test_options_from_file_environment_and_command_line(streamkarma: Program, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(
        "quiet = true\n[learn]\nscale = false\ngamma = 3\nrho = 0.5\nno-predictions = true\n"
    )
    env = {"STREAMKARMA_LEARN_GAMMA": "4"}

    def gamma(*args: str, env: dict[str, str] | None = None) -> int:
        (tmp_path / "m").unlink(missing_ok=True)
        result = streamkarma("learn", "--model", "m", *args, records=EVENTS[:5], env=env)
        assert result.code == 0
        assert not args or (result.stdout, result.stderr) == (b"", "")
        parameters = json.loads(streamkarma("inspect", "m", "--json").stdout)["parameters"]
        return parameters["gamma"]

    assert gamma("--config", "c.toml") == 3
    assert gamma("--config", "c.toml", env=env) == 4
    assert gamma("--config", "c.toml", "--gamma", "5", env=env) == 5
    (tmp_path / "bad.toml").write_text("[learn]\ngama = 3\n")
    result = streamkarma("learn", "--config", "bad.toml")
    assert (result.code, result.stderr.count("\n")) == (2, 1)
    assert "no option 'gama'" in result.stderr


def test_a_resumed_model_keeps_to_its_options(streamkarma: Program) -> None:
    streamkarma("learn", "--model", "m", "--gamma", "3", "--budget", "0", records=EVENTS[:20])
    again = streamkarma("learn", "--model", "m", "--gamma", "3", "--budget", "0", records=EVENTS[20:40])
    assert again.code == 0
    assert again.rows[0]["n"] == 21
    other = streamkarma("learn", "--model", "m", "--gamma", "2", records=EVENTS[40:])
    assert other.code == 2
    assert "m was made with gamma 3, not 2" in other.stderr
    for option, made, other_value in (
        ("--budget=9", "budget unlimited", "9"),
        ("--rho=1", "rho none", "1.0"),
        ("--forget=9", "forget none", "9.0"),
        ("--kind=a=text", "kind none", "a=text"),
        ("--na=x", "na none", "x"),
        ("--sentinel=a=9", "sentinel none", "a=9.0"),
        ("--class-weight=balanced", "class-weight none", "balanced"),
        ("--no-scale", "scale true", "false"),
        ("--max-attributes=9", "max-attributes 16384", "9"),
    ):
        refused = streamkarma("learn", "--model", "m", option, records=EVENTS[40:])
        assert f"m was made with {made}, not {other_value}; leave" in refused.stderr
    other = streamkarma("learn", "--model", "m", "--task", "regression", records=EVENTS[40:])
    assert other.code == 2
    assert "m was made for the task binary, not regression" in other.stderr


@pytest.mark.parametrize("kind", [KARMAClassifier, KARMARegressor])
def test_a_model_from_python(streamkarma: Program, tmp_path: Path, kind: Any) -> None:
    model = kind()
    for event in EVENTS[:100]:
        x = {k: v for k, v in event.items() if k != "y"}
        model.learn_one(x, event["y"])
    save(model, tmp_path / "m")
    scored = streamkarma("predict", "m", records=EVENTS[100:120])
    expected = [model.predict_one({k: v for k, v in e.items() if k != "y"}) for e in EVENTS[100:120]]
    assert [row["prediction"] for row in scored.rows] == expected
    assert streamkarma("learn", "--model", "m", records=EVENTS[100:]).code == 0
    assert json.loads(streamkarma("inspect", "m", "--json").stdout)["learned"] == 300


def test_inspect(streamkarma: Program, tmp_path: Path) -> None:
    streamkarma("learn", "--model", "m", records=EVENTS)
    content = json.loads(streamkarma("inspect", "m", "--json").stdout)
    assert content["kind"] == "KARMAMixtureClassifier"
    assert (content["events"], content["learned"], content["task"]) == (300, 300, "binary")
    streamkarma("learn", "--model", "text", records=[{"a": 1, "y": "yes"}, {"y": "no"}])
    assert json.loads(streamkarma("inspect", "text", "--json").stdout)["task"] == "binary"
    assert content["attributes"] == [f"x{i}" for i in range(6)]
    assert sorted(content["classes"]) == [0, 1]
    text = streamkarma("inspect", "m").stdout.decode()
    assert "KARMAMixtureClassifier" in text
    assert re.search(r"experts \(mean weight of the last 1,000 events\) explicit 1 arow \d\.\d{3}, ", text)
    assert "support_vectors" in text


def test_generate_writes_the_same_bytes(streamkarma: Program) -> None:
    args = ["generate", "blocks", "--events", "300", "--attributes", "9", "--rank", "2", "--blocks", "3",
            "--missing", "mnar", "--noise", "0.1", "--seed", "5", "--full"]  # fmt: skip
    one, two = streamkarma(*args), streamkarma(*args)
    assert one.stdout == two.stdout
    assert one.rows == list(records(StreamSpec(9, 2, 0.5, "mnar", 0.1, "binary", 5, 3), 300, full=True))


@pytest.mark.parametrize(
    ("args", "plan"),
    [
        ("lowrank --observed 0.1 --allow-empty", StreamSpec(observed=0.1, allow_empty=True)),
        ("blocks --label blocks --margin 1", StreamSpec(blocks=3, label="blocks", margin=1.0)),
    ],
)
def test_generate_hands_its_options_on(streamkarma: Program, args: str, plan: StreamSpec) -> None:
    assert streamkarma("generate", *args.split(), "--events", "300").rows == list(records(plan, 300))


@pytest.mark.parametrize(
    ("args", "plan"),
    [
        ("", EventSpec()),
        (
            "--users 9 --words 20 --tags 3 --drift 2 --junk 1 --task regression --noise 0.5 --seed 4",
            EventSpec(9, 20, 3, 0.5, 2.0, 1, 0.5, "regression", 4),
        ),
    ],
)
def test_generate_events_says_what_an_oracle_would_err(
    streamkarma: Program, args: str, plan: EventSpec
) -> None:
    bare = streamkarma("generate", "events", *args.split(), "--events", "300")
    assert bare.rows == list(event_records(plan, 300))
    assert bare.stderr == ""
    full = streamkarma("generate", "events", *args.split(), "--events", "300", "--full")
    assert full.rows == list(event_records(plan, 300, full=True))
    assert full.stdout == streamkarma("generate", "events", *args.split(), "--events", "300", "--full").stdout
    oracle = Oracle(plan.task, "full")
    oracle.add(full.rows)
    assert full.stderr == f"{oracle}\n"


@pytest.mark.parametrize(
    ("args", "plan"),
    [
        ("", DeviceSpec()),
        (
            "--devices 9 --sensors 4 --gaps 0.5 --turnover 3 --drift 2 --task regression --noise 1 --seed 4",
            DeviceSpec(9, 4, 0.5, 3.0, 2.0, 1.0, "regression", 4),
        ),
    ],
)
def test_generate_devices_says_what_an_oracle_would_err(
    streamkarma: Program, args: str, plan: DeviceSpec
) -> None:
    bare = streamkarma("generate", "devices", *args.split(), "--events", "300")
    assert bare.rows == list(device_records(plan, 300))
    assert bare.stderr == ""
    full = streamkarma("generate", "devices", *args.split(), "--events", "300", "--full")
    assert full.rows == list(device_records(plan, 300, full=True))
    oracle = Oracle(plan.task, "oracle")
    oracle.add(full.rows)
    assert full.stderr == f"{oracle}\n"


def test_help_is_light() -> None:
    code = (
        "import sys; from streamkarma.cli import main\n"
        "sys.argv = ['streamkarma', '--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'river', 'kafka', 'pandas', 'pyspark'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("command", ["learn", "predict", "inspect", "generate"])
def test_every_command_has_help(streamkarma: Program, command: str) -> None:
    result = streamkarma(command, "--help")
    assert result.code == 0
    assert b"--config" in result.stdout


def test_version(streamkarma: Program) -> None:
    assert re.fullmatch(rb"streamkarma \d+\.\d+\.\d+\n", streamkarma("--version").stdout)


def test_checkpoints_are_written_on_the_way(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "streamkarma", "learn", "--model", "m", "--checkpoint-every", "10"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tmp_path,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        for event in EVENTS[:21]:
            process.stdin.write(json.dumps(event).encode() + b"\n")
            process.stdin.flush()
            process.stdout.readline()
        process.kill()
    done = subprocess.run([sys.executable, "-m", "streamkarma", "inspect", "m", "--json"],
                          cwd=tmp_path, capture_output=True, check=True)  # fmt: skip
    assert json.loads(done.stdout)["learned"] in (10, 20)


def test_memory_does_not_grow_with_the_input(tmp_path: Path) -> None:
    # Some 40 MB of lines. Models grow until their windows are full, which explicit features do not have.
    arguments = ["learn", "--learner", "explicit", "--ignore", "note", "--no-predictions", "--quiet"]
    block = b"".join(json.dumps({**event, "note": "x" * 300}).encode() + b"\n" for event in EVENTS)

    def peak(events: int) -> int:
        command = [sys.executable, "-m", "streamkarma", *arguments]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            for _ in range(events // len(EVENTS)):
                process.stdin.write(block)
            process.stdin.close()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
            return usage.ru_maxrss

    assert peak(120_000) < 1.4 * peak(6_000)


def test_an_option_and_its_environment_variable_have_one_name() -> None:
    for name, command in cli.commands.items():
        for parameter in command.params:
            for option in parameter.opts[-1:]:
                if option.startswith("--"):
                    assert parameter.name == option[2:].replace("-", "_"), name


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("learn=3", "its options belong in [learn]"),
        ("[learn]\nbudget=10.7", "'10.7' is not a valid integer"),
        ("[learn]\nrho=[1]", "rho takes one value"),
        ("[learn.gamma]\nx=1", "gamma takes one value"),
        ("[learn]\nquiet=3", "quiet must be true or false, not 3"),
        ("[learn]\nignore=[['a']]", "ignore must be a list of values, not of lists"),
        ("[learn]\nconfig='other.toml'", "learn has no option 'config'"),
        ("[learn]\npredictions=false", "predictions must be a text, not false; write no-predictions = true"),
        ("[learn]\nsummary=true", 'summary must be a text, not true; write summary = "…", or leave it out'),
        ("[learn]\ndead-letters=false", 'write dead-letters = "…", or leave it out'),
        ("[learn]\nignore=['a', true]", 'ignore must be a text, not true; write ignore = "…"'),
        ('[learn]\nmodel="a\\u0000b"', "--model 'a\\x00b' has a character that paths cannot have"),
        ('[learn]\nsummary="\\u0000"', "has a character that paths cannot have"),
    ],
)
def test_a_file_is_checked_like_the_command_line(
    streamkarma: Program, tmp_path: Path, content: str, why: str
) -> None:
    (tmp_path / "c.toml").write_text(content + "\n")
    result = streamkarma("learn", "--config", "c.toml", records=EVENTS[:5])
    assert result.code == 2
    assert why in result.stderr
    assert "Traceback" not in result.stderr


def test_a_file_may_begin_with_a_byte_order_mark(streamkarma: Program, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_bytes(b"\xef\xbb\xbf[learn]\r\nquiet = true\r\n")
    result = streamkarma("learn", "--config", "c.toml", records=EVENTS[:5])
    assert (result.code, result.stderr) == (0, "")


def test_a_file_may_name_a_boolean_as_the_positive_class(streamkarma: Program, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[learn]\npositive = false\n")
    records = [{"a": i % 2, "y": i % 2 == 0} for i in range(9)]
    result = streamkarma("learn", "--config", "c.toml", "--learner", "explicit", records=records)
    assert result.code == 0
    last = result.rows[-1]
    assert (last["score"] > 0) == (last["prediction"] is False)


def test_a_file_may_name_one_of_several(streamkarma: Program, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[learn]\nignore = "a"\n')
    assert streamkarma("learn", "--config", "c.toml", records=EVENTS[:5]).code == 0


def test_rankings_are_of_two_classes(streamkarma: Program, tmp_path: Path) -> None:
    records = [{"a": 0, "y": "p"}, {"a": 1, "y": "q"}, {"a": 0, "y": "p"}, {"a": 1, "y": "q"}]
    for names, there in (("pq", True), ("pqr", False)):
        records += [{"a": i, "y": name} for i, name in enumerate(names)]
        streamkarma("learn", "--summary", "s.json", "--no-predictions", records=records)
        summary = json.loads((tmp_path / "s.json").read_text())["metrics"]
        assert ("auc" in summary) == there
        assert ("average_precision" in summary) == there


def test_too_little_memory_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object, **__: object) -> int:
        raise MemoryError("Unable to allocate 29.8 GiB for an array")

    monkeypatch.setattr("streamkarma.cli.cli.main", fails)
    monkeypatch.setattr("streamkarma.cli.streams.prepare", lambda: None)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    said = "not enough memory for this: Unable to allocate 29.8 GiB for an array"
    assert capsys.readouterr().err == f"streamkarma: {said}\n"


def test_a_field_with_a_dot_does_not_open_the_others(streamkarma: Program, tmp_path: Path) -> None:
    """The value of a field may be an object, or be inside one."""
    records: list[dict[str, Any]] = [{"a": 1, "i": {"k": n}, "y": n % 2} for n in range(4)]
    for more in ((), ("--ignore", "q.r")):
        done = streamkarma("learn", "--learner", "sgd", "--id", "i", *more, records=records)
        assert [(row["id"], row["observed"]) for row in done.rows] == [({"k": n}, 1) for n in range(4)]
        bad = [{**records[0], "w": {"k": 1}}, {**records[0], "y": {"k": 1}}]
        options = ("--learner", "sgd", "--weight", "w", "--summary", "s.json", *more)
        streamkarma("learn", *options, records=[*records, *bad])
        assert json.loads((tmp_path / "s.json").read_text())["rejected"] == 2
        late = [{"a": 1, "i": {"k": 1}}, {"i": {"k": 1}, "y": 1}]
        options = ("--learner", "sgd", "--id", "i", "--pending", "3", "--summary", "s.json", *more)
        streamkarma("learn", *options, records=late)
        assert json.loads((tmp_path / "s.json").read_text())["pending"]["matched"] == 1
    full = [{"a": 1, "meta": {"full": {"a": 1, "b": 2}, "c": 3}, "y": n % 2} for n in range(4)]
    done = streamkarma("learn", "--learner", "sgd", "--full", "meta.full", records=full)
    assert [row["observed"] for row in done.rows] == [2] * 4
    done = streamkarma("learn", "--id", "m.id", "--ignore", "m", records=records)
    assert done.code == 2
    assert "--id m.id is inside --ignore m" in done.stderr
