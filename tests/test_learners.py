"""What all learners of this package have in common as river models, and what the imputer completes."""

from __future__ import annotations

import copy
import math
import pickle
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import base, checks, dummy, linear_model, preprocessing

from streamkarma import (
    BinsClassifier,
    BinsRegressor,
    BoostingClassifier,
    BoostingRegressor,
    ConstantStepClassifier,
    ConstantStepRegressor,
    ExplicitKARMAClassifier,
    ExplicitKARMARegressor,
    ForestClassifier,
    ForestRegressor,
    KARMAClassifier,
    KARMAMixtureClassifier,
    KARMAMixtureRegressor,
    KARMARegressor,
    NeighborsClassifier,
    NeighborsRegressor,
    SubspaceClassifier,
    SubspaceImputer,
    SubspaceRegressor,
    load,
    save,
)
from streamkarma.errors import RecordError, UsageError
from streamkarma.synthetic import StreamSpec, records

Event = tuple[dict[str, Any], Any]

#: The forms of every learner that have code of their own.
FORMS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "arow": (ExplicitKARMAClassifier, ExplicitKARMARegressor, {}),
    "adagrad": (ExplicitKARMAClassifier, ExplicitKARMARegressor, {"update": "adagrad", "gamma": 1}),
    "sgd": (ExplicitKARMAClassifier, ExplicitKARMARegressor, {"update": "sgd"}),
    "hashed": (ExplicitKARMAClassifier, ExplicitKARMARegressor, {"gamma": 3, "table_bits": 8}),
    "subspace": (SubspaceClassifier, SubspaceRegressor, {"indicators": True}),
    "factor": (SubspaceClassifier, SubspaceRegressor, {"max_pairwise_coordinates": 4, "rank": 3}),
    "bins": (BinsClassifier, BinsRegressor, {}),
    "constant": (ConstantStepClassifier, ConstantStepRegressor, {}),
    "neighbors": (NeighborsClassifier, NeighborsRegressor, {"window": 60, "neighbors": 5}),
    "forest": (ForestClassifier, ForestRegressor, {"trees": 3}),
    "boosting": (BoostingClassifier, BoostingRegressor, {"window": 300}),
    "mixture": (KARMAMixtureClassifier, KARMAMixtureRegressor, {"budget": 8}),
}
TASKS: tuple[Any, ...] = ("binary", "multiclass", "regression")

every_form = pytest.mark.parametrize("form", FORMS)
every_task = pytest.mark.parametrize("task", TASKS)


def made(form: str, task: str, **options: Any) -> Any:
    classifier, regressor, own = FORMS[form]
    return (regressor if task == "regression" else classifier)(**own, **options)


def events(task: Any, count: int, seed: int = 100) -> list[Event]:
    """Six numbers, a category and a boolean, most of them sometimes missing; one attribute appears late."""
    made = []
    for t, row in enumerate(records(StreamSpec(attributes=6, rank=3, task=task, seed=seed), count)):
        y = row.pop("y")
        if "x0" in row:
            row["colour"] = "red" if row["x0"] > 0 else "blue"
        if t % 3:
            row["even"] = t % 2 == 0
        if t > count // 2:
            row["late"] = t / count
        made.append((row, y))
    return made


def in_one_run(model: Any, stream: list[Event], weights: list[float] | None = None) -> Any:
    weights = weights or [1.0] * len(stream)
    events = model.read([x for x, _ in stream], [w > 0.0 for w in weights])
    return model.run(events, [y if y is None else model.check_label(y) for _, y in stream], weights)


def said(model: Any, x: dict[str, Any]) -> Any:
    return model.predict_proba_one(x) if isinstance(model, base.Classifier) else model.predict_one(x)


def what_it_says(model: Any, stream: list[Event]) -> list[Any]:
    """Predict, then learn, each event."""
    spoken = []
    for x, y in stream:
        spoken.append(said(model, x))
        model.learn_one(x, y)
    return spoken


