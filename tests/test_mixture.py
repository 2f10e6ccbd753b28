from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit as sigmoid

from streamkarma import KARMAMixtureRegressor, load, save
from streamkarma.core.loss import HINGE, LOGISTIC, SQUARED
from streamkarma.core.mixture import Calibrated, Mixture
from streamkarma.core.support import Rule, SupportVectors
from streamkarma.estimators.persistence import to_bytes
from tests.mixing import (
    SHARE,
    left_open,
    mix,
    mixture_of_scores,
    numbers,
    several_classes,
    silent,
    two_classes,
    with_silent,
    within_reach,
)
from tests.reference import Array, stream
from tests.test_support import block_of


def labelled(seed: int, events: int, spread: float = 2.0) -> tuple[Array, Array]:
    """True log-odds, and labels drawn from them."""
    rng = np.random.default_rng(seed)
    logits = spread * rng.standard_normal(events) + 0.5
    return logits, np.where(rng.random(events) < sigmoid(logits), 1.0, -1.0)


def calibration_error(scores: Array, labels: Array) -> float:
    """Expected calibration error of log-odds, in 15 bins of the chance of the label +1."""
    chances = sigmoid(scores[:, 0])
    bins = np.minimum((15 * chances).astype(int), 14)
    gaps = np.bincount(bins, chances - (labels > 0), 15)
    return float(np.abs(gaps).sum() / len(labels))


def run(
    scores: Array, labels: Array, regression: bool = False, half_life: float = 0.0
) -> tuple[Mixture, Array, Array]:
    mixing = mixture_of_scores(len(scores), regression, half_life)
    if scores.shape[2] > 1:
        mixing.widen(scores.shape[2])
    return mixing, *mix(mixing, scores, labels)


def said(mixing: Mixture, scores: Array) -> Array:
    """The mixture of scores, without learning."""
    return mix(mixing, scores, np.full(scores.shape[1], np.nan))[0]


