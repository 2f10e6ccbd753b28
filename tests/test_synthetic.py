from __future__ import annotations

from itertools import combinations, islice
from typing import Any

import numpy as np
import pytest

from streamkarma.errors import UsageError
from streamkarma.synthetic import StreamSpec, records
from streamkarma.synthetic.block_target import block_target, block_weights, target_deviation
from streamkarma.synthetic.labels import CHUNK
from tests.reference import Array, explicit_features


def matrix(plan: StreamSpec, events: int) -> Any:
    rows = list(records(plan, events, full=True))
    names = [f"x{i}" for i in range(plan.attributes)]
    full = np.array([[row["full"][name] for name in names] for row in rows])
    seen = np.array([[name in row for name in names] for row in rows])
    return full, seen, [row["y"] for row in rows]


@pytest.mark.parametrize("missing", ["mcar", "mar", "mnar"])
@pytest.mark.parametrize("blocks", [0, 4])
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_streams(missing: Any, blocks: int, task: Any) -> None:
    plan = StreamSpec(12, 3, 0.5, missing, 0.0, task, 7, blocks)
    full, seen, labels = matrix(plan, 3000)
    assert np.linalg.matrix_rank(full, tol=1e-3) == 3
    assert seen.any(axis=1).all()
    assert abs(seen.mean() - 0.5) < 0.15
    if blocks:
        assert (seen.reshape(-1, 4, 3).std(axis=2) == 0).all()
    if task != "regression":
        assert set(labels) == ({0, 1} if task == "binary" else {"a", "b", "c"})
        # Noiseless labels of two classes are a linear function of the full vector.
        if task == "binary":
            weights = np.linalg.lstsq(full, np.array(labels) - 0.5, rcond=None)[0]
            assert (((full @ weights) > 0) == np.array(labels)).mean() > 0.95
    else:
        weights, *_ = np.linalg.lstsq(full, np.array(labels), rcond=None)
        assert np.abs(full @ weights - labels).max() < 1e-4
        assert np.std(labels) == pytest.approx(1.0, abs=0.1)


def test_mechanisms_do_what_they_say() -> None:
    full, seen, _ = matrix(StreamSpec(missing="mcar"), 4000)
    assert abs(np.corrcoef(full[:, 5], seen[:, 5])[0, 1]) < 0.06
    full, seen, _ = matrix(StreamSpec(missing="mar"), 4000)
    assert seen[:, 0].all()
    assert np.corrcoef(full[:, 0] > 0, seen[:, 5])[0, 1] > 0.5
    full, seen, labels = matrix(StreamSpec(missing="mnar"), 4000)
    assert np.corrcoef(full[:, 5] > 0, seen[:, 5])[0, 1] > 0.2
    assert np.corrcoef(labels, seen[:, 7])[0, 1] > 0.2
    assert np.corrcoef(labels, seen[:, 8])[0, 1] < 0


def test_observed_values_are_those_of_the_full_vector() -> None:
    for row in records(StreamSpec(), 50, full=True):
        assert all(row["full"][name] == value for name, value in row.items() if name[0] == "x")


def test_a_longer_stream_begins_with_the_shorter() -> None:
    again = StreamSpec(margin=1.0, blocks=3, observed=0.2, label="blocks")
    for plan in (StreamSpec(), again, StreamSpec(observed=0.05, allow_empty=True)):
        for events in (0, 1, CHUNK, CHUNK + 1):
            assert list(records(plan, events)) == list(islice(records(plan, 1000), events))
    assert list(records(StreamSpec(seed=1), 5)) != list(records(StreamSpec(seed=2), 5))


def test_noise_flips_labels() -> None:
    clean = [row["y"] for row in records(StreamSpec(), 4000)]
    noisy = [row["y"] for row in records(StreamSpec(noise=0.2), 4000)]
    assert 0.17 < np.mean(np.array(clean) != np.array(noisy)) < 0.23


@pytest.mark.parametrize(
    "change",
    [
        {"rank": 0},
        {"rank": 21},
        {"observed": 0.0},
        {"observed": 1.5},
        {"noise": 2.0},
        {"blocks": 30},
        {"blocks": 3, "allow_empty": True},
        {"margin": -1.0},
        {"margin": 3.1},
        {"margin": float("nan")},
        {"margin": 1.0, "task": "regression"},
        {"label": "blocks"},
        {"label": "blocks", "blocks": 4},
        {"label": "blocks", "blocks": 3, "task": "multiclass"},
        {"label": "blocks", "blocks": 3, "missing": "mar"},
        {"task": "foo"},
        {"task": 0},
        {"task": ["binary"]},
        {"seed": -1},
        {"seed": 1.5},
        {"noise": "much"},
        {"noise": 10**400},
        {"missing": "foo"},
        {"label": "foo"},
        {"blocks": 2.5},
        {"blocks": -1},
        {"rank": "5"},
        {"allow_empty": "no"},
    ],
)
def test_plans_that_cannot_be(change: Any) -> None:
    with pytest.raises(UsageError) as raised:
        next(records(StreamSpec(**change), 1))
    assert "\n" not in str(raised.value)


