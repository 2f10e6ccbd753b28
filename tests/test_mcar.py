"""The test for values missing completely at random: what it finds, and how often it finds nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from streamkarma.baselines import EventCoder, mcar_test

Array = NDArray[np.float64]
both = pytest.mark.parametrize("given", ["values", "nothing"])


def holed(whole: Array, share: float, rng: np.random.Generator) -> Array:
    """Values missing completely at random."""
    return np.where(rng.random(whole.shape) < share, np.nan, whole)


def left_out(columns: Array, target: Array) -> float:
    """Σ of squared errors by ridge refitted without each row, with the penalty and scales of all rows."""
    n, Z = len(columns), columns[:, columns.std(axis=0) > 0]
    design = np.column_stack([np.ones(n), (Z - Z.mean(axis=0)) / Z.std(axis=0)])
    penalty = n * 1e-3 * np.diag([0.0, *np.ones(Z.shape[1])])
    total = 0.0
    for i in range(n):
        rest = np.arange(n) != i
        A = design[rest]
        total += (target[i] - design[i] @ np.linalg.solve(A.T @ A + penalty, A.T @ target[rest])) ** 2
    return float(total)


@both
@pytest.mark.parametrize("shape", [(25, 3), (12, 15)])
def test_the_statistic_is_what_missing_takes_from_the_error_of_rows_left_out(
    given: str, shape: tuple[int, int]
) -> None:
    rng = np.random.default_rng(4)
    X = holed(rng.standard_normal(shape) * 5.0 + 3.0, 0.4, rng)
    y = rng.standard_normal(len(X)) + np.isnan(X[:, 0])
    missing = np.unique(np.isnan(X).astype(float), axis=1)
    means, spreads = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    values = np.where(np.isnan(X), 0.0, (X - means) / spreads) if given == "values" else np.empty((len(X), 0))
    expected = 1.0 - left_out(np.hstack([values, missing]), y) / left_out(values, y)
    assert mcar_test(X, y, given=given, permutations=1).statistic == pytest.approx(expected)


@both
def test_it_sees_missingness_that_depends_on_the_label(given: str) -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 300)
    X = rng.standard_normal((300, 4))
    X[rng.random(300) < 0.2 + 0.2 * y, 2] = np.nan
    found = mcar_test(X, y, given=given, permutations=199)
    assert found.p_value == 1 / 200
    assert 0 < found.statistic < 1
    assert (found.permuted < found.statistic).all()


@both
def test_it_sees_missingness_that_depends_on_the_value_that_is_missing(given: str) -> None:
    # Not at random: the target depends on the value, and no other attribute does.
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 3))
    y = X[:, 1] + 0.5 * rng.standard_normal(300)
    X[X[:, 1] > 0.7, 1] = np.nan
    assert mcar_test(X, y, given=given, permutations=199).p_value == 1 / 200


def test_what_observed_values_explain_is_seen_only_without_them() -> None:
    # At random: another attribute determines when it is missing, and all that is known of the target.
    rng = np.random.default_rng(3)
    p_values: dict[str, list[float]] = {"values": [], "nothing": []}
    for _ in range(40):
        X = rng.standard_normal((120, 3))
        y = X[:, 0] + rng.standard_normal(120)
        X[X[:, 0] > 0.5, 1] = np.nan
        for given, found in p_values.items():
            found.append(mcar_test(X, y, given=given, permutations=99).p_value)
    assert np.mean(np.array(p_values["nothing"]) <= 0.05) > 0.95
    assert np.mean(np.array(p_values["values"]) <= 0.05) < 0.2


@both
def test_an_attribute_as_the_target(given: str) -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 3))
    X[X[:, 0] > 0.5, 1] = np.nan
    X[rng.random(300) < 0.2, 0] = np.nan
    assert mcar_test(X, attribute=0, given=given, permutations=199).p_value == 1 / 200
    assert mcar_test(X, attribute=2, given=given, permutations=199).p_value > 0.01


def flat(p_values: list[float]) -> None:
    """As many of 200 p-values below each level as expected, within four standard deviations."""
    for level in (0.1, 0.3, 0.5):
        below = int((np.array(p_values) <= level).sum())
        assert abs(below - 200 * level) <= 4 * np.sqrt(200 * level * (1 - level)), level


@both
@pytest.mark.parametrize("classes", [False, True])
def test_where_there_is_nothing_p_values_are_even(given: str, classes: bool) -> None:
    rng = np.random.default_rng(5)
    found = []
    for _ in range(200):
        X = holed(rng.standard_normal((60, 4)), 0.3, rng)
        y = rng.integers(0, 2, 60) if classes else rng.standard_normal(60)
        found.append(mcar_test(X, y, given=given, permutations=39).p_value)
    flat(found)


def test_they_are_even_where_the_values_matter_as_well() -> None:
    # A row that lacks what determines the target has a large residual. Permuting the residuals would move
    # it to other rows, and gave p-values of 5 % in one table of seven.
    rng = np.random.default_rng(6)
    found = []
    for _ in range(200):
        whole = rng.standard_normal((200, 4))
        y = whole[:, 0] + 0.1 * rng.standard_normal(200)
        found.append(mcar_test(holed(whole, 0.1, rng), y, permutations=39).p_value)
    flat(found)


def test_more_columns_than_rows_find_nothing_where_there_is_nothing() -> None:
    rng = np.random.default_rng(7)
    small = 0
    for _ in range(60):
        X = holed(rng.standard_normal((20, 30)), 0.3, rng)
        small += mcar_test(X, rng.standard_normal(20), permutations=39).p_value <= 0.1
    assert small <= 13  # 6 expected of a uniform distribution


class TestCategories:
    def table(self, rng: np.random.Generator, n: int = 300) -> tuple[Array, NDArray[Any], NDArray[Any]]:
        """Coded winds and temperatures, their attributes, and the wind of each row."""
        wind = rng.choice(["N", "S", "W"], n)
        events = [{"wind": str(w), "temp": t} for w, t in zip(wind, rng.standard_normal(n), strict=True)]
        coder = EventCoder()
        return coder.fit_transform(events), coder.attributes_, wind

    def test_they_share_one_missing_beside_the_categories_that_are_observed(self) -> None:
        rng = np.random.default_rng(8)
        X, attributes, wind = self.table(rng)
        X = X[:30]
        X[rng.random(30) < 0.4, 1:] = np.nan
        y = (wind[:30] == "N") + 0.1 * rng.standard_normal(30)
        observed = ~np.isnan(X)
        values = np.where(observed, (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0), 0.0)
        expected = 1.0 - left_out(np.column_stack([values, ~observed[:, 1]]), y) / left_out(values, y)
        found = mcar_test(X, y, attributes=attributes, permutations=1)
        assert found.statistic == pytest.approx(expected)

    def test_missing_is_seen_though_there_is_a_column_for_every_category(self) -> None:
        rng = np.random.default_rng(9)
        X, attributes, wind = self.table(rng)
        y = (wind == "N") + 0.3 * rng.standard_normal(300)
        at_random = X.copy()
        at_random[rng.random(300) < 0.3, 1:] = np.nan
        assert mcar_test(at_random, y, attributes=attributes, permutations=99).p_value > 0.05
        X[(wind == "N") & (rng.random(300) < 0.5), 1:] = np.nan
        assert mcar_test(X, y, attributes=attributes, permutations=99).p_value == 1 / 100

    @both
    def test_one_of_them_as_the_target(self, given: str) -> None:
        rng = np.random.default_rng(10)
        X, attributes, wind = self.table(rng)
        X[rng.random(300) < 0.2, 1:] = np.nan
        told = X.copy()
        told[(wind == "S") & (rng.random(300) < 0.6), 0] = np.nan
        X[rng.random(300) < 0.2, 0] = np.nan
        number = attributes[1]
        for table, least, most in ((told, 0.0, 0.01), (X, 0.01, 1.0)):
            found = mcar_test(table, attribute=number, attributes=attributes, given=given, permutations=99)
            assert least < found.p_value <= most


@both
def test_nothing_to_find(given: str) -> None:
    X = np.arange(12.0).reshape(6, 2)
    assert mcar_test(X, [0, 1, 0, 1, 0, 1], given=given)[:2] == (0.0, 1.0)
    assert mcar_test(X[:, :1], attribute=0, given=given)[:2] == (0.0, 1.0)
    X[0, 0] = np.nan
    assert mcar_test(X, [1, 1, 1, 1, 1, 1], given=given)[:2] == (0.0, 1.0)


def test_how_the_work_is_cut_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    X, y = holed(rng.standard_normal((30, 3)), 0.3, rng), rng.integers(0, 2, 30)
    for given in ("values", "nothing"):
        whole = mcar_test(X, y, given=given, permutations=50)
        with monkeypatch.context() as patched:
            patched.setattr("streamkarma.baselines.mcar_resampling.BLOCK", 7 * 60)
            assert mcar_test(X, y, given=given, permutations=50).permuted == pytest.approx(whole.permuted)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either labels y or the number of an attribute"),
        ({"y": [0, 1, 0], "attribute": 1}, "either labels y or the number"),
        ({"attribute": 2}, "attribute must be a number from 0 to 1, not 2"),
        ({"attribute": 1}, "observed in fewer than 3 rows"),
        ({"y": [0, 1, 0], "permutations": 0}, "permutations must be 1 or more"),
        ({"y": [0, 1]}, "inconsistent numbers of samples"),
        ({"y": [0.5, np.nan, 1.5]}, "y contains NaN"),
        ({"y": [0.5, np.inf, 1.5]}, "y contains infinity"),
        ({"y": np.array(["a", np.nan, "b"], dtype=object)}, "contains NaN"),
        ({"y": [[0, 1], [1, 0], [0, 0]]}, "1d array"),
        ({"y": [0, 1, 0], "given": "all"}, "given must be 'values' or 'nothing', not 'all'"),
        ({"y": [0, 1, 0], "attributes": [0]}, "attributes must have one entry for each of the 2 columns"),
    ],
)
def test_wrong_use(arguments: dict[str, Any], message: str) -> None:
    X = [[1.0, np.nan], [np.nan, 1.0], [1.0, 2.0]]
    with pytest.raises(ValueError, match=message):
        mcar_test(X, **arguments)
