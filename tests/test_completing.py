from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma.core.subspace import Completion, SubspaceSettings
from streamkarma.events.block import Block
from tests.reference import Array, stream
from tests.subspaces import (
    DUE,
    FORMS,
    GROWTH,
    NOISE,
    block_of,
    categorical_block,
    due,
    error,
    low_rank,
    model_of,
    train,
)

#: Occurrences from which a category contributes to the latent.
FEW = 10
#: The noise of pairs of K coordinates after n events is at least the first + the second times K / n.
LEAST_NOISE, OWN_NOISE = 1e-3, 3.0


def completion_of(**changes: Any) -> Completion:
    return Completion(SubspaceSettings(**changes))


def correlations(rows: Array, shrink: float) -> tuple[Array, float]:
    """The part of the pairwise correlations that stands out, and the noise, by definition in NumPy."""
    rows = np.column_stack([np.ones(len(rows)), rows])
    there, values = ~np.isnan(rows), np.nan_to_num(rows)
    counts = there.T.astype(float) @ there
    average = (values.T @ values) / np.maximum(counts, 1)
    deviations = np.sqrt(np.maximum(average.diagonal() - average[0] ** 2, 0))
    scale = np.where(deviations > 1e-6, 1 / np.maximum(deviations, 1e-6), 0.0)
    raw = np.clip((average - np.outer(average[0], average[0])) * (counts > 0) * np.outer(scale, scale), -1, 1)
    raw *= counts / np.maximum(counts + shrink, 1)
    np.fill_diagonal(raw, 1.0)
    values, vectors = np.linalg.eigh(raw)
    tau = max(0.0, -values[0])
    kept = vectors[:, values > tau]
    share = counts.diagonal()[counts.diagonal() > 0].mean() / len(rows)
    noise = LEAST_NOISE + (share * tau) ** 2 + OWN_NOISE * len(raw) / len(rows)
    return (kept * values[values > tau]) @ kept.T, noise


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    columns=st.integers(1, 12),
    events=st.integers(10, 150).map(due),
    shrink=st.sampled_from([0.0, 5.0]),
)
def test_the_correlations_are_those_of_their_definition(
    seed: int, columns: int, events: int, shrink: float
) -> None:
    rows = stream(seed, events, columns)
    rows[0], rows[1] = 1.0, -1.0
    model = completion_of(shrink=shrink)
    model.observe(block_of(rows))
    found, (expected, noise) = model.arrays(), correlations(rows, shrink)
    np.testing.assert_allclose(found["correlations"], expected, atol=1e-9)
    assert np.linalg.eigvalsh(found["correlations"]).min() > -1e-9
    assert found["clock"][NOISE] == pytest.approx(noise)


def test_the_moments_are_those_of_the_events_that_observe_both() -> None:
    rows = stream(1, 200, 5)
    rows[:, 4] = np.nan
    model = model_of()
    train(model, rows, np.ones(200))
    counts, sums = model.arrays()["counts"], model.arrays()["sums"]
    # Nothing is kept for an attribute that was never observed.
    assert counts.shape == sums.shape == (5, 5)
    for i in range(4):
        for j in range(i + 1):
            both = ~np.isnan(rows[:, i]) & ~np.isnan(rows[:, j])
            assert counts[i + 1, j + 1] == both.sum()
            expected = (rows[both, i] * rows[both, j]).sum()
            assert sums[i + 1, j + 1] == pytest.approx(expected, rel=1e-12)
        assert sums[i + 1, 0] == pytest.approx(np.nansum(rows[:, i]), rel=1e-12)


def test_siblings_of_a_category_count_as_observed_zeros() -> None:
    rng = np.random.default_rng(2)
    columns = rng.integers(0, 3, (due(3000), 2)).astype(float)
    columns[rng.random(columns.shape) < 0.3] = np.nan
    block, coordinates = categorical_block(columns)
    model = completion_of(shrink=0.0)
    model.observe(block)
    means = [np.mean(columns[~np.isnan(columns[:, a]), a] == c) for a in range(2) for c in range(3)]
    np.testing.assert_allclose(model.arrays()["means"][1:], means, rtol=1e-12)
    spreads = [np.sqrt(p * (1 - p)) for p in means]
    np.testing.assert_allclose(model.arrays()["deviations"][1:], spreads)
    one, _ = categorical_block(np.array([[2.0, np.nan]]))
    completed = model.completed(one, coordinates)[0]
    assert completed[1:4].tolist() == [0.0, 0.0, 1.0]
    assert completed[4:].sum() == pytest.approx(1.0, abs=0.05)


