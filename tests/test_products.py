from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma.core.explicit import ADAGRAD, AROW, SGD, Explicit, Products
from streamkarma.core.loss import SQUARED
from tests.reference import Array, stream
from tests.test_explicit import (
    LINEAR,
    Items,
    block_of,
    labels_of,
    mixed,
    numeric,
    products_of_features,
    same_state,
    step_of,
)

#: Positions of products are modulo this prime.
PLACES = 1_073_741_789

#: Beyond all learned names; see ``PASSING`` in the engine's vocabulary.rs.
UNKNOWN = 1 << 30


def model_of(
    update: int = AROW, classes: int = 1, table_bits: int = 18, most: int | None = None, **changes: Any
) -> Products:
    model = Products(step_of(update, **changes), table_bits, most)
    if classes > 1:
        model.widen(classes)
    return model


def features(items: Items, room: int, most: int = 1 << 19) -> Array:
    """By the definition: the lower triangle of x x', the constant and its product with x first.

    In an event with more products than ``most`` only the largest values are multiplied with each other.
    """
    x, there = np.zeros(room), np.zeros(room, bool)
    for coordinate, value in [(0, 1.0), *[item[1:] for item in items]]:
        x[coordinate], there[coordinate] = value, True
    every = np.outer(x, x)
    np.fill_diagonal(every, np.where(there, (x * x - 1) / np.sqrt(2), 0.0))
    if (len(items) + 1) * (len(items) + 2) // 2 > most:
        smallest = np.argsort(-abs(x[1:]), kind="stable")[math.isqrt(2 * most) :] + 1
        every[np.ix_(smallest, range(1, room))] = every[np.ix_(range(1, room), smallest)] = 0.0
    every[0, 0] = 1.0
    return every[np.tril_indices(room)]


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), most=st.sampled_from([0, 1, 3, 8, 1 << 19]))
def test_features_are_the_values_their_products_and_centred_squares(seed: int, most: int) -> None:
    events = [*mixed(seed, 10, 3), *mixed(seed + 1, 10, 7)]
    phi = np.array([features(items, 73, most) for items in events])
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    made = products_of_features(events, model_of(SGD, most=most, **LINEAR))
    np.testing.assert_allclose(made, phi @ phi.T, atol=1e-12)


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), regression=st.booleans(), r=st.floats(0.1, 10.0))
def test_scores_are_those_of_arow_on_the_products(seed: int, regression: bool, r: float) -> None:
    events, labels = mixed(seed, 60, 4), labels_of(seed, 60, 1)
    weights = np.random.default_rng(seed).random(60) + 0.1
    changes = {"loss": SQUARED} if regression else {}
    scores, losses = model_of(r=r, **changes).run(block_of(events), labels, weights)
    w, inverse = np.zeros(43 * 44 // 2), np.ones(43 * 44 // 2)
    for items, y, k, score, loss in zip(events, labels, weights, scores[:, 0], losses, strict=True):
        phi = features(items, 43)
        phi /= np.linalg.norm(phi)
        f, spread = w @ phi, phi / inverse
        error = y - f if regression else y * max(0.0, 1.0 - y * f)
        assert score == pytest.approx(f, rel=1e-9, abs=1e-9)
        assert loss == pytest.approx(error * error if regression else abs(error), rel=1e-9, abs=1e-9)
        if error:
            w += error / (spread @ phi + r / k) * spread
            inverse += phi * phi * k / r


@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("update", [AROW, ADAGRAD])
@pytest.mark.parametrize("half_life", [0.0, 20.0])
def test_scores_are_those_of_the_linear_model_on_products_made_by_hand(
    update: int, classes: int, half_life: float
) -> None:
    events, labels = mixed(1, 150, 5), labels_of(1, 150, classes)
    vectors = [features(items, 53) for items in events]
    by_hand = [[(0, int(k), float(v[k])) for k in np.flatnonzero(v[1:]) + 1] for v in vectors]
    model = model_of(update, classes, half_life=half_life)
    linear = Explicit(1, True, step_of(update, half_life=half_life), 18)
    linear.widen(classes) if classes > 1 else None
    scores, losses = model.run(block_of(events), labels, np.ones(150))
    expected, lost = linear.run(block_of(by_hand), labels, np.ones(150))
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(losses, lost, rtol=1e-9, atol=1e-9)
    assert (model.classes, model.steps) == (classes, linear.steps)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    cuts=st.lists(st.integers(0, 120), max_size=6),
    classes=st.sampled_from([1, 3]),
    table_bits=st.sampled_from([8, 18]),
    half_life=st.sampled_from([0.0, 1.0, 30.0]),
)
def test_blocks_single_events_and_going_around_give_the_same_bits(
    seed: int, cuts: list[int], classes: int, table_bits: int, half_life: float
) -> None:
    events = [*mixed(seed, 40, 2), *mixed(seed + 1, 40, 4), *mixed(seed + 2, 40, 7)]
    labels, weights = labels_of(seed, 120, classes), np.ones(120)
    labels[::17], weights[::13] = np.nan, 0.0
    whole, pieces, resumed, single = (
        model_of(classes=classes, table_bits=table_bits, half_life=half_life) for _ in range(4)
    )
    block = block_of(events)
    scores, losses = whole.run(block, labels, weights)
    for begin, end in pairwise(sorted({0, 120, *cuts})):
        # Starts that do not begin at 0, like those of parts of a block.
        part = block._replace(starts=block.starts[begin : end + 1])
        for model in (pieces, resumed):
            some, lost = model.run(part, labels[begin:end], weights[begin:end])
            assert some.tobytes() == scores[begin:end].tobytes()
            assert lost.tobytes() == losses[begin:end].tobytes()
        resumed = model_of(table_bits=table_bits, half_life=half_life)
        resumed.restore(pieces.arrays(), 8, 73)
    for t in range(120):
        single.run(block_of(events[t : t + 1]), labels[t : t + 1], weights[t : t + 1])
    assert same_state(whole, pieces)
    assert same_state(whole, resumed)
    assert same_state(whole, single)