def incomplete(seed: int, events: int) -> tuple[Array, Array]:
    """Rows of five to eight values each, and these numbers."""
    rng = np.random.default_rng([seed, 2])
    rows, places = rng.standard_normal((events, 8)), rng.permuted(np.tile(np.arange(8), (events, 1)), axis=1)
    rows[places < rng.integers(0, 4, (events, 1))] = np.nan
    return rows, (~np.isnan(rows)).sum(axis=1).astype(float)


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), experts=st.integers(1, 5), loud=st.floats(0.01, 50.0))
def test_two_classes_are_mixed_as_the_text_says(seed: int, experts: int, loud: float) -> None:
    rng = np.random.default_rng(seed)
    logits, labels = labelled(seed, 150)
    scores, weights = loud * (logits + rng.standard_normal((experts, 150))), rng.random(150) * 2
    rows, items = incomplete(seed, 150)
    mixing = mixture_of_scores(experts)
    mixed, losses = mix(mixing, scores[:, :, None], labels, weights, block_of(rows))
    observed = np.array([items, -left_open(rows, mixed[:, 0])]).T
    expected, _, shares = two_classes(with_silent(scores), labels, weights, observed)
    np.testing.assert_allclose(mixing.arrays()["shares"], shares[-1], rtol=1e-6)
    np.testing.assert_allclose(sigmoid(mixed[:, 0]), expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(np.exp(-losses), np.where(labels > 0, expected, 1 - expected), rtol=1e-7)


@pytest.mark.parametrize("classes", [3, 6])
def test_several_classes_are_mixed_as_the_text_says(classes: int) -> None:
    rng = np.random.default_rng(classes)
    labels = rng.integers(0, classes, 200).astype(float)
    scores = 3 * rng.standard_normal((3, 200, classes)) + 4 * np.eye(classes)[labels.astype(int)]
    mixed = run(scores, labels)[1]
    np.testing.assert_allclose(np.exp(mixed), several_classes(with_silent(scores), labels), rtol=1e-7)
    np.testing.assert_allclose(np.exp(mixed).sum(axis=1), 1.0)


def test_numbers_are_mixed_as_the_text_says() -> None:
    rng = np.random.default_rng(1)
    targets = rng.standard_normal(300)
    targets[40] = 25.0
    scores = 0.5 * targets + 0.4 * rng.standard_normal((3, 300))
    rows, items = incomplete(1, 300)
    mixed, losses = mix(mixture_of_scores(3, True), scores[:, :, None], targets, events=block_of(rows))
    free = numbers(with_silent(scores), targets, np.array([items, np.zeros(300)]).T)
    expected = within_reach(free[:, None], [targets[:t] for t in range(300)])[:, 0]
    np.testing.assert_allclose(mixed[:, 0], expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(losses, (mixed[:, 0] - targets) ** 2)


@settings(max_examples=12)
@given(seed=st.integers(0, 10_000), experts=st.integers(1, 5), switches=st.integers(0, 4))
def test_the_mixture_loses_little_to_the_best_member_of_each_stretch(
    seed: int, experts: int, switches: int
) -> None:
    logits, labels = labelled(seed, 400)
    scores = 2 * np.random.default_rng([seed, 1]).standard_normal((experts, 400))
    stretches = np.arange(400) * (switches + 1) // 400
    scores[stretches % experts, np.arange(400)] = logits
    losses = run(scores[:, :, None], labels)[2]
    _, likelihoods, _ = two_classes(with_silent(scores), labels, np.ones(400), np.ones(400))
    regret, members = losses.sum(), experts + 2
    for stretch in range(switches + 1):
        regret += np.log(likelihoods[stretches == stretch]).sum(axis=0).max()
    bound = np.log(members) + switches * np.log(members / SHARE) - 400 * np.log1p(-SHARE)
    assert regret <= bound + 1e-6


def test_the_mean_weights_are_those_of_the_last_thousand_events() -> None:
    logits, labels = labelled(2, 4000)
    scores = 2 * np.random.default_rng(3).standard_normal((2, 4000))
    # After 1,500 events another member has the true log-odds.
    scores[0, :1500], scores[1, 1500:] = logits[:1500], logits[1500:]
    mixing, seen = mixture_of_scores(2), []
    for t in range(4000):
        mix(mixing, scores[:, t : t + 1, None], labels[t : t + 1])
        arrays = mixing.arrays()
        seen.append(arrays["shares"])
        if t + 1 in (1, 2, 1000):
            np.testing.assert_allclose(arrays["mean_shares"], np.mean(seen, axis=0))
    decay = 0.999 ** np.arange(3000)[::-1]
    recent = (decay[:, None] * np.array(seen[1000:])).sum(axis=0) / 1000
    means = np.array([*mixing.summary()["experts"].values()])
    np.testing.assert_allclose(means, 0.999**3000 * np.mean(seen[:1000], axis=0) + recent)
    assert means.sum() == pytest.approx(1.0)
    assert means[2] > 0.2 > means[1]


@pytest.mark.parametrize("factor", [0.01, 1.0, 10.0, 1e6])
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_scores_of_any_scale_and_bias_are_calibrated(factor: float, shift: float) -> None:
    logits, labels = labelled(3, 6000)
    mixed, losses = run((factor * (logits + shift))[None, :, None], labels)[1:]
    assert calibration_error(mixed[2000:], labels[2000:]) < 0.03
    assert losses[1000:].mean() < np.log1p(np.exp(-labels * logits))[1000:].mean() + 0.01


def test_labels_that_are_wrong_now_and_then_are_allowed_for() -> None:
    logits, labels = labelled(4, 10_000, spread=4.0)
    labels *= np.where(np.random.default_rng(4).random(10_000) < 0.1, -1, 1)
    chances = 0.1 + 0.8 * sigmoid(labels * logits)
    mixed, losses = run(logits[None, :, None], labels)[1:]
    assert calibration_error(mixed, labels) < 0.03
    assert losses.mean() < -np.log(chances).mean() + 0.02


def test_the_mixture_follows_a_switch_of_the_best_expert() -> None:
    logits, labels = labelled(5, 4000)
    noise = 2 * np.random.default_rng(5).standard_normal((2, 4000))
    noise[0, :2000], noise[1, 2000:] = logits[:2000], logits[2000:]
    ideal = np.log1p(np.exp(-labels * logits))
    losses = run(noise[:, :, None], labels)[2]
    assert losses.mean() < ideal.mean() + 0.02
    assert losses[2000:2200].mean() < ideal[2000:2200].mean() + 0.15


@pytest.mark.parametrize("garbage", [0.0, 7.0, 1e300, -np.inf, np.nan, "noise"])
def test_a_worthless_expert_does_no_harm(garbage: Any) -> None:
    logits, labels = labelled(6, 3000)
    noise = np.random.default_rng(6).standard_normal(3000)
    scores = np.stack([logits, 1e3 * noise if garbage == "noise" else np.full(3000, garbage)])
    alone, both = (run(scores[:experts, :, None], labels)[2].mean() for experts in (1, 2))
    assert both < alone + 0.005


def test_the_blend_finds_what_no_expert_knows() -> None:
    rng = np.random.default_rng(7)
    parts = rng.standard_normal((3, 5000))
    labels = np.where(rng.random(5000) < sigmoid(2 * parts.sum(axis=0)), 1.0, -1.0)
    mixing, _, losses = run(parts[:, :, None], labels)
    alone = [run(parts[e : e + 1, :, None], labels)[2].mean() for e in range(3)]
    assert losses.mean() < min(alone) - 0.1
    shares = mixing.arrays()["shares"]
    assert shares.argmax() == 4
    assert shares.sum() == pytest.approx(1.0)


def test_numbers_are_shrunk_shifted_and_combined() -> None:
    rng = np.random.default_rng(8)
    parts = rng.standard_normal((2, 4000))
    targets = parts.sum(axis=0) / np.sqrt(2) + 0.1 * rng.standard_normal(4000)
    scores = np.stack([5 * parts[0] + 3, parts[1], rng.standard_normal(4000)])
    losses = run(scores[:, :, None], targets, regression=True)[2]
    assert losses[1000:].mean() < 0.02


def scores_of(kind: str, seed: int = 9, events: int = 400) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    classes = 4 if kind == "several" else 1
    scores = rng.standard_normal((3, events, classes))
    if kind == "number":
        return scores, rng.standard_normal(events)
    return scores, rng.integers(0, 4, events) * 1.0 if kind == "several" else labelled(seed, events)[1]


def mixing_of(kind: str, half_life: float = 0.0) -> Mixture:
    mixing = mixture_of_scores(3, kind == "number", half_life)
    if kind == "several":
        mixing.widen(4)
    return mixing


def same_state(one: Any, other: Any) -> bool:
    left, right = one.arrays(), other.arrays()
    return left.keys() == right.keys() and all(left[k].tobytes() == right[k].tobytes() for k in left)


@pytest.mark.parametrize("kind", ["two", "several", "number"])
@settings(max_examples=10)
@given(cuts=st.lists(st.integers(0, 400), max_size=6), half_life=st.sampled_from([0.0, 50.0]))
def test_blocks_and_single_events_and_resumed_runs_give_the_same_bits(
    kind: str, cuts: list[int], half_life: float
) -> None:
    scores, labels = scores_of(kind)
    labels[::7] = np.nan
    whole, pieces = mixing_of(kind, half_life), mixing_of(kind, half_life)
    mixed, losses = mix(whole, scores, labels)
    for begin, end in pairwise(sorted({0, 400, *cuts})):
        resumed = mixing_of(kind, half_life)
        resumed.restore(pieces.arrays(), 1, 1)
        pieces = resumed
        assert said(pieces, scores[:, begin:end]).shape == (end - begin, mixed.shape[1])
        part, lost = mix(pieces, scores[:, begin:end], labels[begin:end])
        assert part.tobytes() == mixed[begin:end].tobytes()
        assert lost.tobytes() == losses[begin:end].tobytes()
    assert same_state(whole, pieces)


@pytest.mark.parametrize("kind", ["two", "several", "number"])
def test_unlabelled_and_weightless_events_leave_no_trace(kind: str) -> None:
    scores, labels = scores_of(kind)
    one, other = mixing_of(kind), mixing_of(kind)
    mix(one, scores, labels)
    mix(other, np.repeat(scores, 2, axis=1), np.repeat(labels, 2), np.tile([1.0, 0.0], 400))
    said(other, 1e9 * scores)
    assert same_state(one, other)


@pytest.mark.parametrize("kind", ["two", "several", "number"])
@pytest.mark.parametrize("size", [0.0, 1e-300, 1e6, 1e100, 1e300])
@pytest.mark.parametrize("weight", [1e-300, 1.0, 1e300])
def test_nothing_overflows_whatever_the_scores(kind: str, size: float, weight: float) -> None:
    scores, labels = scores_of(kind)
    if kind == "number" and size:
        labels *= min(size, 1e100)
    mixing = mixing_of(kind)
    mixed, losses = mix(mixing, size * scores, labels, np.full(400, weight))
    assert np.isfinite(mixed).all()
    assert np.isfinite(losses).all()
    assert all(np.isfinite(array).all() for array in mixing.arrays().values())
    mixing_of(kind).restore(mixing.arrays(), 1, 1)


@pytest.mark.parametrize("kind", ["two", "several", "number"])
def test_one_class_for_ten_thousand_events_is_recovered_from(kind: str) -> None:
    scores, labels = scores_of(kind, events=12_000)
    labels[:10_000] = 1.0
    mixing = mixing_of(kind)
    mixed, losses = mix(mixing, scores, labels)
    assert np.isfinite(mixed).all()
    assert losses[5000:10_000].max() < 0.01
    blank = {"two": np.log(2), "several": np.log(4), "number": 1.0}[kind]
    assert losses[11_000:].mean() < 1.5 * blank


def test_what_is_long_past_is_forgotten_sooner_with_a_shorter_half_life() -> None:
    logits, labels = labelled(10, 3000)
    late = np.where(np.arange(3000) < 2000, 0.0, 4.0)
    lost = [
        run((logits + late)[None, :, None], labels, half_life=h)[2][2000:2300].mean() for h in (0.0, 50.0)
    ]
    assert lost[1] < lost[0]


def test_widening_keeps_the_odds_of_the_first_two() -> None:
    scores, labels = scores_of("two")
    mixing = mixing_of("two")
    mix(mixing, 2 * scores, labels)
    before = said(mixing, scores)[:, 0]
    halves = np.concatenate([-scores / 2, scores / 2], axis=2)
    mixing.widen(2)
    logs = said(mixing, halves)
    np.testing.assert_allclose(logs[:, 1] - logs[:, 0], before, rtol=1e-9, atol=1e-9)
    mixing.widen(3)
    wider = said(mixing, np.concatenate([halves, np.zeros((3, 400, 1))], axis=2))
    np.testing.assert_allclose(wider[:, 1] - wider[:, 0], before, atol=0.1)
    assert np.isfinite(mix(mixing, np.zeros((3, 9, 3)), np.full(9, 2.0))[1]).all()


@pytest.mark.parametrize("kind", ["two", "several", "number"])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("shares", lambda a: a[:-1]),
        ("shares", lambda a: 2 * a),
        ("mix", lambda a: a * np.nan),
        ("looseness", lambda a: -a),
        ("covariances", lambda a: a[:, :1]),
        ("covariances", lambda a: a + np.triu(a[0], 1)[None] + 9.0 * np.tri(a.shape[1]).T),
        ("parameters", lambda a: a.astype(np.float32)),
        ("squares", lambda a: 0 * a),
        ("steps", lambda a: a - 10**6),
        ("offsets", lambda a: a[:, :1]),
        ("offsets", lambda a: np.zeros((3, 1))),
        ("slack", lambda a: np.zeros((3, 9))),
    ],
)
def test_a_state_that_contradicts_itself_is_refused(kind: str, name: str, change: Any) -> None:
    mixing = mixing_of(kind)
    mix(mixing, *scores_of(kind))
    arrays = mixing.arrays()
    arrays[name] = change(arrays[name])
    if kind != "several" and name == "offsets" and arrays[name].shape == (4, 0):
        return
    with pytest.raises(ValueError, match="inconsistent|unsupported type"):
        mixing_of(kind).restore(arrays, 1, 1)


