"""Contributions of attributes: they sum to the scores, and are what the mathematics requires."""

from __future__ import annotations

import json
from math import exp, isclose, log, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma import (
    ExplicitKARMAClassifier,
    KARMAClassifier,
    KARMAMixtureClassifier,
    KARMARegressor,
    SubspaceClassifier,
    save,
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
    assert set(check_total(model, x)) == set(x)


def check_total(model: Any, x: dict[str, Any]) -> dict[str, Any]:
    """Check that contributions and the constant sum to the score, and return the contributions."""
    explained = model.explain_one(x, missing=False)
    score = model.predict_one(x) if hasattr(model, "predict_interval_one") else model.decision_one(x)
    classes = list(score) if isinstance(score, dict) else [None]
    for each in classes:

        def of(value: Any, each: Any = each) -> float:
            return float(value if each is None else value[each])

        parts = [of(explained.constant), *map(of, explained.contributions.values())]
        assert abs(sum(parts) - of(score)) <= 1e-9 * max(1.0, *map(abs, parts))
        assert isclose(of(explained.score), of(score), rel_tol=1e-12, abs_tol=1e-12)
    return dict(explained.contributions)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_experts_that_rest_contribute_nothing(classes: int) -> None:
    """Labels are linear in twelve attributes, in which nearest neighbours are of no help."""
    random = np.random.default_rng(5)
    values = random.normal(size=(1_300, 12))
    numbers = values.sum(axis=1)
    labels = numbers.tolist() if classes == 0 else np.digitize(numbers, [0.0, 2.0][: classes - 1]).tolist()
    events = [{f"x{i}": value for i, value in enumerate(row)} for row in values.tolist()]
    model: Any = LEARNERS["auto"][classes == 0]()
    model.learn_many(pd.DataFrame(events[:-8]), pd.Series(labels[:-8]))
    assert model._pipeline.learner.arrays()["rests"].any()
    for x, y in zip(events[-8:], labels[-8:], strict=True):
        check_sums(model, x)
        model.learn_one(x, y)


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
    """The explicit form of order 2 has few enough features to be counted by hand."""
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
    """Doubling the value of an attribute doubles its contribution relative to the others."""
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


def test_a_new_name_is_not_explained_by_the_one_that_made_room() -> None:
    model = ExplicitKARMAClassifier(max_attributes=4)
    for x, y in stream(150, 2):
        model.learn_one({name: value for name, value in x.items() if name != "kind"}, y)
    # As the loop explains an event that is learned next.
    events = model.read([{"new": 1.0, "b": 1.0}], [True])
    contributions = columns_of(model, events).contributions
    assert contributions["new"] == 0.0 != contributions["b"]


@pytest.mark.parametrize("carry", ["fill", "last"])
def test_what_might_be_said_is_not_remembered_of_an_entity(carry: str) -> None:
    one, other = (KARMAMixtureClassifier(entity="device", carry=carry) for _ in range(2))
    for t, (x, y) in enumerate(stream(120, 2)):
        for model in (one, other):
            model.learn_one({"device": "pqr"[t % 3], **x}, y)
    event = {"device": "new", "a": 1.0}
    asked = one.explain_one(event).missing
    assert set(asked) == {"b", "c", "d", "kind"}  # neither their last values nor their ages
    assert other.explain_one(event, missing=False).score == one.explain_one(event, missing=False).score
    later = {"device": "new", "c": 1.0}
    assert one.decision_one(later) == other.decision_one(later)


def test_what_an_entity_said_before_need_not_be_asked_for() -> None:
    model = KARMAMixtureClassifier(entity="device")
    for t, (x, y) in enumerate(stream(120, 2)):
        model.learn_one({"device": "pqr"[t % 3], **x}, y)
    model.learn_one({"device": "p", "b": -1.0, "d": 2.0}, 1)
    explained = model.explain_one({"device": "p", "b": None})
    assert {"b", "d"} <= set(explained.contributions)
    assert not explained.missing.keys() & explained.contributions.keys()


COVARIANCE = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.3], [0.0, 0.3, 1.0]])
SHARES = {"x": 0.5, "y": 0.3, "z": 0.2}


