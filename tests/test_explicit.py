from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma.core.explicit import ADAGRAD, AROW, SGD, UPDATES, Explicit, Products, Step
from streamkarma.core.kernel import gram
from streamkarma.core.loss import CLASSIFICATION, HINGE, LOGISTIC, REGRESSION, SQUARED
from streamkarma.core.support import Rule, SupportVectors
from streamkarma.errors import UsageError
from streamkarma.events.block import Block
from tests.reference import Array, loss_and_slope, multiclass_loss_and_slopes, stream

Items = list[tuple[int, int, float]]  # attribute, coordinate, value

#: What AdaGrad adds to the sums of squared gradients.
START = 1e-8

#: The steps of ``products_of_features``.
LINEAR: dict[str, Any] = {"loss": SQUARED, "eta": 0.5, "rho": 1e-300}


def block_of(events: list[Items]) -> Block:
    """Encoded events, each preceded by the constant."""
    full = [[(0, 0, 1.0), *items] for items in events]
    starts = np.cumsum([0] + [len(items) for items in full])
    columns = list(zip(*[item for items in full for item in items], strict=True))
    return Block(starts, np.int32(columns[0]), np.int32(columns[1]), np.array(columns[2], float))


def numeric(rows: Array) -> list[Items]:
    """Rows with NaN for missing values; attribute 1 + j on coordinate 1 + j."""
    return [[(j + 1, j + 1, float(x)) for j, x in enumerate(row) if not np.isnan(x)] for row in rows]


def mixed(seed: int, count: int, attributes: int) -> list[Items]:
    """Half-observed events: even attributes are categories on their own coordinates, odd ones numbers."""
    rng = np.random.default_rng(seed)
    return [
        [
            (a, 10 * a + int(rng.integers(3)), 1.0) if a % 2 == 0 else (a, 10 * a, rng.standard_normal())
            for a in range(1, attributes + 1)
            if rng.random() < 0.5
        ]
        for _ in range(count)
    ]


def labels_of(seed: int, count: int, classes: int) -> Array:
    rng = np.random.default_rng(seed)
    if classes > 1:
        return rng.integers(0, classes, count).astype(float)
    return np.where(rng.random(count) < 0.5, -1.0, 1.0)


def step_of(update: int, **changes: Any) -> Step:
    loss = HINGE if update == AROW else LOGISTIC
    return Step(update, loss, 1.0, 0.1 if update == ADAGRAD else 0.0, 0.1, 0.0, 0.0)._replace(**changes)


def model_of(update: int, gamma: int = 2, classes: int = 1, normalize: bool = True, table_bits: int = 18,
             **changes: Any) -> Explicit:  # fmt: skip
    model = Explicit(gamma, normalize, step_of(update, **changes), table_bits)
    if classes > 1:
        model.widen(classes)
    return model


def same_state(one: Explicit | Products, other: Explicit | Products) -> bool:
    left, right = one.arrays(), other.arrays()
    return all(left[name].tobytes() == right[name].tobytes() for name in left)


def products_of_features(events: list[Items], model: Explicit | Products, hashed: bool = False) -> Array:
    """phi(x)·phi(z) of all pairs; ``model`` has SGD's constant step 0.5 on the squared error, 2 (f - y)."""
    result, block = np.empty((len(events), len(events))), block_of(events)
    for row, items in zip(result, events, strict=True):
        model.restart(0)
        if hashed:  # a coordinate without room, in an event that is predicted without error
            model.run(block_of([[(1 << 20, 1 << 20, 1.0)]]), np.zeros(1), np.ones(1))
        model.run(block_of([items]), np.ones(1), np.ones(1))  # w = phi
        row[:] = model.scores(block)[:, 0]
        assert model.summary()["hashed"] == hashed
    return result