def bits(model: Any) -> tuple[Any, dict[str, bytes]]:
    header, arrays = model.state()
    return header, {name: array.tobytes() for name, array in arrays.items()}


# As river models.

KINDS = dict.fromkeys(kind for *pair, _ in FORMS.values() for kind in pair)
EXTRA_EXPERTS = [dummy.PriorClassifier()]


@pytest.mark.parametrize("model", [*(kind() for kind in KINDS), SubspaceImputer()])
def test_river_finds_nothing_wrong(model: Any) -> None:
    assert not model._unit_test_skips()
    checks.check_estimator(model)


def test_river_finds_nothing_wrong_with_extra_experts() -> None:
    model = KARMAMixtureClassifier(extra_experts=EXTRA_EXPERTS)
    for check in checks.yield_checks(model):
        # The memory of the mixture alone is checked above; with the long streams for it this takes seconds.
        if check.__name__ != "check_bounded_memory_growth":
            check(model.clone())


@every_form
@every_task
def test_what_is_missing_and_in_which_order_does_not_show(form: str, task: str) -> None:
    stream = events(task, 90)
    names = sorted({name for x, _ in stream for name in x}, reverse=True)
    expected = what_it_says(made(form, task), stream)
    for nothing in (None, float("nan")):
        filled = [({name: x.get(name, nothing) for name in names}, y) for x, y in stream]
        assert what_it_says(made(form, task), filled) == expected


@every_form
@every_task
def test_many_is_a_loop_of_one(form: str, task: str) -> None:
    stream = events(task, 90)
    frame, targets = pd.DataFrame([x for x, _ in stream]), pd.Series([y for _, y in stream])
    one, many = made(form, task), made(form, task)
    for x, y in stream:
        one.learn_one(x, y)
    for begin in range(0, 90, 40):
        many.learn_many(frame[begin : begin + 40], targets[begin : begin + 40])
    assert [one.predict_one(x) for x, _ in stream] == many.predict_many(frame).tolist()
    if task != "regression":
        assert [said(one, x) for x, _ in stream] == many.predict_proba_many(frame).to_dict("records")


@every_form
@every_task
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_go_their_own_way_and_clones_know_nothing(form: str, task: str, copied: Any) -> None:
    model, stream = made(form, task, forget=50), events(task, 80)
    what_it_says(model, stream[:50])
    twin = copied(model)
    expected = what_it_says(model, stream[50:])
    assert what_it_says(twin, stream[50:]) == expected
    assert what_it_says(model.clone(), stream) == what_it_says(made(form, task, forget=50), stream)


@every_form
@every_task
def test_events_of_weight_zero_leave_no_trace(form: str, task: str) -> None:
    plain, beside = made(form, task), made(form, task)
    for t, (x, y) in enumerate(events(task, 60)):
        plain.learn_one(x, y)
        # Including names that were learned before, and will be again.
        beside.learn_one(x, y, w=0.0)
        beside.learn_one({**x, "x1": 1e9, f"new{t}": "value"}, 7 if task == "regression" else y, w=0.0)
        beside.learn_one(x, y)
    assert bits(plain) == bits(beside)


def wrong_beside(task: str) -> float:
    """The loss of a forest that also learns wrong labels of negligible weight, relative to that without."""
    plain, beside = made("forest", task), made("forest", task)
    losses = [0.0, 0.0]
    for x, y in events(task, 600):
        for place, model in enumerate((plain, beside)):
            away = said(model, x) - y if task == "regression" else 1.0 - said(model, x).get(y, 0.0)
            losses[place] += away * away
            model.learn_one(x, y)
        beside.learn_one(x, -5.0 * y if task == "regression" else 1 - y, w=1e-9)
    return losses[1] / losses[0]


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_a_forest_heeds_weights_where_it_compares_nodes_and_trees(task: str) -> None:
    assert wrong_beside(task) < 1.1


