from __future__ import annotations

import gzip
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from click.testing import CliRunner
from river import datasets

import streamkarma
from tests import forked
from tests.cluster import Cluster

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> bytes:
    """Standard output of a command that must succeed."""
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def ended(name: str, *options: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The end of an example, which runs in a process of its own."""
    return forked.run(options, given, EXAMPLES.parent, script=EXAMPLES / name)


def example(name: str, *options: str, given: bytes = b"") -> bytes:
    """Standard output of an example that must succeed."""
    done = ended(name, *options, given=given)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.fixture
def withhold(monkeypatch: pytest.MonkeyPatch) -> Callable[..., bytes]:
    """Calls the program in this process, since river takes a second to import; test_docs.py runs it."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    main = import_module("withhold").main

    def call(*options: str) -> bytes:
        done = CliRunner().invoke(main, options)
        assert done.exit_code == 0, done.output
        return done.stdout_bytes

    return call


def events_of(lines: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.splitlines()]


def numbers(line: str) -> list[float]:
    return [float(text.replace(",", "")) for text in re.findall(r"-?\d[\d,]*\.?\d*", line)]


@pytest.mark.parametrize(
    ("missing", "expected", "within"),
    [
        ("random", 0.5, 0.02),
        # Of three blocks all are dropped one time in eight, and then one is kept.
        ("blocks", 0.5 + 1 / 24, 0.02),
        # Attributes are skewed: most of their values lie below the mean, and are dropped more often.
        ("value", 0.5, 0.1),
    ],
)
def test_about_the_share_asked_for_is_observed_and_never_none(
    withhold: Callable[..., bytes], missing: str, expected: float, within: float
) -> None:
    events = events_of(withhold("imagesegments", "--missing", missing, "--observed", "0.5"))
    whole = list(datasets.ImageSegments())
    assert [event["y"] for event in events] == [y for _, y in whole]
    assert all({"y"} < event.keys() for event in events)
    for event, (x, _) in zip(events, whole, strict=True):
        assert all(x[name] == value for name, value in event.items() if name != "y")
    assert mean((len(event) - 1) / 18 for event in events) == pytest.approx(expected, abs=within)


def test_an_event_that_would_lose_everything_keeps_one_attribute(withhold: Callable[..., bytes]) -> None:
    assert {len(event) for event in events_of(withhold("phishing", "--observed", "1e-9"))} == {2}


def test_everything_is_kept_when_all_is_observed(withhold: Callable[..., bytes]) -> None:
    events = events_of(withhold("TrumpApproval", "--observed", "1", "--missing", "value"))
    assert events == [{**x, "y": y} for x, y in datasets.TrumpApproval()]


def test_neighbours_in_a_block_share_their_fate(withhold: Callable[..., bytes]) -> None:
    names = list(next(iter(datasets.Phishing()))[0])
    blocks = [set(names[i : i + 3]) for i in (0, 3, 6)]
    events = events_of(withhold("phishing", "--missing", "blocks", "--blocks", "3"))
    kept = [event.keys() - {"y"} for event in events]
    assert all(block <= keys or not block & keys for block in blocks for keys in kept)
    assert len({frozenset(keys) for keys in kept}) == 7


def test_high_values_are_observed_more_often_than_low_ones(withhold: Callable[..., bytes]) -> None:
    events = events_of(withhold("shuttle", "--missing", "value", "--limit", "5000"))
    whole = [x for x, _ in datasets.Shuttle().take(5000)]
    usual = mean(x["f1"] for x in whole)
    high = mean("f1" in event for event, x in zip(events, whole, strict=True) if x["f1"] > usual)
    low = mean("f1" in event for event, x in zip(events, whole, strict=True) if x["f1"] < usual)
    # Odds of e and 1/e, against a running mean that approaches the overall one.
    assert high == pytest.approx(0.73, abs=0.06)
    assert low == pytest.approx(0.27, abs=0.06)


def test_the_same_seed_gives_the_same_bytes_and_a_limit_a_beginning(withhold: Callable[..., bytes]) -> None:
    whole = withhold("phishing", "--seed", "3")
    assert withhold("phishing", "--seed", "3") == whole
    assert withhold("phishing", "--seed", "4") != whole
    short = withhold("phishing", "--seed", "3", "--limit", "20")
    assert whole.startswith(short)
    assert short.count(b"\n") == 20


def test_the_pipe(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    script = EXAMPLES / "pipe.sh"
    text = run("bash", script, cwd=tmp_path, PYTHON=sys.executable, PATH=path, TMPDIR=str(temporary)).decode()
    summary = json.loads(text[text.index("\n{\n") : text.index("\n}\n") + 2])
    assert summary["events"] == 1000
    assert summary["metrics"]["error_rate"] < 0.35
    scored = [json.loads(line) for line in text.splitlines() if line.startswith('{"n"')]
    assert len(scored) == 4
    assert re.search(r"^kind +KARMAMixtureClassifier$", text, re.MULTILINE)
    assert not list(temporary.iterdir())


@pytest.mark.parametrize(
    ("kind", "share"), [("outliers", 0.001), ("sentinels", 0.05), ("strings", 1.0), ("words", 0.1)]
)
def test_a_share_of_the_values_is_spoilt(kind: str, share: float) -> None:
    rng = random.Random(0)
    values = [rng.gauss(0.0, 1.0) for _ in range(20_000)]
    wrong = {
        "outliers": lambda before, after: abs(after) > 999 * abs(before),
        "sentinels": lambda before, after: after == -9999.0,
        "strings": lambda before, after: after == str(before),
        "words": lambda before, after: after == "N/A",
    }[kind]
    lines = "".join(json.dumps({"x": value, "y": 1}) + "\n" for value in values)
    after = events_of(example("spoil.py", kind, given=lines.encode()))
    assert {event["y"] for event in after} == {1}
    pairs = list(zip(values, (event["x"] for event in after), strict=True))
    assert mean(map(wrong, *zip(*pairs, strict=True))) == pytest.approx(share, rel=0.4)
    assert all(before == after or wrong(before, after) for before, after in pairs)


@pytest.mark.parametrize(
    ("kind", "names"), [("ids", 5.0), ("columns", 52.0), ("labels", 1.02), ("gaps", 1.9), ("nothing", 2.0)]
)
def test_attributes_are_added_or_left_out(kind: str, names: float) -> None:
    lines = "".join(json.dumps({"x": float(n), "y": n % 2}) + "\n" for n in range(2000))
    records = events_of(example("spoil.py", kind, given=lines.encode()))
    assert mean(len(record) for record in records) == pytest.approx(
        names, abs=0.3 if kind == "columns" else 0.03
    )
    assert all(
        record.get("x", n) == n and record.get("y", n % 2) == n % 2 for n, record in enumerate(records)
    )


def test_the_river_pipeline() -> None:
    header, *rows = example("river_pipeline.py").decode().splitlines()
    assert numbers(header) == [250, 500, 750, 1000, 1250]
    assert len(rows) == 4
    assert all(60 < value < 100 for row in rows for value in numbers(row))


def test_streams_that_change() -> None:
    options = ("--events", "10400", "--seeds", "7", "7", "--only", "means", "--only", "nothing")
    lines = example("moving.py", *options, "--forget", "1000").decode().splitlines()
    assert [line.split()[1] for line in lines[2:]] == ["means", "nothing"]
    means, nothing = (numbers(line)[1:] for line in lines[2:])
    # Before the change they do not differ.
    assert means[0] == nothing[0]
    assert all(0.0 <= share < 60.0 for share in means + nothing)


def test_the_budget_table() -> None:
    _, _, *lines = example("budgets.py", "--seeds", "2", "--events", "1000").decode().splitlines()
    rows = [numbers(line.removeprefix("mean")) for line in lines]
    assert [line.split()[0] for line in lines] == ["0", "1", "mean"]
    unlimited, default, merge, remove, _, to_unlimited, to_remove = rows[-1]
    assert unlimited <= default + 0.02
    assert merge < remove
    assert to_unlimited == pytest.approx(merge / unlimited, abs=0.002)
    assert to_remove == pytest.approx(merge / remove, abs=0.002)


def test_the_table_of_streams(tmp_path: Path) -> None:
    for seed, name in enumerate(["first", "second"]):
        command = ["generate", "lowrank", "--events", "500", "--seed", str(seed)]
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wb") as file:
            file.write(forked.run(command, b"", tmp_path).stdout)
    header, *rows = example("haphazard.py", str(tmp_path)).decode().splitlines()
    assert header.split() == ["stream", "events", "balanced", "accuracy", "AUC", "log", "loss"]
    assert [row.split()[0] for row in rows] == ["first", "second"]
    for row in rows:
        events, accuracy, auc, loss = numbers(row)
        assert events == 500
        assert 55 < accuracy < 100
        assert 0.6 < auc < 1
        assert 0 < loss < 0.7


def test_a_folder_without_streams_is_wrong_usage(tmp_path: Path) -> None:
    done = ended("haphazard.py", str(tmp_path))
    assert done.returncode == 2
    assert b"there is no *.jsonl.gz" in done.stderr


def test_the_speed_on_a_topic(cluster: Cluster) -> None:
    table = (
        example("kafka_speed.py", cluster.address, "--events", "5000", "--rounds", "1").decode().splitlines()
    )
    assert table[0].startswith("5,000 events of 3")
    names = [
        "poll",
        "poll and parse",
        "learn, from a file",
        "poll + learn",
        "attach",
        "attach --output-topic",
    ]
    assert [line[:22].strip() for line in table[2:8]] == names
    assert table[8].startswith("attach takes ")


@pytest.mark.parametrize(
    ("name", "arguments", "given", "said"),
    [
        ("csv_events", ["given"], b"a,b\n1,2\n3\n", "given, line 3: expected 2 cells, not 1"),
        ("csv_events", ["given"], b"a,b\n1,2,3\n", "given, line 2: expected 2 cells, not 3"),
        ("csv_events", ["given"], b"a\n\xff\n", "cannot read given: 'utf-8' codec can't decode byte 0xff"),
        ("csv_events", ["given"], b"", "given: the first row must have the names of the columns"),
        ("csv_events", ["given.gz"], b"a\n", "cannot read given.gz: Not a gzipped file"),
        ("carry", ["--entity", "a"], b'{"a": 1}\n{', "line 2 is not JSON: "),
        ("spoil", ["gaps"], b"{}\n[1]\n", "line 2 is not a JSON object"),
        ("baselines", ["--csv", "given"], b"a,y\n", "given must have rows, and a column besides the label"),
        ("baselines", ["--csv", "given"], b"y\n1\n", "given must have rows, and a column besides the label"),
        ("entity_streams", ["weather_aus", "--data", "."], b"",
         "cannot read weather_aus.csv.gz: No such file or directory"),
    ],
)  # fmt: skip
def test_wrong_inputs_are_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, arguments: list[str], given: bytes, said: str
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.chdir(tmp_path)
    for each in ("given", "given.gz"):
        (tmp_path / each).write_bytes(given)
    done = CliRunner().invoke(import_module(name).main, arguments, input=given)
    assert done.exit_code == 1, done.output
    assert done.stderr.startswith(f"Error: {said}")
    assert done.stderr.count("\n") == 1


def test_a_table_is_shuffled_unless_its_order_is_that_of_the_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    path = tmp_path / "table.csv"
    path.write_text("x,y\n" + "".join(f"{n},c{n // 50}\n" for n in range(100)))
    table = import_module("bent_streams").table
    assert [event["x"] for event in table(path, True, 1, 60).events] == [*range(60)]
    assert {*table(path, False, 1, 60).labels} == {"c0", "c1"}
    options = ["--table", str(path), "--learners", "auto", "--missing", "0"]
    done = CliRunner().invoke(import_module("bent").main, [*options, "--in-order"])
    assert done.exit_code == 0, done.output
    assert "| table.csv | 0 | auto | 100 | 0.0" in done.output


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("merging", ["--events", "0"], "'--events': 0 is not in the range"),
        ("merging", ["--parts", "0"], "'--parts': 0 is not in the range"),
        ("bound", ["--seeds", "0"], "'--seeds': 0 is not in the range"),
        ("bound", ["--plot", "a.zz"], "'--plot': a.zz ends in none of .pdf, .png, .svg"),
        ("bench", ["--plot", "no/a.png"], "'--plot': there is no folder no"),
        ("bench", ["--json", "no/a.json"], "'--json': there is no folder no"),
        ("bench_picture", ["given", "a.png"], "'FIGURES': given has no rows of bench.py; write them with"),
        ("turnover", ["categories", "--measure", "zz"], "'--measure': 'zz' is not one of "),
        ("bent", ["--missing", "2"], "'--missing': 2.0 is not in the range"),
        ("moving", ["--seeds", "5", "3"], "--seeds: give the least seed first"),
        ("entities", ["--seeds", "1,zz"], "'--seeds': '1,zz' is not a list of integers with commas"),
        ("entity_scale", ["--entities", "0"], "'--entities': 0 is below 1"),
        ("backfill_speed", ["--partitions", "0"], "'--partitions': 0 is not in the range"),
    ],
)
def test_senseless_arguments_are_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, arguments: list[str], said: str
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "given").write_text("[{}]")
    done = CliRunner().invoke(import_module(name).main, arguments)
    assert done.exit_code == 2, done.output
    *_, line = done.stderr.splitlines()
    assert line.startswith(f"Error: Invalid value for {said}")


