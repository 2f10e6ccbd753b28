from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma.arrays import Arrays
from streamkarma.core.explicit import ADAGRAD, AROW, Explicit, Step
from streamkarma.core.loss import HINGE, LOGISTIC, SQUARED
from tests.reference import Array, loss_and_slope, multiclass_loss_and_slopes
from tests.test_explicit import START, Items, block_of

PLACES = 40


def event_of(rng: np.random.Generator, size: int) -> tuple[Items, Array, Array]:
    """An event, the indices of its features with gamma = 1 (the constant first), and their values."""
    index = np.sort(rng.choice(np.arange(1, PLACES), size, replace=False))
    phi = rng.standard_normal(size)
    items = [(int(k), int(k), float(x)) for k, x in zip(index, phi, strict=True)]
    return items, np.array([0, *index]), np.array([1.0, *phi])


def model_of(step: Step, weights: Array, spread: Array, growth: float) -> Explicit:
    """A model with these weights; ``growth`` is the factor of all variances, or of 1 / w and 1 / G."""
    model = Explicit(1, False, step)
    arrays = model.arrays()
    arrays |= {"weights": weights, "spread": spread, "clock": np.array([9.0, growth])}
    arrays |= {"known": np.array([PLACES, PLACES, 0]), "index": np.arange(PLACES)}
    model.restore(arrays, PLACES, PLACES)
    return model


def learned(model: Explicit, items: Items, label: float, weight: float) -> tuple[Array, Arrays]:
    """The scores, and the state after the event is learned."""
    scores, _ = model.run(block_of([items]), np.array([label]), np.array([weight]))
    arrays = model.arrays()
    assert arrays["clock"][0] == 10.0
    return scores[0], arrays


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(0, 21), classes=st.sampled_from([1, 3]),
       growth=st.sampled_from([1.0, 1.7]))  # fmt: skip
def test_arow_is_what_its_formulas_say(seed: int, size: int, classes: int, growth: float) -> None:
    rng = np.random.default_rng(seed)
    weights, spread = rng.standard_normal((classes, PLACES)), rng.uniform(0.1, 1.0, (classes, PLACES))
    items, index, phi = event_of(rng, size)
    scores, slopes = weights[:, index] @ phi, np.zeros(classes)
    if classes == 1:
        loss, slopes[0] = loss_and_slope(HINGE, scores[0], 1.0)
    else:
        loss = multiclass_loss_and_slopes(HINGE, scores, 1, slopes)
    noise = 2.0 / 3.0
    sigma = np.minimum(1.0, growth * spread[:, index])
    touched = slopes != 0.0
    variance = (sigma[touched] * phi**2).sum()
    expected, left = weights.copy(), spread.copy()
    expected[:, index] -= slopes[:, None] * loss / (variance + noise) * sigma * phi
    left[np.ix_(touched, index)] = (1 / (1 / sigma + phi**2 / noise) / growth)[touched]
    model = model_of(Step(AROW, HINGE, 2.0, 0.0, 0.0, 0.0, 0.0), weights, spread, growth)
    predicted, state = learned(model, items, 1.0, 3.0)
    np.testing.assert_allclose(predicted, scores, atol=1e-12)
    np.testing.assert_allclose(state["weights"], expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(state["spread"], left, rtol=1e-10)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(0, 21), growth=st.sampled_from([1.0, 1.7]))
def test_adagrad_is_what_its_formulas_say(seed: int, size: int, growth: float) -> None:
    rng = np.random.default_rng(seed)
    weights, spread = rng.standard_normal((1, PLACES)), rng.uniform(0.0, 5.0, (1, PLACES))
    items, index, phi = event_of(rng, size)
    score = weights[0, index] / growth @ phi
    gradient = 2.0 * loss_and_slope(LOGISTIC, score, 1.0)[1] * phi
    expected, left = weights[0] / growth, spread[0] / growth
    left[index] += gradient**2
    expected[index] -= 0.3 * gradient / np.sqrt(START + left[index])
    model = model_of(Step(ADAGRAD, LOGISTIC, 1.0, 0.3, 0.0, 0.0, 0.0), weights, spread, growth)
    predicted, state = learned(model, items, 1.0, 2.0)
    np.testing.assert_allclose(predicted[0], score, atol=1e-12)
    np.testing.assert_allclose(state["weights"][0] / growth, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(state["spread"][0] / growth, left, rtol=1e-10)


@pytest.mark.parametrize("update", [AROW, ADAGRAD])
def test_features_that_meet_in_a_place_all_count(update: int) -> None:
    step, label = Step(update, SQUARED, 1.0, 0.1, 0.0, 0.0, 0.0), np.ones(1)
    # A hashed table in which this attribute and the constant collide.
    for attribute in range(256, 4096):
        model = Explicit(1, False, step, table_bits=8)
        model.run(block_of([[(attribute, attribute, 1.0)]]), label, label)
        if len(model.arrays()["index"]) == 1:
            break
    rng = np.random.default_rng(7)
    for _ in range(200):
        before, value = model.arrays(), rng.uniform(0.5, 2.0)
        scores, _ = model.run(block_of([[(attribute, attribute, value)]]), label, label)
        assert scores[0, 0] == pytest.approx(float(before["weights"][0, 0]) * (1.0 + value))
        most, gradient = max(1.0, value) ** 2, 2.0 * (scores[0, 0] - 1.0)
        old, new = before["spread"][0, 0], model.arrays()["spread"][0, 0]
        # Less variance, or a larger sum of squares, than after the larger one alone.
        assert 0.0 < new < old / (1 + old * most) if update == AROW else new > old + gradient**2 * most
    assert model.summary()["hashed"] == 1
    assert model.arrays()["index"].shape == (1,)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(0, 21))
def test_a_score_is_a_sum_over_the_features(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    items, index, phi = event_of(rng, size)
    weights = rng.standard_normal((3, PLACES))
    model = model_of(Step(AROW, HINGE, 1.0, 0.0, 0.0, 0.0, 0.0), weights, np.ones((3, PLACES)), 1.0)
    np.testing.assert_allclose(model.scores(block_of([items]))[0], weights[:, index] @ phi, atol=1e-12)