def test_a_missing_category_is_expected_as_often_as_it_was_with_the_one_that_holds() -> None:
    rng = np.random.default_rng(3)
    events = due(20_000)
    first = rng.integers(0, 3, events)
    second = np.where(rng.random(events) < 0.7, first, rng.integers(0, 3, events))
    block, coordinates = categorical_block(np.stack([first, second], axis=1).astype(float))
    model = completion_of()
    model.observe(block)
    for held in range(3):
        one, _ = categorical_block(np.array([[held, np.nan], [2, 2]]))
        share = [np.mean(second[first == held] == c) for c in range(3)]
        np.testing.assert_allclose(model.completed(one, coordinates)[0, 4:], share, atol=5e-3)


def test_with_all_observed_the_completion_is_the_conditional_mean_of_a_gaussian() -> None:
    rng = np.random.default_rng(4)
    events = due(500)
    full = rng.standard_normal((events, 6)) @ rng.standard_normal((6, 6)) + rng.standard_normal(6)
    model = completion_of(shrink=0.0)
    model.observe(block_of(full))
    noise = LEAST_NOISE + OWN_NOISE * 7 / events
    assert model.arrays()["clock"][NOISE] == pytest.approx(noise)
    mean, covariance = full.mean(axis=0), np.cov(full.T, bias=True)
    ridge = np.diag(noise * covariance.diagonal())
    for seed in range(5):
        row, seen = full[seed].copy(), np.random.default_rng(seed).permutation(6)[:3]
        row[np.setdiff1d(np.arange(6), seen)] = np.nan
        gain = covariance[:, seen] @ np.linalg.inv((covariance + ridge)[np.ix_(seen, seen)])
        expected = np.where(np.isnan(row), mean + gain @ (row - mean)[seen], row)
        np.testing.assert_allclose(model.completed(block_of(row[None]), 7)[0, 1:], expected, rtol=1e-8)


def test_what_is_weighed_is_the_completed_event() -> None:
    rows = stream(24, 120, 6)
    model = model_of()
    train(model, rows, np.sign(np.random.default_rng(24).standard_normal(120)))
    completion = completion_of()
    completion.engine.restore(model.arrays(), 7, 7)
    # The first 16 weights are for the latents of the factor; then value and indicator alternate.
    weights = model.arrays()["weights"][0, 16::2]
    expected = completion.completed(block_of(rows), 7) @ weights
    np.testing.assert_allclose(model.scores(block_of(rows))[:, 0], expected, atol=1e-12)


@pytest.mark.parametrize(("form", "near"), [("pairs", 0.1), ("factor", 0.06)])
def test_on_a_subspace_completions_converge_to_the_truth(form: str, near: float) -> None:
    full, rows = low_rank(5, 40_000, 10, 3, 0.6)
    full, rows = full[:, :10], np.where((~np.isnan(rows)).sum(axis=1, keepdims=True) >= 4, rows, np.nan)
    model = completion_of(max_pairwise_coordinates=FORMS[form], rank=4)
    errors = []
    enough = (~np.isnan(rows[:2000])).any(axis=1)
    for begin, end in pairwise([0, 200, 4000, 40_000]):
        model.observe(block_of(rows[begin:end]))
        errors.append(error(model, rows[:2000][enough], full[:2000][enough]))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < near


def test_on_a_known_subspace_the_completion_is_the_pseudoinverse_of_the_paper() -> None:
    full, _ = low_rank(6, due(20_000), 8, 2)
    model = completion_of()
    model.observe(block_of(full))
    basis = np.linalg.svd(full, full_matrices=False)[2][:2].T
    row, seen = np.full(8, np.nan), [0, 3, 5]
    row[seen] = full[7, seen]
    expected = basis @ np.linalg.pinv(basis[seen]) @ row[seen]
    np.testing.assert_allclose(model.completed(block_of(row[None]), 9)[0, 1:], expected, atol=0.02)


def test_correlations_stay_semidefinite_in_any_stream() -> None:
    model = model_of()
    for seed in range(4):
        train(model, stream(seed, 50, 8), np.ones(50))
        assert np.linalg.eigvalsh(model.arrays()["correlations"]).min() > -1e-9


def test_counts_halve_in_a_half_life_and_growth_is_put_back_in_time() -> None:
    model = model_of(half_life=4.0)
    train(model, np.ones((1000, 3)), np.ones(1000))
    growth = model.arrays()["clock"][GROWTH]
    assert 1.0 <= growth <= 2.0**65
    expected = sum(2.0 ** (-age / 4.0) for age in range(1, 1001))
    assert model.arrays()["counts"][0, 0] / growth == pytest.approx(expected, rel=1e-9)


