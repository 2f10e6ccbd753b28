from __future__ import annotations

import copy
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import checks, compose, datasets, evaluate, metrics, multiclass, preprocessing

from streamkarma import KARMAClassifier, KARMARegressor, load, save
from streamkarma.core.loss import CLASSIFICATION
from streamkarma.errors import RecordError, UsageError
from streamkarma.synthetic import StreamSpec, records
from tests.reference import algorithm_1, loss_and_slope, stream


@pytest.mark.parametrize("model", [KARMAClassifier(), KARMARegressor()])
def test_river_finds_nothing_wrong(model: Any) -> None:
    assert not model._unit_test_skips()
    checks.check_estimator(model)


def phishing(missing: float = 0.5, events: int = 600) -> list[tuple[dict[str, Any], bool]]:
    rng = np.random.default_rng(0)
    return [
        ({k: v for k, v in x.items() if rng.random() > missing}, y)
        for x, y in datasets.Phishing().take(events)
    ]


def predictions(model: Any, stream: Any) -> list[Any]:
    result = []
    for x, y in stream:
        result.append(model.predict_proba_one(x))
        model.learn_one(x, y)
    return result


@pytest.mark.parametrize(("loss", "rho"), [("hinge", 0.1), ("logistic", 0.01), ("squared_hinge", 500.0)])
@pytest.mark.parametrize("normalize", [True, False])
def test_with_a_rho_and_no_budget_it_is_the_papers_algorithm(loss: str, rho: float, normalize: bool) -> None:
    rows = stream(3, 80, 4)
    labels = [bool(y) for y in np.random.default_rng(3).integers(0, 2, 80)]
    model = KARMAClassifier(3, rho, loss=loss, budget=None, normalize=normalize, scale=False)
    scores = []
    for row, y in zip(rows, labels, strict=True):
        x = {f"x{j}": value for j, value in enumerate(row) if not np.isnan(value)}
        scores.append(model.decision_one(x))
        model.learn_one(x, y)
    code = CLASSIFICATION[loss].code
    signs = [1.0 if y else -1.0 for y in labels]
    constant = np.column_stack([np.ones(80), rows])
    expected = algorithm_1(
        constant, signs, 3, normalize, rho, None, lambda f, y: loss_and_slope(code, f, y)[1]
    )
    np.testing.assert_allclose(scores, expected[:, 0], rtol=1e-9, atol=1e-9)


def test_it_learns_what_is_there_to_learn() -> None:
    metric = evaluate.progressive_val_score(phishing(), KARMAClassifier(), metrics.Accuracy())
    assert metric.get() > 0.76


def test_absent_none_and_nan_are_the_same() -> None:
    stream = phishing()
    names = list(next(iter(datasets.Phishing()))[0])
    same = []
    for nothing in (None, float("nan")):
        same.append([({name: x.get(name, nothing) for name in names}, y) for x, y in stream])
    expected = predictions(KARMAClassifier(), stream)
    for filled in same:
        assert predictions(KARMAClassifier(), filled) == expected


@pytest.mark.parametrize("delay", [1, 20])
def test_delayed_labels(delay: int) -> None:
    steps = list(
        evaluate.iter_progressive_val_score(
            phishing(), KARMAClassifier(), metrics.Accuracy(), delay=delay, step=100
        )
    )
    assert steps[-1]["Step"] == 600
    assert steps[-1]["Accuracy"].get() > 0.75


def test_one_against_the_rest() -> None:
    model = multiclass.OneVsRestClassifier(KARMAClassifier())
    metric = evaluate.progressive_val_score(datasets.ImageSegments().take(500), model, metrics.Accuracy())
    assert metric.get() > 0.75


def test_several_classes_as_they_come() -> None:
    model = KARMAClassifier()
    metric = evaluate.progressive_val_score(datasets.ImageSegments().take(500), model, metrics.Accuracy())
    assert metric.get() > 0.75
    assert len(model.classes) == 7
    probabilities = model.predict_proba_one({})
    assert set(probabilities) == set(model.classes)
    assert math.isclose(sum(probabilities.values()), 1.0)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge"])