def test_everything_observed() -> None:
    assert all(len(row) == 21 for row in records(StreamSpec(observed=1.0), 20))


def observed_sets(plan: StreamSpec, events: int) -> Any:
    """Which attributes are observed, straight from the keys, shape (events, D)."""
    names = [f"x{i}" for i in range(plan.attributes)]
    return np.array([[name in row for name in names] for row in records(plan, events)])


def agrees(counts: Any, chances: Any, events: int) -> bool:
    """Whether counts are within three standard errors of what is expected."""
    expected = np.array(chances) * events
    return bool((np.abs(counts - expected) <= 3 * np.sqrt(expected * (1 - np.array(chances)))).all())


def test_blocks_are_drawn_again_until_one_is_there() -> None:
    plan = StreamSpec(attributes=3, rank=1, observed=0.3333333, blocks=3, seed=11)
    seen = observed_sets(plan, 20_000)
    assert agrees(np.bincount(seen.sum(axis=1), minlength=4)[1:], [12 / 19, 6 / 19, 1 / 19], 20_000)
    # Which blocks are observed does not depend on their order.
    assert agrees(seen.sum(axis=0), [9 / 19] * 3, 20_000)


@pytest.mark.parametrize(("attributes", "observed"), [(2, 0.3), (4, 0.1), (3, 1e-9), (3, 1e-320)])
def test_the_observed_set_is_that_of_independent_draws_that_are_not_empty(
    attributes: int, observed: float
) -> None:
    seen = observed_sets(StreamSpec(attributes=attributes, rank=1, observed=observed, seed=3), 10_000)
    sets = np.array([[i >> j & 1 for j in range(attributes)] for i in range(1, 2**attributes)])
    if observed > 1e-6:
        chances = np.where(sets, observed, 1 - observed).prod(axis=1)
    else:
        chances = (sets.sum(axis=1) == 1).astype(float)
    counts = np.bincount(seen @ (1 << np.arange(attributes)), minlength=2**attributes)
    assert counts[0] == 0
    assert agrees(counts[1:], chances / chances.sum(), 10_000)


def test_unequal_chances_are_kept_when_drawn_again() -> None:
    # In one dimension all attributes have the sign of the first or the opposite one.
    plan = StreamSpec(attributes=2, rank=1, observed=0.2, missing="mnar", task="binary", seed=1)
    full, seen, labels = matrix(plan, 20_000)
    odds = 0.25 * np.exp(
        np.sign(full) + np.array([-1.0, 1.0]) * np.where(np.array(labels)[:, None], 1.0, -1.0)
    )
    for kind in np.unique(odds, axis=0):
        rows = (odds == kind).all(axis=1)
        chances = kind / (1 + kind)
        either = 1 - np.prod(1 - chances)
        assert agrees(seen[rows].sum(axis=0), chances / either, int(rows.sum()))


def test_only_events_with_nothing_observed_are_drawn_again() -> None:
    plan = StreamSpec(observed=0.1, rank=10, task="regression")
    kept = list(records(plan._replace(allow_empty=True), 10_000))
    drawn_again = list(records(plan, 10_000))
    empty = np.array([row.keys() == {"y"} for row in kept])
    assert agrees(np.array([empty.sum()]), [0.9**20], 10_000)
    for one, other, nothing in zip(kept, drawn_again, empty, strict=True):
        assert one["y"] == other["y"]
        assert len(other) > 1 if nothing else one == other


@pytest.mark.parametrize("rank", [1, 5])
def test_the_margin_of_two_classes(rank: int) -> None:
    plan = StreamSpec(attributes=20, rank=rank, margin=1.5, seed=4)
    rng = np.random.default_rng(4)
    basis, w = rng.standard_normal((20, rank)), rng.standard_normal(20)
    full, _, labels = matrix(plan, 3000)
    outputs = full @ w / np.linalg.norm(basis.T @ w)
    assert np.abs(outputs).min() > 1.5 - 1e-4
    np.testing.assert_array_equal(outputs > 0, labels)
    # The rest is the normal distribution beyond the margin: its mean is φ(m)/(1 - Φ(m)).
    assert np.abs(outputs).mean() == pytest.approx(1.9387, abs=4 * 0.39 / np.sqrt(3000))