def features(items: Items, gamma: int, normalize: bool) -> dict[tuple[frozenset[int], int], float]:
    """By the definition: every sequence is counted, those that are always equal together."""
    full = [(0, 0, 1.0), *items]
    counts: Counter[tuple[frozenset[int], int]] = Counter()
    for own, k, _ in full:
        for length in range(gamma):
            for sequence in product([a for a, _, _ in full], repeat=length):
                counts[frozenset(sequence) - {0, own}, k] += 1
    values = {k: x for _, k, x in full}
    phi = {key: np.sqrt(count) * values[key[1]] for key, count in counts.items() if values[key[1]]}
    norm = np.sqrt(sum(x * x for x in phi.values())) if normalize else 1.0
    return {key: x / norm for key, x in phi.items()}


@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_products_of_features_are_the_kernel(gamma: int, normalize: bool, hashed: bool) -> None:
    rows = stream(gamma, 30, 5)
    model = model_of(SGD, gamma, normalize=normalize, **LINEAR)
    made = products_of_features(numeric(rows), model, hashed)
    constant = np.column_stack([np.ones(30), rows])
    np.testing.assert_allclose(made, gram(constant, gamma=gamma, normalize=normalize), atol=1e-9)


@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_products_of_features_are_the_kernel_for_categories_too(gamma: int) -> None:
    events = mixed(3, 25, 6)
    made = products_of_features(events, model_of(SGD, gamma, normalize=False, **LINEAR))
    for i, j in np.ndindex(25, 25):
        left, right = ({k: (a, x) for a, k, x in [(0, 0, 1.0), *events[t]]} for t in (i, j))
        n = len({a for a, _ in left.values()} & {a for a, _ in right.values()})
        shared = sum(left[k][1] * right[k][1] for k in left.keys() & right.keys())
        assert made[i, j] == pytest.approx(sum(n**level for level in range(gamma)) * shared)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    gamma=st.integers(1, 3),
    normalize=st.booleans(),
    classes=st.sampled_from([1, 3]),
    loss=st.sampled_from([*CLASSIFICATION, *REGRESSION]),
    rho=st.floats(0.5, 5.0),
    eta=st.just(0.0) | st.floats(0.001, 0.01),
    steepness=st.sampled_from([0.0, 1.0, 2.0]),
)
def test_sgd_is_the_support_vector_form_without_a_budget(
    seed: int, gamma: int, normalize: bool, classes: int, loss: str, rho: float, eta: float, steepness: float
) -> None:
    code = {**CLASSIFICATION, **REGRESSION}[loss].code
    classes = 1 if loss in REGRESSION else classes
    steepness = steepness or (0.0 if normalize else 1.0)
    rng = np.random.default_rng(seed)
    block, labels, weights = block_of(mixed(seed, 50, 4)), labels_of(seed, 50, classes), rng.random(50)
    labels[::9], weights[::7] = np.nan, 0.0
    model = model_of(SGD, gamma, classes, normalize, rho=rho, eta=eta, loss=code, steepness=steepness)
    other = SupportVectors(Rule(gamma, normalize, rho, eta, code, steepness, 0, "merge"), average=False)
    if classes > 1:
        other.widen(classes)
    scores, losses = model.run(block, labels, weights)
    expected, suffered = other.run(block, labels, weights)
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(losses, suffered, rtol=1e-9, atol=1e-9)


