"""Events of many values: numbers, words and categories."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from streamkarma import BoostingClassifier, BoostingRegressor
from streamkarma.estimators.persistence import from_bytes, to_bytes

WORDS = [f"w{number}" for number in range(300)]
Event = tuple[dict[str, Any], float]


def boxes(count: int, noise: int = 0, words: int = 0, seed: int = 1) -> list[Event]:
    """A sum of thresholds of four numbers, beside which an event has others, or a text, that say nothing."""
    rng = np.random.default_rng(seed)
    events: list[Event] = []
    for _ in range(count):
        x = rng.standard_normal(4 + noise)
        event: dict[str, Any] = {f"x{place}": float(value) for place, value in enumerate(x)}
        if words:
            event["note"] = " ".join(WORDS[k] for k in np.minimum(rng.zipf(1.3, words), len(WORDS)) - 1)
        target = 6 * np.sign(x[0]) + 12 * (abs(x[1]) < 0.7) + 8 * np.sign(x[2]) * (x[3] > 0)
        events.append((event, float(target)))
    return events


def errors(model: Any, events: list[Event]) -> float:
    """Mean absolute error on the second half, in units of that of the median."""
    targets = np.array([target for _, target in events])
    residuals = []
    for event, target in events:
        residuals.append(abs(model.predict_one(event) - target))
        model.learn_one(event, target)
    half = len(events) // 2
    return float(np.mean(residuals[half:]) / np.mean(np.abs(targets - np.median(targets))[half:]))


def test_wide_events_are_fitted() -> None:
    assert errors(BoostingRegressor(), boxes(900, noise=60)) < 0.6
    assert errors(BoostingRegressor(), boxes(900, noise=96)) < 0.6


def test_many_words_leave_numbers_their_turn() -> None:
    assert errors(BoostingRegressor(), boxes(900, words=10)) < 1.15 * errors(BoostingRegressor(), boxes(900))


@pytest.mark.parametrize("window", [40, 500])
def test_a_model_that_was_saved_keeps_as_many(window: int) -> None:
    """Those of narrow events as well, which leave the window when wide ones come."""
    events = boxes(100) + boxes(60, noise=100, seed=2) + boxes(60, words=30, seed=3)
    whole, part = (BoostingClassifier(window=window, max_coordinates=150) for _ in range(2))
    for number, (event, target) in enumerate(events):
        if number % 37 == 0:
            part = cast(BoostingClassifier, from_bytes(to_bytes(part), "it")[0])
        assert whole.predict_proba_one(event) == part.predict_proba_one(event)
        whole.learn_one(event, target > 0)
        part.learn_one(event, target > 0)
