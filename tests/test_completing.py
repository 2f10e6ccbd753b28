from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma.core.factor import FIRST_STEPS, STEP_POWER, empty_factor, explain, learn_event, posterior
from streamkarma.core.pairs import LEAST_NOISE, OWN_NOISE, project
from streamkarma.core.space import DUE, GROWTH, NOISE
from streamkarma.core.subspace import Settings, Subspace
from tests.reference import Array, stream
from tests.subspaces import FORMS, block_of, categorical_block, error, low_rank, model_of, train


def test_the_moments_are_those_of_the_events_that_observe_both() -> None:
    rows = stream(1, 200, 5)
    rows[:, 4] = np.nan
    model = model_of(5)
    train(model, rows, np.ones(200))
    pairs = model.space.pairs
    for i in range(4):
        for j in range(i + 1):
            both = ~np.isnan(rows[:, i]) & ~np.isnan(rows[:, j])
            assert pairs.counts[i + 1, j + 1] == both.sum()
            expected = (rows[both, i] * rows[both, j]).sum()
            assert pairs.sums[i + 1, j + 1] == pytest.approx(expected, rel=1e-12)
        assert pairs.sums[i + 1, 0] == pytest.approx(np.nansum(rows[:, i]), rel=1e-12)
    assert not pairs.counts[5].any()


def test_siblings_of_a_category_count_as_observed_zeros() -> None:
    rng = np.random.default_rng(2)
    columns = rng.integers(0, 3, (310, 2)).astype(float)
    columns[rng.random((310, 2)) < 0.3] = np.nan
    block, coordinates = categorical_block(columns)
    model = Subspace(Settings(shrink=0.0))
    model.reserve(3, coordinates)
    model.observe(block)
    model._correlate()
    means = [np.mean(columns[~np.isnan(columns[:, a]), a] == c) for a in range(2) for c in range(3)]
    np.testing.assert_allclose(model.space.pairs.means[1:7], means, rtol=1e-12)
    spreads = [np.sqrt(p * (1 - p)) for p in means]
    np.testing.assert_allclose(model.space.pairs.deviations[1:7], spreads)
    one, _ = categorical_block(np.array([[2.0, np.nan]]))
    assert model.completed(one)[0, 1:4].tolist() == [0.0, 0.0, 1.0]
    assert model.completed(one)[0, 4:7].sum() == pytest.approx(1.0, abs=0.05)


def test_a_missing_category_is_expected_as_often_as_it_was_with_the_one_that_holds() -> None:
    rng = np.random.default_rng(3)
    first = rng.integers(0, 3, 20_000)
    second = np.where(rng.random(20_000) < 0.7, first, rng.integers(0, 3, 20_000))
    block, coordinates = categorical_block(np.stack([first, second], axis=1).astype(float))
    model = Subspace(Settings())
    model.reserve(3, coordinates)
    model.observe(block)
    model._correlate()
    for held in range(3):
        one, _ = categorical_block(np.array([[held, np.nan], [2, 2]]))
        share = [np.mean(second[first == held] == c) for c in range(3)]
        np.testing.assert_allclose(model.completed(one)[0, 4:7], share, atol=5e-3)


def test_with_all_observed_the_completion_is_the_conditional_mean_of_a_gaussian() -> None:
    rng = np.random.default_rng(4)
    full = rng.standard_normal((500, 6)) @ rng.standard_normal((6, 6)) + rng.standard_normal(6)
    model = model_of(6, shrink=0.0)
    model.observe(block_of(full))
    model._correlate()
    noise = LEAST_NOISE + OWN_NOISE * 7 / 500
    assert model.space.clock[NOISE] == pytest.approx(noise)
    mean, covariance = full.mean(axis=0), np.cov(full.T, bias=True)
    ridge = np.diag(noise * covariance.diagonal())
    for seed in range(5):
        row, seen = full[seed].copy(), np.random.default_rng(seed).permutation(6)[:3]
        row[np.setdiff1d(np.arange(6), seen)] = np.nan
        gain = covariance[:, seen] @ np.linalg.inv((covariance + ridge)[np.ix_(seen, seen)])
        expected = np.where(np.isnan(row), mean + gain @ (row - mean)[seen], row)
        np.testing.assert_allclose(model.completed(block_of(row[None]))[0, 1:], expected, rtol=1e-8)


@pytest.mark.parametrize(("form", "near"), [("pairs", 0.1), ("factor", 0.06)])
def test_on_a_subspace_completions_converge_to_the_truth(form: str, near: float) -> None:
    full, rows = low_rank(5, 40_000, 10, 3, 0.6)
    full, rows = full[:, :10], np.where((~np.isnan(rows)).sum(axis=1, keepdims=True) >= 4, rows, np.nan)
    model = model_of(10, max_rank_dim=FORMS[form], rank=4)
    errors = []
    enough = (~np.isnan(rows[:2000])).any(axis=1)
    for begin, end in pairwise([0, 200, 4000, 40_000]):
        model.observe(block_of(rows[begin:end]))
        errors.append(error(model, rows[:2000][enough], full[:2000][enough]))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < near


