"""What attributes contribute: sums are scores, and contributions are what the mathematics says."""

from __future__ import annotations

import json
from math import isclose, log, nan
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from streamkarma import (
    ExplicitKARMAClassifier,
    KARMAClassifier,
    KARMAMixtureClassifier,
    KARMARegressor,
    SubspaceClassifier,
)
from streamkarma.cli import cli
from streamkarma.estimators.explaining import columns_of
from streamkarma.estimators.learners import LEARNERS

NAMES = ("a", "b", "c", "d")


def stream(events: int, classes: int, seed: int = 7) -> list[tuple[dict[str, Any], Any]]:
    """Incomplete events of four numbers close to a plane and a category, with labels."""
    random = np.random.default_rng(seed)
    axes = random.normal(size=(2, len(NAMES)))
    made = []
    for _ in range(events):
        place = random.normal(size=2)
        values = place @ axes + 0.1 * random.normal(size=len(NAMES))
        kind = "xyz"[int(random.integers(3))]
        x = {name: float(v) for name, v in zip(NAMES, values, strict=True) if random.random() < 0.7}
        if random.random() < 0.8:
            x["kind"] = kind
        number = float(place[0] + (kind == "x") + 0.1 * random.normal())
        label = number if classes == 0 else int(np.digitize(number, [0.0, 1.0][: classes - 1]))
        made.append((x, label))
    return made


def trained(learner: str, classes: int, events: int = 150, **parameters: Any) -> Any:
    model = LEARNERS[learner][classes == 0](**parameters)
    for x, y in stream(events, classes):
        model.learn_one(x, y)
    return model


def check_sums(model: Any, x: dict[str, Any]) -> None:
    explained = model.explain_one(x, missing=False)
    score = model.predict_one(x) if hasattr(model, "predict_interval_one") else model.decision_one(x)
    classes = list(score) if isinstance(score, dict) else [None]
    for each in classes:

        def of(value: Any, each: Any = each) -> float:
            return float(value if each is None else value[each])

        parts = sum(of(part) for part in explained.contributions.values())
        assert isclose(of(explained.constant) + parts, of(score), rel_tol=1e-9, abs_tol=1e-9)
        assert isclose(of(explained.score), of(score), rel_tol=1e-12, abs_tol=1e-12)
    assert set(explained.contributions) == set(x)


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("learner", LEARNERS)
def test_contributions_and_the_constant_are_the_score(learner: str, classes: int) -> None:
    model = trained(learner, classes)
    for x, _ in stream(8, classes, seed=8):
        check_sums(model, x)
    check_sums(model, {})


@pytest.mark.parametrize("gamma", [1, 2, 3])
@pytest.mark.parametrize("classes", [2, 3])
def test_karma_contributes_what_its_explicit_form_does(gamma: int, classes: int) -> None:
    steps = {"gamma": gamma, "rho": 0.05, "loss": "hinge"}
    karma = KARMAClassifier(budget=None, **steps)
    explicit = ExplicitKARMAClassifier(update="sgd", **steps)
    for x, y in stream(60, classes):
        karma.learn_one(x, y)
        explicit.learn_one(x, y)
    for x, _ in stream(6, classes, seed=9):
        one, other = (columns_of(m, m.read([x], [False])) for m in (karma, explicit))
        np.testing.assert_allclose(one.score, other.score, atol=1e-9)
        np.testing.assert_allclose(one.constant, other.constant, atol=1e-9)
        for name, part in one.contributions.items():
            np.testing.assert_allclose(part, other.contributions[name], atol=1e-9)


def test_a_pair_is_split_in_halves() -> None:
    """Of the explicit form of order 2 the features are few enough to be counted by hand."""
    steps = {"gamma": 2, "rho": 1.0, "update": "sgd", "loss": "hinge"}
    model = ExplicitKARMAClassifier(scale=False, normalize=False, **steps)
    model.learn_one({"a": 2.0, "b": 3.0}, False)
    model.learn_one({"a": 2.0, "b": 3.0}, True)
    explained = model.explain_one({"a": 2.0, "b": 3.0}, missing=False)
    # k(x, x) / 3 of the features are 2 (constant), 1 + 1 (presences), 3 x² (values) and x² (pairs).
    unit = (explained.constant - explained.calibration) / 2.0
    assert isclose(explained.contributions["a"], unit * (1 + 3 * 4 + 0.5 * (4 + 9)), rel_tol=1e-9)
    assert isclose(explained.contributions["b"], unit * (1 + 3 * 9 + 0.5 * (4 + 9)), rel_tol=1e-9)


