"""The factorisation machine: alone as a learner, and as an expert of the mixture on categorical events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamkarma import KARMAMixtureClassifier, KARMAMixtureRegressor
from streamkarma.core.factorisation import FactorisationMachine
from streamkarma.errors import UsageError
from streamkarma.estimators.persistence import load, save
from streamkarma.events.block import Block
from tests.reference import Array

#: Users and items of a stream.
USERS, ITEMS = 60, 40


def pairs(seed: int, events: int) -> tuple[Array, Array, Array]:
    """Users, items, and how well their tastes, of three dimensions, agree."""
    tastes = np.random.default_rng(7).standard_normal((USERS + ITEMS, 3))
    rng = np.random.default_rng(seed)
    users, items = rng.integers(USERS, size=events), rng.integers(ITEMS, size=events)
    return users, items, np.sum(tastes[users] * tastes[USERS + items], axis=1)


def block_of(users: Array, items: Array) -> Block:
    coordinates = np.array([0 * users, 1 + users, 1 + USERS + items], np.int32).T.ravel()
    attributes = np.tile(np.int32([0, 1, 2]), len(users))
    return Block(3 * np.arange(len(users) + 1), attributes, coordinates, np.ones(len(coordinates)))


def records(seed: int, events: int) -> tuple[list[dict[str, Any]], list[float]]:
    users, items, agreement = pairs(seed, events)
    hours = np.random.default_rng(seed).random(events)
    rows = zip(users, items, hours, strict=True)
    return [{"user": f"u{u}", "item": f"i{i}", "hour": float(h)} for u, i, h in rows], agreement.tolist()


def test_it_learns_pairs_of_which_most_were_hardly_seen() -> None:
    users, items, agreement = pairs(0, 6000)
    labels = np.sign(agreement)
    scores, _ = FactorisationMachine().run(block_of(users, items), labels, np.ones(6000))
    assert np.mean(scores[4000:, 0] * labels[4000:] > 0) > 0.85
    scores, losses = FactorisationMachine(regression=True).run(
        block_of(users, items), agreement, np.ones(6000)
    )
    assert losses[4000:].mean() < 0.2 * agreement.var()


@pytest.mark.parametrize("half_life", [0.0, 100.0])
def test_blocks_are_single_events(half_life: float) -> None:
    users, items, agreement = pairs(1, 300)
    labels = np.sign(agreement)
    one, two = FactorisationMachine(half_life=half_life), FactorisationMachine(half_life=half_life)
    scores, losses = one.run(block_of(users, items), labels, np.ones(300))
    for t in range(300):
        part = slice(t, t + 1)
        score, loss = two.run(block_of(users[part], items[part]), labels[part], np.ones(1))
        assert (score[0], loss[0]) == (scores[t], losses[t])


def test_wrong_bounds_are_refused() -> None:
    with pytest.raises(UsageError, match="table_bits must be between 8 and 30"):
        FactorisationMachine(table_bits=7)


def test_in_the_mixture_the_order_of_keys_never_shows_and_a_saved_model_goes_on(tmp_path: Path) -> None:
    events, agreement = records(2, 1500)
    one, two = KARMAMixtureClassifier(), KARMAMixtureClassifier()
    for t, (x, y) in enumerate(zip(events, agreement, strict=True)):
        assert one.predict_proba_one(x) == two.predict_proba_one(dict(reversed(x.items())))
        one.learn_one(x, y > 0)
        two.learn_one(dict(reversed(x.items())), y > 0)
        if t == 700:
            save(two, tmp_path / "model")
            two = load(tmp_path / "model")
    assert one.weights == two.weights


def test_it_leads_where_tastes_decide_and_sleeps_among_numbers() -> None:
    events, agreement = records(3, 4000)
    numbers = [{"a": x["hour"], "b": y} for x, y in zip(events, agreement, strict=True)]
    for rows, leads in ((events, True), (numbers, False)):
        model = KARMAMixtureRegressor()
        for x, y in zip(rows, agreement, strict=True):
            model.learn_one(x, y)
        weights = {name: weight for name, weight in model.weights.items() if name != "blend"}
        assert (max(weights, key=weights.__getitem__) == "factorisation machine") is leads
        if not leads:
            assert weights["factorisation machine"] < 0.01


def test_classes_that_come_later_join() -> None:
    users, items, agreement = pairs(4, 3000)
    labels = np.digitize(agreement, [-1.0, 1.0]).astype(float)
    model = FactorisationMachine()
    model.run(block_of(users[:100], items[:100]), np.sign(agreement[:100]), np.ones(100))
    model.widen(3)
    scores, _ = model.run(block_of(users, items), labels, np.ones(3000))
    assert np.mean(scores[2000:].argmax(axis=1) == labels[2000:]) > 0.65