@pytest.mark.parametrize("name", ["kafka_speed.py", "share.py"])
def test_a_broker_that_is_not_there_is_said_in_one_line(name: str) -> None:
    done = ended(name, "nobody:x")
    assert done.returncode == 2
    assert done.stderr.decode().endswith(
        "Error: Invalid value for 'HOST:PORT': no broker answers at nobody:x; give HOST:PORT of one\n"
    )


@pytest.mark.parametrize(
    ("failing", "code", "said"),
    [
        (
            "streamkarma.load('nothing')",
            1,
            "Error: cannot read the model nothing: No such file or directory\n",
        ),
        ("subprocess.run(program, check=True, capture_output=True)", 3, "out of paper\n"),
        ("subprocess.run(program, check=True, stderr=subprocess.DEVNULL)", 3, ""),
    ],
)
def test_what_fails_within_an_example_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, failing: str, code: int, said: str
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    program = [sys.executable, "-c", "import sys; print('out of paper', file=sys.stderr); sys.exit(3)"]
    names = {"streamkarma": streamkarma, "subprocess": subprocess, "program": program}
    command = import_module("arguments").Example("name", callback=lambda: eval(failing, names))
    done = CliRunner().invoke(command)
    assert (done.exit_code, done.stderr) == (code, said)


def test_too_few_late_labels_are_no_table() -> None:
    options = ["--delay", "100", "--events", "300", "--learner", "explicit"]
    done = ended("late.py", *options)
    assert done.returncode == 2
    assert done.stderr.decode().endswith(
        "Error: no label comes for an event from number 200 on; give more --events\n"
    )


