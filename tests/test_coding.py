"""From frames and events with categories to tables, alone and inside scikit-learn's pipelines."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline

from streamkarma.baselines import BatchKARMAClassifier, EventCoder, ImputedClassifier, ImputedRegressor
from streamkarma.errors import RecordError

COLUMNS: dict[str, list[Any]] = {
    "wind": ["N", "S", None, "S", "W"],
    "temp": [1.0, None, 3.0, float("nan"), -1.0],
    "wet": [True, None, False, True, True],
}
EVENTS = [
    {"wind": "N", "temp": 1.0, "wet": True}, {"wind": "S"}, {"temp": 3.0, "wet": False},
    {"wind": "S", "wet": True}, {"wind": "W", "temp": -1.0, "wet": True},
]  # fmt: skip
NAMES = ["temp", "wet", "wind=N", "wind=S", "wind=W"]
nan = np.nan
CODED = np.array([
    [1.0, 1.0, 1.0, 0.0, 0.0], [nan, nan, 0.0, 1.0, 0.0], [3.0, 0.0, nan, nan, nan],
    [nan, 1.0, 0.0, 1.0, 0.0], [-1.0, 1.0, 0.0, 0.0, 1.0],
])  # fmt: skip


def frame(library: str) -> Any:
    """The events as a frame, with missing values as the library represents them."""
    if library == "polars":
        return pl.DataFrame(COLUMNS)
    made = pd.DataFrame(COLUMNS, index=list("abcde"))
    if library == "pandas objects":
        return made.astype(object).where(made.notna(), pd.NA)
    if library == "pandas types":
        return made.astype({"wind": "category", "temp": "Float64", "wet": "boolean"})
    return made


@pytest.mark.parametrize("library", ["pandas", "pandas objects", "pandas types", "polars"])
def test_a_frame_is_its_rows(library: str) -> None:
    coder = EventCoder()
    for given in (frame(library), EVENTS, iter(EVENTS)):
        assert clone(coder).fit_transform(given) == pytest.approx(CODED, nan_ok=True)
    assert coder.fit(frame(library)).get_feature_names_out().tolist() == NAMES
    assert coder.attributes_.tolist() == [0, 1, 2, 2, 2]
    assert coder.transform(EVENTS) == pytest.approx(CODED, nan_ok=True)
    # The order of columns does not matter, and names not seen by fit are left out.
    other = frame(library)[["wet", "temp", "wind"]]
    other = other.with_columns(more=pl.lit(1)) if library == "polars" else other.assign(more=1)
    assert coder.transform(other) == pytest.approx(CODED, nan_ok=True)


@pytest.mark.parametrize("nothing", [None, nan, np.float32("nan"), pd.NA, pd.NaT])
def test_what_is_missing_in_a_dict(nothing: Any) -> None:
    coder = EventCoder().fit([*EVENTS, {"temp": nothing, "wind": nothing}])
    assert coder.get_feature_names_out().tolist() == NAMES
    assert np.isnan(coder.transform([{"temp": nothing, "wind": nothing}])).all()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_it_gives_frames_if_asked(library: str) -> None:
    for given in (frame(library), EVENTS):
        coder = EventCoder().set_output(transform=library)
        for coded in (coder.fit_transform(given), coder.transform(given)):
            assert isinstance(coded, type(frame(library)))
            assert list(coded.columns) == NAMES
            assert coded.to_numpy() == pytest.approx(CODED, nan_ok=True)
            if library == "pandas" and given is not EVENTS:
                assert list(coded.index) == list("abcde")


def weather(library: str, n: int = 60) -> tuple[Any, np.ndarray]:
    """Events with a fifth of the values missing, and labels determined by the wind."""
    rng = np.random.default_rng(0)
    wind = rng.choice(["N", "S", "W"], n)
    columns = {
        "wind": [None if rng.random() < 0.2 else str(each) for each in wind],
        "temp": [None if rng.random() < 0.2 else float(t) for t in rng.standard_normal(n)],
    }
    y = np.where(wind == "N", "cold", "warm")
    if library == "dicts":
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)], y
    return (pd if library == "pandas" else pl).DataFrame(columns), y


@pytest.mark.parametrize("library", ["pandas", "polars", "dicts"])
def test_pipelines_and_searches(library: str) -> None:
    X, y = weather(library)
    model = make_pipeline(EventCoder(), ImputedClassifier("mean", C=1.0)).fit(X, y)
    assert model.score(X, y) > 0.8
    search = GridSearchCV(model, {"imputedclassifier__C": [0.1, 1.0]}, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.75
    assert len(search.predict(X[:7])) == 7
    assert cross_val_score(make_pipeline(EventCoder(), ImputedRegressor("mean", C=1.0)), X,
                           (y == "cold").astype(float), cv=3, error_score="raise").mean() > 0.3  # fmt: skip


def test_one_of_several_in_a_column_transformer() -> None:
    X, y = weather("pandas")
    both = make_column_transformer((EventCoder(), ["wind"]), remainder="passthrough")
    model = Pipeline([("columns", both), ("model", BatchKARMAClassifier(gamma=1, C=1.0))]).fit(X, y)
    assert model.score(X, y) > 0.8
    assert both.fit(X).get_feature_names_out().tolist() == [
        "eventcoder__wind=N", "eventcoder__wind=S", "eventcoder__wind=W", "remainder__temp"
    ]  # fmt: skip


def test_names_that_are_no_text_and_a_name_of_both_kinds() -> None:
    coded = (
        EventCoder().set_output(transform="pandas").fit_transform(pd.DataFrame({1: ["x", 2.0], "a": [1, 2]}))
    )
    assert list(coded.columns) == ["1", "1=x", "a"]
    assert coded.to_numpy() == pytest.approx(np.array([[nan, 1.0, 1.0], [2.0, 0.0, 2.0]]), nan_ok=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros((2, 3)), "event 0 is of type ndarray, not a dict: EventCoder takes dicts or a data frame"),
        ([{"a": 1}, 3.0], "event 1 is of type float, not a dict"),
        ({"a": [1, 2]}, "events are a list of dicts or a data frame, not of type dict"),
        ("a.csv", "events are a list of dicts or a data frame, not of type str"),
        (3, "events are a list of dicts or a data frame, not of type int"),
        (pd.DataFrame({"a": [None, None]}), "no event has an attribute"),
    ],
)
def test_what_is_neither_events_nor_a_frame(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        EventCoder().fit(given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("library", [pd, pl])
def test_dates_are_neither_numbers_nor_strings(library: Any) -> None:
    with pytest.raises(RecordError, match=r"attribute 'when' is of type (Timestamp|datetime)"):
        EventCoder().fit(library.DataFrame({"when": [datetime.datetime(2020, 1, 1)]}))
