"""The running scale: exact without outliers, and not moved by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma import ExplicitKARMAClassifier, KARMAMixtureRegressor, NeighborsRegressor, SubspaceRegressor
from streamkarma._engine import Encoder, Target
from tests.encoding import encoded, encoder, items, restored

#: As in the engine's scale.rs.
CUT, FAR, START = 3.0, 50.0, 16
finite = st.integers(-(10**9), 10**9).map(lambda i: i / 1000)


def known(values: Any, longest: float = np.inf) -> Encoder:
    """An encoder that has learned some values of an attribute."""
    by = encoder(scale=True, longest=longest)
    encoded(by, [{"a": float(value)} for value in values])
    return by


def mean_and_deviation(by: Encoder) -> tuple[float, float]:
    return by.mean_and_deviation(1)


def looked_at(by: Encoder, value: float) -> float | None:
    """A value as it would be standardised; None if it would count as missing."""
    return next((x for k, x in items(by, {"a": value}, learned=False) if k == 1), None)


def reference(values: list[float]) -> tuple[float, float]:
    """Mean and deviation of values that are all different, as in the docstring of the module."""
    first, later = np.array(values[:START]), values[START:]
    centre = np.median(first)
    distances = np.sort(np.abs(first - centre)[first != centre])
    edge = 12 * 1.4826 * (distances[len(distances) // 2] if len(distances) else 0.0)
    kept = np.clip(first, centre - edge, centre + edge)
    mean, variance, count = kept.mean(), kept.var(), len(first)
    for value in later:
        inside = np.clip(value, mean - CUT * variance**0.5, mean + CUT * variance**0.5)
        count += 1
        step = (inside - mean) / count
        variance += ((inside - mean) * (inside - mean - step) - variance) / count
        mean += step
    return mean, variance**0.5


@settings(deadline=None)
@given(st.lists(finite, min_size=1, max_size=60, unique=True))
def test_it_is_what_its_description_says(values: list[float]) -> None:
    assert mean_and_deviation(known(values)) == pytest.approx(reference(values), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("longest", [np.inf, 1000.0])
@pytest.mark.parametrize("zeros", [0.0, 0.7, 0.97])
def test_without_wild_values_it_is_the_mean_and_deviation_of_all(zeros: float, longest: float) -> None:
    rng = np.random.default_rng(0)
    values = rng.uniform(3.0, 5.0, 5000) * (rng.random(5000) >= zeros)
    ages = np.arange(5000)[::-1]
    weights = np.ones(5000) if longest == np.inf else (1 - 1 / longest) ** ages
    mean = np.average(values, weights=weights)
    deviation = np.average((values - mean) ** 2, weights=weights) ** 0.5
    assert mean_and_deviation(known(values, longest)) == pytest.approx((mean, deviation), rel=2e-3)


@pytest.mark.parametrize("share", [0.001, 0.02, 0.05])
@pytest.mark.parametrize("size", [1e3, 1e5, 1e8, -9999.0, 1e99])
@pytest.mark.parametrize("zeros", [0.0, 0.8])
def test_one_value_in_twenty_does_not_move_it(zeros: float, size: float, share: float) -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(2.0, 1.0, 4000) * (rng.random(4000) >= zeros)
    wild = np.where(rng.random(4000) < share * (1.0 - zeros), size, values)
    mean, deviation = mean_and_deviation(known(values))
    found = mean_and_deviation(known(wild))
    assert abs(found[0] - mean) < deviation
    assert deviation / 2 < found[1] < 2.5 * deviation


def test_where_many_lie_beyond_the_edge_it_moves() -> None:
    rng = np.random.default_rng(2)
    values = np.concatenate([rng.normal(0.0, 1.0, 500), rng.normal(100.0, 1.0, 20_000)])
    mean, deviation = mean_and_deviation(known(values))
    assert abs(mean - 100.0) < deviation


def test_after_a_change_of_units_it_begins_anew() -> None:
    rng = np.random.default_rng(6)
    values = np.concatenate([rng.normal(20.0, 1.0, 10_000), rng.normal(68.0, 1.8, 300)])
    assert mean_and_deviation(known(values)) == pytest.approx((68.0, 1.8), rel=0.1)


@pytest.mark.parametrize("stuck", [20, 500])
def test_a_sensor_that_is_stuck_for_a_while_does_not_move_it(stuck: int) -> None:
    rng = np.random.default_rng(7)
    before, after = rng.normal(20.0, 1.0, 5000), rng.normal(20.0, 1.0, 1000)
    mean, deviation = mean_and_deviation(known([*before, *[-9999.0] * stuck, *after]))
    assert abs(mean - 20.0) < 1.0
    assert deviation < 2.0


@pytest.mark.parametrize("at", range(2, START + 4))
def test_a_wild_value_among_the_first_is_overcome(at: int) -> None:
    values = np.random.default_rng(at).normal(0.0, 1.0, 200)
    values[at - 2] = 1e8
    mean, deviation = mean_and_deviation(known(values))
    assert abs(mean) < 1.0
    assert 0.5 < deviation < 3.0


@settings(deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.5, -7.0, 1e9]), max_size=80), finite, st.booleans())
def test_looking_leaves_no_trace(values: list[float], value: float, fades: bool) -> None:
    by = known([1.0, *values], 20.0 if fades else np.inf)
    before, seen = by.arrays()["moments"], looked_at(by, value)
    assert by.arrays()["moments"].tobytes() == before.tobytes()
    assert dict(items(by, {"a": value})).get(1) == seen
    again = restored(by, encoder(scale=True))
    assert again.arrays()["moments"].tobytes() == by.arrays()["moments"].tobytes()


def test_what_is_no_measurement_is_as_good_as_missing() -> None:
    by = known(np.random.default_rng(3).normal(0.0, 1.0, 1000))
    assert [looked_at(by, z) is None for z in (0.5, 0.8 * FAR, 1.3 * FAR, -9999.0)] == [0, 0, 1, 1]


def test_a_target_that_came_many_times_is_known_at_once() -> None:
    one, other = Target(True, np.inf), Target(True, np.inf)
    one.observe(4.0, 15.0, 30)
    other.encode(np.full(30, 4.0), np.full(30, 0.5))
    assert one.arrays()["target"].tobytes() == other.arrays()["target"].tobytes()
    assert one.preview(np.nan, 0.0)[1:] == (4.0, 1.0)


@pytest.mark.parametrize("kind", [SubspaceRegressor, NeighborsRegressor, KARMAMixtureRegressor])
def test_far_targets_of_hardly_any_weight_hardly_count(kind: Any) -> None:
    rng, model, errors = np.random.default_rng(3), kind(), []
    for _ in range(1200):
        x = dict(zip("abc", rng.normal(size=3).tolist(), strict=True))
        target = x["a"] - x["b"] + 0.1 * rng.normal()
        if rng.random() < 0.3:
            model.learn_one(x, target + 1000 * rng.random(), 1e-9)
            continue
        errors.append((model.predict_one(x) - target) ** 2)
        model.learn_one(x, target)
    assert np.mean(errors[400:]) < 0.2


def test_numbers_as_strings_are_learned_as_numbers() -> None:
    rng = np.random.default_rng(5)
    numbers, texts = ExplicitKARMAClassifier(), ExplicitKARMAClassifier()
    for a, b in rng.normal(size=(200, 2)).tolist():
        event, spelled = {"a": a, "b": b}, {"a": str(a), "b": f" {b!r}"}
        assert texts.predict_proba_one(spelled) == numbers.predict_proba_one(event)
        numbers.learn_one(event, a > b)
        texts.learn_one(spelled, a > b)
    assert texts.vocabulary.entries() == [("a", None), ("b", None)]


@pytest.mark.parametrize(
    "text",
    ["1,5", "02139", "1_000", "inf", "0x10", "1e999", "1.2.3", "22.11.2026", "٣", "--", "."],
)
def test_other_strings_are_categories(text: str) -> None:
    by = encoder()
    assert items(by, {"a": text}) == [(1, 1.0)]
    assert by.entries() == [("a", text)]


@pytest.mark.parametrize("text", ["0", "-0", "+1.5", ".5", "5.", "1e3", "1E-3", " 7 ", "1234567890123456789"])
def test_strings_that_spell_numbers_are_these(text: str) -> None:
    by = encoder()
    assert items(by, {"a": text}) == [(1, float(text))]
    assert by.entries() == [("a", None)]