def mixture_of(kind: str, external_experts: int = 0, recent: bool = True) -> Mixture:
    loss = {"two": LOGISTIC, "several": HINGE, "number": SQUARED}[kind]
    rules = [Rule(gamma, True, 0.05, 0.0, loss, 2.0 * (loss == SQUARED), 8, "merge") for gamma in (1, 2, 3)]
    experts = {f"order {rule.gamma}": SupportVectors(rule, False) for rule in rules}
    mixture = Mixture(experts, kind == "number", external_experts, recent=recent)
    if kind == "several":
        mixture.widen(4)
    return mixture


@pytest.mark.parametrize("kind", ["two", "several", "number"])
def test_a_mixture_is_its_experts_and_the_mixing_of_their_scores(kind: str) -> None:
    rows, (_, labels) = stream(11, 400, 5), scores_of(kind)
    block, ones = block_of(rows), np.ones(400)
    experts = {"silent": silent(kind == "number"), **mixture_of(kind).experts}
    mixture, mixing = Mixture(experts, kind == "number", recent=False), mixing_of(kind)
    alone = [*mixture_of(kind).experts.values()]
    if kind == "several":
        for each in (mixture, *alone):
            each.widen(4)
    mixed, losses = mixture.run(block, labels, ones)
    expected, lost = mix(
        mixing, np.stack([each.run(block, labels, ones)[0] for each in alone]), labels, ones, block
    )
    assert (mixed.tobytes(), losses.tobytes()) == (expected.tobytes(), lost.tobytes())
    again = mixing.scores(block, np.stack([each.scores(block) for each in alone]))
    assert mixture.scores(block).tobytes() == again.tobytes()
    assert (mixture.steps, mixture.classes, mixture.arrays()["shares"].shape) == (400, mixed.shape[1], (5,))


