"""--learner, and the options that belong to one of them, as users call them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from streamkarma.synthetic import StreamSpec, records
from tests.conftest import Program

EVENTS = list(records(StreamSpec(attributes=6, rank=2, noise=0.1), 300))
EXPLICIT = ("--learner", "explicit")
LEARNERS = [
    ("--learner", "auto"),
    ("--learner", "subspace"),
    ("--learner", "bins"),
    ("--learner", "sgd", "--eta", "0.1"),
    ("--learner", "neighbors", "--window", "70", "--neighbors", "3"),
    ("--learner", "boosting", "--window", "150"),
    EXPLICIT,
    (*EXPLICIT, "--update", "adagrad"),
    (*EXPLICIT, "--update", "sgd", "--loss", "hinge"),
]


@pytest.mark.parametrize(
    ("said", "task"),
    [
        # By default every learner with one of the tasks, and the default learner with all of them.
        pytest.param(said, task, marks=[pytest.mark.slow] if place and place % 3 != number else [])
        for place, said in enumerate(LEARNERS)
        for number, task in enumerate(["binary", "multiclass", "regression"])
    ],
    ids=lambda each: each if isinstance(each, str) else " ".join(each),
)
def test_stopping_and_resuming_is_never_having_stopped(
    streamkarma: Program, tmp_path: Path, said: tuple[str, ...], task: str
) -> None:
    if "hinge" in said and task == "regression":
        said = (*said[:-1], "absolute")
    events: list[dict[str, Any]] = list(records(StreamSpec(attributes=5, rank=2, noise=0.1, task=task), 240))
    for event in events[::7]:
        del event["y"]
    # Begin with a label, which settles the task: events before it are learned as classification.
    events = [{"x0": 1.0, "y": events[1]["y"]}, *events]
    kind = [] if task == "regression" else ["--task", task]
    whole = streamkarma("learn", *said, *kind, "--model", "whole", records=events)
    assert whole.code == 0, whole.stderr
    first = streamkarma("learn", *said, *kind, "--model", "parts", records=events[:100])
    second = streamkarma("learn", *said, "--model", "parts", records=events[100:])
    assert second.code == 0, second.stderr
    assert first.rows + second.rows == whole.rows
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize(
    ("said", "learner"),
    [
        ([], "auto"),
        (["--no-scale", "--forget", "100"], "auto"),
        (["--budget", "20"], "karma"),
        (["--gamma", "2"], "karma"),
        (["--update", "adagrad", "--gamma", "1"], "explicit"),
        (["--table-bits", "10"], "explicit"),
        (["--indicators"], "subspace"),
        (["--window", "50"], "neighbors"),
        (["--learner", "subspace", "--forget", "50", "--r", "3"], "subspace"),
    ],
)
def test_the_learner_is_the_one_that_has_the_options(
    streamkarma: Program, tmp_path: Path, said: list[str], learner: str
) -> None:
    done = streamkarma("learn", *said, "--no-predictions", "--summary", "s.json", "--model", "m",
                       records=EVENTS[:60])  # fmt: skip
    assert done.code == 0, done.stderr
    assert json.loads((tmp_path / "s.json").read_text())["learner"] == learner
    assert re.search(rf"^learner +{learner}$", done.stderr, re.M)
    assert json.loads(streamkarma("inspect", "m", "--json").stdout)["learner"] == learner


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ([], None),
        (["--no-scale"], None),
        (["--learner", "karma", "--gamma", "2"], None),
        (["--gamma", "2"], "learner: karma, since --gamma was given"),
        (["--no-scale", "--table-bits", "10"], "learner: explicit, since --table-bits was given"),
        (["--budget", "20", "--rho", "1"], "learner: karma, since --rho and --budget were given"),
    ],
)
def test_a_learner_that_follows_from_options_is_said(
    streamkarma: Program, said: list[str], line: str | None
) -> None:
    learn = ["learn", *said, "--no-predictions", "--model", "m"]
    first = streamkarma(*learn, records=EVENTS[:9]).stderr.splitlines()
    assert [each for each in first if each.startswith("learner: ")] == [line] * (line is not None)
    # It is in the model by now.
    assert "learner: " not in streamkarma(*learn, records=EVENTS[9:20]).stderr
    assert streamkarma(*learn, "--fresh", "--quiet", records=EVENTS[:9]).stderr == ""
    logged = streamkarma(*learn, "--fresh", "--log-format", "json", records=EVENTS[:9]).stderr.splitlines()
    assert [json.loads(each)["event"] for each in logged].count(line) == (line is not None)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (["--learner", "auto", "--gamma", "2"], "--gamma has no meaning with --learner auto"),
        (["--learner", "karma", "--table-bits", "10"], "--table-bits has no meaning with --learner karma"),
        (["--indicators", "--gamma", "2"], "no learner has --gamma and --indicators; leave one out"),
        (["--learner", "explicit", "--gamma", "4"], "gamma 1, 2 or 3, not 4"),
        (["--update", "arow", "--rho", "1"], "--rho has no meaning with --update arow"),
        (
            ["--update", "adagrad", "--loss", "hinge"],
            "loss must be one of logistic with adagrad, not 'hinge'",
        ),
        (["--learner", "svm"], "'svm' is not one of"),
        (["--table-bits", "31"], "31 is not in the range 8<=x<=30"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_line(streamkarma: Program, said: list[str], reason: str) -> None:
    done = streamkarma("learn", *said, records=EVENTS[:3])
    assert done.code == 2
    assert reason in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_another_learner_than_the_model_was_made_with_is_refused(streamkarma: Program) -> None:
    assert streamkarma("learn", "--model", "m", "--no-predictions", records=EVENTS[:20]).code == 0
    done = streamkarma("learn", "--model", "m", "--learner", "karma", records=EVENTS[20:])
    assert done.code == 2
    assert "made with learner auto, not karma" in done.stderr
    done = streamkarma("learn", "--model", "m", "--update", "sgd", records=EVENTS[20:])
    assert "--update has no meaning for m, made with the learner auto" in done.stderr


def test_the_weights_of_the_experts_are_shown(streamkarma: Program, tmp_path: Path) -> None:
    done = streamkarma("learn", "--no-predictions", "--report-every", "300", "--summary", "s.json",
                       "--model", "m", records=EVENTS)  # fmt: skip
    weights = json.loads((tmp_path / "s.json").read_text())["model"]["experts"]
    assert sum(weights.values()) == pytest.approx(1.0)
    assert {"explicit 2 arow", "karma", "subspace", "subspace indicators", "blend"} <= set(weights)
    heaviest = max(weights, key=weights.__getitem__)
    assert f"{heaviest} {weights[heaviest]:.2f}" in next(
        line for line in done.stderr.splitlines() if "/s " in line
    )
    assert re.search(rf"^ +{heaviest} +{weights[heaviest]:.3f}$", done.stderr, re.M)
    assert f"{heaviest} {weights[heaviest]:.3f}" in streamkarma("inspect", "m").stdout.decode()


def test_several_learners_in_one_comparison(streamkarma: Program, tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text("".join(json.dumps(event) + "\n" for event in EVENTS))
    done = streamkarma("regret", "e.jsonl", "--learner", "explicit, auto", "--baselines", "mean",
                       "--regret-memory", "24", "--json", "r.json", "--plot", "r.svg")  # fmt: skip
    assert done.code == 0, done.stderr
    report = json.loads((tmp_path / "r.json").read_text())
    assert list(report["learners"]) == ["explicit", "auto"]
    last = [each["regret"]["mean"][-1] for each in report["learners"].values()]
    # The same baseline on the same events.
    assert last[0]["baseline_loss"] == last[1]["baseline_loss"]
    assert last[0]["learner_loss"] != last[1]["learner_loss"]
    assert [line for line in done.stdout.decode().splitlines() if line.startswith("learner:")] == [
        "learner: explicit", "learner: auto"
    ]  # fmt: skip
    assert (tmp_path / "r.svg").stat().st_size > 1000
    done = streamkarma("regret", "--learner", "explicit,auto", records=EVENTS)
    assert (done.code, "several learners need a file" in done.stderr) == (2, True)
    done = streamkarma("regret", "e.jsonl", "--learner", "svm")
    assert (done.code, "no such learner" in done.stderr) == (2, True)


def test_the_command_line_wins_over_what_contradicts_it_elsewhere(
    streamkarma: Program, tmp_path: Path
) -> None:
    (tmp_path / "c.toml").write_text('[learn]\nno-predictions = true\nrefit = "trees"\n')
    records = [{"a": 1, "y": 1}]
    streamkarma("learn", "--config", "c.toml", "--predictions", "x.out", "--refit", "none", records=records)
    assert len((tmp_path / "x.out").read_text().splitlines()) == 1
    (tmp_path / "c.toml").write_text('[learn]\npredictions = "y.out"\n')
    assert streamkarma("learn", "--config", "c.toml", "--no-predictions", records=records).code == 0
    assert not (tmp_path / "y.out").exists()