def test_a_third_class_goes_on_from_two(loss: str) -> None:
    stream = [(x, ("a", "b", "c")[int(x.get("x0", 0) > 0) + (t > 150 and x.get("x1", 0) > 1)])
              for t, x in enumerate(records(StreamSpec(attributes=6, rank=3), 400))]  # fmt: skip
    model = KARMAClassifier(loss=loss)
    for t, (x, y) in enumerate(stream):
        x.pop("y")
        if y == "c" and "c" not in model.classes:
            before = model.predict_proba_one(x)
            model.learn_one(x, y)
            assert model.predict_proba_one(x)["c"] > 0
            assert set(before) == {"a", "b"}
        model.learn_one(x, y)
        assert t or model.classes == ["a"]
    assert set(model.classes) == {"a", "b", "c"}


@pytest.mark.parametrize("kind", [KARMAClassifier, KARMARegressor])
def test_many_is_a_loop_of_one(kind: Any) -> None:
    task = "multiclass" if kind is KARMAClassifier else "regression"
    rows = list(records(StreamSpec(attributes=6, rank=3, task=task), 200))
    targets = [row.pop("y") for row in rows]
    frame = pd.DataFrame(rows)
    frame["colour"] = ["red" if "x0" in row else None for row in rows]
    assert frame.isna().to_numpy().any()
    for row in rows:
        row.update({"colour": "red"} if "x0" in row else {})
    one, many = kind(), kind()
    for row, y in zip(rows, targets, strict=True):
        one.learn_one(row, y)
    for begin in range(0, 200, 70):
        many.learn_many(frame[begin : begin + 70], pd.Series(targets[begin : begin + 70]))
    assert [one.predict_one(row) for row in rows] == many.predict_many(frame).tolist()
    if kind is KARMAClassifier:
        table = many.predict_proba_many(frame)
        assert table.index.equals(frame.index)
        assert [one.predict_proba_one(row) for row in rows] == table.to_dict("records")


def test_many_before_anything_was_learned() -> None:
    frame = pd.DataFrame({"a": [1.0, None]}, index=[7, 9])
    assert KARMAClassifier().predict_many(frame).tolist() == [None, None]
    assert KARMAClassifier().predict_proba_many(frame).shape == (2, 0)
    assert KARMARegressor().predict_many(frame).tolist() == [0.0, 0.0]


def test_weights() -> None:
    stream = phishing(events=100)
    plain, weighed, doubled = KARMAClassifier(), KARMAClassifier(), KARMAClassifier()
    for i, (x, y) in enumerate(stream):
        plain.learn_one(x, y)
        weighed.learn_one(x, y, w=1.0)
        weighed.learn_one(x, not y, w=0.0)
        doubled.learn_one(x, y, w=1.0 + i % 2)
    x = stream[0][0]
    assert plain.predict_proba_one(x) == weighed.predict_proba_one(x)
    assert plain.predict_proba_one(x) != doubled.predict_proba_one(x)


@pytest.mark.parametrize("w", [-1, float("nan"), float("inf"), "much", None])
def test_weights_that_are_none(w: Any) -> None:
    with pytest.raises(RecordError, match="the weight must be a finite number of 0 or more"):
        KARMAClassifier().learn_one({"a": 1}, True, w=w)


def test_weight_reaches_the_model_through_river() -> None:
    stream = [(x, y, {"w": 0.0 if i % 2 else 1.0}) for i, (x, y) in enumerate(phishing(events=100))]
    model, expected = KARMAClassifier(), KARMAClassifier()
    evaluate.progressive_val_score(stream, model, metrics.Accuracy())
    for x, y in phishing(events=100)[::2]:
        expected.learn_one(x, y)
    assert model.predict_proba_one({}) == expected.predict_proba_one({})


