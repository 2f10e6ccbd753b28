"""What scikit-learn and data frames require of all imputers; interpolation; class means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from streamkarma.baselines.class_mean import ClassMeanImputer
from streamkarma.baselines.imputers import GaussImputer, MixtureImputer, RegressionImputer
from streamkarma.baselines.interpolation import InterpolationImputer
from streamkarma.baselines.iterated_svd import SVDImputer

IMPUTERS = [
    ClassMeanImputer(),
    GaussImputer(),
    InterpolationImputer(),
    MixtureImputer(centres=2),
    RegressionImputer(),
    SVDImputer(),
    SVDImputer(centre=True, scale=True),
]
each = pytest.mark.parametrize("imputer", IMPUTERS, ids=str)
VALUES = {
    "t": [1.0, None, 3.0, 4.0, 5.5, None],
    "u": [2.0, 4.0, None, 8.0, 11.0, 1.0],
    "v": [5, 4, 4, None, 0, 3],
}
Y = [0, 0, 1, 1, 1, 0]


@pytest.mark.filterwarnings("ignore")  # the checks provoke warnings on purpose
@each
def test_scikit_learns_checks(imputer: Any) -> None:
    found = check_estimator(imputer, on_skip=None, on_fail=None)
    assert not [(check["check_name"], check["exception"]) for check in found if check["status"] == "failed"]


@each
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_in_names_out_and_a_frame_out_if_asked(imputer: Any, library: str) -> None:
    frame = pd.DataFrame(VALUES, index=list("abcdef")) if library == "pandas" else pl.DataFrame(VALUES)
    numbers = np.array([[np.nan if v is None else v for v in column] for column in VALUES.values()]).T
    expected = clone(imputer).fit(numbers, Y).transform(numbers)
    model = clone(imputer).fit(frame, Y)
    assert isinstance(model.transform(frame), np.ndarray)
    assert model.get_feature_names_out().tolist() == list(VALUES)
    completed = model.set_output(transform=library).transform(frame)
    assert isinstance(completed, type(frame))
    assert list(completed.columns) == list(VALUES)
    assert completed.to_numpy() == pytest.approx(expected)
    learned = clone(imputer).set_output(transform=library).fit_transform(frame, Y)
    assert isinstance(learned, type(frame))
    assert list(learned.columns) == list(VALUES)
    if library == "pandas":
        assert list(completed.index) == list(learned.index) == list("abcdef")
    other = frame.rename(columns={"u": "w"}) if library == "pandas" else frame.rename({"u": "w"})
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(other)


@each
def test_without_names_they_are_numbers(imputer: Any) -> None:
    model = clone(imputer).fit([[1.0, np.nan], [2.0, 3.0]], [0, 1])
    assert model.get_feature_names_out().tolist() == ["x0", "x1"]
    assert model.get_feature_names_out(["a", "b"]).tolist() == ["a", "b"]


@each
@pytest.mark.parametrize("library", [pd, pl])
def test_text_is_refused_in_one_line_that_says_what_to_do(imputer: Any, library: Any) -> None:
    frame = library.DataFrame({"t": [1.0, 2.0], "wind": ["N", None]})
    with pytest.raises(ValueError, match=r"could not convert string to float: 'N': .* EventCoder") as caught:
        clone(imputer).fit(frame, [0, 1])
    assert "\n" not in str(caught.value)
    assert type(imputer).__name__ in str(caught.value)


class TestInterpolation:
    def test_it_is_a_line_between_neighbours_and_flat_at_the_ends(self) -> None:
        rng = np.random.default_rng(0)
        X = np.where(rng.random((40, 3)) < 0.6, np.nan, rng.standard_normal((40, 3)))
        completed = InterpolationImputer().fit_transform(X)
        for i, j in np.argwhere(np.isnan(X)):
            before = [k for k in range(i) if not np.isnan(X[k, j])]
            after = [k for k in range(i + 1, 40) if not np.isnan(X[k, j])]
            if before and after:
                a, b = before[-1], after[0]
                expected = X[a, j] + (X[b, j] - X[a, j]) * (i - a) / (b - a)
            else:
                expected = X[before[-1] if before else after[0], j]
            assert completed[i, j] == pytest.approx(expected)
        assert np.array_equal(completed[~np.isnan(X)], X[~np.isnan(X)])

    def test_a_later_table_is_a_series_of_its_own_and_has_only_the_means_of_the_first(self) -> None:
        model = InterpolationImputer().fit([[1.0, 10.0, np.nan], [3.0, np.nan, np.nan]])
        later = [[np.nan, np.nan, np.nan], [7.0, np.nan, 1.0], [np.nan, np.nan, 2.0]]
        assert model.transform(later).tolist() == [[7.0, 10.0, 1.0], [7.0, 10.0, 1.0], [7.0, 10.0, 2.0]]
        assert model.transform([[np.nan, np.nan, np.nan]]).tolist() == [[2.0, 10.0, 0.0]]


class TestClassMean:
    X = np.array([[1.0, np.nan, np.nan], [3.0, np.nan, np.nan], [np.nan, np.nan, np.nan],
                  [9.0, 6.0, np.nan], [np.nan, 8.0, np.nan]])  # fmt: skip
    y = ("a", "a", "a", "b", "b")

    def test_learned_rows_have_the_mean_of_their_class_and_others_that_of_the_column(self) -> None:
        model = ClassMeanImputer()
        learned = model.fit_transform(self.X, self.y)
        # Class a has no value in the second column, and no class has one in the third.
        assert learned.tolist() == [[1.0, 7.0, 0.0], [3.0, 7.0, 0.0], [2.0, 7.0, 0.0],
                                    [9.0, 6.0, 0.0], [9.0, 8.0, 0.0]]  # fmt: skip
        middle = 13.0 / 3.0
        assert model.transform(self.X)[[2, 4]].tolist() == [[middle, 7.0, 0.0], [middle, 8.0, 0.0]]
        assert model.classes_.tolist() == ["a", "b"]

    def test_a_pipeline_learns_from_the_means_of_classes(self) -> None:
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1], 40)
        X = np.where(rng.random((80, 2)) < 0.6, np.nan, rng.standard_normal((80, 2)) + 2.0 * y[:, None])
        model = make_pipeline(ClassMeanImputer(), SVC(kernel="linear")).fit(X, y)
        same = SVC(kernel="linear").fit(ClassMeanImputer().fit_transform(X, y), y)
        assert model[-1].coef_ == pytest.approx(same.coef_)

    def test_labels_that_are_none_are_refused(self) -> None:
        with pytest.raises(ValueError, match=r"continuous.* For a regression, use SimpleImputer"):
            ClassMeanImputer().fit(self.X, [0.1, 0.2, 0.3, 0.4, 0.5])
        with pytest.raises(ValueError, match="requires y to be passed"):
            ClassMeanImputer().fit(self.X)