@pytest.mark.parametrize("kind", ["two", "several", "number"])
def test_a_mixture_cut_and_resumed_gives_the_same_bits(kind: str) -> None:
    rows, (_, labels) = stream(12, 400, 5), scores_of(kind)
    whole, pieces, block = (
        mixture_of(kind, external_experts=1),
        mixture_of(kind, external_experts=1),
        block_of(rows),
    )
    external_scores = np.random.default_rng(12).standard_normal((1, 400, whole.classes))
    mixed, _ = whole.run(block, labels, np.ones(400), external_scores=external_scores)
    for begin, end in pairwise([0, 1, 2, 150, 400]):
        resumed = mixture_of(kind, external_experts=1)
        resumed.restore(pieces.arrays(), 5, 5)
        pieces = resumed
        part = block._replace(starts=block.starts[begin : end + 1])
        said = pieces.run(
            part, labels[begin:end], np.ones(end - begin), external_scores=external_scores[:, begin:end]
        )[0]
        assert said.tobytes() == mixed[begin:end].tobytes()
    assert same_state(whole, pieces)


def test_a_third_class_and_a_new_beginning() -> None:
    rows, (_, labels) = stream(13, 400, 5), scores_of("two")
    mixture, block = mixture_of("two"), block_of(rows)
    mixture.run(block, labels, np.ones(400))
    before = mixture.scores(block)[:, 0]
    mixture.widen(3)
    after = mixture.scores(block)
    np.testing.assert_allclose(after[:, 1] - after[:, 0], before, atol=0.1)
    mixture.run(block, np.arange(400) % 3.0, np.ones(400))
    mixture.restart(7)
    assert (mixture.steps, mixture.classes, mixture.arrays()["shares"].tolist()) == (7, 1, [0.25] * 4)
    assert list(mixture.summary()["experts"]) == ["order 1", "order 2", "order 3", "blend"]


