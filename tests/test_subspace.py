from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma.core.subspace import Completion, Subspace, SubspaceSettings
from streamkarma.events.block import Block
from tests.reference import Array, stream
from tests.subspaces import (
    EVENTS,
    FORMS,
    block_of,
    categorical_block,
    completion_of,
    error,
    is_factor,
    low_rank,
    model_of,
    same_state,
    signs,
    train,
)


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10_000),
    cuts=st.lists(st.integers(0, 200), max_size=6),
    bound=st.sampled_from([1, 7, 64]),
    indicators=st.booleans(),
    half_life=st.sampled_from([0.0, 3.0]),
)
def test_blocks_and_single_events_give_the_same_bits(
    seed: int, cuts: list[int], bound: int, indicators: bool, half_life: float
) -> None:
    rows = stream(seed, 200, 8)
    rows[: seed % 100, 5:] = np.nan  # with bound 7 there are too few slots when the last ones appear
    labels = np.sign(np.random.default_rng(seed).standard_normal(200))
    labels[::17] = np.nan
    whole, pieces = (
        model_of(max_pairwise_coordinates=bound, indicators=indicators, half_life=half_life, rank=3)
        for _ in range(2)
    )
    block = block_of(rows)
    scores, losses = whole.run(block, labels, np.ones(200))
    for begin, end in pairwise(sorted({0, 200, *cuts, *range(40, 70)})):
        part = block._replace(starts=block.starts[begin : end + 1])
        some, lost = pieces.run(part, labels[begin:end], np.ones(end - begin))
        assert some.tobytes() == scores[begin:end].tobytes()
        assert lost.tobytes() == losses[begin:end].tobytes()
    assert is_factor(whole) == (bound == 1)
    assert same_state(whole, pieces)


@settings(max_examples=10)
@given(
    seed=st.integers(0, 10_000),
    cuts=st.lists(st.integers(0, 900), max_size=6),
    half_life=st.sampled_from([0.0, 100.0]),
)
def test_turns_come_at_counts_of_events_however_these_are_cut_or_resumed(
    seed: int, cuts: list[int], half_life: float
) -> None:
    full, rows = low_rank(seed, 900, 12, 2)
    rows = np.concatenate([np.where(np.isnan(rows), rows, -rows), stream(seed, 900, 8), rows], axis=1)
    whole, pieces = (
        model_of(max_pairwise_coordinates=16, indicators=True, half_life=half_life) for _ in range(2)
    )
    scores, _ = train(whole, rows, signs(full))
    for begin, end in pairwise(sorted({0, 900, *cuts})):
        some, _ = train(pieces, rows[begin:end], signs(full)[begin:end])
        assert some.tobytes() == scores[begin:end].tobytes()
        resumed = model_of(max_pairwise_coordinates=16, indicators=True, half_life=half_life)
        resumed.restore(pieces.arrays(), 33, 33)
        pieces = resumed
    assert same_state(whole, pieces)
    assert whole.arrays()["turns"].sum() > 5