def reference(events: list[Items], labels: Array, weights: Array, step: Step, classes: int, gamma: int,
              normalize: bool) -> tuple[Array, Array]:  # fmt: skip
    """AROW and AdaGrad over a dictionary of features, forgetting eagerly."""
    w: defaultdict[Any, Array] = defaultdict(lambda: np.zeros(classes))
    spread: defaultdict[Any, Array] = defaultdict(lambda: np.full(classes, float(step.update == AROW)))
    growth = 2.0 ** (1.0 / step.half_life) if step.half_life else 1.0
    scores, losses = np.zeros((len(events), classes)), np.zeros(len(events))
    for t, (items, y) in enumerate(zip(events, labels, strict=True)):
        phi = features(items, gamma, normalize)
        f = scores[t] = sum(w[key] * x for key, x in phi.items())
        slopes = np.zeros(classes)
        if classes > 1:
            losses[t] = multiclass_loss_and_slopes(step.loss, f, int(y), slopes)
        else:
            losses[t], slopes[0] = loss_and_slope(step.loss, f[0], y)
        if step.update == AROW:
            touched = slopes != 0
            v = sum((spread[key] * touched).sum() * x * x for key, x in phi.items())
            # The direction of the update times how far the score is from where it should be.
            pull = -slopes / 2 if step.loss == SQUARED else -slopes * losses[t]
            for key, x in phi.items():
                w[key] += pull * spread[key] * x / (v + step.r / weights[t])
                spread[key] = 1 / (1 / spread[key] + touched * x * x * weights[t] / step.r)
            for key in spread:
                spread[key] = np.minimum(1.0, spread[key] * growth)
        else:
            for key, x in phi.items():
                gradient = weights[t] * slopes * x
                spread[key] = spread[key] + gradient**2
                w[key] -= step.eta * gradient / np.sqrt(START + spread[key])
            for key in spread:
                w[key], spread[key] = w[key] / growth, spread[key] / growth
    return scores, losses


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    update=st.sampled_from([AROW, ADAGRAD]),
    task=st.sampled_from(["two", "three", "regression"]),
    gamma=st.integers(1, 3),
    normalize=st.booleans(),
    half_life=st.sampled_from([0.0, 1.0, 20.0]),
    r=st.floats(0.1, 10.0),
)
def test_updates_are_those_over_a_dictionary_of_features(
    seed: int, update: int, task: str, gamma: int, normalize: bool, half_life: float, r: float
) -> None:
    classes = 3 if task == "three" else 1
    changes = {"loss": SQUARED} if task == "regression" else {}
    model = model_of(update, gamma, classes, normalize, half_life=half_life, r=r, **changes)
    # More attributes over time, so that the table grows.
    events = [*mixed(seed, 40, 2), *mixed(seed + 1, 60, 6)]
    labels, weights = labels_of(seed, 100, classes), np.random.default_rng(seed).random(100) + 0.1
    scores, losses = model.run(block_of(events), labels, weights)
    expected, suffered = reference(events, labels, weights, model.step, classes, gamma, normalize)
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(losses, suffered, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("update", UPDATES.values())
def test_hashed_without_collisions_is_as_good_as_not_hashed(update: int) -> None:
    events, labels = mixed(1, 200, 5), labels_of(1, 200, 1)
    # An attribute with an index so high that there is no room for all of its pairs.
    events[100].append((3000, 3000, 0.0))
    hashed, dense = model_of(update, table_bits=20), model_of(update, table_bits=24)
    scores, _ = hashed.run(block_of(events), labels, np.ones(200))
    expected, _ = dense.run(block_of(events), labels, np.ones(200))
    assert (hashed.summary()["hashed"], dense.summary()["hashed"]) == (1, 0)
    assert len(hashed.arrays()["index"]) == len(dense.arrays()["index"])  # no collisions
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


def test_the_table_is_hashed_from_the_first_learned_event_without_room() -> None:
    events = mixed(2, 60, 3)
    events[20].append((200, 200, 1.0))
    events[40].append((200, 200, 1.0))
    labels = labels_of(2, 60, 1)
    labels[20] = np.nan
    model, states = model_of(AROW, table_bits=12), []
    for t in range(60):
        model.run(block_of(events[t : t + 1]), labels[t : t + 1], np.ones(1))
        states.append(model.summary()["hashed"])
    assert states == [0] * 40 + [1] * 20


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    cuts=st.lists(st.integers(0, 150), max_size=6),
    update=st.sampled_from(list(UPDATES.values())),
    gamma=st.integers(1, 3),
    classes=st.sampled_from([1, 3]),
    table_bits=st.sampled_from([8, 10, 18]),
    half_life=st.sampled_from([0.0, 1.0, 30.0]),
)
def test_blocks_single_events_and_going_around_give_the_same_bits(
    seed: int, cuts: list[int], update: int, gamma: int, classes: int, table_bits: int, half_life: float
) -> None:
    events = [*mixed(seed, 50, 2), *mixed(seed + 1, 50, 4), *mixed(seed + 2, 50, 9)]
    labels, weights = labels_of(seed, 150, classes), np.ones(150)
    labels[::17], weights[::13] = np.nan, 0.0
    whole, pieces, resumed = (
        model_of(update, gamma, classes, table_bits=table_bits, half_life=half_life) for _ in range(3)
    )
    scores, losses = whole.run(block_of(events), labels, weights)
    for begin, end in pairwise(sorted({0, 150, *cuts})):
        block = block_of(events[begin:end])
        for model in (pieces, resumed):
            some, lost = model.run(block, labels[begin:end], weights[begin:end])
            assert some.tobytes() == scores[begin:end].tobytes()
            assert lost.tobytes() == losses[begin:end].tobytes()
        resumed = model_of(update, gamma, table_bits=table_bits, half_life=half_life)
        resumed.restore(pieces.arrays(), 10, 100)
    assert same_state(whole, pieces)
    assert same_state(whole, resumed)