def test_strings_and_booleans_and_new_attributes() -> None:
    model = KARMAClassifier()
    for _ in range(30):
        model.learn_one({"wind": "N", "rain": True}, "wet")
        model.learn_one({"wind": "S", "rain": False}, "dry")
    model.learn_one({"pressure": 1013.0, "wind": "E"}, "dry")
    assert model.predict_one({"wind": "N"}) == "wet"
    assert model.predict_one({"rain": False}) == "dry"
    assert model.predict_one({"never": "seen", "before": 3}) in ("wet", "dry")


def test_a_new_name_does_not_move_the_score_it_is_learned_with() -> None:
    """The first number of an attribute standardises to 0, in prediction and in learning."""
    model = KARMAClassifier()
    for x, y in phishing(events=50):
        model.learn_one(x, y)
    event = {**phishing(events=51)[50][0], "zz": 5.0, "aa": "x"}
    events = copy.deepcopy(model).read([event], [True])
    before = model.decision_one(event)
    assert model.run(events, [True], [1.0]).scores[0, 0] == before


def test_scaling_by_river_or_not_at_all() -> None:
    stream = list(datasets.Phishing().take(300))
    outside = preprocessing.StandardScaler() | KARMAClassifier(scale=False)
    for model in (outside, KARMAClassifier(scale=False)):
        assert evaluate.progressive_val_score(stream, model, metrics.Accuracy()).get() > 0.75


def test_selected_attributes() -> None:
    model = compose.Select("is_popular", "long_url") | KARMAClassifier()
    for x, y in datasets.Phishing().take(20):
        model.learn_one(x, y)
    assert model.predict_one(x) in (True, False)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_go_their_own_way(copied: Any) -> None:
    model = KARMAClassifier(budget=20)
    stream = phishing(events=200)
    predictions(model, stream[:100])
    twin = copied(model)
    kept = twin.predict_proba_one(stream[0][0])
    expected = predictions(model, stream[100:])
    assert twin.predict_proba_one(stream[0][0]) == kept
    assert predictions(twin, stream[100:]) == expected
    assert model.clone().classes == []


def test_averaging_predicts_by_the_mean_of_the_iterates() -> None:
    stream = phishing()
    averaged = KARMAClassifier(average=True)
    metric = evaluate.progressive_val_score(stream, averaged, metrics.Accuracy())
    assert metric.get() > 0.75
    assert averaged.decision_one(stream[0][0]) != KARMAClassifier().decision_one(stream[0][0])


