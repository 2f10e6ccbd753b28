from __future__ import annotations

import json
from importlib import import_module
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given, settings
from hypothesis import strategies as st
from river import linear_model

from streamkarma import ExplicitKARMAClassifier
from streamkarma.synthetic import StreamSpec, records

EXAMPLES = Path(__file__).parents[1] / "examples"
KEPT = ("explicit", "river linear", "sklearn SGD")


@pytest.fixture(scope="module")
def programs() -> Any:
    """Imports a program, with its folder on the path as when it is run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES))
        yield import_module


def run(bench: Any, *options: str) -> Result:
    done = CliRunner().invoke(bench.main, ["--events", "300", "--rounds", "1", *options])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


@pytest.fixture(scope="module")
def benched(programs: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, list[Any], Path]:
    """The output, the rows and the picture for some of the tools over a few events."""
    folder = tmp_path_factory.mktemp("bench")
    table, picture = folder / "table.json", folder / "picture.png"
    peers, calls = programs("bench_peers"), programs("bench_calls")
    with pytest.MonkeyPatch.context() as patch:
        for holder, name in ((peers, "OURS"), (peers, "PEERS"), (calls, "MODELS")):
            some = {tool: each for tool, each in getattr(holder, name).items() if tool in KEPT}
            patch.setattr(holder, name, some)
        done = run(programs("bench"), "--python", "--json", str(table), "--plot", str(picture))
    return done, json.loads(table.read_bytes()), picture


def progressive_error(model: Any, first: int = 0) -> float:
    """Fraction of the events from ``first`` on that a model predicts wrongly before learning them."""
    errors = 0
    for number, record in enumerate(records(StreamSpec(), 300)):
        y = record.pop("y") == 1
        errors += number >= first and (model.predict_proba_one(record).get(True, 0.0) > 0.5) != y
        model.learn_one(record, y)
    return errors / (300 - first)


def test_every_tool_has_its_row_where_it_is_timed(benched: tuple[Result, list[Any], Path]) -> None:
    done, rows, _ = benched
    assert done.exit_code == 0
    kinds = ("dicts of numbers", "dicts with strings")
    python = [(kind, tool) for kind in kinds for tool in ("river linear", "explicit")]
    expected = [*(("one core", tool) for tool in KEPT), ("all cores", "river linear"), *python]
    assert [(row["where"], row["tool"]) for row in rows] == expected
    for row in rows:
        assert 0 < row["events_per_second"] <= row["loop"]
        assert row["over"].keys() == {tool for where, tool in expected if where == row["where"]}
        assert row["over"][row["tool"]] == 1.0
        assert any(line.startswith(f"{row['tool']:<22}") and f"{row['error']:.4f}" in line
                   for line in done.stdout.splitlines())  # fmt: skip


def test_errors_are_those_of_predictions_before_the_label(benched: tuple[Result, list[Any], Path]) -> None:
    errors = {(row["where"], row["tool"]): row["error"] for row in benched[1]}
    for tool, model in (
        ("explicit", ExplicitKARMAClassifier(gamma=2)),
        ("river linear", linear_model.LogisticRegression()),
    ):
        assert errors["one core", tool] == pytest.approx(progressive_error(model.clone()))
        assert errors["dicts of numbers", tool] == pytest.approx(progressive_error(model, first=100))
    assert 0.05 < errors["one core", "sklearn SGD"] < 0.5


def test_the_picture_is_drawn(benched: tuple[Result, list[Any], Path]) -> None:
    assert benched[2].read_bytes().startswith(b"\x89PNG")


def test_a_tool_that_is_not_installed_is_left_out_and_named(
    programs: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    peers = programs("bench_peers")
    monkeypatch.setattr(peers, "find_spec", lambda name: None if name == "vowpalwabbit" else name)
    assert not {"vw linear", "vw -q xm"} & set(peers.installed())
    assert capsys.readouterr().err.splitlines() == [
        f"{tool} is left out: vowpalwabbit is not installed" for tool in ("vw linear", "vw -q xm")
    ]


def test_vowpal_wabbit_reads_the_same_events(programs: Any, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    events = list(records(StreamSpec(), 20))
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    programs("bench_peers").write_vw(path)
    for line, event in zip(path.with_suffix(".vw").read_text().splitlines(), events, strict=True):
        label, values, marks = line.split("|")
        assert int(label) == (1 if event.pop("y") == 1 else -1)
        named = dict(pair.split(":") for pair in values.removeprefix("x ").split())
        assert {name: float(value) for name, value in named.items()} == event
        assert marks.removeprefix("m ").split() == list(event)


@given(st.lists(st.tuples(*[st.floats(1.0, 1e6)] * 2), min_size=1, max_size=5))
def test_ratios_are_medians_of_those_of_each_round(programs: Any, rates: list[tuple[float, float]]) -> None:
    bench = programs("bench")
    results = {
        ("one core", tool): [bench.Timed(each[place], each[place], 0.1) for each in rates]
        for place, tool in enumerate(("a", "b"))
    }
    # The same tool elsewhere is not part of the comparison.
    results["all cores", "a"] = [bench.Timed(1.0, 1.0, 0.1)] * len(rates)
    a, b, _ = bench.summarised(results)
    assert a["over"]["b"] == pytest.approx(median(one / other for one, other in rates))
    assert b["over"] == {"a": pytest.approx(median(other / one for one, other in rates)), "b": 1.0}


@pytest.mark.parametrize(
    ("ratio", "error", "no_worse", "verdict"),
    [
        (2.0, 0.1, True, "holds"),
        (1.9, 0.1, True, "FAILS"),
        (2.5, 0.3, True, "FAILS"),
        (2.5, 0.3, False, "holds"),
    ],
)
def test_a_mark_is_about_the_ratio_and_maybe_the_error(
    programs: Any, monkeypatch: pytest.MonkeyPatch, ratio: float, error: float, no_worse: bool, verdict: str
) -> None:
    bench = programs("bench")
    monkeypatch.setattr(bench, "MARKS", [bench.Mark("one core", "a", "b", 2.0, no_worse)])
    rows = [
        {"where": "one core", "tool": "a", "over": {"b": ratio}, "error": error},
        {"where": "one core", "tool": "b", "over": {}, "error": 0.2},
    ]
    [(holds, said)] = bench.verdicts(rows)
    assert said.startswith(f"{verdict} ")
    assert holds is (verdict == "holds")
    [(holds, said)] = bench.verdicts(rows[:1])
    assert holds
    assert said.startswith("unchecked ")


def test_the_check_fails_if_a_mark_is_missed(programs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = programs("bench")
    asked = []

    def measure(folder: Path, events: int, rounds: int, seed: int, python: bool) -> Any:
        asked.append(python)
        return {("one core", tool): [bench.Timed(rate, rate, 0.1)] for tool, rate in (("a", 3.0), ("b", 1.0))}

    monkeypatch.setattr(bench, "measure", measure)
    for least, code in ((3.0, 0), (3.1, 1)):
        monkeypatch.setattr(bench, "MARKS", [bench.Mark("one core", "a", "b", least)])
        assert run(bench, "--check").exit_code == code
    assert asked == [True, True]
    assert run(bench).exit_code == 0


def test_the_marks_are_about_tools_that_there_are(programs: Any) -> None:
    peers, calls, bench = (programs(name) for name in ("bench_peers", "bench_calls", "bench"))
    timed = {(where, tool) for tool in [*peers.OURS, *peers.PEERS] for where in peers.places(tool)}
    timed |= {
        (kind, tool) for kind in (bench.NUMBERS, bench.STRINGS) for tool in (bench.RIVER, *calls.MODELS)
    }
    assert {(mark.where, tool) for mark in bench.MARKS for tool in (mark.tool, mark.other)} <= timed


@settings(max_examples=15)
@given(st.lists(st.tuples(st.floats(1e3, 1e6), st.floats(0.005, 0.5)), min_size=1, max_size=12))
@example([(1000.0, 0.005859375), (49645.0, 0.375), (52059.0, 0.4375), (82505.0, 0.4375)])
def test_no_label_of_the_picture_covers_another(programs: Any, points: list[tuple[float, float]]) -> None:
    rows = [
        {"where": "one core", "tool": f"tool number {number}", "events_per_second": rate, "error": error}
        for number, (rate, error) in enumerate(points)
    ]
    axes = programs("bench_picture").figure(rows).axes[0]
    texts = [text for text in axes.texts if text.get_text()]
    assert [text.get_text() for text in texts] == [row["tool"] for row in rows]
    boxes = [text.get_window_extent() for text in texts]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


#: Speeds and errors as in docs/speed-and-memory.md: five points lie close together.
CROWDED = {
    "explicit": (310e3, 0.0461),
    "explicit, written": (275e3, 0.0461),
    "explicit, 2 workers": (396e3, 0.0461),
    "karma 512": (238e3, 0.1003),
    "karma 512, 2 workers": (303e3, 0.1003),
    "subspace": (240e3, 0.0035),
    "auto": (74e3, 0.0032),
    "auto, 2 workers": (102e3, 0.0032),
    "river linear": (99e3, 0.1059),
    "river imputing": (21e3, 0.1036),
    "vw linear": (471e3, 0.1025),
    "vw -q xm": (234e3, 0.0498),
    "vw -q xm, all cores": (415e3, 0.0498),
    "sklearn SGD": (90e3, 0.1154),
}


def test_each_label_of_the_picture_belongs_to_one_point(programs: Any) -> None:
    rows = [
        {"where": "one core", "tool": tool, "events_per_second": rate, "error": error}
        for tool, (rate, error) in CROWDED.items()
    ]
    axes = programs("bench_picture").figure(rows).axes[0]
    points = axes.transData.transform(list(CROWDED.values()))
    labels = {text.get_text(): text.get_window_extent() for text in axes.texts if text.get_text()}
    with_line = {text.xy for text in axes.texts if not text.get_text()}
    for at, (tool, box) in enumerate(labels.items()):
        nearest = np.clip(points, [box.x0, box.y0], [box.x1, box.y1])
        away = np.linalg.norm(points - nearest, axis=1)
        others = np.delete(away, at)
        assert CROWDED[tool] in with_line or others.min() > 1.4 * away[at]
    for one, other in combinations(labels.values(), 2):
        assert not one.padded(3).overlaps(other.padded(3))
