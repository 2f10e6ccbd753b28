"""The reference against Algorithm 1 as in the paper, and the engine against the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from streamkarma.core.support import Rule, SupportVectors
from streamkarma.reference import ReferenceKARMA
from tests.reference import algorithm_1, stream

Record = dict[str, Any]
LOSSES = {"hinge": 0, "logistic": 2}


def events(seed: int, many: int, attributes: int = 6) -> tuple[list[Record], list[bool], list[float]]:
    """Numbers and one category, half of them missing; labels and weights.

    With a second category two patterns could preserve exactly as much, and rounding would decide.
    """
    rng = np.random.default_rng(seed)
    rows = stream(seed, many, attributes)
    records: list[Record] = [
        {
            f"x{j}": value if j else "abc"[int(value > 0) + int(value > 1)]
            for j, value in enumerate(row)
            if value == value
        }
        for row in rows.tolist()
    ]
    labels = [sum(v for v in record.values() if isinstance(v, float)) > 0 for record in records]
    return records, labels, ((0.5 + rng.random(many)) * (rng.random(many) < 0.9)).tolist()


def block_of(records: list[Record]) -> tuple[Any, ...]:
    """Events as the engine takes them: the constant first, categories on coordinates of their own."""
    names: dict[str, int] = {}
    places: dict[tuple[str, str | None], int] = {}
    starts, items = [0], []
    for record in records:
        items.append((0, 0, 1.0))
        for name, value in record.items():
            category = value if isinstance(value, str) else None
            attribute = names.setdefault(name, len(names) + 1)
            place = places.setdefault((name, category), len(places) + 1)
            items.append((attribute, place, 1.0 if category else value))
        items[starts[-1] :] = sorted(items[starts[-1] :])
        starts.append(len(items))
    attributes, coordinates, values = zip(*items, strict=True)
    return np.array(starts), np.int32(attributes), np.int32(coordinates), np.array(values), []


def scores_of(model: ReferenceKARMA, records: list[Record], labels: Any, weights: Any) -> list[float]:
    """Scores before each event is learned."""
    scores = []
    for x, y, w in zip(records, labels, weights, strict=True):
        scores.append(model.decision_one(x))
        model.learn_one(x, y, w)
    return scores


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("gamma", [1, 2, 4])
@pytest.mark.parametrize("normalize", [True, False])
def test_without_a_budget_the_reference_is_algorithm_1(loss: str, gamma: int, normalize: bool) -> None:
    rows, rng = stream(gamma, 60, 4), np.random.default_rng(gamma)
    labels, weights = np.sign(rng.standard_normal(60)), rng.random(60)
    records = [{f"x{j}": value for j, value in enumerate(row)} for row in rows.tolist()]

    def slope(f: float, y: float) -> float:
        return -y * float(y * f < 1) if loss == "hinge" else -y / (1 + np.exp(y * f))

    with_constant = np.column_stack([np.ones(60), rows])
    expected = algorithm_1(with_constant, labels, gamma, normalize, 0.5, None, slope, weights=weights)
    model = ReferenceKARMA(gamma, 0.5, loss, normalize=normalize)
    scores = scores_of(model, records, labels > 0, weights)
    np.testing.assert_allclose(scores, expected[:, 0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("gamma", [1, 2, 3])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize(
    ("budget", "pruning"),
    [(None, "merge"), (1, "merge"), (5, "merge"), (20, "merge"), (12, "remove"), (12, "oldest")],
)
def test_the_engine_is_the_reference(
    loss: str, gamma: int, normalize: bool, budget: int | None, pruning: str
) -> None:
    records, labels, weights = events(gamma, 250)
    model = ReferenceKARMA(gamma, 0.1, loss, budget, pruning, normalize)
    expected = scores_of(model, records, labels, weights)
    rule = Rule(gamma, normalize, 0.1, 0.0, LOSSES[loss], 0.0, budget or 0, pruning)
    engine = SupportVectors(rule, average=False)
    signs = np.where(labels, 1.0, -1.0)
    scores, _ = engine.run(block_of(records), signs, np.array(weights))
    np.testing.assert_allclose(scores[:, 0], expected, rtol=1e-9, atol=1e-9)
    summary = engine.summary()
    assert summary["support_vectors"] == len(model.support_vectors)
    if budget == 20:
        assert summary["merged_closest"] >= 10


def test_nothing_is_kept_of_what_shares_no_value() -> None:
    model = ReferenceKARMA(budget=1, rho=0.1)
    model.learn_one({"a": 1.0}, True)
    model.learn_one({"b": "x"}, False)
    assert [len(sv.observed) for sv in model.support_vectors] == [2]