def test_states_of_other_mixtures_are_refused() -> None:
    mixture = mixture_of("two")
    rows, (_, labels) = stream(14, 400, 5), scores_of("two")
    mixture.run(block_of(rows), labels, np.ones(400))
    arrays = mixture.arrays()
    several = mixture_of("several").arrays()
    wider = {name: (arrays if "." in name else several)[name] for name in arrays}
    fewer = {name: array for name, array in arrays.items() if not name.startswith("2.")}
    for state in (wider, fewer, {**arrays, "3.values": np.zeros(1)}, {**arrays, "mix": np.zeros(4)}):
        with pytest.raises(ValueError, match="experts|inconsistent"):
            mixture_of("two").restore(state, 5, 5)
    with pytest.raises(ValueError, match="not one of 4 classes"):
        mix(mixing_of("several"), np.zeros((3, 1, 4)), np.array([4.0]))


@pytest.mark.parametrize("shape", [(1, 400, 1), (3, 400, 1), (2, 400, 2), (2, 399, 1)])
def test_scores_from_elsewhere_are_as_many_as_there_are_places(shape: tuple[int, int, int]) -> None:
    rows, (_, labels) = stream(14, 400, 5), scores_of("two")
    mixture = mixture_of("two", external_experts=2)
    with pytest.raises(ValueError, match="scores|labels"):
        mixture.run(block_of(rows), labels, np.ones(400), external_scores=np.zeros(shape))