def test_the_factor_form_touches_nothing_but_what_is_observed() -> None:
    model = model_of(max_pairwise_coordinates=1, rank=4)
    train(model, stream(22, 100, 300), np.ones(100))
    before = model.arrays()
    row = np.full((1, 300), np.nan)
    row[0, [3, 77]] = 1.0, -2.0
    train(model, row, np.array([-1.0]))
    after = model.arrays()
    assert np.flatnonzero((before["rows"] != after["rows"]).any(axis=1)).tolist() == [4, 78]
    for name in ("observed", "listed", "sums", "squares"):
        assert np.flatnonzero(before[name] != after[name]).tolist() == [0, 4, 78]
    changed = np.flatnonzero(before["weights"][0] != after["weights"][0])
    assert set(changed) == {0, 1, 2, 3, 4, 4 + 2 * 4, 4 + 2 * 78}


def latent(a: dict[str, Array], owners: Array, coordinates: Array, values: Array) -> Any:
    """By the formulas of factor analysis: deviations, the latent's mean, residuals and M^-1."""
    counts, few = a["observed"][owners[coordinates]], a["listed"][coordinates] < FEW
    means = a["sums"][coordinates] / counts
    variances = a["squares"][coordinates] / counts - means**2
    deviations = np.sqrt(np.where(variances > 1e-9, variances, 0.0))
    # A rare category is skipped.
    deviations[few & (a["listed"][coordinates] < counts)] = 0.0
    known = deviations > 0
    x = np.where(known, values - means, 0.0) / np.where(known, deviations, 1.0)
    rows = a["rows"][coordinates] * known[:, None]
    precise = rows / a["noise"][coordinates][:, None]
    inverse = np.linalg.inv(precise.T @ rows + np.eye(rows.shape[1]))
    mean = inverse @ precise.T @ x
    return deviations, mean, x - rows @ mean, inverse


def learned(a: dict[str, Array], owners: Array, coordinates: Array, values: Array) -> tuple[Array, Array]:
    """The rows of the factor and the noises after one more event, by the formulas of online EM."""
    deviations, mean, residuals, inverse = latent(a, owners, coordinates, values)
    rows, noise = a["rows"].copy(), a["noise"].copy()
    for k, value, deviation, residual in zip(coordinates, values, deviations, residuals, strict=True):
        if deviation == 0:
            continue
        old, count = rows[k].copy(), a["listed"][k] + 1
        eta, share = (count + 10) ** -0.8, count / (a["observed"][owners[k]] + 1)
        surprise = residual**2 + old @ inverse @ old
        surprise = min(surprise if share == 1 else share * (surprise + 1), 30.0)
        noise[k] = max(noise[k] + min(2 * eta, 1.0) * (surprise - noise[k]), LEAST_NOISE)
        if share < 1:
            rows[k] += eta * (share * value / deviation * mean - old)
        else:
            eta /= 1 + eta * (1 + mean @ mean)
            rows[k] += eta * (residual * mean - inverse @ old)
    return rows, noise


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    rank=st.integers(1, 9),
    items=st.integers(1, 12),
    categorical=st.booleans(),
)
def test_the_latent_and_the_step_of_the_factor_are_those_of_its_formulas(
    seed: int, rank: int, items: int, categorical: bool
) -> None:
    rng, model = np.random.default_rng(seed), completion_of(max_pairwise_coordinates=1, rank=rank)
    if categorical:
        block, width = categorical_block(rng.integers(0, 4, (51, 2)).astype(float))
    else:
        rows = rng.standard_normal((51, 12)) + rng.standard_normal(12)
        rows[50, rng.permutation(12)[items:]] = np.nan
        block, width = block_of(rows), 13
    model.observe(block._replace(starts=block.starts[:51]))
    before, last = model.arrays(), slice(*block.starts[50:])
    owners, event = before["owners"], (block.coordinates[last], block.values[last])
    _, mean, _, _ = latent(before, owners, *event)
    means = before["sums"] / before["observed"][owners]
    spread = np.sqrt(np.maximum(before["squares"] / before["observed"][owners] - means**2, 0.0))
    expected = means + spread * (before["rows"] @ mean)
    expected[np.isin(owners, block.attributes[last])] = 0.0
    expected[event[0]] = event[1]
    one = Block(np.array([0, len(event[0])]), *(np.ascontiguousarray(each[last]) for each in block[1:]))
    np.testing.assert_allclose(model.completed(one, width)[0], expected, atol=1e-9)
    model.observe(one)
    rows, noise = learned(before, owners, *event)
    np.testing.assert_allclose(model.arrays()["rows"], rows, atol=1e-9)
    np.testing.assert_allclose(model.arrays()["noise"], noise, atol=1e-9)


def test_the_completion_is_brought_up_to_date_by_counts_of_events() -> None:
    model = model_of()
    dues = []
    for event in range(400):
        train(model, stream(event, 1, 3), np.ones(1))
        dues.append(int(model.arrays()["clock"][DUE]))
    assert dues[8] == 10
    assert dues[9] == 20
    assert dues == [due(event + 2) for event in range(400)]
    steps = np.diff(np.unique(dues))
    assert (np.diff(steps) >= 0).all()
    assert steps[-1] > 30