def test_one_coordinate_too_many_changes_no_score() -> None:
    full, rows = low_rank(7, 4000, 12, 3)
    model = model_of(max_pairwise_coordinates=13)
    train(model, rows, signs(full))
    before = model.scores(block_of(rows[:500]))[:, 0]
    # In an event of negligible weight.
    one = Block(np.array([0, 2]), np.int32([0, 13]), np.int32([0, 13]), np.ones(2))
    model.run(one, np.ones(1), np.array([1e-9]))
    np.testing.assert_allclose(model.scores(block_of(rows[:500]))[:, 0], before, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_it_learns_what_the_complete_data_would_have_told(form: str) -> None:
    full, rows = low_rank(8, 6000, 15, 3)
    labels = signs(full)
    scores, losses = train(model_of(max_pairwise_coordinates=FORMS[form], rank=5), rows, labels)
    assert np.mean(scores[3000:, 0] * labels[3000:] <= 0) < 0.06
    assert losses == pytest.approx(np.maximum(0.0, 1.0 - scores[:, 0] * labels))


@pytest.mark.parametrize("form", FORMS)
def test_several_classes_and_targets_are_learned(form: str) -> None:
    full, rows = low_rank(9, 6000, 15, 3)
    outputs = full @ np.random.default_rng(1).standard_normal((15, 3))
    labels = outputs.argmax(axis=1).astype(float)
    scores, losses = train(model_of(3, max_pairwise_coordinates=FORMS[form], rank=5), rows, labels)
    assert np.mean(scores[3000:].argmax(axis=1) != labels[3000:]) < 0.1
    true, late = labels.astype(int), slice(3000, None)
    rival = np.where(np.eye(3)[true] > 0, -np.inf, scores).max(axis=1)
    np.testing.assert_allclose(losses, np.maximum(0.0, 1.0 + rival - scores[np.arange(6000), true]))
    targets = outputs[:, 0] / outputs[:, 0].std()
    scores, losses = train(
        model_of(max_pairwise_coordinates=FORMS[form], rank=5, regression=True), rows, targets
    )
    assert losses[late].mean() < 0.1
    np.testing.assert_allclose(losses, (scores[:, 0] - targets) ** 2)


def test_indicators_see_what_absence_tells() -> None:
    rng = np.random.default_rng(10)
    rows, labels = rng.standard_normal((3000, 4)), np.sign(rng.standard_normal(3000))
    rows[(labels > 0) & (rng.random(3000) < 0.9), 2] = np.nan

    def scores_of(indicators: bool, bound: int) -> Array:
        model = model_of(indicators=indicators, max_pairwise_coordinates=bound, rank=2)
        return train(model, rows, labels)[0]

    wrong = {
        (indicators, bound): np.mean(scores_of(indicators, bound)[1000:, 0] * labels[1000:] <= 0)
        for indicators in (True, False) for bound in FORMS.values()
    }  # fmt: skip
    assert max(wrong[True, bound] for bound in FORMS.values()) < 0.1
    assert min(wrong[False, bound] for bound in FORMS.values()) > 0.3


@pytest.mark.parametrize("form", FORMS)
def test_forgetting_follows_a_subspace_that_changes(form: str) -> None:
    before, seen_before = low_rank(11, 8000, 10, 2)
    after, seen_after = low_rank(12, 8000, 10, 2)
    errors = {}
    for half_life in (0.0, 300.0):
        model = model_of(half_life=half_life, max_pairwise_coordinates=FORMS[form], rank=3)
        train(model, seen_before, signs(before))
        train(model, seen_after, signs(after, 1))
        errors[half_life] = error(completion_of(model), seen_after[-1000:], after[-1000:])
    assert errors[300.0] < 0.8 * errors[0.0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("classes", [1, 3])
def test_state_goes_around(form: str, classes: int) -> None:
    rows, labels = stream(13, 333, 6), np.random.default_rng(13).integers(0, 3, 333).astype(float)
    if classes == 1:
        labels = np.sign(labels - 0.5)
    one, other = (
        model_of(classes, max_pairwise_coordinates=FORMS[form], rank=3, half_life=100.0) for _ in range(2)
    )
    train(one, rows[:200], labels[:200])
    other.restore(one.arrays(), 7, 7)
    assert same_state(one, other)
    left, right = (train(model, rows[200:], labels[200:])[0] for model in (one, other))
    assert left.tobytes() == right.tobytes()
    assert same_state(one, other)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("owners", lambda a: a + 100),
        ("owners", lambda a: a - 2),
        ("owners", lambda a: a[:-1]),
        ("owners", lambda a: a.astype(float)),
        ("clock", lambda a: a[:3]),
        ("clock", lambda a: a * np.nan),
        ("clock", lambda a: a + 1.0),
        ("clock", lambda a: -a),
        ("steps", lambda a: a * 0.0),
        ("weights", lambda a: a[:, :-1]),
        ("weights", lambda a: a[:0]),
        ("weights", lambda a: a + np.inf),
        ("spread", lambda a: -a - 1.0),
        ("sums", lambda a: a[:-1]),
        ("sums", lambda a: a * np.nan),
        ("listed", lambda a: a - 1e9),
    ],
)
def test_a_state_that_contradicts_itself_is_refused(form: str, name: str, change: Any) -> None:
    model = model_of(max_pairwise_coordinates=FORMS[form], rank=3)
    train(model, stream(14, 30, 6), np.ones(30))
    arrays = {**model.arrays()}
    arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match="contradicts"):
        model_of(max_pairwise_coordinates=FORMS[form], rank=3).restore(arrays, 7, 7)
    del arrays[name]
    with pytest.raises(ValueError, match="contradicts"):
        model.restore(arrays, 7, 7)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("slots", lambda a: a + 100),
        ("slots", lambda a: a[:-1]),
        ("slots", lambda a: a * 0),
        ("attribute_slots", lambda a: a + 100),
        ("attribute_slots", lambda a: a * 0),
        ("attribute_slots", lambda a: a * 0 - 1),
        ("observed", lambda a: a[:-1]),
        ("turns", lambda a: a * np.nan),
        ("totals", lambda a: a[1:]),
        ("active", lambda a: a[1:]),
        ("redundant", lambda a: a[1:]),
        ("worths", lambda a: a - 1.0),
    ],
)
def test_slots_that_contradict_each_other_are_refused(name: str, change: Any) -> None:
    model = model_of(max_pairwise_coordinates=5)
    train(model, stream(14, 300, 8), np.ones(300))
    arrays = {**model.arrays()}
    arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match="contradicts"):
        model_of(max_pairwise_coordinates=5).restore(arrays, 9, 9)