def test_a_hundred_thousand_attributes_take_no_more_than_the_table() -> None:
    rng = np.random.default_rng(4)
    model = model_of(AROW, table_bits=12)
    assert (model.summary()["bytes"] or 0) < 100
    for _ in range(5):
        names = [np.sort(rng.choice(100_000, 12, replace=False)) + 1 for _ in range(200)]
        events = [[(int(a), int(a), 1.0) for a in row] for row in names]
        scores, _ = model.run(block_of(events), labels_of(4, 200, 1), np.ones(200))
        assert np.isfinite(scores).all()
        assert model.summary() == {"weights": 1 << 12, "hashed": 1, "bytes": 2 * 8 << 12}


def test_an_event_of_too_many_features_is_taken_at_a_lower_order() -> None:
    rows = np.random.default_rng(5).standard_normal((50, 20))
    lower, wide = model_of(SGD, 1, table_bits=8), model_of(SGD, 2, table_bits=8)
    labels = labels_of(5, 50, 1)
    expected, _ = lower.run(block_of(numeric(rows)), labels, np.ones(50))
    scores, _ = wide.run(block_of(numeric(rows)), labels, np.ones(50))
    # The table has 256 places, and the event 21 * 20 + 1 features of order 2.
    assert len(wide.arrays()["index"]) == 21
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("update", UPDATES.values())
@pytest.mark.parametrize("table_bits", [8, 18])
def test_widening_keeps_the_difference_of_the_scores_within_the_bound(update: int, table_bits: int) -> None:
    events = mixed(6, 80, 5)
    model = model_of(update, table_bits=table_bits)
    model.run(block_of(events), labels_of(6, 80, 1), np.ones(80))
    before = model.scores(block_of(events))[:, 0]
    model.widen(3)
    after = model.scores(block_of(events))
    if not model.summary()["hashed"]:
        np.testing.assert_allclose(after[:, 1] - after[:, 0], before, atol=1e-12)
    assert not after[:, 2].any()
    assert model.summary()["weights"] <= 1 << table_bits
    model.widen(40)
    model.run(block_of(events), labels_of(6, 80, 40), np.ones(80))
    assert model.summary()["weights"] <= 1 << table_bits


@pytest.mark.parametrize("update", UPDATES.values())
def test_forgetting_follows_a_stream_that_flips(update: int) -> None:
    rows = stream(7, 4000, 5)
    labels = np.where(np.nansum(rows[:, :3], axis=1) > 0, 1.0, -1.0)
    labels[2000:] *= -1.0
    wrong = {}
    for half_life in (0.0, 100.0):
        model = model_of(update, half_life=half_life, rho=1e-2)
        scores, _ = model.run(block_of(numeric(rows)), labels, np.ones(4000))
        wrong[half_life] = float((np.sign(scores[2000:, 0]) != labels[2000:]).mean())
    assert wrong[100.0] < wrong[0.0]
    assert wrong[100.0] < 0.25