def test_support_vectors_are_what_is_scored_with() -> None:
    model = KARMAClassifier(gamma=1, scale=False, rho=0.1)
    model.learn_one({"a": 3.0, "b": 4.0}, True)
    (one,) = model.support_vectors
    assert one.observed == {"a", "b"}
    values = {key: float(value[0]) for key, value in one.values.items()}
    norm = math.sqrt(26)
    assert values == pytest.approx({(None, None): 1 / norm, ("a", None): 3 / norm, ("b", None): 4 / norm})
    assert model.decision_one({"a": 3.0, "b": 4.0}) == pytest.approx(one.alpha)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"gamma": 0}, "gamma must be an integer from 1 to"),
        ({"gamma": 1.5}, "gamma must be an integer"),
        ({"rho": 0}, "rho must be a number from 1e-12 to"),
        ({"eta": -1.0}, "eta must be a number from 1e-12 to"),
        ({"rho": 2.0, "eta": 0.5}, "eta \\* rho must be below 1"),
        ({"loss": "squared"}, "loss must be one of hinge"),
        ({"budget": 0}, "budget must be an integer from 1 to"),
        ({"pruning": "some"}, "pruning must be one of merge, remove, oldest, not 'some'"),
    ],
)
def test_parameters_out_of_range(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        KARMAClassifier(**options)


def test_parameters_may_be_numbers_of_numpy(tmp_path: Path) -> None:
    plain = {"rho": 0.5, "budget": 10, "forget": 100.0, "threshold": 0.25, "sentinel": {"x": [-1.0, -2.0]}}
    numpys = {
        "rho": np.float32(0.5),
        "budget": np.int32(10),
        "forget": np.int64(100),
        "threshold": np.float32(0.25),
        "sentinel": {"x": np.array([-1.0, -2.0], np.float32)},
    }
    models = [KARMAClassifier(**plain), KARMAClassifier(**numpys)]
    for model in models:
        for x in (1.0, 2.0, -1.0, 4.0):
            model.learn_one({"x": x, "z": 1.0}, "yes" if x > 1.0 else "no")
        with pytest.raises(ValueError, match="threshold"):
            model.learn_one({"x": 1.0}, "other")
    save(models[1], tmp_path / "model.karma")
    chances = [m.predict_proba_one({"x": 3.0}) for m in (*models, load(tmp_path / "model.karma"))]
    assert chances[0] == chances[1] == chances[2]


# Python writes no integers of more than 4,300 digits, not even as the name of a test.
@pytest.mark.parametrize("target", ["3", float("inf"), True, [1], pytest.param(10**5000, id="long")])
def test_targets_that_are_no_numbers(target: Any) -> None:
    with pytest.raises(RecordError, match="the target must be a"):
        KARMARegressor().learn_one({"a": 1}, target)


def test_labels_longer_than_python_writes_them_are_refused_by_name() -> None:
    with pytest.raises(RecordError, match="the label a very large int"):
        KARMAClassifier().learn_one({"a": 1}, 10**5000)


def test_a_refused_event_is_not_half_learned() -> None:
    model = KARMAClassifier()
    model.learn_one({"a": 1.0}, True)
    before = pickle.dumps(model)
    for x, y in [({"a": float("inf"), "b": 1}, True), ({"a": 1.0, "c": 2.0}, []), ({"d": {1}}, True)]:
        with pytest.raises(ValueError):  # noqa: PT011  # whichever of the two it is
            model.learn_one(x, y)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", "epsilon_insensitive"])
@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_regression_in_any_unit(loss: str, scale: float) -> None:
    stream = [({k: v for k, v in row.items() if k != "y"}, row["y"] * scale + 3 * scale)
              for row in records(StreamSpec(8, 2, 0.8, task="regression"), 800)]  # fmt: skip
    model = KARMARegressor(loss=loss)
    metric = evaluate.progressive_val_score(stream, model, metrics.R2())
    assert metric.get() > 0.6


def test_losses_of_a_regression_are_in_the_targets_unit() -> None:
    for loss, expected in (("squared", 25.0), ("absolute", 5.0)):
        model = KARMARegressor(loss=loss)
        for y in (10.0, 20.0):
            model.learn_one({"a": 1.0}, y)
        said = model.predict_one({"a": 1.0})
        events = model.read([{"a": 1.0}], [False])
        assert model.run(events, [said + 5.0], [0.0]).losses[0] == pytest.approx(expected)


def test_events_with_nothing_observed() -> None:
    model = KARMAClassifier()
    for _ in range(10):
        model.learn_one({}, "yes")
    model.learn_one({}, "no")
    assert model.predict_one({}) == "yes"


def test_huge_values_and_constants_give_finite_predictions() -> None:
    for scale in (True, False):
        model = KARMAClassifier(scale=scale, normalize=False)
        for i in range(50):
            model.learn_one({"big": 1e300 * (-1) ** i, "same": 1.0}, i % 3 == 0)
        assert all(0.0 <= p <= 1.0 for p in model.predict_proba_one({"big": 1e300}).values())


def test_ten_thousand_attributes_in_one_event() -> None:
    model = KARMAClassifier()
    wide = {f"a{i}": float(i % 7) for i in range(10_000)}
    for y in (True, False):
        model.learn_one(wide, y)
    assert set(model.predict_proba_one(wide)) == {True, False}
    assert model.summary()["attributes"] == 10_000