def test_no_event_has_products_without_bound() -> None:
    # With the constant 1,034 items: ten more than there is room for.
    rows = np.random.default_rng(2).standard_normal((1, 1033))
    model = model_of(table_bits=20)
    model.run(block_of(numeric(rows)), np.ones(1), np.ones(1))
    assert len(model.arrays()["index"]) == 1034 + 1024 * 1025 // 2


def test_predicting_weight_zero_and_names_never_learned_leave_no_trace() -> None:
    events, labels = mixed(4, 50, 5), labels_of(4, 50, 1)
    unknown = [[*items, (9, UNKNOWN, 1.0), (UNKNOWN + 1, UNKNOWN + 1, 2.0)] for items in events]
    one, other = model_of(), model_of()
    one.run(block_of(events), labels, np.ones(50))
    for t in range(50):
        other.scores(block_of(unknown))
        other.run(block_of(unknown[:1]), np.ones(1), np.zeros(1))
        other.run(block_of(events[t : t + 1]), labels[t : t + 1], np.ones(1))
    assert same_state(one, other)
    # Names that were never learned only contribute to an event's norm.
    said, plain = one.scores(block_of(unknown)), one.scores(block_of(events))
    assert (np.abs(said) < np.abs(plain)).all()
    assert (np.sign(said) == np.sign(plain)).all()
    other.restart(7)
    assert (other.steps, other.classes, other.scores(block_of(events)).any()) == (7, 1, False)


@pytest.mark.parametrize("table_bits", [8, 18])
def test_widening_keeps_the_difference_of_the_scores(table_bits: int) -> None:
    events = mixed(5, 80, 5)
    model = model_of(table_bits=table_bits)
    model.run(block_of(events), labels_of(5, 80, 1), np.ones(80))
    before, hashed = model.scores(block_of(events))[:, 0], model.summary()["hashed"]
    model.widen(3)
    after = model.scores(block_of(events))
    assert (after.shape, after[:, 2].any(), hashed) == ((80, 3), False, table_bits == 8)
    if not hashed:
        np.testing.assert_allclose(after[:, 1] - after[:, 0], before, atol=1e-12)


