from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma.core.adaptive import ADAGRAD, AROW, FACTOR, START, Step, learn, new_clock, predict
from streamkarma.core.loss import HINGE, LOGISTIC
from tests.reference import Array

PLACES = 40


def features(rng: np.random.Generator, size: int, repeated: bool) -> tuple[Array, Array]:
    index = rng.choice(PLACES, size, replace=repeated)
    return index.astype(np.int64), rng.standard_normal(size)


def sigma_of(growth: float, spread: Array) -> Array:
    return np.minimum(1.0, growth * spread)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(0, 21), classes=st.sampled_from([1, 3]),
       growth=st.sampled_from([1.0, 1.7]))  # fmt: skip
def test_arow_is_what_its_formulas_say(seed: int, size: int, classes: int, growth: float) -> None:
    rng = np.random.default_rng(seed)
    step, clock = Step(AROW, HINGE, 2.0, 0.0, 0.0, 0.0, 0.0), new_clock()
    clock[FACTOR] = growth
    weights, spread = rng.standard_normal((classes, PLACES)), rng.uniform(0.1, 1.0, (classes, PLACES))
    index, phi = features(rng, size, False)
    slopes = np.array([1.0, 0.0, -1.0])[:classes]
    loss, weight = 0.8, 3.0
    noise = step.r / weight
    touched = [c for c in range(classes) if slopes[c]]
    variance = sum((sigma_of(growth, spread[c, index]) * phi**2).sum() for c in touched)
    expected, left = weights.copy(), spread.copy()
    for c in touched:
        sigma = sigma_of(growth, spread[c, index])
        expected[c, index] -= slopes[c] * loss / (variance + noise) * sigma * phi
        left[c, index] = 1 / (1 / sigma + phi**2 / noise) / growth
    learn(step, clock, weights, spread, index, phi, loss, slopes, weight, np.empty((2, 21)))
    np.testing.assert_allclose(weights, expected, rtol=1e-12)
    np.testing.assert_allclose(spread, left, rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(0, 21), growth=st.sampled_from([1.0, 1.7]))
def test_adagrad_is_what_its_formulas_say(seed: int, size: int, growth: float) -> None:
    rng = np.random.default_rng(seed)
    step, clock = Step(ADAGRAD, LOGISTIC, 1.0, 0.3, 0.0, 0.0, 0.0), new_clock()
    clock[FACTOR] = growth
    weights, spread = rng.standard_normal((1, PLACES)), rng.uniform(0.0, 5.0, (1, PLACES))
    index, phi = features(rng, size, False)
    gradient = -0.6 * 2.0 * phi
    squares = spread[0, index] / growth + gradient**2
    expected = weights[0, index] / growth - 0.3 * gradient / np.sqrt(START + squares)
    learn(step, clock, weights, spread, index, phi, 0.0, np.array([-0.6]), 2.0, np.empty((2, 21)))
    np.testing.assert_allclose(weights[0, index] / growth, expected, rtol=1e-12)
    np.testing.assert_allclose(spread[0, index] / growth, squares, rtol=1e-12)


@pytest.mark.parametrize("update", [AROW, ADAGRAD])
def test_features_that_meet_in_a_place_all_count(update: int) -> None:
    rng = np.random.default_rng(7)
    step = Step(update, HINGE, 1.0, 0.1, 0.0, 0.0, 0.0)
    weights, spread = np.zeros((1, 2)), np.full((1, 2), 1.0 if update == AROW else 0.0)
    together = np.zeros(2, np.int64)
    for _ in range(200):
        before = spread[0, 0]
        phi = rng.uniform(0.5, 2.0, 2)
        learn(step, new_clock(), weights, spread, together, phi, 1.0, np.array([-1.0]), 1.0, np.empty((2, 2)))
        alone = before / (1 + before * phi.max() ** 2) if update == AROW else before + phi.max() ** 2
        # Less variance than after the larger alone, a larger sum of squares.
        assert 0.0 < spread[0, 0] < alone if update == AROW else spread[0, 0] > alone
    assert weights[0, 0] > 0.0
    assert weights[0, 1] == 0.0


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(0, 21), repeated=st.booleans())
def test_a_score_is_a_sum_over_the_features(seed: int, size: int, repeated: bool) -> None:
    rng = np.random.default_rng(seed)
    index, phi = features(rng, size, repeated)
    weights, scores = rng.standard_normal((3, PLACES)), np.empty(3)
    predict(Step(AROW, HINGE, 1.0, 0.0, 0.0, 0.0, 0.0), new_clock(), weights, index, phi, scores)
    np.testing.assert_allclose(scores, weights[:, index] @ phi, atol=1e-12)