def of_known_distribution(learner: str, classes: int) -> Any:
    """A model of Gaussian numbers with a known covariance, and of a category with known shares."""
    random = np.random.default_rng(3)
    model = LEARNERS[learner][classes == 0]()
    for row in random.multivariate_normal(np.zeros(3), COVARIANCE, size=3000):
        kind = str(random.choice(list(SHARES), p=list(SHARES.values())))
        number = float(row[0] + row[2] + (kind == "x"))
        x = {**dict(zip("abc", map(float, row), strict=True)), "kind": kind}
        seen = {name: value for name, value in x.items() if random.random() < 0.75}
        model.learn_one(seen, number if classes == 0 else int(np.digitize(number, [0.0, 1.0][: classes - 1])))
    return model


def scores_of(model: Any, x: dict[str, Any]) -> Any:
    """The explained scores: one number, or one for each class."""
    if hasattr(model, "predict_interval_one"):
        return [model.predict_one(x)]
    score = model.decision_one(x)
    return list(score.values()) if isinstance(score, dict) else [score]


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("learner", ["auto", "subspace", "explicit", "karma"])
def test_what_a_missing_attribute_would_change_is_what_simulation_says(learner: str, classes: int) -> None:
    """Scores for values drawn from the known distribution vary by as much."""
    model, random = of_known_distribution(learner, classes), np.random.default_rng(4)
    explained = model.explain_one({"a": 0.5})
    knows_more = learner in ("auto", "subspace")  # what is correlated with a
    numbers = {"b": (0.4, 0.36) if knows_more else (0.0, 1.0), "c": (0.0, 1.0)}
    said = {
        name: mean + np.sqrt(variance) * random.normal(size=1000)
        for name, (mean, variance) in numbers.items()
    }
    kinds = random.choice(list(SHARES), p=list(SHARES.values()), size=1000)
    for name, values in {**said, "kind": kinds}.items():
        scores = [scores_of(model, {"a": 0.5, name: value}) for value in values.tolist()]
        found = explained.missing[name]
        found = list(found.values()) if isinstance(found, dict) else [found]
        np.testing.assert_allclose(found, np.std(scores, axis=0), rtol=0.15)
    assert set(explained.missing) == {"b", "c", "kind"}
    largest = [np.max(list(each.values()) if classes == 3 else each) for each in explained.missing.values()]
    assert largest == sorted(largest, reverse=True)


#: Events with every kind of attribute: extreme numbers, rare categories, words, tags, times.
EVENTS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "a": st.floats(-1e6, 1e6) | st.none(),
            "b": st.integers(-3, 3),
            "flag": st.booleans(),
            "zip": st.integers(0, 60).map("z{}".format),
            "note": st.lists(st.sampled_from(["wet", "dry", "cold", "warm", "late"]), min_size=5).map(
                " ".join
            ),
            "tags": st.lists(st.sampled_from("pqrs"), max_size=3),
            "at": st.integers(1, 28).map("2024-02-{:02d}T10:00:00".format),
        },
    ),
    min_size=1,
    max_size=25,
)


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("learner", LEARNERS)
@settings(max_examples=8)
@given(events=EVENTS, asked=EVENTS, seed=st.integers(0, 99))
def test_the_sum_is_the_score_whatever_events_are_like(
    learner: str, classes: int, events: list[dict[str, Any]], asked: list[dict[str, Any]], seed: int
) -> None:
    model, random = LEARNERS[learner][classes == 0](), np.random.default_rng(seed)
    for x in events:
        model.learn_one(x, float(random.normal()) if classes == 0 else int(random.integers(classes)))
    for x in [*events[:3], *asked[:3]]:
        check_total(model, x)


def test_what_labels_say_of_categories_is_a_contribution_of_its_own() -> None:
    model, random = trained("auto", 2, 1), np.random.default_rng(1)
    for x, y in stream(400, 2):
        model.learn_one({**x, "zip": f"z{random.integers(100)}"}, y)
    assert {"zip", "zip.rate"} <= set(check_total(model, {"a": 1.0, "zip": "z7"}))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_sum_is_the_log_odds_of_calibrated_probabilities(classes: int) -> None:
    model = trained("auto", classes, class_weight="balanced")
    for x, _ in stream(8, classes, seed=8):
        explained, chances = model.explain_one(x, missing=False), model.predict_proba_one(x)
        if classes == 2:
            total = explained.constant + sum(explained.contributions.values())
            assert isclose(1.0 / (1.0 + exp(-total)), chances[1], rel_tol=1e-9)
            continue
        for each, chance in chances.items():
            total = explained.constant[each] + sum(part[each] for part in explained.contributions.values())
            assert isclose(exp(total), chance, rel_tol=1e-6)


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
    alone = [json.loads(line) for line in run.stdout.splitlines()]
    # Events that are not learned are explained in blocks.
    run = CliRunner().invoke(cli, ["predict", path, "-", "--explain", "2", "--quiet"], lines(classes))
    assert run.exit_code == 0, run.output
    strongest = [{name: row[name] for name in row if name not in ("constant", "missing")} for row in alone]
    expected = [{**row, "contributions": row["contributions"][:2]} for row in strongest]
    assert [json.loads(line) for line in run.stdout.splitlines()] == expected
    for row in alone:
        score = row["score"] if classes < 3 else row["score"][str(row["prediction"])]
        total = row["constant"] + sum(part for _, part in row["contributions"])
        assert isclose(total, score, rel_tol=1e-9, abs_tol=1e-9)
        assert len(row["missing"]) <= 5