def test_places_do_not_overflow_however_many_coordinates() -> None:
    far = [0, 46_338, 46_339, 46_340, 46_341, 65_535, 65_536, 10**6, 1 << 29, PLACES - 2]
    assert len({(h * (h + 1) // 2 + i) % PLACES for h in far for i in far if i <= h}) == 55  # none meet
    near = numeric(stream(12, 20, 9))
    moved = [[(a, far[k], x) for a, k, x in items] for items in near]
    unknown = [[*items, (99, PLACES, 1.0), (100, UNKNOWN, 1.0)] for items in moved]
    model = model_of(SGD, table_bits=22, **LINEAR)
    phi = np.array([features(items, 10) for items in near])
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    made = products_of_features(moved, model, hashed=True)
    np.testing.assert_allclose(made, phi @ phi.T, atol=1e-12)
    # Names that were never learned only contribute to an event's norm.
    more = np.array([features([*items, (99, 10, 1.0), (100, 11, 1.0)], 12) for items in near])
    known = np.array([features(items, 10) for items in near])
    known /= np.linalg.norm(more, axis=1, keepdims=True)
    for items, learned in zip(moved, phi, strict=True):
        model.restart(0)
        model.run(block_of([items]), np.ones(1), np.ones(1))
        np.testing.assert_allclose(model.scores(block_of(unknown))[:, 0], known @ learned, atol=1e-12)


@pytest.mark.parametrize("coordinates", [46_339, 46_340, 60_000])
@pytest.mark.parametrize("table_bits", [8, 18])
def test_a_model_of_many_coordinates_learns_and_goes_around(coordinates: int, table_bits: int) -> None:
    rng = np.random.default_rng(6)
    names = [np.sort(rng.choice(coordinates - 2, 6, replace=False)) + 1 for _ in range(100)]
    events = [[*[(int(k), int(k), 1.0) for k in row], (70_000, coordinates - 1, -1.0)] for row in names]
    block, labels = block_of(events), labels_of(6, 100, 1)
    model, resumed = model_of(table_bits=table_bits), model_of(table_bits=table_bits)
    model.run(block, labels, np.ones(100))
    resumed.restore(model.arrays(), 70_001, coordinates)
    assert same_state(model, resumed)
    assert model.scores(block).tobytes() == resumed.scores(block).tobytes()
    assert np.isfinite(model.scores(block)).all()


def test_memory_is_bounded_by_the_table_whatever_comes() -> None:
    rng, model = np.random.default_rng(7), model_of(table_bits=12)
    assert model.summary()["bytes"] < 100
    for _ in range(4):
        names = [np.sort(rng.choice(100_000, 12, replace=False)) + 1 for _ in range(200)]
        events = [[(int(a), int(a), 1.0) for a in row] for row in names]
        model.run(block_of(events), labels_of(7, 200, 1), np.ones(200))
        assert model.summary() == {"weights": 1 << 12, "hashed": 1, "bytes": 2 * 8 << 12}


@pytest.mark.parametrize("task", ["two", "three", "regression"])
@pytest.mark.parametrize("update", [AROW, ADAGRAD])
def test_broken_input_gives_finite_scores_and_losses(update: int, task: str) -> None:
    rng, classes = np.random.default_rng(8), 3 if task == "three" else 1
    changes: dict[str, Any] = {"loss": SQUARED} if task == "regression" else {}
    model = model_of(update, classes, half_life=50.0, **changes)
    rows, labels, weights = stream(8, 600, 6), labels_of(8, 600, classes), np.ones(600)
    rows[:, 1] = rows[:, 0]  # the same once more
    rows[:, 2] = 0.0  # a constant
    rows[100:200, 3] = rng.choice([1e100, -1e100, 1e-300, 1e77, 5.0], 100)
    rows[300:400, 4:] = np.nan  # vanish
    rows[:, 5] *= 1e30
    if task == "regression":
        labels[150:170] = 1e100
    weights[::5], weights[1::5], weights[2::5] = 1e-300, 1e20, 0.0
    scores, losses = model.run(block_of(numeric(rows)), labels, weights)
    state = [model.arrays()[name] for name in ("weights", "spread", "clock")]
    assert all(np.isfinite(array).all() for array in (scores, losses, *state))


def test_one_class_for_ten_thousand_events_and_thousands_of_categories() -> None:
    model = model_of(table_bits=14)
    events: list[Items] = [[(1, 1 + t % 5000, 1.0), (2, 6000, 0.5)] for t in range(10_000)]
    scores, _ = model.run(block_of(events), np.ones(10_000), np.ones(10_000))
    assert np.isfinite(scores).all()
    assert (scores[5000:] > 0).all()


def test_forgetting_follows_an_interaction_that_flips() -> None:
    rows = np.random.default_rng(9).standard_normal((4000, 4))
    labels = np.sign(rows[:, 0] * rows[:, 1])
    labels[2000:] *= -1.0
    wrong = {}
    for half_life in (0.0, 100.0):
        scores, _ = model_of(half_life=half_life).run(block_of(numeric(rows)), labels, np.ones(4000))
        wrong[half_life] = float((np.sign(scores[2000:, 0]) != labels[2000:]).mean())
    assert wrong[100.0] < min(wrong[0.0], 0.2)


def test_events_labels_and_weights_are_as_many() -> None:
    for labels, weights in ((11, 11), (9, 9), (10, 9)):
        with pytest.raises(ValueError, match="10 events"):
            model_of().run(block_of(mixed(10, 10, 4)), np.ones(labels), np.ones(weights))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("index", lambda a: a + (1 << 40)),
        ("weights", lambda a: a * np.nan),
        ("spread", lambda a: -a),
        ("known", lambda a: a + np.array([1, 0, 0])),  # there is but one attribute
        ("known", lambda a: np.array([1, 62 * 61 // 2 + 1, 0])),
        ("known", lambda a: np.array([1, PLACES + 1, 0])),
    ],
)
@pytest.mark.parametrize("table_bits", [8, 18])
def test_a_state_that_contradicts_itself_is_refused(name: str, change: Any, table_bits: int) -> None:
    model = model_of(table_bits=table_bits)
    model.run(block_of(mixed(11, 40, 6)), labels_of(11, 40, 1), np.ones(40))
    arrays = model.arrays()
    arrays[name] = change(arrays[name])
    if name == "known" and table_bits == 8:
        # Hashed weights stay where they are, whatever names are known.
        model_of(table_bits=table_bits).restore(arrays, 7, 61)
        return
    with pytest.raises(ValueError, match="contradict"):
        model_of(table_bits=table_bits).restore(arrays, 7, 61)
