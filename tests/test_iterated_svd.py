"""Iterated SVD: what it minimises, what it finds, and how it differs from centred components."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamkarma.baselines.iterated_svd import SVDImputer, iterated

Array = NDArray[np.float64]


def low_rank(n: int, d: int, rank: int, share: float, seed: int) -> tuple[Array, Array]:
    """A table of that rank, with columns on very different scales, and the same with gaps."""
    rng = np.random.default_rng(seed)
    whole = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) * rng.uniform(1.0, 5.0, d)
    return whole, np.where(rng.random((n, d)) < share, whole, np.nan)


def reference(X: Array, rank: int, steps: int, centre: bool) -> tuple[Array, list[float]]:
    """The two steps of the lecture, and Σ_Ω (x - m)² after each: ten lines with numpy's SVD."""
    observed = ~np.isnan(X)
    filled = np.where(observed, X, [column[~np.isnan(column)].mean() for column in X.T])
    objectives = []
    for _ in range(steps):
        mean = filled.mean(axis=0) if centre else 0.0
        U, s, Vt = np.linalg.svd(filled - mean, full_matrices=False)
        M = (U[:, :rank] * s[:rank]) @ Vt[:rank] + mean
        objectives.append(float(((X - M)[observed] ** 2).sum()))
        filled = np.where(observed, X, M)
    return filled, objectives


def gappy(n: int, d: int, seed: int) -> Array:
    """Correlated rows far from 0, a third of the values missing, no column without a value."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 5.0
    holes = rng.random((n, d)) < 1 / 3
    holes[0] = False
    return np.where(holes, np.nan, rows)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(2, 12), st.booleans())
def test_it_takes_the_lectures_steps_and_the_objective_never_grows(
    seed: int, n: int, d: int, centre: bool
) -> None:
    X, rank = gappy(n, d, seed), 1 + seed % 3
    filled, objectives = reference(X, rank, 15, centre)
    assert (np.diff(objectives) <= 1e-9 * np.array(objectives[:-1]) + 1e-18).all()
    found = iterated(X, rank, 0.0, 15, centre=centre)
    assert found.filled == pytest.approx(filled, rel=1e-5, abs=1e-5)
    assert found.steps <= 15
    assert found.components @ found.components.T == pytest.approx(np.eye(len(found.components)), abs=1e-9)
    assert found.mean.any() == centre


@pytest.mark.parametrize("unit", [2.0**-600, 2.0**600])
def test_no_square_is_too_large_or_too_small(unit: float) -> None:
    X = gappy(40, 6, 4)
    assert np.array_equal(iterated(X * unit, 2).filled, iterated(X, 2).filled * unit)


@pytest.mark.parametrize("shape", [(30, 6), (6, 30)])
def test_of_a_complete_table_it_is_the_truncated_svd(shape: tuple[int, int]) -> None:
    X = np.random.default_rng(0).standard_normal(shape) + 2.0
    found = iterated(X, 3)
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    assert found.steps == 1
    assert X @ found.components.T @ found.components == pytest.approx((U[:, :3] * s[:3]) @ Vt[:3])
    assert np.array_equal(SVDImputer(rank=3).fit_transform(X), X)


def test_a_table_of_low_rank_is_recovered() -> None:
    whole, X = low_rank(150, 10, 2, 0.8, 1)
    imputer = SVDImputer(rank=2, tol=1e-9, max_iter=3000).fit(X)
    # Two values are the fewest that determine a row of rank two; four leave it well determined.
    enough = (~np.isnan(X)).sum(axis=1) >= 4
    off = np.abs(imputer.transform(X) - whole)[enough]
    assert off.max() < 1e-3 * whole.std()
    assert not imputer.mean_.any()


def test_a_mean_and_rank_k_is_another_method() -> None:
    # Columns far from 0 around one line: rank 2, but a mean and rank 1.
    rng = np.random.default_rng(2)
    whole = np.array([10.0, -20.0, 5.0, 8.0]) + rng.standard_normal((80, 1)) * [1.0, 2.0, -1.0, 0.5]
    X = np.where(rng.random(whole.shape) < 0.85, whole, np.nan)
    X[0] = whole[0]

    def off(**settings: bool) -> float:
        imputer = SVDImputer(rank=1, tol=1e-8, max_iter=2000, **settings)
        return float(np.abs(imputer.fit_transform(X) - whole)[(~np.isnan(X)).any(axis=1)].max())

    assert off(centre=True) < 1e-3
    assert off(centre=True, scale=True) < 1e-3
    assert off() > 0.5


def test_later_rows_take_the_same_steps_with_the_components_held() -> None:
    X = gappy(60, 5, 3)
    X[1] = np.nan
    for centre in (False, True):
        imputer = SVDImputer(rank=2, centre=centre, max_iter=40).fit(X)
        V = imputer.components_.T
        filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
        for _ in range(40):
            fitted = (filled - imputer.mean_) @ V @ V.T + imputer.mean_
            filled = np.where(np.isnan(X), fitted, X)
        assert imputer.transform(X) == pytest.approx(filled)


def test_a_direction_that_a_row_says_nothing_about_stays_at_the_mean() -> None:
    rng = np.random.default_rng(4)
    large = 500.0 + 100.0 * rng.standard_normal(60)
    X = np.column_stack([large, rng.standard_normal((60, 2))])
    imputer = SVDImputer(rank=1).fit(X)
    completed = imputer.transform([[np.nan, 0.3, -0.2], [np.nan] * 3])
    assert np.linalg.norm(imputer.components_[0, 1:]) < 0.01
    assert completed[:, 0] == pytest.approx(large.mean(), rel=0.01)


@pytest.mark.parametrize("settings", [{}, {"centre": True, "scale": True}])
def test_the_units_of_a_table_as_a_whole_do_not_matter(settings: dict[str, bool]) -> None:
    X = gappy(40, 4, 5)
    one = SVDImputer(rank=2, **settings).fit_transform(X)
    assert SVDImputer(rank=2, **settings).fit_transform(X * 1e6) == pytest.approx(one * 1e6, rel=1e-6)


def test_tables_with_next_to_nothing() -> None:
    X = np.array([[7.0, np.nan, np.nan], [np.nan, 7.0, np.nan], [7.0, 7.0, np.nan]])
    found = iterated(X, 1)
    assert found.filled == pytest.approx(np.array([[7.0, 7.0, 0.0]] * 3))
    assert found.steps < 5
    assert not iterated(np.full((3, 2), np.nan), 1).filled.any()
    assert SVDImputer().fit(X).transform([[np.nan, 3.0, 1.0]]) == pytest.approx(np.array([[3.0, 3.0, 1.0]]))
    with pytest.raises(ValueError, match="rank must be from 1 to the 3 columns, or None to choose; not 4"):
        SVDImputer(rank=4).fit(X)
