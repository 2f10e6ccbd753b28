from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamkarma import _engine
from streamkarma.core.loss import CLASSIFICATION, REGRESSION
from tests.reference import loss_and_slope, multiclass_loss_and_slopes

scores = st.floats(-30, 30)


@pytest.mark.parametrize("name", [*CLASSIFICATION, *REGRESSION])
@given(score=scores, label=st.sampled_from([-1.0, 1.0]))
def test_slope_of_the_reference_is_the_derivative_of_the_engine_loss(
    name: str, score: float, label: float
) -> None:
    code = {**CLASSIFICATION, **REGRESSION}[name].code
    step = 1e-5
    below, at, above = (engine_loss(code, score + s, label) for s in (-step, 0.0, step))
    _, slope = loss_and_slope(code, score, label)
    left, right = (at - below) / step, (above - at) / step
    # At a kink any slope between the one-sided derivatives is valid.
    assert min(left, right) - 1e-3 <= slope <= max(left, right) + 1e-3


@pytest.mark.parametrize(
    ("name", "score", "label", "loss"),
    [
        ("hinge", 0.5, 1.0, 0.5),
        ("hinge", 0.5, -1.0, 1.5),
        ("squared_hinge", 0.5, -1.0, 2.25),
        ("logistic", 0.0, 1.0, np.log(2)),
        ("squared", 3.0, 1.0, 4.0),
        ("absolute", 3.0, 1.0, 2.0),
        ("huber", 3.0, 1.0, 1.5),
        ("huber", 1.5, 1.0, 0.125),
        ("epsilon_insensitive", 1.05, 1.0, 0.0),
        ("epsilon_insensitive", 3.0, 1.0, 1.9),
    ],
)
def test_values(name: str, score: float, label: float, loss: float) -> None:
    code = {**CLASSIFICATION, **REGRESSION}[name].code
    assert loss_and_slope(code, score, label)[0] == pytest.approx(loss)
    assert engine_loss(code, score, label) == pytest.approx(loss)


def engine_loss(code: int, score: float, label: float) -> float:
    return float(_engine.losses(code, np.array([score]), np.array([label]))[0])


@pytest.mark.parametrize("name", [*CLASSIFICATION, *REGRESSION])
@given(score=scores, label=st.sampled_from([-1.0, 1.0]))
def test_the_engine_has_the_same_losses(name: str, score: float, label: float) -> None:
    code = {**CLASSIFICATION, **REGRESSION}[name].code
    assert engine_loss(code, score, label) == pytest.approx(loss_and_slope(code, score, label)[0], abs=1e-12)


def test_logistic_loss_survives_large_scores() -> None:
    code = CLASSIFICATION["logistic"].code
    assert engine_loss(code, -1000.0, 1.0) == 1000.0
    assert engine_loss(code, 1000.0, 1.0) == 0.0


@pytest.mark.parametrize("name", CLASSIFICATION)
@given(each=st.lists(scores, min_size=2, max_size=5, unique=True), which=st.integers(0, 100))
def test_multiclass_slopes_are_the_gradient(name: str, each: list[float], which: int) -> None:
    code = CLASSIFICATION[name].code
    label = which % len(each)
    values, slopes = np.array(each), np.empty(len(each))
    loss = multiclass_loss_and_slopes(code, values, label, slopes)
    assert _engine.multiclass_loss(code, values, label) == pytest.approx(loss, abs=1e-12)
    assert slopes.sum() == pytest.approx(0.0, abs=1e-9)
    other = values + 1e-6 * np.arange(len(each))
    change = multiclass_loss_and_slopes(code, other, label, np.empty(len(each))) - loss
    # Convexity: a loss lies above each of its tangents.
    assert change >= slopes @ (other - values) - 1e-9


def test_multiclass_hinge_is_that_of_crammer_and_singer() -> None:
    slopes = np.empty(3)
    loss = multiclass_loss_and_slopes(CLASSIFICATION["hinge"].code, np.array([0.5, 0.2, -1.0]), 1, slopes)
    assert loss == pytest.approx(1.3)
    assert slopes.tolist() == [1.0, -1.0, 0.0]


def test_of_one_class_there_is_nothing_to_lose() -> None:
    assert _engine.multiclass_loss(0, np.zeros(1), 0) == 0.0
