from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from streamkarma.baselines.masks import mar, mcar, nmar, removal_chances
from tests.reference import Array

#: Columns in different units that depend on each other.
MIXING = np.array([[1.0, 0.0, 0.0, 0.0], [50.0, 30.0, 0.0, 0.0], [0.1, 0.0, 0.2, 0.0], [0.5, 1.0, 0.0, 1.0]])

MASKS: dict[str, Callable[..., Any]] = {"mcar": mcar, "mar": mar, "nmar": lambda *args: nmar(*args).X}


def table(rows: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal((rows, 4)) @ MIXING.T + 5.0


def reference_chances(X: Array, seen: Array, points: Any, share: float) -> Array:
    """exp(-t ‖x - x_i‖_Σ) as in the paper, t by bisection."""
    inverse = np.linalg.pinv(np.cov(seen.T).reshape(seen.shape[1], -1))
    distances = np.zeros((len(X), len(points)))
    for row, x in enumerate(seen):
        for i, point in enumerate(points):
            distances[row, i] = np.sqrt((x - seen[point]) @ inverse @ (x - seen[point]))
    touched = np.array([[bool((x != X[point]).any()) for point in points] for x in X])
    low, high = 0.0, 1e6
    for _ in range(200):
        t = (low + high) / 2
        low, high = (t, high) if (touched * np.exp(-t * distances)).mean() > share else (low, t)
    return np.asarray(touched * np.exp(-low * distances))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("name", MASKS)
def test_the_share_is_reached_and_what_is_left_is_as_it_was(name: str, share: float) -> None:
    X = table(2000)
    left = MASKS[name](X, share, 3)
    gone = np.isnan(left)
    if name == "mcar":
        assert gone.sum() == round(share * X.size)
    else:
        assert gone.mean() == pytest.approx(share, abs=3 * np.sqrt(share * (1 - share) / gone.size))
    complete = X[:, nmar(X, share, 3).columns] if name == "nmar" else X
    np.testing.assert_array_equal(left[~gone], complete[~gone])
    assert not np.isnan(X).any()


@pytest.mark.parametrize("name", MASKS)
def test_the_same_seed_removes_the_same(name: str) -> None:
    X = table(200)
    np.testing.assert_array_equal(MASKS[name](X, 0.4, 1), MASKS[name](X, 0.4, 1))
    assert (np.isnan(MASKS[name](X, 0.4, 1)) != np.isnan(MASKS[name](X, 0.4, 2))).any()


def test_all_columns_and_rows_lose_the_same_completely_at_random() -> None:
    gone = np.isnan(mcar(table(5000), 0.3))
    np.testing.assert_allclose(gone.mean(axis=0), 0.3, atol=0.02)
    assert np.corrcoef(gone[:, 0], gone[:, 1])[0, 1] == pytest.approx(0.0, abs=0.05)


@pytest.mark.parametrize("share", [0.1, 0.6])
@pytest.mark.parametrize("columns", [[0, 1, 2, 3], [1, 3], [2]])
def test_chances_are_those_of_the_formula(columns: list[int], share: float) -> None:
    X, points = table(60), np.array([7, 0, 33])
    chances = removal_chances(X, X[:, columns], points, share)
    np.testing.assert_allclose(chances, reference_chances(X, X[:, columns], points, share), atol=1e-8)
    assert chances.mean() == pytest.approx(share)
    assert (chances[points, range(3)] == 0.0).all()


def test_a_singular_covariance_counts_in_the_directions_that_vary() -> None:
    X = table(60)
    redundant = np.column_stack([X, X[:, :1] - 2 * X[:, 1:2], np.full(60, 3.0)])
    points = np.arange(4)
    expected = removal_chances(X, X, points, 0.4)
    np.testing.assert_allclose(removal_chances(redundant, redundant, points, 0.4), expected, atol=1e-6)


def drawn(mask: Callable[[int], Array], times: int) -> Array:
    """How often each value is removed over this many seeds."""
    return np.mean([np.isnan(mask(seed)) for seed in range(times)], axis=0)


def test_the_closer_to_the_drawn_row_the_more_is_removed() -> None:
    # With as many rows as columns all rows are drawn, in some order: over many seeds each value's rate is the
    # mean of the chances over all orders, where the chance is 0 if a row is compared with itself.
    X = table(4)
    rates = drawn(lambda seed: mar(X, 0.3, seed), 2000)
    orders = [np.random.RandomState(seed).permutation(4) for seed in range(200)]
    expected = np.mean([removal_chances(X, X, order, 0.3) for order in orders], axis=0)
    np.testing.assert_allclose(rates, expected, atol=0.05)


def test_nmar_depends_on_the_hidden_half_alone() -> None:
    # The hidden half has two clusters, and the visible values vary within each.
    rng = np.random.default_rng(0)
    place = rng.random(3000) < 0.5
    X = np.column_stack(
        [rng.standard_normal((3000, 2)), np.where(place, 10.0, -10.0)[:, None].repeat(2, axis=1)]
    )
    X[:, 2:] += rng.standard_normal((3000, 2))
    seed = next(seed for seed in range(100) if nmar(X, 0.4, seed).columns.tolist() == [0, 1])
    gone = np.isnan(nmar(X, 0.4, seed).X)
    assert nmar(X, 0.4, seed).X.shape == (3000, 2)
    for column in range(2):
        there, elsewhere = sorted([gone[place, column].mean(), gone[~place, column].mean()])
        assert elsewhere - there > 0.1
        for half in (place, ~place):
            within = np.corrcoef(gone[half, column], X[half, column])[0, 1]
            assert within == pytest.approx(0.0, abs=3 / np.sqrt(half.sum()))
    # With other visible values, the same ones are removed.
    other = np.column_stack([rng.exponential(size=(3000, 2)), X[:, 2:]])
    np.testing.assert_array_equal(np.isnan(nmar(other, 0.4, seed).X), gone)


@pytest.mark.parametrize("columns", [2, 5])
def test_the_visible_half_may_have_one_column_more(columns: int) -> None:
    X = np.random.default_rng(0).standard_normal((50, columns))
    left = nmar(X, 0.5)
    assert left.X.shape == (50, (columns + 1) // 2)
    assert left.columns.tolist() == sorted(set(left.columns.tolist()))


def test_rows_like_the_drawn_one_keep_their_value() -> None:
    X = np.repeat(table(4), 5, axis=0)
    chances = removal_chances(X, X, np.arange(4), 0.4)
    # The first four rows are the same.
    assert (chances[:5] == 0.0).all()
    assert (chances[5:] > 0.0).all()


@pytest.mark.parametrize(
    ("mask", "X", "share", "complaint"),
    [
        (mcar, table(5), 0.0, "share must be above 0 and below 1"),
        (mar, table(5), 1.0, "share must be above 0 and below 1"),
        (mcar, np.array([[1.0, np.nan], [0.0, 1.0]]), 0.5, "NaN"),
        (mar, table(3), 0.5, "4 different rows"),
        (mar, table(4), 0.8, "between 0 and 0.75"),
        (mar, np.ones((9, 2)), 0.5, "between 0 and 0"),
        (nmar, table(5)[:, :1], 0.5, "2 columns"),
        (nmar, np.column_stack([np.arange(8.0), np.zeros(8)]), 0.5, "cannot be removed"),
    ],
)
def test_what_cannot_be_removed(mask: Callable[..., Any], X: Array, share: float, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        mask(X, share)