@pytest.mark.parametrize("kind", ["two", "several"])
def test_one_learner_calibrated_is_a_mixture_of_it_alone(kind: str) -> None:
    rows, (_, labels) = stream(15, 400, 5), scores_of(kind)
    rule = Rule(2, True, 0.05, 0.0, HINGE, 0.0, 8, "merge")
    calibrated, alone = Calibrated(SupportVectors(rule, False), 50.0), SupportVectors(rule, False)
    mixture = Mixture({"alone": alone}, half_life=50.0, recent=False)
    if kind == "several":
        for each in (calibrated, alone, mixture):
            each.widen(4)
    found, expected, _ = (
        each.run(block_of(rows), labels, np.ones(400)) for each in (calibrated, mixture, alone)
    )
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.tobytes() == theirs.tobytes()
    assert calibrated.summary() == alone.summary()


def test_a_first_target_of_zero_is_the_same_to_a_model_that_was_saved(tmp_path: Path) -> None:
    """Until then, the logarithms of the targets were nearly Gaussian."""
    random, model = Random(0), KARMAMixtureRegressor()

    def event() -> tuple[dict[str, float], float]:
        x = {"a": random.gauss(0, 1), "b": random.gauss(0, 1)}
        return x, math.exp(2 * x["a"] + random.gauss(0, 0.3))

    for _ in range(100):
        model.learn_one(*event())
    model.learn_one({"a": 0.0, "b": 0.0}, 0.0)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    for _ in range(100):
        x, y = event()
        assert model.predict_one(x) == again.predict_one(x)
        model.learn_one(x, y)
        again.learn_one(x, y)


@pytest.mark.parametrize("size", [1e-17, 1e-30, 1e-90])
def test_a_model_of_tiny_targets_can_be_saved(tmp_path: Path, size: float) -> None:
    random, model = Random(0), KARMAMixtureRegressor(scale=False)
    for _ in range(60):
        a = random.gauss(0, 1)
        model.learn_one({"a": a}, size * (a + random.gauss(0, 0.3)))
    save(model, tmp_path / "m")
    assert to_bytes(load(tmp_path / "m")) == to_bytes(model)


def predicted_numbers(rows: Array, targets: Array) -> Array:
    """The prediction of ``auto`` for each row before its target is learned."""
    model = KARMAMixtureRegressor()
    predictions = np.empty(len(targets))
    for t, (row, target) in enumerate(zip(rows, targets, strict=True)):
        event = {f"x{j}": float(value) for j, value in enumerate(row)}
        predictions[t] = model.predict_one(event)
        model.learn_one(event, float(target))
    return predictions