@pytest.mark.parametrize("task", ["two", "three", "regression"])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("update", [*UPDATES.values()])
def test_broken_input_gives_finite_scores_and_losses(update: int, normalize: bool, task: str) -> None:
    rng = np.random.default_rng(8)
    classes = 3 if task == "three" else 1
    changes: dict[str, Any] = {"loss": SQUARED} if task == "regression" else {}
    model = model_of(update, 2, classes, normalize, half_life=50.0, steepness=2.0, rho=1e-3, **changes)
    rows = stream(8, 600, 6)
    rows[:, 1] = rows[:, 0]  # a duplicate
    rows[:, 2] = 0.0  # a constant
    rows[100:200, 3] = rng.choice([1e100, -1e100, 1e-300], 100)
    rows[300:400, 4:] = np.nan  # vanish
    rows[:, 5] *= 1e30
    labels, weights = labels_of(8, 600, classes), np.ones(600)
    if task == "regression":
        labels[150:170] = 1e100
    weights[::5], weights[1::5], weights[2::5] = 1e-300, 1e20, 0.0
    scores, losses = model.run(block_of(numeric(rows)), labels, weights)
    assert np.isfinite(scores).all()
    assert np.isfinite(losses).all()
    assert all(np.isfinite(model.arrays()[name]).all() for name in ("weights", "spread", "clock"))


@pytest.mark.parametrize("update", UPDATES.values())
def test_one_class_for_ten_thousand_events_and_thousands_of_categories(update: int) -> None:
    model = model_of(update, table_bits=14)
    events = [[(1, 1 + t % 5000, 1.0), (2, 6000, 0.5)] for t in range(10_000)]
    scores, _ = model.run(block_of(events), np.ones(10_000), np.ones(10_000))
    assert np.isfinite(scores).all()
    assert (scores[5000:] > 0).all()


@pytest.mark.parametrize("update", UPDATES.values())
def test_predicting_and_weight_zero_leave_no_trace(update: int) -> None:
    events, labels = mixed(9, 50, 5), labels_of(9, 50, 1)
    one, other = model_of(update), model_of(update)
    one.run(block_of(events), labels, np.ones(50))
    unknown = [[*items, (9, 1 << 30, 1.0), ((1 << 30) + 1, (1 << 30) + 1, 2.0)] for items in events]
    for t in range(50):
        other.scores(block_of(unknown))
        other.run(block_of(unknown[:1]), np.ones(1), np.zeros(1))
        other.run(block_of(events[t : t + 1]), labels[t : t + 1], np.ones(1))
    assert same_state(one, other)


def test_what_is_unknown_is_observed_but_shared_with_nothing() -> None:
    events, labels = mixed(10, 60, 5), labels_of(10, 60, 1)
    model = model_of(SGD, normalize=False)
    model.run(block_of(events), labels, np.ones(60))
    unknown = [[*items, ((1 << 30) + 1, (1 << 30) + 1, 2.0)] for items in events]
    np.testing.assert_array_equal(model.scores(block_of(unknown)), model.scores(block_of(events)))


def test_the_losses_of_arow_are_hinge_and_squared_error() -> None:
    events = mixed(11, 40, 4)
    scores, losses = model_of(AROW).run(block_of(events), labels_of(11, 40, 1), np.ones(40))
    np.testing.assert_allclose(losses, np.maximum(0.0, 1.0 - labels_of(11, 40, 1) * scores[:, 0]))
    targets = np.random.default_rng(11).standard_normal(40)
    scores, losses = model_of(AROW, loss=SQUARED).run(block_of(events), targets, np.ones(40))
    np.testing.assert_allclose(losses, (targets - scores[:, 0]) ** 2)