# With hashing, a new name may collide with another.
@pytest.mark.parametrize("form", [form for form in FORMS if form != "hashed"])
@every_task
def test_new_names_and_categories_count_alike_whether_learned_or_only_predicted(form: str, task: str) -> None:
    model, stream = made(form, task), events(task, 300)
    in_one_run(model, stream)
    y = stream[0][1]
    for more in ({"colour": "green"}, {"fresh": 2.0}, {"colour": "green", "fresh": 2.0, "other": "word"}):
        x = {**stream[-1][0], **more}
        learned = in_one_run(copy.deepcopy(model), [(x, y)])
        predicted = in_one_run(copy.deepcopy(model), [(x, y)], [0.0])
        name = "predictions" if task == "regression" else "scores"
        assert getattr(predicted, name) == pytest.approx(getattr(learned, name), rel=1e-9, abs=1e-9)


@every_form
@pytest.mark.parametrize("labels", [("wet", "dry", "hail"), (0, 1, 2), (0.5, 2.5, -1.0), (False, True)])
def test_labels_of_all_kinds_and_classes_that_come_later(form: str, labels: tuple[Any, ...]) -> None:
    model = made(form, "multiclass")
    assert model.predict_proba_one({}) == {}
    for t in range(120):
        place = t % 2 if t < 60 else t % len(labels)
        model.learn_one({"wind": "NSE"[place], "speed": float(place)}, labels[place])
    assert set(model.classes) == set(labels)
    for place, label in enumerate(labels):
        assert model.predict_one({"wind": "NSE"[place], "speed": float(place)}) == label
    assert math.isclose(sum(model.predict_proba_one({"wind": "N"}).values()), 1.0)
    with pytest.raises(RecordError, match="but the labels so far are"):
        model.learn_one({}, True if isinstance(labels[0], str) else "text")


@every_form
def test_a_refused_event_is_not_half_learned(form: str) -> None:
    for task in ("binary", "regression"):
        model = made(form, task)
        what_it_says(model, events(task, 20))
        before = bits(model)
        for x, y in [({"x0": math.inf, "b": 1}, 1), ({"x0": 1.0, "c": 2.0}, "text"), ({"d": 1j}, 1)]:
            with pytest.raises(ValueError):  # noqa: PT011  # whichever of the two it is
                model.learn_one(x, y)
        assert bits(model) == before


# To the bit.


@every_form
@every_task
@settings(max_examples=8, deadline=None)
@given(cuts=st.lists(st.integers(0, 70), max_size=6), seed=st.integers(0, 3))
def test_blocks_are_single_events_to_the_bit(form: str, task: str, cuts: list[int], seed: int) -> None:
    stream = [(x, None if t % 7 == 3 else y) for t, (x, y) in enumerate(events(task, 70, seed))]
    weights = [float((5 * t + seed) % 4) for t in range(70)]
    single, cut = made(form, task, forget=30), made(form, task, forget=30)
    losses, scores = [], []
    for event, weight in zip(stream, weights, strict=True):
        result = in_one_run(single, [event], [weight])
        losses.append(result.losses)
        scores.append(differences(result))
    at = sorted({0, *cuts, 70})
    runs = [in_one_run(cut, stream[a:b], weights[a:b]) for a, b in pairwise(at)]
    assert np.concatenate([run.losses for run in runs]).tobytes() == np.concatenate(losses).tobytes()
    assert [row for run in runs for row in differences(run)] == [row for rows in scores for row in rows]
    assert bits(cut) == bits(single)


def differences(result: Any) -> list[Any]:
    """Predictions, or the scores of the classes known by then minus that of the first."""
    if not hasattr(result, "scores"):
        return list(result.predictions)
    return [
        (row[:known] - row[0]).tolist() if row.size > 1 and known > 1 else [0.0, row[0]][:known]
        for row, known in zip(result.scores, result.known, strict=True)
    ]