def test_a_subspace_is_linear_in_what_is_observed() -> None:
    """An attribute whose value is doubled contributes twice as much, held against the others."""
    for parameters in ({}, {"max_pairwise_coordinates": 1, "rank": 2}):
        model = SubspaceClassifier(scale=False, **parameters)
        for x, y in stream(200, 2):
            model.learn_one(x, y)
        x = {"a": 0.4, "c": -0.7, "kind": "y"}
        once = model.explain_one(x, missing=False).contributions
        twice = model.explain_one({**x, "a": 0.8}, missing=False).contributions
        assert isclose(twice["a"] / twice["c"], 2.0 * once["a"] / once["c"], rel_tol=1e-6)


def test_a_mixture_of_classes_leaves_offsets_to_the_calibration() -> None:
    model, x = trained("auto", 2), {"a": 1.0, "kind": "x"}
    explained, chances = model.explain_one(x, missing=False), model.predict_proba_one(x)
    assert isclose(explained.score, log(chances[1] / chances[0]), abs_tol=1e-6)
    assert abs(explained.calibration) < abs(explained.score) + 1.0


def test_explaining_leaves_no_trace() -> None:
    for learner in LEARNERS:
        one, other = (trained(learner, 2, 60) for _ in range(2))
        for x, y in stream(20, 2, seed=5):
            one.explain_one(x)
            one.learn_one(x, y)
            other.learn_one(x, y)
        x = {"a": 0.3, "b": nan, "kind": "x"}
        assert one.decision_one(x) == other.decision_one(x), learner


def test_what_a_missing_attribute_would_change_is_what_simulation_says() -> None:
    """Of a linear score of a Gaussian vector the deviation is known, and drawing from it agrees."""
    random = np.random.default_rng(3)
    model = SubspaceClassifier(scale=True)
    cov = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.3], [0.0, 0.3, 1.0]])
    rows = random.multivariate_normal(np.zeros(3), cov, size=4000)
    for t, row in enumerate(rows):
        x = {name: float(v) for name, v in zip("abc", row, strict=True)}
        if t % 2:
            x.pop("abc"[t % 3])
        model.learn_one(x, bool(row[0] + row[2] > 0.0))
    explained = model.explain_one({"a": 0.5})
    for name, (mean, variance) in {"b": (0.4, 0.36), "c": (0.0, 1.0)}.items():
        drawn = mean + np.sqrt(variance) * random.normal(size=2000)
        scores = [model.decision_one({"a": 0.5, name: float(value)}) for value in drawn]
        assert isclose(explained.missing[name], float(np.std(scores)), rel_tol=0.1)
    assert list(explained.missing) == ["c", "b"]
    assert "a" not in explained.missing


def test_every_model_says_what_to_ask_for() -> None:
    for learner in LEARNERS:
        for classes in (0, 2, 3):
            missing = trained(learner, classes, 80).explain_one({"a": 1.0}).missing
            assert set(missing) == {"b", "c", "d", "kind"}
            each = next(iter(missing.values()))
            assert len(each) == 3 if classes == 3 else each >= 0.0


def test_extra_experts_are_explained_as_a_constant() -> None:
    from river.linear_model import LogisticRegression

    model = KARMAMixtureClassifier(extra_experts=[LogisticRegression()])
    for x, y in stream(80, 2):
        model.learn_one({name: v for name, v in x.items() if name != "kind"}, bool(y))
    check_sums(model, {"a": 1.0, "b": -1.0})


def lines(classes: int, events: int = 60) -> str:
    labels = (lambda y: f"c{y}") if classes == 3 else (lambda y: y)
    return "".join(json.dumps({**x, "y": labels(y)}) + "\n" for x, y in stream(events, classes))


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_rows_have_the_strongest_contributions(tmp_path: Any, classes: int) -> None:
    path = str(tmp_path / "m.karma")
    learn = ["learn", "-", "--model", path, "--explain", "2", "--quiet"]
    run = CliRunner().invoke(cli, learn, lines(classes))
    assert run.exit_code == 0, run.output
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    plain = CliRunner().invoke(cli, ["learn", "-", "--quiet"], lines(classes))
    for row, before in zip(rows, map(json.loads, plain.stdout.splitlines()), strict=True):
        parts = row.pop("contributions")
        assert len(parts) <= 2
        assert row == before
        assert parts == sorted(parts, key=lambda pair: -abs(pair[1]))
    run = CliRunner().invoke(cli, ["explain", path, "-", "--quiet"], lines(classes))
    assert run.exit_code == 0, run.output
    for row in map(json.loads, run.stdout.splitlines()):
        score = row["score"] if classes < 3 else row["score"][str(row["prediction"])]
        total = row["constant"] + sum(part for _, part in row["contributions"])
        assert isclose(total, score, rel_tol=1e-9, abs_tol=1e-9)
        assert len(row["missing"]) <= 5


def test_the_constant_target_has_contributions_of_nothing() -> None:
    model = KARMARegressor()
    assert model.explain_one({}).score == 0.0
