"""Intervals and sets with each prediction, and the losses of regressions with heavy tails."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from streamkarma import (
    ExplicitKARMARegressor,
    KARMAClassifier,
    KARMAMixtureClassifier,
    KARMAMixtureRegressor,
    SubspaceClassifier,
    load,
    save,
)
from streamkarma.cli import cli
from streamkarma.errors import UsageError
from streamkarma.estimators.learners import KINDS, LEARNERS
from streamkarma.estimators.persistence import to_bytes
from tests.conftest import Program

Event = tuple[dict[str, float], Any]


def numbers(count: int, seed: int = 0) -> Iterator[Event]:
    """Prices with a logarithm linear in three attributes; one in a hundred is far too large."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        x = rng.normal(size=3)
        wild = 1000.0 if rng.random() < 0.01 else 1.0
        there = rng.random(3) > 0.2
        record = {f"x{i}": float(x[i]) for i in range(3) if there[i]}
        yield record, float(wild * np.exp(x.sum() + 0.3 * rng.normal()))


def classes(count: int, seed: int = 0) -> Iterator[Event]:
    """Three classes, the third of which appears later."""
    rng = np.random.default_rng(seed)
    for t in range(count):
        x = rng.normal(size=2)
        kind = int((x + 0.5 * rng.normal(size=2)).sum() > 0) + (t > count // 3 and rng.random() < 0.2)
        yield {"a": float(x[0]), "b": float(x[1])}, "abc"[kind]


def lines(events: Iterator[Event]) -> str:
    return "".join(json.dumps({**record, "y": label}) + "\n" for record, label in events)


def learn(text: str, *options: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Rows and summary of a run."""
    with TemporaryDirectory() as folder:
        events, summary = Path(folder) / "events.jsonl", Path(folder) / "summary.json"
        events.write_text(text)
        arguments = ["learn", str(events), "--quiet", "--summary", str(summary), *options]
        result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return [json.loads(line) for line in result.stdout.splitlines()], json.loads(summary.read_text())


def test_rows_have_intervals_that_hold_as_many_targets_as_were_asked_for() -> None:
    rows, summary = learn(lines(numbers(3000)), "--coverage", "0.8")
    assert "interval" not in rows[0]
    said = rows[1:]
    assert list(said[0]) == ["n", "prediction", "score", "interval", "target", "loss", "observed"]
    held = [row["interval"][0] <= row["target"] <= row["interval"][1] for row in said]
    widths = [high - low for low, high in (row["interval"] for row in said)]
    assert summary["metrics"]["coverage"] == pytest.approx(np.mean(held)) == pytest.approx(0.8, abs=0.02)
    assert summary["metrics"]["mean_width"] == pytest.approx(np.mean(widths))


def test_rows_have_sets_that_hold_as_many_classes_as_were_asked_for() -> None:
    rows, summary = learn(lines(classes(3000)), "--coverage", "0.8", "--learner", "explicit")
    assert "set" not in rows[0]
    assert rows[1]["set"] == [rows[0]["target"]]
    held = [row["target"] in row["set"] for row in rows[1:]]
    assert summary["metrics"]["coverage"] == pytest.approx(np.mean(held)) == pytest.approx(0.8, abs=0.02)
    assert summary["metrics"]["mean_set_size"] == pytest.approx(
        np.mean([len(row["set"]) for row in rows[1:]])
    )


def test_a_label_that_was_never_learned_is_in_no_set(streamkarma: Program, tmp_path: Path) -> None:
    known, later = islice(classes(300), 90), islice(classes(300), 90, 300)
    options = ("--coverage", "0.8", "--learner", "explicit")
    streamkarma("learn", *options, "--model", "model", records=[{**x, "y": y} for x, y in known])
    given = [{**x, "y": y} for x, y in later]
    told = streamkarma("predict", "model", "-", "--summary", "summary", records=given)
    held = [row["target"] in row["set"] for row in told.rows]
    assert any(row["target"] == "c" for row in told.rows)
    metrics = json.loads((tmp_path / "summary").read_text())["metrics"]
    assert metrics["coverage"] == pytest.approx(np.mean(held))
    assert metrics["mean_set_size"] == pytest.approx(np.mean([len(row["set"]) for row in told.rows]))


@pytest.mark.parametrize("events", [numbers, classes])
def test_without_coverage_nothing_is_said_of_it(events: Any) -> None:
    rows, summary = learn(lines(events(50)))
    assert not any({"interval", "set"} & set(row) for row in rows)
    assert "coverage" not in summary["metrics"]


@pytest.mark.parametrize("events", [numbers, classes])
def test_a_run_that_is_resumed_goes_on_as_if_it_had_not_stopped(events: Any, tmp_path: Path) -> None:
    text = lines(events(400)).splitlines(keepends=True)
    whole, _ = learn("".join(text), "--coverage", "0.9")
    options = "--model", str(tmp_path / "model.karma")
    first, _ = learn("".join(text[:150]), "--coverage", "0.9", *options)
    second, _ = learn("".join(text[150:]), *options)
    assert first + second == whole


@pytest.mark.parametrize("events", [numbers, classes])
def test_a_label_that_comes_late_is_judged_by_what_was_said(events: Any) -> None:
    rows, summary = learn(lines(events(300)), "--coverage", "0.9")
    late = []
    for number, (record, label) in enumerate(events(300)):
        late.append(json.dumps({**record, "id": number}))
        late.append(json.dumps({"id": number, "y": label}))
    text = "\n".join(late) + "\n"
    options = "--id", "id", "--pending", "10", "--unlabelled", "ignore"
    pending, late_summary = learn(text, "--coverage", "0.9", *options)
    labelled = [row for row in pending if "target" in row]
    asked = [row for row in pending if "target" not in row]
    field = "interval" if "interval" in rows[-1] else "set"
    assert [row.get(field) for row in labelled] == [row.get(field) for row in asked]
    assert late_summary["metrics"]["coverage"] == pytest.approx(summary["metrics"]["coverage"], abs=0.05)


def test_river_models_say_intervals() -> None:
    model, plain = ExplicitKARMARegressor(coverage=0.9), ExplicitKARMARegressor()
    assert model.predict_interval_one({"x0": 1.0}) == (-math.inf, math.inf)
    held = []
    for record, price in numbers(1500):
        low, high = model.predict_interval_one(record)
        assert low <= model.predict_one(record) <= high
        # Calibrated from the first call on.
        assert plain.predict_interval_one(record, coverage=0.9) == (low, high)
        held.append(low <= price <= high)
        model.learn_one(record, price)
        plain.learn_one(record, price)
    assert np.mean(held) == pytest.approx(0.9, abs=0.02)
    with pytest.raises(UsageError, match=r"calibrated for a coverage of 0\.9, not 0\.5"):
        plain.predict_interval_one({}, coverage=0.5)


def test_river_models_say_sets() -> None:
    model, held = SubspaceClassifier(), []
    assert model.predict_set_one({"a": 1.0}) == []
    for record, label in classes(1500):
        members = model.predict_set_one(record)
        assert set(members) <= set(model.classes)
        held.append(label in members)
        model.learn_one(record, label)
    assert np.mean(held) == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize(
    ("kind", "events"), [(SubspaceClassifier, classes), (ExplicitKARMARegressor, numbers)]
)
def test_models_that_learned_apart_say_theirs_together(kind: Any, events: Any) -> None:
    one, two = kind(coverage=0.9), kind(coverage=0.9)
    for model, count in ((one, 60), (two, 90)):
        for record, label in events(count):
            model.learn_one(record, label)
    both = one.merge(two)
    scores = [model._conformal.arrays()["scores"] for model in (one, two)]
    np.testing.assert_array_equal(
        np.sort(both._conformal.arrays()["scores"]), np.sort(np.concatenate(scores))
    )
    shares = [model._conformal.arrays()["share"][0] for model in (one, two)]
    assert both._conformal.arrays()["share"][0] == pytest.approx(0.4 * shares[0] + 0.6 * shares[1], abs=1e-12)


def test_a_model_that_was_asked_for_intervals_brings_them_into_a_merged_one() -> None:
    asked, plain = ExplicitKARMARegressor(), ExplicitKARMARegressor()
    asked.predict_interval_one({}, coverage=0.8)
    for record, price in numbers(50):
        asked.learn_one(record, price)
        plain.learn_one(record, price)
    for both in (asked.merge(plain), plain.merge(asked)):
        assert both._conformal.coverage == 0.8
        np.testing.assert_array_equal(both._conformal.arrays()["scores"], asked._conformal.arrays()["scores"])


@pytest.mark.parametrize("kind", [KARMAClassifier, ExplicitKARMARegressor])
def test_blocks_single_events_copies_and_files_have_the_same_state(kind: Any, tmp_path: Path) -> None:
    stream = list((classes if kind is KARMAClassifier else numbers)(300))
    one, many = kind(coverage=0.9), kind(coverage=0.9)
    for record, label in stream:
        one.learn_one(record, label)
    many._learn([record for record, _ in stream], [label for _, label in stream], [1.0] * 300)
    save(many, tmp_path / "model.karma")
    loaded: Any = load(tmp_path / "model.karma")
    for other in (many, copy.deepcopy(one), loaded):
        assert other._conformal.coverage == 0.9
        for name, array in one._conformal.arrays().items():
            np.testing.assert_array_equal(other._conformal.arrays()[name], array)
    assert one.summary()["bytes"] > kind().summary()["bytes"]
    clone = one.clone()
    assert (clone.coverage, clone.steps) == (0.9, 0)


def test_a_state_with_other_scores_is_refused() -> None:
    model = ExplicitKARMARegressor(coverage=0.9)
    for record, price in numbers(20):
        model.learn_one(record, price)
    header, arrays = model.state()
    for name, array in {"conformal.scores": np.full(9, -1.0), "conformal.share": np.array([np.nan])}.items():
        with pytest.raises(ValueError, match="contradict"):
            ExplicitKARMARegressor(coverage=0.9).restore(dict(header), {**arrays, name: array})
    own = {name: array for name, array in arrays.items() if "conformal" not in name}
    with pytest.raises(ValueError, match="no array"):
        ExplicitKARMARegressor(coverage=0.9).restore(dict(header), own)


@pytest.mark.parametrize("coverage", [0.0, 1.0, -1.0, math.nan, "0.9", True])
def test_a_coverage_out_of_range_is_refused(coverage: Any) -> None:
    with pytest.raises(UsageError, match="coverage"):
        KARMAMixtureRegressor(coverage=coverage)


def test_the_absolute_loss_asks_for_the_median_which_outliers_do_not_move() -> None:
    off: dict[str, list[float]] = {"squared": [], "absolute": []}
    for loss, errors in off.items():
        model = KARMAMixtureRegressor(loss=loss)
        for record, price in numbers(2000, seed=1):
            errors.append(abs(model.predict_one(record) - price))
            model.learn_one(record, price)
    # Apart from a few wild prices.
    assert np.quantile(off["absolute"], 0.9) < np.quantile(off["squared"], 0.9)
    assert np.median(off["absolute"][500:]) < 0.8 * np.median(off["squared"][500:])
    with pytest.raises(UsageError, match="loss must be one of squared, absolute, not 'huber'"):
        KARMAMixtureRegressor(loss="huber")


def test_auto_has_the_absolute_loss_on_the_command_line() -> None:
    rows, summary = learn(lines(numbers(300)), "--loss", "absolute")
    assert (summary["learner"], summary["loss"]["name"]) == ("auto", "absolute")
    assert rows[-1]["loss"] == pytest.approx(abs(rows[-1]["prediction"] - rows[-1]["target"]))


@pytest.mark.parametrize("kind", KINDS.values())
def test_one_by_one_a_late_label_is_judged_as_in_a_block(kind: Any) -> None:
    is_number = kind in {second for _, second in LEARNERS.values()}
    stream = list((numbers if is_number else classes)(60))
    one, many = kind(coverage=0.8), kind(coverage=0.8)
    for t, (record, label) in enumerate(stream):
        late = [stream[t - 8]] if t > 20 and (t - 8) % 3 == 0 else []
        for event, y in [(record, None if t > 10 and t % 3 == 0 else label), *late]:
            one.learn_one(event, y)
            many._learn([event], [y], [1.0])
    for name, array in many.state()[1].items():
        assert array.tobytes() == one.state()[1][name].tobytes(), name


@pytest.mark.parametrize("kind", [KARMAMixtureClassifier, KARMAMixtureRegressor])
def test_a_label_is_judged_by_what_was_said_when_it_was_asked_for(kind: Any) -> None:
    model, is_number = kind(coverage=0.8), kind is KARMAMixtureRegressor
    yes, no = (1.0, 0.0) if is_number else (True, False)
    ask = model.predict_interval_one if is_number else model.predict_set_one
    for t in range(20):
        model.learn_one({"x": float(t % 2), "z": float(t % 3)}, yes if t % 2 else no)
    event = {"x": 0.5, "z": 1.5}
    predicted = model.predict_one(event) if is_number else model.predict_proba_one(event)[True]
    said = ask(event)
    assert ask(event) == said
    for t in range(100):
        model.learn_one({"x": 0.5, "z": 1.6 + 0.01 * t}, yes)
    model.learn_one(event, yes)
    score = model.state()[1]["conformal.scores"][-1]
    assert score == pytest.approx(abs(1.0 - predicted))
    assert model.state()[1]["conformal.tickets"].size == 0


def test_a_rejected_event_does_not_begin_a_calibration() -> None:
    for model, call in (
        (KARMAClassifier(), "predict_set_one"),
        (KARMAMixtureRegressor(), "predict_interval_one"),
    ):
        model.learn_one({"a": 1.0}, 1)
        before = to_bytes(model)
        with pytest.raises(ValueError, match="infinite"):
            getattr(model, call)({"a": math.inf}, coverage=0.5)
        assert to_bytes(model) == before