def test_baselines_side_by_side(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    rows = [f"{n % 7 if n % 3 else ''},{'ab'[n % 2]},{n % 2}" for n in range(60)]
    table.write_text("x,kind,y\n" + "\n".join(rows) + "\n")
    said = example("baselines.py", "--csv", str(table), "--withhold", "0",
                   "--only", "mean,full,karma-batch,complete-case", "--folds", "3").decode()  # fmt: skip
    assert "60 rows, 3 columns, 11% missing, 2 classes" in said
    assert re.search(r"^karma-batch +0\.000", said, re.MULTILINE)
    assert "no complete rows" in said
    assert "full " in example("baselines.py", "--only", "full,zero", "--folds", "2").decode()


def test_the_papers_tables_with_tables_of_another(tmp_path: Path) -> None:
    # The real ones are not part of this repository; what matters here is the exit status.
    for name in ("mammographic", "wisconsin"):
        rows = [f"{n},{'' if n % 4 else 1},{n % 2}" for n in range(24)]
        (tmp_path / f"{name}.csv").write_text("a,b,target\n" + "\n".join(rows) + "\n")
    done = ended("papers.py", str(tmp_path))
    assert done.returncode == 1
    assert re.search(r"wisconsin +zero +0\.\d+ +paper 0\.03", done.stdout.decode())


def test_labels_follow_their_events_as_late_as_asked_for() -> None:
    made = [
        json.loads(line)
        for line in example("late.py", "--print", "--delay", "100", "--events", "300").splitlines()
    ]
    events = [t for t, record in enumerate(made) if "y" not in record]
    assert [made[t]["id"] for t in events] == list(range(300))
    labels = {record["id"]: t for t, record in enumerate(made) if "y" in record}
    assert list(labels) == list(range(200))
    # Right after the hundredth event that follows its own.
    assert all(labels[number] == events[number + 100] + 1 for number in labels)


def test_late_labels_are_measured_from_twice_the_delay_on() -> None:
    table = example("late.py", "--delay", "100", "--events", "400", "--learner", "explicit").decode()
    stream, learner, events, error, loss = (
        cell.strip() for cell in table.splitlines()[2].strip("|").split("|")
    )
    assert (stream, learner, events) == ("lowrank, seed 100, delay 100", "explicit", "100")
    assert 0.0 < float(error) < 0.5
    assert 0.0 < float(loss) < 1.0