def test_restarting_forgets_all_but_the_steps() -> None:
    model = model_of(SGD, classes=3)
    model.run(block_of(mixed(12, 40, 4)), labels_of(12, 40, 3), np.ones(40))
    model.restart(40)
    assert (model.steps, model.classes) == (40, 1)
    assert not model.scores(block_of(mixed(12, 40, 4))).any()


def test_events_labels_and_weights_are_as_many() -> None:
    block = block_of(mixed(13, 10, 4))
    for labels, weights in ((11, 11), (9, 9), (10, 9)):
        with pytest.raises(ValueError, match="10 events"):
            model_of(AROW).run(block, np.ones(labels), np.ones(weights))


@pytest.mark.parametrize(("gamma", "table_bits"), [(0, 18), (4, 18), (2, 7), (2, 31)])
def test_parameters_out_of_range_are_refused(gamma: int, table_bits: int) -> None:
    with pytest.raises(UsageError):
        Explicit(gamma, True, step_of(AROW), table_bits)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("index", lambda a: a + (1 << 40)),
        ("index", lambda a: a - 1),
        ("index", lambda a: a[::-1]),
        ("index", lambda a: a.astype(float)),
        ("weights", lambda a: a[:, :-1]),
        ("weights", lambda a: a * np.nan),
        ("weights", lambda a: a[:0]),
        ("weights", lambda a: np.zeros((1 << 30, 0))),
        ("weights", lambda a: a.astype(str)),
        ("spread", lambda a: -a),
        ("spread", lambda a: a[0]),
        ("clock", lambda a: a * 0.0),
        ("clock", lambda a: a[:1]),
        ("known", lambda a: a + 100),
        ("known", lambda a: -a),
        ("hashed", lambda a: a[:0]),
    ],
)
@pytest.mark.parametrize("table_bits", [8, 18])
def test_a_state_that_contradicts_itself_is_refused(name: str, change: Any, table_bits: int) -> None:
    model = model_of(AROW, table_bits=table_bits)
    model.run(block_of(mixed(14, 40, 6)), labels_of(14, 40, 1), np.ones(40))
    arrays = model.arrays()
    arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match="contradict|unsupported type|right kind"):
        model_of(AROW, table_bits=table_bits).restore(arrays, 7, 70)


def test_a_state_that_says_it_is_not_hashed_without_room_is_refused() -> None:
    model = model_of(AROW, table_bits=8)
    model.run(block_of(mixed(14, 40, 6)), labels_of(14, 40, 1), np.ones(40))
    arrays = {**model.arrays(), "hashed": np.array([False])}
    with pytest.raises(ValueError, match="contradict"):
        model_of(AROW, table_bits=8).restore(arrays, 7, 70)


def test_a_state_with_parts_missing_is_refused() -> None:
    arrays = model_of(AROW).arrays()
    del arrays["clock"]
    with pytest.raises(ValueError, match="contradict"):
        model_of(AROW).restore(arrays, 1, 1)


def test_events_of_too_many_features_are_taken_at_order_one() -> None:
    events, labels = numeric(stream(3, 100, 12)), np.sign(np.random.default_rng(3).standard_normal(100))
    step, ones = Step(AROW, HINGE, 1.0, 0.0, 0.0, 0.0, 0.0), np.ones(100)
    bounded, values = Explicit(2, True, step, most=3), Explicit(1, True, step)
    scores = [model.run(block_of(events), labels, ones)[0] for model in (bounded, values)]
    assert scores[0].tobytes() == scores[1].tobytes()
    roomy, unbounded = Explicit(2, True, step, most=13 * 13), Explicit(2, True, step)
    scores = [model.run(block_of(events), labels, ones)[0] for model in (roomy, unbounded)]
    assert scores[0].tobytes() == scores[1].tobytes()
