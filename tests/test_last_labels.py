"""Predictions adjusted by the latest errors."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from streamkarma import KARMAMixtureClassifier, KARMAMixtureRegressor, merge
from streamkarma.core.mixture import Mixture
from tests.conftest import Program
from tests.mixing import by_last_errors
from tests.reference import Array, stream
from tests.test_mixture import mixture_of
from tests.test_support import block_of

KINDS = ["two", "several", "number"]
EVENTS = 600


def labels_of(kind: str, stays: float = 0.95, seed: int = 3) -> Array:
    """Labels that mostly repeat; numbers are ±1, so that their mean square is 1."""
    rng, labels = np.random.default_rng(seed), [0]
    classes = 4 if kind == "several" else 2
    while len(labels) < EVENTS:
        labels.append(labels[-1] if rng.random() < stays else int(rng.integers(classes)))
    return np.array(labels) * 1.0 if kind == "several" else np.array(labels) * 2.0 - 1.0


def run(model: Mixture, labels: Array) -> tuple[Array, Array]:
    return model.run(block_of(stream(11, EVENTS, 5)), labels, np.ones(EVENTS))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_said_is_adjusted_as_it_is_defined(kind: str) -> None:
    labels = labels_of(kind)
    plain, _ = run(mixture_of(kind, recent=False), labels)
    adjusted, losses = run(mixture_of(kind), labels)
    said = by_last_errors(kind, plain, labels)
    shown = {
        "two": lambda mixed: 1 / (1 + np.exp(-mixed)),
        "several": np.exp,
        "number": lambda mixed: mixed,
    }[kind](adjusted)
    np.testing.assert_allclose(shown, said, atol=1e-7)
    true = {
        "two": lambda: -np.log(np.where(labels > 0, said[:, 0], 1 - said[:, 0])),
        "several": lambda: -np.log(said[np.arange(EVENTS), labels.astype(int)]),
        "number": lambda: (said[:, 0] - labels) ** 2,
    }[kind]()
    np.testing.assert_allclose(losses, true, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_errors_that_go_together_are_heeded_and_others_cost_little(kind: str) -> None:
    for stays, least, most in ((0.95, 0.0, 0.75), (0.0, 0.98, 1.02)):
        labels = labels_of(kind, stays)
        plain, adjusted = (run(mixture_of(kind, recent=recent), labels)[1].mean() for recent in (False, True))
        assert least < adjusted / plain < most


def events(count: int = 300) -> Iterator[tuple[dict[str, float], int]]:
    """A label that persists for some ten events, and numbers unrelated to it."""
    rng, label = np.random.default_rng(5), 0
    for n in range(count):
        label = int(rng.integers(2)) if rng.random() < 0.2 else label
        yield {"n": float(n), "x": float(rng.standard_normal())}, label


def learned(model: Any) -> Any:
    for x, y in events():
        model.learn_one(x, y)
    return model


def test_only_the_event_after_a_label_is_adjusted() -> None:
    model = learned(KARMAMixtureClassifier())
    silent, one, other = deepcopy(model), {"n": 300.0, "x": 0.5}, {"n": 301.0, "x": 0.5}
    silent.forget_last()
    first = model.predict_proba_one(one)
    assert first != silent.predict_proba_one(one)
    # Another event before the label of the first is known; then the first again.
    assert model.predict_proba_one(other) == silent.predict_proba_one(other)
    assert model.predict_proba_one(one) == first
    assert model.explain_one(one).score == pytest.approx(model.decision_one(one))
    assert model.explain_one(other).score == pytest.approx(silent.decision_one(other))
    # An event learned as it was predicted has the same score, and the next event is adjusted again.
    model.learn_one(one, 1)
    silent.learn_one(one, 1)
    assert model.predict_proba_one(other) != first
    silent.forget_last()
    assert model.predict_proba_one(other) != silent.predict_proba_one(other)


def test_predicting_before_learning_changes_nothing() -> None:
    one, other = KARMAMixtureClassifier(), KARMAMixtureClassifier()
    for x, y in events(100):
        one.predict_proba_one(x)
        one.learn_one(x, y)
        other.learn_one(x, y)
    assert one.predict_proba_one({"n": 1e3}) == other.predict_proba_one({"n": 1e3})


def test_events_that_hardly_count_are_hardly_remembered() -> None:
    near = learned(KARMAMixtureRegressor())
    far, x = deepcopy(near), {"n": 300.0, "x": 0.5}
    near.learn_one(x, 1.0, 1e-12)
    far.learn_one(x, 1e9, 1e-12)
    assert far.predict_one(x) == pytest.approx(near.predict_one(x), abs=1e-6)


def test_a_merged_model_follows_no_event() -> None:
    begun = learned(KARMAMixtureClassifier())
    parts = [deepcopy(begun), deepcopy(begun)]
    for n, (x, y) in enumerate(events()):
        parts[n % 2].learn_one(x, y)
    merged = merge(parts, begun)
    silent, x = deepcopy(merged), {"n": 300.0, "x": 0.5}
    silent.forget_last()
    assert merged.predict_proba_one(x) == silent.predict_proba_one(x)
    assert merged.summary()["last_labels"] > 0.5


def test_who_only_scores_says_the_same_wherever_an_event_comes(streamkarma: Program) -> None:
    records = [{**x, "y": y} for x, y in events()]
    streamkarma("learn", "--model", "m", records=records)
    asked = [{"n": 300.0, "x": 0.5}, {"n": 301.0, "x": -0.5}]
    rows = streamkarma("predict", "m", records=asked).rows
    back = streamkarma("predict", "m", records=asked[::-1]).rows
    assert [row["score"] for row in rows] == [row["score"] for row in back[::-1]]
    explained = streamkarma("predict", "m", "--explain", "2", records=asked).rows
    assert [row["score"] for row in explained] == [row["score"] for row in rows]