@pytest.mark.parametrize("equal", [0.7, 0.95])
def test_where_most_targets_are_equal_their_mean_is_predicted(equal: float) -> None:
    rows = np.random.default_rng(3).standard_normal((1500, 3))
    lean = rows @ [1.0, -0.5, 0.3]
    targets = np.where(lean > np.quantile(lean, equal), np.exp(lean), 0.0)
    predictions = predicted_numbers(rows, targets)[300:]
    assert predictions.mean() == pytest.approx(targets[300:].mean(), rel=0.3)
    assert ((predictions - targets[300:]) ** 2).mean() < 0.7 * targets[300:].var()


@pytest.mark.parametrize("seed", [2, 4, 7])
def test_no_prediction_is_farther_from_the_targets_than_they_reach(seed: int) -> None:
    # Without bounds, a few predictions are, some 110 events after targets have become 100 times as large.
    rng = np.random.default_rng(seed)
    rows, weights = rng.standard_normal((420, 5)), np.array([1.0, -0.7, 0.5, 0.3, 0.0])
    lean = rows @ weights / np.linalg.norm(weights)
    targets = lean * np.where(np.arange(420) < 300, 1.0, 100.0)
    predictions = predicted_numbers(np.where(rng.random(rows.shape) < 0.2, np.nan, rows), targets)[32:]
    lowest, highest = np.minimum.accumulate(targets)[31:-1], np.maximum.accumulate(targets)[31:-1]
    margin = (highest - lowest) * (1 + 1e-9)
    assert (predictions >= lowest - margin).all()
    assert (predictions <= highest + margin).all()


def noisy_line(count: int) -> list[tuple[dict[str, float], float]]:
    rng = Random(1)
    events = [{name: rng.gauss(0, 1) for name in "abcd"} for _ in range(count)]
    return [(x, 50 + 10 * (x["a"] - x["b"] + x["c"] / 2) + rng.gauss(0, 1)) for x in events]


def test_the_unit_of_large_weights_does_not_matter() -> None:
    def error(weight: float) -> float:
        model, residuals = KARMAMixtureRegressor(), []
        for x, y in noisy_line(700):
            residuals.append(abs(model.predict_one(x) - y))
            model.learn_one(x, y, w=weight)
        return sum(residuals[300:])

    assert error(300.0) < 1.15 * error(1.0)


def test_an_event_of_weight_0_ends_no_adjustments() -> None:
    """Predictions are adjusted by the latest errors until another event is predicted and not learned."""
    asked, unasked = KARMAMixtureRegressor(), KARMAMixtureRegressor()
    level, rng = 0.0, Random(3)
    for number in range(200):
        level += rng.gauss(0, 1)
        x, counts = {"a": rng.gauss(0, 1)}, number % 2 == 0
        prediction = asked.predict_one(x)
        assert not counts or unasked.predict_one(x) == prediction
        for model in (asked, unasked):
            model.learn_one(x, level, w=float(counts))


@pytest.mark.parametrize(("common", "other", "share"), [(1.0, 5.0, 0.7), (0.0, 3.0, 0.8)])
def test_with_the_absolute_loss_the_common_target_is_the_median(
    common: float, other: float, share: float
) -> None:
    model, rng = KARMAMixtureRegressor(loss="absolute"), Random(5)
    residuals, targets = [], []
    for _ in range(900):
        x, y = {"a": rng.gauss(0, 1)}, common if rng.random() < share else other
        residuals.append(abs(model.predict_one(x) - y))
        targets.append(y)
        model.learn_one(x, y)
    assert sum(residuals[500:]) < 1.01 * sum(abs(y - common) for y in targets[500:])


def test_a_common_target_is_not_predicted_where_others_can_be_told() -> None:
    model, rng, residuals = KARMAMixtureRegressor(loss="absolute"), Random(6), []
    for _ in range(700):
        x = {"a": rng.gauss(0, 1)}
        y = 5.0 if x["a"] > 0.5 else 1.0
        residuals.append(abs(model.predict_one(x) - y))
        model.learn_one(x, y)
    assert sum(residuals[400:]) < 0.5 * 300 * 4 * 0.3
