"""The first pass over all events, and learning with the names and scales it found."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from streamkarma import ExplicitKARMAClassifier, ExplicitKARMARegressor
from streamkarma._engine import LineReader
from streamkarma.estimators.persistence import from_bytes, to_bytes
from streamkarma.events.roles import TARGET

MODELS = [ExplicitKARMAClassifier, ExplicitKARMARegressor]


def records(count: int) -> list[dict[str, Any]]:
    """Numbers, some of them missing, a sentinel, and categories, some of which occur once."""
    rng = random.Random(4)
    return [
        {
            **{f"x{i}": rng.gauss(i, i + 1) for i in range(5) if rng.random() < 0.5},
            "s": -9999 if rng.random() < 0.1 else rng.gauss(0, 1),
            "k": f"v{int(rng.expovariate(0.02))}",
        }
        for _ in range(count)
    ]


def look(model: Any, events: list[dict[str, Any]]) -> Any:
    """The survey of a part, as if from another process."""
    model = deepcopy(model)
    model.begin_survey()
    text = "".join(json.dumps({**event, "label": 1}) + "\n" for event in events).encode()
    reader = LineReader({"label": TARGET}, True, True, False)
    reader.read(model._pipeline.encoder, text, 0, len(events), True)
    if isinstance(model, ExplicitKARMARegressor):
        model._target.encode(np.array([event["s"] for event in events], float), np.ones(len(events)))
    return from_bytes(to_bytes(model), "a part")[0]


def surveyed(model: Any, parts: list[list[dict[str, Any]]]) -> Any:
    """The merged survey of all parts."""
    found = [look(model, part) for part in parts]
    model._pipeline.merge([part._pipeline for part in found])
    if isinstance(model, ExplicitKARMARegressor):
        model._target.merge([part._target for part in found])
    model.end_survey()
    return model


@pytest.mark.parametrize("kind", MODELS)
def test_how_events_are_divided_does_not_show(kind: type[Any]) -> None:
    events = records(600)
    one = surveyed(kind(), [events])
    many = surveyed(kind(), [events[200:], [], events[:200:2], events[1:200:2]])
    encoders = one._pipeline.encoder, many._pipeline.encoder
    assert encoders[0].entries() == encoders[1].entries()
    assert encoders[0].attributes == ["k", "k.rate", "s", "s.sentinel", *(f"x{i}" for i in range(5))]
    np.testing.assert_allclose(
        encoders[1].arrays()["moments"], encoders[0].arrays()["moments"], rtol=1e-11, atol=1e-11
    )
    if kind is ExplicitKARMARegressor:
        np.testing.assert_allclose(
            many._target.arrays()["target"], one._target.arrays()["target"], rtol=1e-11, atol=1e-11
        )
    x3 = [event["x3"] for event in events if "x3" in event]
    place = next(k for k, entry in enumerate(encoders[0].entries(), 1) if entry == ("x3", None))
    mean, deviation = encoders[0].mean_and_deviation(place)
    assert abs(mean - np.mean(x3)) < 0.05
    assert abs(deviation / np.std(x3) - 1) < 0.02


@pytest.mark.parametrize("kind", MODELS)
def test_a_frozen_model_learns_with_the_scale_that_it_has(kind: type[Any]) -> None:
    model = surveyed(kind(), [records(300)])
    before = model._pipeline.encoder.arrays()["moments"]
    label = True if kind is ExplicitKARMAClassifier else 3.0
    model.freeze()
    for event in records(40):
        model.learn_one({**event, "new": 1.0}, label)
    encoder = model._pipeline.encoder
    assert model.steps == 40
    assert encoder.ignored == 40
    np.testing.assert_array_equal(encoder.arrays()["moments"], before)
    model.freeze(False)
    model.learn_one({"new": 1.0}, label)
    assert "new" in encoder.attributes


def test_the_time_since_the_event_before_is_no_sentinel() -> None:
    events = [{"at": f"2026-01-{1 + n // 150:02d}T00:00:00Z", "s": 1.0} for n in range(3000)]
    model = surveyed(ExplicitKARMAClassifier(), [events])
    assert "at.sentinel" not in model._pipeline.encoder.attributes
    assert model.values["at"]["values"] == 3000


def test_what_is_no_survey_is_refused() -> None:
    model = look(ExplicitKARMAClassifier(), records(20))
    encoder = model._pipeline.encoder
    names, arrays = (encoder.entries(), encoder.ignored, encoder.evicted), encoder.arrays()
    for name, wrong in [("survey_numbers", np.full((3, 7), np.nan)), ("survey_known", np.array([10**6]))]:
        with pytest.raises(ValueError, match="survey|summaries"):
            encoder.restore(*names, {**arrays, name: wrong})
    with pytest.raises(ValueError, match="began with"):
        deepcopy(model)._pipeline.merge([model._pipeline])