def test_a_label_that_comes_later_repeats_the_contributions(tmp_path: Any) -> None:
    """They are those of the prediction that was made when the event arrived, also in another run."""
    events = [{"id": t, **x} for t, (x, _) in enumerate(stream(40, 2))]
    told = [{"id": t, "y": bool(y)} for t, (_, y) in enumerate(stream(40, 2))]
    path = str(tmp_path / "m.karma")
    learn = ["--model", path, "--id", "id", "--pending", "40", "--explain", "2", "--quiet"]
    found: dict[int, list[Any]] = {}
    for records in (events[:30], [*told[:20], *events[30:]], told[20:]):
        given = tmp_path / "given.jsonl"
        given.write_text("".join(json.dumps(each) + "\n" for each in records))
        run = CliRunner().invoke(cli, ["learn", str(given), *learn])
        assert run.exit_code == 0, run.output
        for row in map(json.loads, run.stdout.splitlines()):
            found.setdefault(row["id"], []).append([row.get("score"), row["contributions"]])
    assert len(found) == 40
    assert all(first == second for first, second in found.values())
    assert any(contributions for (_, contributions), _ in found.values())


def test_the_constant_target_has_contributions_of_nothing() -> None:
    model = KARMARegressor()
    assert model.explain_one({}).score == 0.0


@pytest.mark.parametrize("learner", ["explicit", "karma", "auto"])
def test_names_of_several_types_are_told_apart(learner: str) -> None:
    model, draw = LEARNERS[learner][0](), np.random.default_rng(2)
    for _ in range(60):
        x = {name: float(draw.normal()) for name in (1, "1", 2.5, "2.5")}
        model.learn_one(x, x[1] > x["1"])
    explained = model.explain_one({1: 0.5, "1": -0.5, 2.5: 1.0}, missing=True)
    assert set(explained.contributions) == {1, "1", 2.5}
    assert list(explained.missing) == ["2.5"]
    assert isclose(explained.score, explained.constant + sum(explained.contributions.values()), abs_tol=1e-9)
    assert set(model.values) == {1, "1", 2.5, "2.5"}


def test_a_model_with_such_names_is_described_and_ranked(tmp_path: Path) -> None:
    model = KARMAMixtureClassifier()
    for t in range(60):
        model.learn_one({1: t % 5, "1": t % 3, 2: -9999 if t % 9 == 0 else 0.01 * t}, t % 5 > 2)
    save(model, path := tmp_path / "model.karma")
    inspected = json.loads(CliRunner().invoke(cli, ["inspect", str(path), "--json"]).stdout)
    assert set(inspected["attributes"]) == set(inspected["values"]) == {"1", "'1'", "2", "2.sentinel"}
    assert CliRunner().invoke(cli, ["inspect", str(path)]).exit_code == 0
    ranked = json.loads(CliRunner().invoke(cli, ["explain", str(path), "--json"]).stdout)
    assert [row["attribute"] for row in ranked["attributes"]].count("1") == 2


def test_nested_records_with_nulls_are_explained() -> None:
    model = ExplicitKARMAClassifier()
    for t in range(50):
        model.learn_one({"gps": {"lat": t % 7, "fix": t % 2 == 0}, "a": t % 5}, t % 7 > 3)
    nested = model.explain_one({"gps": {"lat": 3.0, "fix": None}, "a": 1.0})
    flat = model.explain_one({"gps.lat": 3.0, "a": 1.0})
    assert nested == flat
    assert "gps.fix" in nested.missing
