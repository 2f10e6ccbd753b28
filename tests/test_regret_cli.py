"""--regret in learn, and the command regret, as users call them; and the tracker beside river models."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import datasets, evaluate, forest, linear_model, preprocessing

from streamkarma import KARMAClassifier, KARMARegressor
from streamkarma.errors import RecordError, UsageError
from streamkarma.regret import RegretTracker
from streamkarma.synthetic import StreamSpec, records
from tests.conftest import Program

EVENTS = list(records(StreamSpec(attributes=6, rank=2, noise=0.1), 600, full=True))
#: So few that a fit without a fold has nothing to choose its C by: with more, held-out fits take seconds.
FEW = EVENTS[:24]
KEYS = {"events", "learner_loss", "baseline_loss", "regret", "regret_per_event", "exact", "standard_error"}


def summary(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "s.json").read_text())


def test_the_summary_has_what_the_contract_says(streamkarma: Program, tmp_path: Path) -> None:
    done = streamkarma("learn", "--no-predictions", "--regret", "zero,feature-deletion",
                       "--full", "full", "--summary", "s.json", records=EVENTS[:150])  # fmt: skip
    assert done.code == 0
    said = summary(tmp_path)
    assert set(said["regret"]) == {"zero", "feature-deletion", "full", "projection-full"}
    for name in ("zero", "full", "projection-full"):
        row = said["regret"][name]
        assert set(row) >= KEYS
        assert row["events"] == 150
        assert row["exact"] is True
        # The learner's own sum, to rounding.
        assert row["learner_loss"] == pytest.approx(said["loss"]["total"])
        assert row["regret"] == pytest.approx(row["learner_loss"] - row["baseline_loss"])
        assert row["learner_error"] == pytest.approx(said["metrics"]["error_rate"])
    assert said["regret"]["full"]["baseline_loss"] < said["regret"]["zero"]["baseline_loss"]
    assert "x0" in EVENTS[0]["full"]
    assert said["model"]["attributes"] == 6
    assert "feature-deletion: none of the 6 columns is complete" in done.stderr
    assert "in hindsight" in done.stderr
    assert " the best offline linear model (zero, held out): " in said["verdict"]
    assert said["verdict"] in " ".join(done.stderr.split())


@pytest.mark.parametrize("task", ["multiclass", "regression"])
def test_every_task(streamkarma: Program, tmp_path: Path, task: str) -> None:
    events = list(records(StreamSpec(attributes=5, rank=2, task=task), 24))
    done = streamkarma("learn", "--no-predictions", "--regret", "mean,geom", "--summary", "s.json",
                       "--task", task, records=events)  # fmt: skip
    assert done.code == 0
    said = summary(tmp_path)
    assert said["regret"]["mean"]["learner_loss"] == pytest.approx(said["loss"]["total"], rel=1e-6)
    assert ("problem" in said["regret"]["geom"]) == (task == "regression")


def test_the_bound_is_shown_as_far_as_it_is_known(streamkarma: Program, tmp_path: Path) -> None:
    paper = (
        "learn",
        "--no-predictions",
        "--regret",
        "zero",
        "--rho",
        "0.1",
        "--budget",
        "0",
        "--summary",
        "s.json",
    )
    done = streamkarma(*paper, "--full", "full", "--no-normalize", records=FEW)
    bound = summary(tmp_path)["bound"]
    assert bound["deviations"] == ""
    assert bound["total"] >= bound["regret"] == summary(tmp_path)["regret"]["projection-full"]["regret"]
    assert "estimation" in done.stderr
    done = streamkarma(*paper, "--ignore", "full", records=FEW)
    bound = summary(tmp_path)["bound"]
    assert bound["squared_radius"] == 1.0
    assert "need complete vectors" in bound["unknown"]
    streamkarma("learn", "--learner", "karma", "--no-predictions", "--regret", "zero", "--ignore", "full",
                "--summary", "s.json", records=FEW)  # fmt: skip
    assert "not 1/(ρt)" in summary(tmp_path)["bound"]["deviations"]
    streamkarma(*paper, "--full", "full", "--loss", "squared_hinge", records=FEW)
    assert "squared_hinge: its slope has no bound" in summary(tmp_path)["bound"]["deviations"]
    streamkarma(*paper, "--full", "full", "--regret-memory", "12", records=FEW)
    assert "those of a sample of 12 events" in summary(tmp_path)["bound"]["deviations"]
    heavy = [{**record, "w": 1 + n % 7} for n, record in enumerate(FEW)]
    for memory, most in (("24", 7.0), ("12", None)):
        streamkarma(*paper, "--ignore", "full", "--weight", "w", "--regret-memory", memory, records=heavy)
        assert summary(tmp_path)["bound"]["L"] == most
    weighted = streamkarma(*paper, "--full", "full", "--class-weight", "1=100", records=FEW)
    assert "--class-weight: it learns from other losses" in summary(tmp_path)["bound"]["deviations"]
    assert "the theorem does not cover this run: --class-weight" in weighted.stderr


@pytest.mark.parametrize("rho", ["0.1", "auto"])
def test_a_budget_is_outside_of_the_theorem_only_once_it_prunes(
    streamkarma: Program, tmp_path: Path, rho: str
) -> None:
    events = list(records(StreamSpec(attributes=3, rank=1, observed=0.6), 24, full=True))
    for budget, deviations in (("512", ""), ("2", "support vectors were pruned (--budget)")):
        done = streamkarma("learn", "--no-predictions", "--rho", rho, "--regret", "zero", "--full", "full",
                           "--budget", budget, "--summary", "s.json", records=events)  # fmt: skip
        assert done.code == 0
        assert summary(tmp_path)["bound"]["deviations"] == deviations
        assert ("the theorem does not cover this run" in done.stderr) == bool(deviations)


def test_the_regret_bound_of_a_report_is_the_tighter_of_the_two(streamkarma: Program, tmp_path: Path) -> None:
    done = streamkarma("regret", "--regret", "zero", "--learner", "karma", "--rho", "0.1", "--full", "full",
                       "--json", "r.json", records=FEW)  # fmt: skip
    assert done.code == 0
    report = json.loads((tmp_path / "r.json").read_text())
    rows = report["learners"]["karma"]["regret"]["projection-full"]
    tightest = [min(row["bound"]["total"], row["bound"]["ceiling"] - row["baseline_loss"]) for row in rows]
    assert report["bound"] == {"events": [row["events"] for row in rows], "regret_bound": tightest}
    assert all(row["regret"] <= most for row, most in zip(rows, tightest, strict=True))


def test_a_loss_that_is_not_compared_in_is_replaced(streamkarma: Program, tmp_path: Path) -> None:
    streamkarma("learn", "--no-predictions", "--regret", "zero", "--loss", "squared_hinge", "--summary",
                "s.json", records=FEW)  # fmt: skip
    said = summary(tmp_path)
    assert said["loss"]["name"] == "squared_hinge"
    assert said["regret"]["zero"]["learner_loss"] != pytest.approx(said["loss"]["total"])


@pytest.mark.parametrize("more", [(), pytest.param(("--task", "regression"), marks=pytest.mark.slow)])
def test_resuming_is_never_having_stopped(
    streamkarma: Program, tmp_path: Path, more: tuple[str, ...]
) -> None:
    def learn(model: str, events: list[dict[str, Any]]) -> None:
        done = streamkarma("learn", "--model", model, "--no-predictions", "--summary", "s.json",
                           "--full", "full", "--regret", "zero", "--regret-memory", "20", *more,
                           records=events)  # fmt: skip
        assert done.code == 0, done.stderr

    learn("whole", EVENTS)
    whole = summary(tmp_path)["regret"]["zero"]
    learn("parts", EVENTS[:151])
    learn("parts", EVENTS[151:430])
    learn("parts", EVENTS[430:])
    parts = summary(tmp_path)["regret"]["zero"]
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()
    assert {**whole, "seconds": 0} == {**parts, "seconds": 0}
    assert whole["events"] == 600
    assert whole["exact"] is (more != ())
    assert (whole["standard_error"] > 0) is (more == ())


def test_the_sample_belongs_to_the_model(streamkarma: Program, tmp_path: Path) -> None:
    first = ("learn", "--model", "m", "--no-predictions", "--summary", "s.json", "--ignore", "full")
    streamkarma(*first, "--regret", "zero", "--regret-memory", "10", records=EVENTS[:20])
    refused = streamkarma(*first, "--regret", "zero", "--regret-memory", "12", records=EVENTS[20:40])
    assert refused.code == 2
    assert "keeps a sample of 10 events" in refused.stderr
    # Other baselines may be asked for from now on.
    streamkarma(*first, "--regret", "mean", records=EVENTS[20:40])
    assert summary(tmp_path)["regret"]["mean"]["events"] == 40
    # Without --regret the sample ends; later it begins again with the events from then on.
    streamkarma(*first, records=EVENTS[40:60])
    assert summary(tmp_path)["regret"] == {}
    streamkarma(*first, "--regret", "mean", records=EVENTS[60:80])
    assert summary(tmp_path)["regret"]["mean"]["events"] == 20


def test_complete_vectors_are_checked_and_never_learned(streamkarma: Program, tmp_path: Path) -> None:
    plain = [{k: v for k, v in event.items() if k != "full"} for event in EVENTS[:200]]
    streamkarma("learn", "--model", "a", "--no-predictions", records=plain)
    done = streamkarma("learn", "--model", "b", "--predictions", "p", "--full", "full", "--dead-letters", "d",
                       records=[*EVENTS[:200], {"x0": 1.0, "y": 1, "full": {"x0": None}}])  # fmt: skip
    assert done.code == 0
    assert "complete vector is an object of numbers" in (tmp_path / "d").read_text()
    one, other = streamkarma("inspect", "a", "--json"), streamkarma("inspect", "b", "--json")
    assert one.rows[0]["model"] == other.rows[0]["model"]
    assert other.rows[0]["fields"]["full"] == "full"


def test_the_command_regret(streamkarma: Program, tmp_path: Path) -> None:
    done = streamkarma("regret", "--baselines", "zero,full,nought", records=EVENTS[:3])
    assert done.code == 2
    done = streamkarma("regret", "--baselines", "zero,full", "--full", "full", "--json", "r.json",
                       "--plot", "r.svg", "--regret-memory", "24", records=EVENTS)  # fmt: skip
    assert done.code == 0, done.stderr
    assert b"in hindsight" in done.stdout
    report = json.loads((tmp_path / "r.json").read_text())
    rows = report["learners"]["auto"]["regret"]["zero"]
    assert [row["events"] for row in rows] == [256, 512, 600]
    assert (report["task"], report["loss"], report["events"]) == ("binary", "logistic", 600)
    curve = report["learners"]["auto"]["curve"]
    assert len(curve["events"]) == len(curve["mean_loss"]) == len(curve["error"])
    assert report["verdict"] in " ".join(done.stdout.decode().split())
    assert rows[-1]["held_out_standard_error"] > 0
    assert "zero" in (tmp_path / "r.svg").read_text()
    printed = streamkarma("regret", "--baselines", "zero", "--json", "--quiet", "--ignore", "full",
                          records=FEW)  # fmt: skip
    assert printed.rows[0]["learners"]["auto"]["regret"]["zero"][0]["events"] == len(FEW)
    assert printed.stderr == ""


def test_the_report_has_recent_losses_and_where_errors_rose(streamkarma: Program) -> None:
    # The labels of the last 1,500 events are inverted; every tenth event has none.
    events = [
        {"a": t % 7, "b": t % 3, "y": None if t % 10 == 9 else (t % 7 > 3) == (t < 1_500)}
        for t in range(3_000)
    ]
    done = streamkarma("regret", "--regret", "zero", "--learner", "explicit", "--recent", "200", "--json",
                       "--regret-memory", "24", "--quiet", records=events)  # fmt: skip
    found = done.rows[0]["learners"]["explicit"]
    recent = found["recent"]
    assert (recent["window"], recent["events"][-1]) == (200, 2_700)
    assert max(recent["error"]) > 2 * max(found["curve"]["error"][-5:])
    [drift] = found["drift"]
    assert 1_350 < drift["events"] < 1_600
    assert drift["before"] < 0.1 < drift["after"]
    without = streamkarma("regret", "--regret", "zero", "--recent", "0", "--no-drift", "--json", "--quiet",
                          records=events[:100]).rows[0]["learners"]["auto"]  # fmt: skip
    assert set(without) == {"curve", "regret"}


def test_what_is_found_in_the_stream_is_said_under_each_learner(streamkarma: Program, tmp_path: Path) -> None:
    events = [{"a": t % 7, "b" if t < 1_500 else "c": t % 3, "y": t % 7 > 3} for t in range(3_000)]
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    done = streamkarma("regret", str(path), "--learner", "explicit,sgd", "--regret", "zero")
    for lines in done.stderr.split("learner ")[1:]:
        assert "task: classification, since the labels are booleans\n" in lines
        assert lines.count("drift: b was in 100% of the events and now is in ") == 1


def test_a_signal_does_not_wait_for_baselines(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "streamkarma", "regret", "--regret", "wii-meanfeat", "--ignore", "full"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"".join(json.dumps(event).encode() + b"\n" for event in EVENTS[:300]))
        process.stdin.flush()
        assert process.stderr.readline() == b"learner auto\n"
        assert process.stderr.readline().startswith(b"task: binary")
        assert b"256 events: comparing with wii-meanfeat" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 143


class TestBesideRiver:
    def test_it_is_what_the_command_line_says(self) -> None:
        model, tracker = KARMAClassifier(), RegretTracker(baselines="zero,mean", seconds=30)
        total = 0.0
        for event in EVENTS[:300]:
            x = {name: value for name, value in event.items() if name not in ("y", "full")}
            said = model.predict_proba_one(x)
            total -= math.log(said.get(event["y"], 0.5))
            tracker.update(x, event["y"], said)
            model.learn_one(x, event["y"])
        found = tracker.finish()
        assert found["zero"]["learner_loss"] == pytest.approx(total)
        assert found["zero"]["exact"]
        assert found["mean"]["events"] == 300

    def test_a_river_metric_reports_it(self) -> None:
        tracker = RegretTracker(baselines="mean")
        model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
        data, metric = datasets.Phishing(), tracker.metric("mean")
        steps = list(evaluate.iter_progressive_val_score(data, tracker.wrap(model), metric, step=500))
        tracker.finish()
        assert len(steps) == 3
        row = tracker.summary()["mean"]
        assert row["events"] == 1250
        assert tracker.metric("mean").get() == row["regret_per_event"]
        assert 0 < tracker.metric().get() < 0.3

    def test_numbers(self) -> None:
        tracker = RegretTracker("regression", baselines="mean")
        evaluate.progressive_val_score(
            datasets.TrumpApproval(), tracker.wrap(KARMARegressor()), tracker.metric()
        )
        row = tracker.finish()["mean"]
        assert row["events"] == 1001
        assert row["learner_error"] == pytest.approx(0.325343, abs=1e-4)  # its mean absolute error

    def test_raw_scores_and_classes(self) -> None:
        tracker = RegretTracker(loss="hinge", baselines="zero")
        for t in range(60):
            tracker.update({"a": t % 5 - 2.0}, t % 5 > 2, 3.0 * (t % 5 - 2.5))
        assert tracker.finish()["zero"]["learner_loss"] == 0.0
        several = RegretTracker(baselines="zero")
        for t in range(90):
            several.update({"a": t % 3 - 1.0, "b": None}, "abc"[t % 3], {"a": 0.5, "b": 0.25, "c": 0.25})
        assert several.finish()["zero"]["learner_loss"] == pytest.approx(30 * math.log(2 * 4 * 4))

    def test_wrong_use(self) -> None:
        for arguments, message in (
            ({"task": "ranking"}, "task must be classification or regression"),
            ({"loss": "squared"}, "loss must be one of logistic, hinge"),
            ({"memory": 0}, "memory must be 1 or more"),
            ({"memory": 1.5}, "memory must be 1 or more"),
            ({"seconds": math.nan}, "seconds must be a number above 0"),
            ({"seed": -1}, "seed must be an integer"),
            ({"scale": "no"}, "scale must be True or False"),
            ({"baselines": "nought"}, "no such baseline"),
        ):
            with pytest.raises(UsageError, match=message):
                RegretTracker(**arguments)
        with pytest.raises(UsageError, match="baseline must be one of mean, zero, not 'trees'"):
            RegretTracker(baselines="mean,zero").metric("trees")
        with pytest.raises(UsageError, match="raw score is for two classes"):
            RegretTracker().update({"a": 1.0}, "spam", 0.3)

    @pytest.mark.parametrize("score", [math.nan, math.inf, None, "0.5", np.array([0.3, 0.7])])
    def test_a_score_that_is_no_finite_number_is_refused(self, score: Any) -> None:
        tracker, numbers = RegretTracker(baselines="mean"), RegretTracker("regression", baselines="mean")
        with pytest.raises(RecordError, match="the score must be a finite number"):
            tracker.update({"a": 1.0}, True, score)
        with pytest.raises(RecordError, match="the probability must be a finite number"):
            tracker.update({"a": 1.0}, True, {True: 0.5, False: score})
        with pytest.raises(RecordError, match="the score must be a finite number"):
            numbers.update({"a": 1.0}, 3.0, score)
        with pytest.raises(RecordError, match="the label must be a finite number"):
            numbers.update({"a": 1.0}, 1e200, 3.0)
        assert tracker.finish() == numbers.finish() == {}

    def test_a_wrapped_model_predicts_as_it_does_alone(self) -> None:
        model = KARMAClassifier(threshold=0.999)
        wrapped = RegretTracker(baselines="mean").wrap(model)
        for t in range(50):
            wrapped.learn_one({"a": t % 5 - 2.0}, t % 5 > 1)
        x = {"a": 0.4}
        assert wrapped.predict_proba_one(x)[True] > 0.5
        assert wrapped.predict_one(x) is model.predict_one(x) is False

    def test_an_event_without_a_prediction_does_not_count(self) -> None:
        tracker = RegretTracker("regression", baselines="mean")
        wrapped = tracker.wrap(forest.AMFRegressor(n_estimators=2, seed=1))
        for t in range(20):
            wrapped.learn_one({"a": t % 5 - 2.0}, t % 5)
        assert tracker.finish()["mean"]["events"] == 19

    def test_what_is_learned_twice_is_predicted_twice(self) -> None:
        tracker = RegretTracker(baselines="mean")
        model, x = linear_model.LogisticRegression(), {"a": 1.0}
        wrapped = tracker.wrap(model)
        wrapped.predict_proba_one(x)
        wrapped.learn_one(x, True)
        said = model.predict_proba_one(x)[True]
        wrapped.learn_one(x, True)
        assert tracker.finish()["mean"]["learner_loss"] == pytest.approx(math.log(2.0) - math.log(said))


def test_an_event_that_does_not_count_says_nothing_of_the_classes() -> None:
    tracker, reference = (RegretTracker(baselines="mean", seconds=30) for _ in range(2))
    for each in (tracker, reference):
        for label in ("a", "b") * 30:
            each.update({"x": float(label == "a")}, label, {})
    with pytest.raises(RecordError):
        tracker.update({"x": object()}, "c", {})
    tracker.update({"x": 1.0}, "c", {}, w=0.0)
    assert tracker.finish()["mean"]["learner_loss"] == reference.finish()["mean"]["learner_loss"]
    assert tracker._kind == "binary"


def test_what_was_not_compared_is_said(streamkarma: Program, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"a": 1, "y": true}\n[3]\nnonsense\n')
    done = streamkarma("regret", "bad.jsonl", "--regret", "zero", "--json", "r.json")
    assert "rejected: 2, first: line 2: " in done.stderr
    assert json.loads((tmp_path / "r.json").read_text())["rejected"] == 2
    done = streamkarma("regret", "bad.jsonl", "--regret-seconds", "nan")
    assert done.code == 2
    assert "--regret-seconds" in done.stderr
    done = streamkarma("regret", "bad.jsonl", "--regret", "zero", "--target", "z")
    assert "warning: no usable record had the target z" in done.stderr


@pytest.mark.parametrize("unit", [1e-6, 1e6, 1e90])
def test_figures_of_any_size_stay_apart(streamkarma: Program, unit: float) -> None:
    records = [{"a": t % 7, "y": unit * (t % 7 + t % 3)} for t in range(60)]
    done = streamkarma("regret", "--learner", "explicit", "--regret", "mean", records=records)
    [row] = [line.split() for line in done.stdout.decode().splitlines() if line.startswith("mean ")]
    assert len(row) == 9
    losses = [float(figure) / unit**2 for figure in row[2:6]]
    assert 0.1 < losses[1] < losses[0] < 10
    assert losses[3] == pytest.approx(losses[0] - losses[1], abs=0.02)
