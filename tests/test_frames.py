"""Frames of several libraries, and nested events, through the estimators."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from streamkarma import (
    ExplicitKARMAClassifier,
    ExplicitKARMARegressor,
    KARMAClassifier,
    KARMAMixtureClassifier,
    KARMAMixtureRegressor,
    KARMARegressor,
    SubspaceImputer,
)
from streamkarma.errors import RecordError, UsageError

COLUMNS: dict[str, list[Any]] = {
    "a": [1.0, None, 3.0, float("nan"), -1.0],
    "c": ["x", "y", None, "x", "y"],
    "b": [True, None, False, True, True],
}
ROWS = [
    {"a": 1.0, "c": "x", "b": True}, {"c": "y"}, {"a": 3.0, "b": False}, {"c": "x", "b": True},
    {"a": -1.0, "c": "y", "b": True},
]  # fmt: skip
LABELS = {
    "booleans": [True, False, True, False, True],
    "strings": ["u", "v", "w", "u", "v"],
    "numbers": [0.5, 1.0, -2.0, 7.0, 0.0],
}


@pytest.mark.parametrize("labels", list(LABELS))
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_is_its_rows_and_answers_in_kind(library: str, labels: str) -> None:
    kind = ExplicitKARMARegressor if labels == "numbers" else ExplicitKARMAClassifier
    column = pd.Series if library == "pandas" else pl.Series
    frame = pd.DataFrame(COLUMNS, index=[5, 3, 9, 1, 0]) if library == "pandas" else pl.DataFrame(COLUMNS)
    y, weights = LABELS[labels], [1.0, 2.0, 0.0, 1.0, 0.5]
    one, many = kind(), kind()
    assert list(many.predict_many(frame)) == [one.predict_one(x) for x in ROWS]
    for x, label, weight in zip(ROWS, y, weights, strict=True):
        one.learn_one(x, label, weight)
    many.learn_many(frame, column(y), column(weights))
    answers = many.predict_many(frame)
    assert isinstance(answers, column)
    assert list(answers) == [one.predict_one(x) for x in ROWS]
    if library == "pandas":
        assert list(answers.index) == list(frame.index)
    if kind is ExplicitKARMAClassifier:
        chances = many.predict_proba_many(frame)
        assert isinstance(chances, type(frame))
        # Only pandas has names that are not strings.
        names = [name if library == "pandas" else str(name) for name in one.classes]
        assert list(chances.columns) == names
        expected = [list(one.predict_proba_one(x).values()) for x in ROWS]
        np.testing.assert_array_equal(chances.to_numpy(), expected)


def test_columns_of_structs_and_lists_are_nested_events() -> None:
    frame = pl.DataFrame({"gps": [{"lat": 1.5, "fix": None}, {"lat": None, "fix": "3d"}], "l": [[1, 2], []]})
    model = ExplicitKARMAClassifier()
    model.learn_many(frame, pl.Series([True, False]))
    assert set(model.vocabulary.attributes) == {"gps.lat", "gps.fix", "l.0", "l.1"}


@pytest.mark.parametrize("kind", [KARMAClassifier, ExplicitKARMAClassifier, KARMARegressor])
def test_nested_events_are_flattened_as_on_the_command_line(kind: Any) -> None:
    nested, flat = kind(), kind()
    for t in range(20):
        value = t % 3 - 1.0
        nested.learn_one({"gps": {"lat": value, "fix": [True, None]}, 5: 2.0}, t % 2)
        flat.learn_one({"gps.lat": value, "gps.fix.0": True, 5: 2.0}, t % 2)
    # Names that are not strings stay as they are.
    assert set(nested.vocabulary.attributes) == {"gps.lat", "gps.fix.0", 5}
    assert nested.predict_one({"gps": {"lat": 1.0}}) == flat.predict_one({"gps.lat": 1.0})
    if kind is not KARMARegressor:
        assert nested.predict_proba_one({"gps": {"lat": 1.0}}) == flat.predict_proba_one({"gps.lat": 1.0})
        assert nested.decision_one({"gps": {"lat": 1.0}}) == flat.decision_one({"gps.lat": 1.0})


def test_what_cannot_be_flattened_is_refused_and_leaves_nothing() -> None:
    model = KARMAClassifier()
    for x in ({"a": {"b": 1}, "a.b": 2}, {"a": {"b": object()}}, {"a": [1, {"b": float("inf")}]}):
        with pytest.raises(RecordError):
            model.learn_one(x, True)
    assert (model.steps, len(model.vocabulary.attributes)) == (0, 0)


def test_an_imputer_takes_nested_events() -> None:
    imputer = SubspaceImputer()
    for t in range(50):
        imputer.learn_one({"a": {"x": t % 5, "y": t % 5}})
    assert imputer.transform_one({"a": {"x": 4}})["a.y"] == pytest.approx(4.0, abs=0.5)


@pytest.mark.parametrize("library", [pd, pl])
def test_a_frame_of_numbers_is_learned_as_its_rows_are(library: Any) -> None:
    rng = np.random.default_rng(3)
    columns = {"a": rng.standard_normal(60), "b": rng.integers(-5, 5, 60), "c": rng.random(60) < 0.5}
    columns["a"][rng.random(60) < 0.3] = np.nan
    labels = (columns["b"] > 0).tolist()
    frame = library.DataFrame(columns)
    at_once, by_rows = KARMAClassifier(), KARMAClassifier()
    at_once.learn_many(frame, library.Series(labels))
    for t, label in enumerate(labels):
        by_rows.learn_one({name: column[t] for name, column in columns.items()}, label)
    one, other = at_once.state(), by_rows.state()
    assert one[0] == other[0]
    assert {k: v.tobytes() for k, v in one[1].items()} == {k: v.tobytes() for k, v in other[1].items()}
    chances = np.asarray(at_once.predict_proba_many(frame))
    assert chances[7, 1] == by_rows.predict_proba_one({name: each[7] for name, each in columns.items()})[True]


@pytest.mark.parametrize(
    ("options", "labels", "why"),
    [
        ({}, ["a", 1, "b"], "is a number"),
        ({}, [0, 1, True], "True is a boolean, but the labels so far are numbers"),
        ({}, [True, False, 1], "1 is a number, but the labels so far are booleans"),
        ({"max_classes": 2}, ["a", "b", "c"], "class 3"),
        ({"threshold": 0.5}, ["a", "b", "c"], "third class"),
    ],
)
def test_labels_of_a_frame_are_checked_against_those_before_them(
    options: dict[str, Any], labels: list[Any], why: str
) -> None:
    model = ExplicitKARMAClassifier(**options)
    with pytest.raises(ValueError, match=why):
        model.learn_many(pd.DataFrame({"a": [5.0, 6.0, 7.0]}), pd.Series(labels, dtype=object))
    assert not model.classes
    assert model.steps == 0


@pytest.mark.parametrize(
    ("first", "others"), [(1, [True, np.True_, False]), (True, [1, 0.0, np.int64(1)]), (np.True_, [1])]
)
def test_booleans_are_no_numbers(first: Any, others: list[Any]) -> None:
    model = ExplicitKARMAClassifier()
    model.learn_one({"a": 1.0}, first)
    for other in others:
        with pytest.raises(ValueError, match="but the labels so far are"):
            model.learn_one({"a": 1.0}, other)
    for alike in (first, np.asarray(first)[()], bool(first) if first is np.True_ else first):
        model.learn_one({"a": 1.0}, alike)
    assert model.steps == 4


@pytest.mark.parametrize("kind", ["Int64", "boolean", "Float64", "string"])
def test_nulls_of_pandas_are_no_labels(kind: str) -> None:
    labels = pd.Series([None, None], dtype=kind)
    model = ExplicitKARMAClassifier()
    model.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), labels)
    assert not model.classes


def test_nulls_of_pandas_are_missing_values() -> None:
    model = ExplicitKARMAClassifier()
    model.learn_one({"seen": pd.NaT, "count": pd.NA, "b": 2.0}, True)
    assert model.vocabulary.entries() == [("b", None)]
    model.learn_one({"b": 1.0}, np.float32("nan"))
    assert model.classes == [False, True]


def test_spans_of_time_are_refused_in_one_line() -> None:
    with pytest.raises(RecordError, match="timedelta64"):
        ExplicitKARMAClassifier().learn_one({"b": np.timedelta64(1, "D")}, True)


@pytest.mark.parametrize("kind", ["float64", "Float64", "double[pyarrow]", "int64[pyarrow]", "bool[pyarrow]"])
def test_what_is_null_in_a_column_of_pandas_is_missing(kind: str) -> None:
    frame = pd.DataFrame({"a": pd.array([None, 1, 0], dtype=kind), "b": [1, 2, 3]})
    model, other = ExplicitKARMAClassifier(), ExplicitKARMAClassifier()
    model.learn_many(frame, pd.Series([True, False, True]))
    for x, y in (({"b": 1}, True), ({"a": 1, "b": 2}, False), ({"a": 0, "b": 3}, True)):
        other.learn_one(x, y)
    assert model.values == other.values
    assert model.predict_proba_one({"a": 1}) == other.predict_proba_one({"a": 1})


@pytest.mark.parametrize(
    "model", [ExplicitKARMAClassifier, ExplicitKARMARegressor, KARMAMixtureClassifier, KARMAMixtureRegressor]
)
def test_as_many_labels_and_weights_as_rows(model: Any) -> None:
    frame, plain = pd.DataFrame({"a": [1.0, 2.0, 3.0]}), model()
    for labels, weights in ((0, 3), (1, 3), (4, 3), (3, 0), (3, 1), (3, 4)):
        with pytest.raises(UsageError, match=f"3 rows, and {labels} labels and {weights} weights"):
            plain.learn_many(frame, np.arange(labels) % 2.0, w=np.ones(weights))
    # Nothing was learned from these calls; and a list works as well as a column.
    other = model()
    for each, labels in ((plain, [0.0, 1.0, 1.0]), (other, pd.Series([0.0, 1.0, 1.0]))):
        each.learn_many(frame, labels, w=(1.0, 2.0, 1.0) if each is plain else pd.Series([1.0, 2.0, 1.0]))
    assert plain.predict_one({"a": 2.5}) == other.predict_one({"a": 2.5})
    assert plain.vocabulary.tallies().tolist() == other.vocabulary.tallies().tolist()


@pytest.mark.parametrize("model", [ExplicitKARMAClassifier, ExplicitKARMARegressor])
def test_arguments_of_other_types_are_named(model: Any) -> None:
    frame, learner = pd.DataFrame({"a": [1.0, 2.0], "y": [0.0, 1.0]}), model()
    labels = {
        "not pandas.DataFrame; frame\\['y'\\] is a column": frame[["y"]],
        "not polars.DataFrame; frame": pl.from_pandas(frame[["y"]]),
        "not an array of 2 dimensions": frame[["y"]].to_numpy(),
        "not str": "01",
        "not generator": iter(number for number in (0.0, 1.0)),
    }
    for what, y in labels.items():
        with pytest.raises(UsageError, match=f"^y must be a column or a list, {what}"):
            learner.learn_many(frame, y)
    with pytest.raises(
        UsageError, match=r"^w must be a column or a list, not pandas\.DataFrame; frame\['w'\]"
    ):
        learner.learn_many(frame, frame["y"], frame)
    tables = {
        r"numpy\.ndarray; pandas\.DataFrame\(X\) is one": frame.to_numpy(),
        r"polars\.LazyFrame": pl.from_pandas(frame).lazy(),
        r"pandas\.Series": frame["a"],
        "dict": {"a": [1.0, 2.0]},
    }
    calls = [learner.predict_many, lambda X: learner.learn_many(X, [0.0, 1.0])]
    for what, X in tables.items():
        for call in [*calls, getattr(learner, "predict_proba_many", learner.predict_many)]:
            with pytest.raises(UsageError, match=f"^X must be a data frame or a list of dicts, not {what}$"):
                call(X)
    assert learner.steps == 0


@pytest.mark.parametrize("model", [KARMAMixtureClassifier, KARMAMixtureRegressor])
def test_a_list_of_dicts_gives_a_list(model: Any) -> None:
    events = [{"a": float(t % 5), "c": "xy"[t % 2]} for t in range(60)]
    learner = model()
    learner.learn_many(events, [t % 2 for t in range(60)])
    learner.forget_last()
    predicted = learner.predict_many(events[:4])
    assert isinstance(predicted, list)
    assert predicted == learner.predict_many(pd.DataFrame(events[:4])).tolist()
    if model is KARMAMixtureClassifier:
        chances = learner.predict_proba_many(events[:4])
        assert chances == learner.predict_proba_many(pd.DataFrame(events[:4])).to_dict("records")
        assert model().predict_many(events[:2]) == [None, None]


def test_columns_whose_names_gave_their_places_up_keep_them() -> None:
    random = np.random.default_rng(0)
    table = np.where(random.random((300, 30)) < 0.1, random.random((300, 30)), np.nan)
    labels = [bool(i % 2) for i in range(300)]
    model, by_row = (KARMAClassifier(max_attributes=10, max_coordinates=10) for _ in range(2))
    model.learn_many(pd.DataFrame(table), labels)
    for row, label in zip(table, labels, strict=True):
        by_row.learn_one({i: value for i, value in enumerate(row) if not np.isnan(value)}, label)
    assert model.vocabulary.attributes == by_row.vocabulary.attributes
    assert pickle.loads(pickle.dumps(model)).vocabulary.attributes == model.vocabulary.attributes


@pytest.mark.parametrize("names", [("born",), ("x", "x.far_high"), ("x", "x.other")])
def test_a_frame_is_its_rows_whatever_its_columns_are_called(names: tuple[str, ...]) -> None:
    random = np.random.default_rng(1)
    columns = {name: random.normal(size=200) for name in names}
    if "born" in names:
        columns["born"] = 1e9 * random.normal(size=200)
    columns[names[0]][150:] *= 1e4
    table, labels = pd.DataFrame(columns), (random.random(200) < 0.5).tolist()
    frame, rows = (KARMAClassifier(kinds={"born": "time"}) for _ in range(2))
    frame.learn_many(table, labels)
    rows.learn_many(table.to_dict("records"), labels)
    assert bits(frame) == bits(rows)


def bits(model: Any) -> tuple[Any, dict[str, bytes]]:
    header, arrays = model.state()
    return header, {name: array.tobytes() for name, array in arrays.items()}


def test_which_words_of_a_large_set_count_does_not_depend_on_their_order() -> None:
    words = [f"w{k}" for k in range(400)]
    as_set, in_order = KARMAClassifier(), KARMAClassifier()
    as_set.learn_one({"t": set(words)}, True)
    in_order.learn_one({"t": tuple(sorted(words))}, True)
    assert as_set.vocabulary.coordinate_count == in_order.vocabulary.coordinate_count
    assert bits(as_set) == bits(in_order)


def test_integers_beyond_floats_are_rounded_in_every_library() -> None:
    columns = {"id": [2**60 + 1, 2**60 + 3, 5], "a": [1.0, 2.0, 3.0]}
    scores = []
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        model = ExplicitKARMAClassifier()
        model.learn_many(frame, [True, False, True])
        scores.append(model.predict_proba_one({"id": 5, "a": 1.0}))
    assert scores[0] == scores[1] == scores[2]