def test_a_state_of_more_pairs_than_are_kept_is_refused() -> None:
    model = model_of()
    train(model, stream(14, 30, 6), np.ones(30))
    with pytest.raises(ValueError, match="contradicts"):
        model_of(max_pairwise_coordinates=5).restore(model.arrays(), 7, 7)


@pytest.mark.parametrize("form", FORMS)
def test_widening_keeps_the_difference_of_the_scores(form: str) -> None:
    model, rows = model_of(max_pairwise_coordinates=FORMS[form]), stream(15, 60, 5)
    train(model, rows, np.sign(np.random.default_rng(5).standard_normal(60)))
    before = model.scores(block_of(rows))[:, 0]
    model.widen(3)
    after = model.scores(block_of(rows))
    np.testing.assert_allclose(after[:, 1] - after[:, 0], before, atol=1e-12)
    assert not after[:, 2].any()
    assert model.classes == 3


@pytest.mark.parametrize("form", FORMS)
def test_what_is_not_learned_leaves_no_trace(form: str) -> None:
    rows, labels = stream(16, 100, 5), np.sign(np.random.default_rng(16).standard_normal(100))
    model, other = (model_of(max_pairwise_coordinates=FORMS[form], rank=3) for _ in range(2))
    train(model, rows, labels)
    twice = block_of(np.repeat(rows, 2, axis=0))
    other.run(twice, np.repeat(labels, 2), np.tile([1.0, 0.0], 100))
    other.run(twice, np.full(200, np.nan), np.zeros(200))
    other.scores(twice)
    assert same_state(model, other)
    assert model.steps == other.steps == 100
    completion, fresh = completion_of(model), completion_of(model)
    completion.completed(twice, 6)
    assert same_state(completion, fresh)


@pytest.mark.parametrize("form", FORMS)
def test_unknown_names_are_passed_over(form: str) -> None:
    model = model_of(max_pairwise_coordinates=FORMS[form], indicators=True)
    train(model, stream(17, 100, 4), np.ones(100))
    known = Block(np.array([0, 2]), np.int32([0, 2]), np.int32([0, 2]), np.array([1.0, 0.5]))
    more = Block(np.array([0, 4]), np.int32([0, 2, 1 << 30, 2**30 + 1]), np.int32([0, 2, 99, 1 << 30]),
                 np.array([1.0, 0.5, 3.0, 1.0]))  # fmt: skip
    assert model.scores(known).tobytes() == model.scores(more).tobytes()
    completion = completion_of(model)
    assert completion.completed(known, 5).tobytes() == completion.completed(more, 5).tobytes()


@pytest.mark.parametrize("form", FORMS)
def test_observing_teaches_the_subspace_and_not_the_weights(form: str) -> None:
    full, rows = low_rank(18, 3000, 8, 2)
    model = Completion(SubspaceSettings(max_pairwise_coordinates=FORMS[form], rank=3))
    model.observe(block_of(rows))
    arrays = model.arrays()
    assert (arrays["steps"][0], arrays["clock"][EVENTS]) == (0, 3000)
    assert not arrays["weights"].any()
    assert error(model, rows, full) < 0.5
    observed = ~np.isnan(rows)
    assert (model.completed(block_of(rows), 9)[:, 1:][observed] == rows[observed]).all()