def test_on_a_known_subspace_the_completion_is_the_pseudoinverse_of_the_paper() -> None:
    full, _ = low_rank(6, 20_000, 8, 2)
    model = model_of(8)
    model.observe(block_of(full))
    model._correlate()
    basis = np.linalg.svd(full, full_matrices=False)[2][:2].T
    row, seen = np.full(8, np.nan), [0, 3, 5]
    row[seen] = full[7, seen]
    expected = basis @ np.linalg.pinv(basis[seen]) @ row[seen]
    np.testing.assert_allclose(model.completed(block_of(row[None]))[0, 1:], expected, atol=0.02)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 12))
def test_what_is_projected_is_semidefinite_and_what_was_stays(seed: int, size: int) -> None:
    matrix = np.random.default_rng(seed).standard_normal((size, size))
    matrix += matrix.T
    projected, tau = project(matrix)
    assert np.linalg.eigvalsh(projected).min() > -1e-9
    assert tau == pytest.approx(max(0.0, -np.linalg.eigvalsh(matrix).min()))
    definite = matrix @ matrix.T + np.eye(size)
    np.testing.assert_allclose(project(definite)[0], definite, atol=1e-9)


def test_correlations_stay_semidefinite_in_any_stream() -> None:
    model = model_of(8)
    for seed in range(4):
        train(model, stream(seed, 50, 8), np.ones(50))
        assert np.linalg.eigvalsh(model.space.pairs.correlations).min() > -1e-9


def test_counts_halve_in_a_half_life_and_growth_is_put_back_in_time() -> None:
    model = model_of(3, forget=4.0)
    train(model, np.ones((1000, 3)), np.ones(1000))
    clock = model.space.clock
    assert 1.0 <= clock[GROWTH] <= 2.0**65
    expected = sum(2.0 ** (-age / 4.0) for age in range(1, 1001))
    assert model.space.pairs.counts[0, 0] / clock[GROWTH] == pytest.approx(expected, rel=1e-9)


def test_the_factor_form_touches_nothing_but_what_is_observed() -> None:
    model = model_of(300, rank=4)
    train(model, stream(22, 100, 300), np.ones(100))
    assert model.wide
    space, weights = model.space, model.model.weights
    before = [array.copy() for array in (*space.factor, weights)]
    row = np.full((1, 300), np.nan)
    row[0, [3, 77]] = 1.0, -2.0
    train(model, row, np.array([-1.0]))
    rows, observed, *others, after = _changed(before, [*space.factor, weights])
    assert rows.tolist() == [4, 78]
    for changed in (observed, *others):
        assert changed.tolist() == [0, 4, 78]
    assert set(after) == {0, 1, 2, 3, 4, 4 + 2 * 4, 4 + 2 * 78}


def _changed(before: list[Array], after: list[Array]) -> list[Array]:
    """By array, which of its rows changed (of the weights, which columns)."""
    pairs = [*zip(before, after, strict=True)]
    pairs[-1] = pairs[-1][0].T, pairs[-1][1].T
    return [np.flatnonzero((old != new).reshape(len(old), -1).any(axis=1)) for old, new in pairs]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 12))
def test_the_latent_and_the_step_of_the_factor_are_those_of_its_formulas(
    seed: int, rank: int, items: int
) -> None:
    rng, known, noise = np.random.default_rng(seed), 14, 0.2
    factor, p = empty_factor(known, known, rank), posterior(rank, known)
    factor.observed[:], factor.listed[:], factor.squares[:] = 50.0, 50.0, 50.0 * rng.uniform(0.5, 2.0, known)
    owners = np.arange(known, dtype=np.int32)
    # A larger event before it leaves nothing behind.
    explain(factor, owners, noise, owners, rng.standard_normal(known), p)
    seen = np.sort(rng.choice(known, items, replace=False)).astype(np.int32)
    values, rows = rng.standard_normal(items), factor.rows[seen].copy()
    explain(factor, owners, noise, seen, values, p)
    x = values / np.sqrt(factor.squares[seen] / 50.0)
    inverse = np.linalg.inv(rows.T @ rows + noise * np.eye(rank))
    mean = inverse @ rows.T @ x
    np.testing.assert_allclose(p.mean, mean, atol=1e-9)
    residuals = x - rows @ mean
    np.testing.assert_allclose(p.residuals[:items], residuals, atol=1e-9)
    surprise = learn_event(factor, seen, seen, values, p, noise, 1.0, 1.0)
    eta = (51.0 + FIRST_STEPS) ** -STEP_POWER
    eta /= 1.0 + eta * (1.0 + mean @ mean)
    pulled = rows + eta * (np.outer(residuals, mean) - noise * rows @ inverse)
    np.testing.assert_allclose(factor.rows[seen], pulled, atol=1e-9)
    spread = noise * np.einsum("ij,jk,ik->i", rows, inverse, rows)
    assert surprise == pytest.approx((residuals**2 + spread).mean())


def test_the_completion_is_brought_up_to_date_by_counts_of_events() -> None:
    model = model_of(3)
    due = []
    for event in range(400):
        train(model, stream(event, 1, 3), np.ones(1))
        due.append(int(model.space.clock[DUE]))
    assert due[8] == 10
    assert due[9] == 20
    steps = np.diff(np.unique(due))
    assert (np.diff(steps) >= 0).all()
    assert steps[-1] > 30
