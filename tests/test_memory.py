"""Models use the memory stated in docs/speed-and-memory.md, however long they learn."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from streamkarma import (
    BoostingClassifier,
    ExplicitKARMAClassifier,
    ForestClassifier,
    KARMAClassifier,
    KARMAMixtureClassifier,
    NeighborsClassifier,
    SubspaceClassifier,
)
from streamkarma.estimators.experts import TREES
from streamkarma.estimators.learners import KINDS


def up(number: float) -> int:
    """The next power of two, 8 or more."""
    return max(8, 1 << (int(number) - 1).bit_length())


def events(
    attributes: int, observed: int, count: int, classes: int
) -> Iterator[tuple[dict[str, float], int]]:
    # Calls with other arguments give other values.
    rng = random.Random(f"{attributes} {count}")
    for n in range(count):
        names = rng.sample(range(attributes), observed) if n else range(attributes)
        yield {f"x{i}": rng.gauss(0, 1) for i in names}, rng.randrange(classes)


def taken(model: Any, attributes: int, count: int = 400, observed: int = 5, classes: int = 2) -> int:
    for x, y in events(attributes, observed, count, classes):
        model.learn_one(x, y)
    size: int = model.summary()["bytes"]
    return size


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("budget", [100, 512])
@pytest.mark.parametrize("attributes", [6, 20, 150])
def test_support_vectors(attributes: int, budget: int, classes: int) -> None:
    a, b, c = up(attributes + 1), 64 * -(-budget // 64), 1 if classes == 2 else classes
    formula = 12 * a * c * b + a * b + 8 * b * min(a, up(2 * (attributes + 1))) + 44 * b + 8 * a + 1000
    model = KARMAClassifier(budget=budget)
    assert taken(model, attributes, 700, classes=classes) <= formula
    before = model.summary()["bytes"]
    assert taken(model, attributes, 1500, classes=classes) == before


@pytest.mark.parametrize("bits", [12, 22])
@pytest.mark.parametrize(("gamma", "sets"), [(1, lambda a: 1), (2, lambda a: a), (3, lambda a: a * a / 2)])
@pytest.mark.parametrize("attributes", [6, 20, 150])
def test_explicit(attributes: int, gamma: int, sets: Any, bits: int) -> None:
    a = attributes + 1
    most = 16 * min(1 << bits, up(a) * up(sets(a)))
    model = ExplicitKARMAClassifier(gamma=gamma, table_bits=bits)
    assert taken(model, attributes) <= most


@pytest.mark.parametrize("attributes", [6, 20, 50, 150])
def test_subspace(attributes: int) -> None:
    a = up(attributes + 1)
    most = 24 * min(a, 64) ** 2 + 200 * a
    assert taken(SubspaceClassifier(), attributes) <= most + 2000


def test_a_mixture_grows_with_its_trees_and_its_window_alone() -> None:
    def growth(model: Any) -> int:
        before = taken(model, 20, 500)
        return taken(model, 20, 1000) - before

    alone = (
        growth(ForestClassifier(trees=TREES)) + growth(NeighborsClassifier()) + growth(BoostingClassifier())
    )
    assert growth(KARMAMixtureClassifier()) == alone


@pytest.mark.parametrize("kind", KINDS.values())
def test_river_sees_the_memory_of_the_engine(kind: Any) -> None:
    model = kind(entity="device", coverage=0.9)
    for t in range(300):
        model.learn_one({"device": f"d{t % 50}", "a": t % 7, "b": -1.0}, t % 2)
    said = model.summary()
    entities = model.vocabulary.entity_counts[1]
    assert 0 <= model._raw_memory_usage - said["bytes"] - entities < 20_000