@every_form
@every_task
@pytest.mark.parametrize("stop", [0, 1, 40])
def test_resuming_is_never_having_stopped(tmp_path: Path, form: str, task: str, stop: int) -> None:
    one, stream = made(form, task, forget=40), events(task, 80)
    what_it_says(one, stream[:stop])
    one.predict_one({"x0": 0.5, "unknown": 1.0})
    save(one, tmp_path / "model")
    other = load(tmp_path / "model")
    assert what_it_says(one, stream[stop:]) == what_it_says(other, stream[stop:])
    save(one, tmp_path / "one")
    save(other, tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert other._get_params() == one._get_params()


@every_task
@pytest.mark.parametrize("said", [{}, {"rho": 0.02}, {"rho": 0.02, "eta": 0.5}, {"gamma": 3}])
def test_sgd_is_karma_without_a_budget(task: str, said: dict[str, Any]) -> None:
    explicit, karma = ExplicitKARMAClassifier, KARMAClassifier
    losses = ("hinge", "logistic", "squared_hinge")
    if task == "regression":
        explicit, karma = ExplicitKARMARegressor, KARMARegressor
        losses = ("squared", "absolute", "huber")
    stream = events(task, 150)
    for loss in losses:
        own = in_one_run(explicit(update="sgd", loss=loss, **said), stream)
        other = in_one_run(karma(budget=None, loss=loss, **said), stream)
        np.testing.assert_allclose(own[0], other[0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(own.losses, other.losses, rtol=1e-9, atol=1e-9)


# Parameters.


@pytest.mark.parametrize(
    ("kinds", "options", "reason"),
    [
        ("explicit", {"gamma": 4}, "gamma"),
        ("explicit", {"gamma": 0}, "gamma must be an integer"),
        ("explicit", {"gamma": 1.5}, "gamma must be an integer"),
        ("explicit", {"update": "x"}, "update must be one of .*, not 'x'"),
        ("explicit", {"loss": "huber"}, "loss must be one of .* with arow, not 'huber'"),
        ("explicit", {"loss": "hinge", "update": "adagrad"}, "loss must be one of .* with adagrad"),
        ("explicit", {"loss": "x", "update": "sgd"}, "loss must be one of .* with sgd, not 'x'"),
        ("explicit", {"rho": 0.1}, "rho has no meaning with update='arow'"),
        ("explicit", {"rho": 0.1, "update": "adagrad"}, "rho has no meaning with update='adagrad'"),
        ("explicit", {"eta": 0.1}, "eta has no meaning with update='arow'"),
        ("explicit", {"rho": 0, "update": "sgd"}, "rho must be a number from 1e-12 to"),
        ("explicit", {"eta": -1, "update": "adagrad"}, "eta must be a number from 1e-12 to"),
        ("explicit", {"eta": 2.0, "rho": 0.5, "update": "sgd"}, "eta \\* rho must be below 1"),
        ("explicit", {"table_bits": 5}, "table_bits must be .*8"),
        ("explicit", {"table_bits": 31}, "table_bits must be .*30"),
        ("explicit", {"table_bits": 9.5}, "table_bits must be an integer"),
        ("explicit subspace", {"r": 0}, "r must be a number from 1e-12 to"),
        ("explicit subspace mixture", {"forget": 0.5}, "forget must be None or a number from 1 to"),
        ("subspace", {"rank": 0}, "rank must be an integer from 1 to"),
        (
            "subspace",
            {"max_pairwise_coordinates": 0},
            "max_pairwise_coordinates must be an integer from 1 to",
        ),
        ("subspace", {"shrink": -1}, "shrink must be"),
        ("boosting", {"window": 0}, "window must be an integer from 1 to 1,048"),
        ("forest", {"trees": 0}, "trees must be an integer from 1 to 1"),
        ("forest", {"trees": 1001}, "trees must be an integer from 1 to 1"),
        ("mixture", {"budget": 0}, "budget must be an integer from 1 to"),
    ],
)
def test_parameters_out_of_range(kinds: str, options: dict[str, Any], reason: str) -> None:
    pairs = {"explicit": FORMS["arow"], **FORMS}
    for kind in (kind for name in kinds.split() for kind in pairs[name][:2]):
        with pytest.raises(UsageError, match=reason) as raised:
            kind(**options)
        assert "\n" not in str(raised.value)


# Completing.


def test_what_has_a_low_rank_is_completed() -> None:
    imputer, factor = SubspaceImputer(), SubspaceImputer(max_pairwise_coordinates=1, rank=3)
    away: list[list[float]] = [[], []]
    size = []
    for t, row in enumerate(
        records(StreamSpec(attributes=12, rank=3, observed=0.6, seed=100), 2200, full=True)
    ):
        full = row.pop("full")
        row.pop("y")
        for model, errors in zip((imputer, factor), away, strict=True):
            if t < 2000:
                model.learn_one(row)
            elif len(row) >= 6:
                completed = model.transform_one(row)
                assert {name: completed[name] for name in row} == row
                assert completed.keys() == full.keys()
                errors += [completed[name] - full[name] for name in full.keys() - row.keys()]
        if t >= 2000 and len(row) >= 6:
            size += [full[name] for name in full.keys() - row.keys()]
    for errors, most in zip(away, (0.1, 0.05), strict=True):
        assert np.square(errors).mean() < most**2 * np.square(size).mean()


def test_what_is_observed_comes_first_and_in_its_order() -> None:
    imputer = SubspaceImputer()
    names = [f"x{i}" for i in range(30)]
    imputer.learn_one(dict.fromkeys(names, 1.0))
    event = dict.fromkeys(reversed(names[:20]), 2.0)
    assert list(imputer.transform_one(event)) == [*event, *names[20:]]


def test_categories_are_completed_and_nothing_else_is_touched() -> None:
    imputer = SubspaceImputer()
    assert imputer.transform_one({"a": 1.0, "b": None}) == {"a": 1.0}
    for t in range(600):
        imputer.learn_one({"wind": "NSE"[t % 3], "speed": 10.0 * (t % 3), "gust": "yes" if t % 3 else "no"})
    before = what_it_knows(imputer)
    assert imputer.transform_one({"speed": 0.0})["wind"] == "N"
    assert imputer.transform_one({"speed": 20.0, "gust": None}) == {"speed": 20.0, "gust": "yes", "wind": "E"}
    assert imputer.transform_one({"wind": "N"})["gust"] == "no"
    assert imputer.transform_one({"wind": "S"})["speed"] == pytest.approx(10.0, abs=1.0)
    unknown = imputer.transform_one({"moon": "full", "wind": "W", "tide": 3.5})
    assert unknown.keys() == {"moon", "wind", "tide", "speed", "gust"}
    assert (unknown["moon"], unknown["wind"], unknown["tide"]) == ("full", "W", 3.5)
    assert what_it_knows(imputer) == before
    with pytest.raises(RecordError, match="attribute 'speed' is infinite"):
        imputer.learn_one({"speed": math.inf, "new": 1.0})
    assert what_it_knows(imputer) == before


@pytest.mark.parametrize(
    ("options", "event"),
    [
        ({}, {"speed": 20.0, "gust": "yes", "wind": "?"}),
        ({}, {"speed": "NA", "gust": " n/a ", "wind": "E"}),
        ({}, {"speed": 1e9, "gust": "yes", "wind": "E"}),
        ({"na": ["unknown"]}, {"speed": "Unknown", "gust": "yes", "wind": "E"}),
        ({"sentinel": {"speed": -1}}, {"speed": -1, "gust": "yes", "wind": "E"}),
        ({"kinds": {"speed": "number"}}, {"speed": "fast", "gust": "yes", "wind": "E"}),
    ],
)
def test_what_counts_as_missing_is_completed(options: dict[str, Any], event: dict[str, Any]) -> None:
    imputer = SubspaceImputer(**options).clone()
    # Nothing is known of any attribute yet.
    assert not {"?", "NA", " n/a ", "Unknown"} & set(imputer.transform_one(event).values())
    for t in range(600):
        imputer.learn_one({"wind": "NSE"[t % 3], "speed": 10.0 * (t % 3), "gust": "yes" if t % 3 else "no"})
    completed = imputer.transform_one(event)
    assert completed == {"speed": pytest.approx(20.0, abs=1.0), "gust": "yes", "wind": "E"}


def test_what_the_encoder_cannot_place_is_kept() -> None:
    imputer = SubspaceImputer(na=["unknown"], max_name_bytes=8)
    for t in range(20):
        imputer.learn_one({"wind": "NS"[t % 2], "none": t % 2 == 0})
    event = {"wind": "northerly wind", "none": True, "new": "?"}
    assert imputer.transform_one(event) == event


def of_every_kind(seed: int, events: int = 1500) -> Iterator[dict[str, Any]]:
    """Events with only three attributes that are numbers or categories throughout."""
    rng = np.random.default_rng(seed)
    words = ["this", "pump", "has", "failed", "again", "because", "of", "bearings", "worn"]
    for t in range(events):
        yield {
            "gain": int(rng.choice([0] * 17 + [7298, 15024, 300])),
            "temp": float(rng.choice([20.0 + rng.random()] * 9 + [-9999.0])),
            "user": f"u{int(rng.exponential(50))}",
            "seen": f"2024-{1 + t % 12:02d}-03T{t % 24:02d}:00:00Z",
            "note": " ".join(rng.choice(words, 8)),
            "tags": rng.choice(["new", "red", "old"], 2).tolist(),
            "id": f"{t:x}-{rng.random()}",
            "odd": "low" if rng.random() < 0.3 else float(rng.random()),
        }


@pytest.mark.parametrize("form", [{}, {"max_pairwise_coordinates": 1, "rank": 3}])
def test_what_is_filled_in_is_of_the_kind_of_its_attribute(form: dict[str, Any]) -> None:
    imputer = SubspaceImputer(**form)
    for event in of_every_kind(5):
        imputer.learn_one(event)
    filled = imputer.transform_one({})
    assert filled.keys() == {"gain", "temp", "user"}
    assert 500 < filled["gain"] < 2500
    assert 20 < filled["temp"] < 21
    assert filled["user"][:1] == "u"


def test_numbers_of_which_one_is_usual_go_down_a_pipeline() -> None:
    model = SubspaceImputer() | preprocessing.StandardScaler() | linear_model.LogisticRegression()
    for t, event in enumerate(of_every_kind(6, 400)):
        seen = {name: event[name] for name in ("gain", "temp")[t % 3 :]}
        model.predict_proba_one(seen)
        model.learn_one(seen, event["temp"] < 0)


def what_it_knows(imputer: SubspaceImputer) -> Any:
    learner = imputer._pipeline
    header, arrays = learner.state()
    return list(header["entries"]), {name: array.tobytes() for name, array in arrays.items()}


def test_completed_events_go_down_a_pipeline() -> None:
    model = SubspaceImputer() | preprocessing.StandardScaler() | linear_model.LogisticRegression()
    right = []
    for row in records(StreamSpec(attributes=8, rank=2, seed=100), 1500):
        y = bool(row.pop("y"))
        right.append(model.predict_one(row) == y)
        model.learn_one(row, y)
    assert np.mean(right[500:]) > 0.93


# Bad input: warnings are errors here.


def bad_streams() -> dict[str, list[Event]]:
    """Streams with labels ``a`` and ``b`` that could be learned, each with a defect."""
    rng = np.random.default_rng(100)
    numbers = rng.standard_normal((2300, 2))
    labels = ["a" if number > 0 else "b" for number in numbers[:, 0]]
    x, z = numbers.T.tolist()
    there = rng.random((600, 5)) < 0.7

    def stream(size: int, event: Any) -> list[Event]:
        return [(event(t), labels[t]) for t in range(size)]

    return {
        "constants": stream(300, lambda t: {"one": 1.0, "zero": 0.0, "same": "same", "x": x[t]}),
        "nothing but a constant": stream(300, lambda t: {"one": 1.0}),
        "one class": [({"x": x[t], "z": z[t]}, "a" if t < 2000 else labels[t]) for t in range(2300)],
        "copies": stream(600, lambda t: {f"x{j}": x[t] * (j - 2) for j in range(5) if there[t, j]}),
        "vanishing": stream(800, lambda t: {"z": z[t], "old" if t < 400 else "new": x[t]}),
        "huge": stream(
            400, lambda t: {"huge": 1e300 * (-1) ** t, "wild": x[t] * 10.0 ** (t % 300), "x": x[t]}
        ),
        "huge at times": stream(400, lambda t: {"z": z[t] if t % 50 else 1e300, "x": x[t]}),
        "tiny": stream(300, lambda t: {"x": x[t] * 1e-300, "least": 5e-324 * (t % 2)}),
        "empty at times": stream(200, lambda t: {} if t % 2 else {"x": x[t]}),
        "only missing": stream(200, lambda t: {"x": None, "z": float("nan")}),
    }


BAD = bad_streams()
SEVERAL = {"only some weigh": [1.0, 0.0, 1e-300, 1e300], "all weigh the same": [1.0]}


@every_form
@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("weights", SEVERAL)
def test_bad_input_gives_numbers(form: str, name: str, scale: bool, weights: str) -> None:
    stream = BAD[name]
    weighed = (SEVERAL[weights] * len(stream))[: len(stream)]
    forget = 50.0 if len(stream) == 300 else None
    classifier, regressor = (
        made(form, task, scale=scale, forget=forget) for task in ("binary", "regression")
    )
    numbers = [
        (x, (1.0 if y == "a" else -1.0) * (1e100 if t % 100 == 99 else 1.0))
        for t, (x, y) in enumerate(stream)
    ]
    third = [(x, y if t % 7 or t < len(stream) / 2 else "c") for t, (x, y) in enumerate(stream)]
    for model, labelled in ((classifier, third), (regressor, numbers)):
        result = in_one_run(model, labelled, weighed)
        assert np.isfinite(result[0]).all()
        assert np.isfinite(result.losses[np.array(weighed) == 1.0]).all()
    for x in (stream[0][0], stream[-1][0], {}, {"x": 1e300, "never": "seen", "before": 3.0}):
        chances = list(classifier.predict_proba_one(x).values())
        assert math.isclose(sum(chances), 1.0)
        assert min(chances) >= 0.0
        assert math.isfinite(regressor.predict_one(x))


@every_form
@every_task
@pytest.mark.parametrize("huge", [sys.float_info.max, -1e100, 1e75])
def test_a_huge_value_that_is_not_standardised_can_be_saved(
    tmp_path: Path, form: str, task: str, huge: float
) -> None:
    model = made(form, task, scale=False)
    for t, (x, y) in enumerate(events(task, 40)):
        model.learn_one({**x, "huge": huge} if t == 20 else x, y)
    save(model, tmp_path / "m.karma")
    assert bits(load(tmp_path / "m.karma")) == bits(model)


@every_form
def test_thousands_of_categories_are_taken(form: str) -> None:
    numbers = np.random.default_rng(100).standard_normal(3000).tolist()
    stream = [({"id": f"c{t}", "x": number}, number > 0) for t, number in enumerate(numbers)]
    result = in_one_run(made(form, "binary"), stream)
    assert np.isfinite(result.scores).all()
    # New categories must not displace what was learned of the number.
    assert ((result.scores[1000:, 0] > 0) == (np.array(numbers[1000:]) > 0)).mean() > 0.85


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize(
    "options", [{}, {"max_pairwise_coordinates": 1, "rank": 3}, {"forget": 50, "shrink": 0}]
)
def test_what_is_completed_are_numbers(name: str, options: dict[str, Any]) -> None:
    imputer = SubspaceImputer(**options)
    for x, _ in BAD[name][:400]:
        assert all(isinstance(v, str) or math.isfinite(v) for v in imputer.transform_one(x).values())
        imputer.learn_one(x)