def test_the_margin_of_several_classes() -> None:
    rng = np.random.default_rng(0)
    basis, weights = rng.standard_normal((20, 5)), rng.standard_normal((20, 3))
    full, _, labels = matrix(StreamSpec(task="multiclass", margin=1.0), 1000)
    for vector, label in zip(full, labels, strict=True):
        best = "abc".index(label)
        for other in {0, 1, 2} - {best}:
            difference = weights[:, best] - weights[:, other]
            assert vector @ difference > (1 - 1e-4) * np.linalg.norm(basis.T @ difference)


def test_a_margin_changes_only_what_is_too_close() -> None:
    without, within = (matrix(StreamSpec(margin=margin), 1000)[0] for margin in (0.0, 0.5))
    kept = (without == within).all(axis=1)
    # 38 % of a normal distribution is within half a standard deviation.
    assert 0.55 < kept.mean() < 0.70


def paper_target(w: Array, x: Array, present: Any) -> float:
    """h(x_o) by definition; ``w`` has the w^A as columns, ``x`` is 0 where nothing is observed."""
    h = sum(w[:, i] @ x for i in range(3) if present[i])
    h -= sum((w[:, i] + w[:, j]) @ x for i, j in combinations(range(3), 2) if present[i] and present[j]) / 2
    return float(h + (sum(w[:, i] @ x for i in range(3)) if all(present) else 0.0))


def world(plan: StreamSpec) -> tuple[Array, Array, Any]:
    """The basis of a stream, its w, and the block of each attribute."""
    rng = np.random.default_rng(plan.seed)
    basis, w = rng.standard_normal((plan.attributes, plan.rank)), rng.standard_normal(plan.attributes)
    return basis, w, np.arange(plan.attributes) * plan.blocks // plan.attributes


@pytest.mark.parametrize("task", ["binary", "regression"])
@pytest.mark.parametrize("rank", [2, 6])
def test_the_label_of_blocks_is_that_of_the_paper(rank: int, task: Any) -> None:
    plan = StreamSpec(12, rank, 0.3333333, task=task, seed=8, blocks=3, label="blocks")
    basis, w, groups = world(plan)
    weights = block_weights(basis, w, groups)
    full, seen, labels = matrix(plan, 4000)
    outputs = np.array([paper_target(weights, *each) for each in zip(full * seen, seen[:, ::4], strict=True)])
    deviation = target_deviation(basis.T @ weights, plan.observed)
    if task == "binary":
        np.testing.assert_array_equal(outputs > 0, labels)
        return
    np.testing.assert_allclose(outputs / deviation, labels, atol=1e-4)
    assert np.std(labels) == pytest.approx(1.0, abs=0.05)
    noisy = matrix(plan._replace(noise=0.3), 4000)[2]
    assert np.std(np.array(noisy) - labels) == pytest.approx(0.3, rel=0.05)


def test_each_block_has_the_output_and_the_margin_of_all_of_them() -> None:
    plan = StreamSpec(12, 4, 0.4, seed=2, blocks=3, label="blocks", margin=1.0)
    basis, w, groups = world(plan)
    weights = block_weights(basis, w, groups)
    assert ((weights != 0) == (groups[:, None] == np.arange(3))).all()
    np.testing.assert_allclose(basis.T @ weights, (basis.T @ w)[:, None].repeat(3, axis=1))
    full, _, labels = matrix(plan, 500)
    outputs = full @ weights / np.linalg.norm(basis.T @ w)
    assert np.abs(outputs).min() > 1.0 - 1e-4
    assert ((outputs > 0) == np.array(labels, bool)[:, None]).all()
    # For a block with too few attributes, the closest weights: the residual is orthogonal to it.
    few = block_weights(basis[:6], w[:6], np.arange(6) // 2)
    residual = basis[:6].T @ w[:6, None] - basis[:6].T @ few
    for block in range(3):
        np.testing.assert_allclose(basis[2 * block : 2 * block + 2] @ residual[:, block], 0.0, atol=1e-12)


@pytest.mark.parametrize(("gamma", "expressed"), [(1, False), (2, False), (3, True), (4, True)])
def test_karma_expresses_the_target_of_blocks_from_order_3_on(gamma: int, expressed: bool) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 6))
    present = rng.random((400, 3)) < 0.5
    weights = rng.standard_normal((6, 3)) * (np.arange(6)[:, None] // 2 == np.arange(3))
    rows = np.where(present[:, [0, 0, 1, 1, 2, 2]], x, np.nan)
    phi = np.array([explicit_features(row, gamma) for row in rows])
    target = block_target(x @ weights, present)
    kernel = phi @ phi.T
    fitted, held_out = slice(0, 300), slice(300, 400)
    alphas = np.linalg.lstsq(kernel[fitted, fitted], target[fitted], rcond=1e-10)[0]
    error = np.abs(kernel[held_out, fitted] @ alphas - target[held_out]).max()
    assert error < 1e-6 if expressed else error > 0.1