@pytest.mark.parametrize("form", FORMS)
def test_restarting_forgets_all_but_the_steps(form: str) -> None:
    model, fresh = (model_of(max_pairwise_coordinates=FORMS[form]) for _ in range(2))
    train(model, stream(19, 50, 5), np.ones(50))
    model.widen(3)
    model.restart(50)
    fresh.restart(50)
    assert (model.steps, model.classes, model.arrays()["clock"][EVENTS]) == (50, 1, 0)
    assert same_state(model, fresh)


def bad_streams() -> dict[str, tuple[Array, Array]]:
    rng = np.random.default_rng(20)
    rows, labels = stream(20, 400, 6), np.sign(rng.standard_normal(400))
    late, equal = rows.copy(), np.repeat(rng.standard_normal((400, 1)), 6, axis=1)
    late[:200, 3:], late[200:, :3] = np.nan, np.nan
    huge = rows * 10.0 ** rng.uniform(-150, 100, rows.shape)
    return {
        "one class": (stream(20, 10_000, 6), np.ones(10_000)),
        "constant": (np.where(np.isnan(rows), rows, 0.0), labels),
        "constant, not 0": (np.where(np.isnan(rows), rows, 1e9), labels),
        "equal": (equal, labels),
        "vanish and appear": (late, labels),
        "nothing": (np.full((400, 6), np.nan), labels),
        "huge": (np.clip(huge, -1e100, 1e100), labels),
        "all at the end of the range": (np.where(rows > 0, 1e100, np.where(rows < 0, -1e100, rows)), labels),
        "tiny": (rows * 1e-170, labels),
    }


@pytest.mark.parametrize("bound", [1, 5, 64])
@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("name", bad_streams())
def test_bad_input_gives_numbers(name: str, regression: bool, bound: int) -> None:
    rows, labels = bad_streams()[name]
    weights = np.ones(len(labels))
    weights[::5], weights[1::5], weights[2::50] = 1e-300, 1e9, 1e300
    for half_life in (0.0, 0.5):
        model = model_of(
            regression=regression, max_pairwise_coordinates=bound, indicators=True, half_life=half_life
        )
        scores, losses = model.run(block_of(rows), labels, weights)
        assert np.isfinite(scores).all()
        assert np.isfinite(losses).all()
        assert np.isfinite(completion_of(model).completed(block_of(rows), 7)).all()
        assert all(np.isfinite(array).all() for array in model.arrays().values())


def test_thousands_of_categories_are_taken() -> None:
    rng = np.random.default_rng(21)
    columns = rng.integers(0, 2000, (6000, 2)).astype(float)
    columns[0] = 1999
    block, _ = categorical_block(columns)
    model = Subspace(SubspaceSettings(rank=4))
    labels = np.sign(rng.standard_normal(2000))[columns[:, 0].astype(int)]
    scores, _ = model.run(block, labels, np.ones(6000))
    assert np.mean(scores[3000:, 0] * labels[3000:] <= 0) < 0.3


@pytest.mark.parametrize("bound", [20, 64])
def test_few_attributes_of_many_categories_come_block_by_block(bound: int) -> None:
    block, _ = categorical_block(np.random.default_rng(1).integers(0, 25, (200, 2)).astype(float))
    whole, pieces = (model_of(indicators=True, max_pairwise_coordinates=bound, rank=3) for _ in range(2))
    labels, ones = np.where(block.coordinates[1::3] % 2 > 0, 1.0, -1.0), np.ones(200)
    scores, _ = whole.run(block, labels, ones)
    for begin, end in pairwise([0, 1, 3, 40, 200]):
        part = block._replace(starts=block.starts[begin : end + 1])
        some, _ = pieces.run(part, labels[begin:end], ones[begin:end])
        assert some.tobytes() == scores[begin:end].tobytes()
    assert same_state(whole, pieces)


def test_events_labels_and_weights_are_as_many() -> None:
    model = model_of()
    block = block_of(stream(1, 10, 4))
    for labels, weights in ((11, 11), (9, 9), (10, 9)):
        with pytest.raises(ValueError, match="10 events"):
            model.run(block, np.ones(labels), np.ones(weights))


def test_the_summary_says_which_form_and_how_large() -> None:
    narrow, wide = model_of(), model_of(max_pairwise_coordinates=1, rank=3)
    for model in (narrow, wide):
        train(model, stream(1, 10, 4), np.ones(10))
    assert narrow.summary()["rank"] is None
    assert wide.summary()["rank"] == 3
    assert wide.summary()["bytes"] > 0
