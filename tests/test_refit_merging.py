"""Refits of models that learned separately: the names and classes of the fits that are kept."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from streamkarma import KARMAMixtureClassifier, merge
from streamkarma.events.block import Block
from streamkarma.refit import merging
from streamkarma.refit.refits import FIRST, Refits
from tests.test_refit import block, every_task, instant, labels_of, made, stream

__all__ = ["instant"]

DROPPED = 2**32 - 1


class Change(NamedTuple):
    """As defined in the engine."""

    attributes: NDArray[np.uint32]
    coordinates: NDArray[np.uint32]


#: For the events of ``block``: six attributes, and coordinates up to 22, of which 7 to 19 are free.
COORDINATES = np.full(23, DROPPED, np.uint32)
COORDINATES[:6], COORDINATES[20:] = [0, 9, 4, 8, 2, 30], [3, 31, 1]
CHANGE: Any = Change(np.uint32([0, 5, 1, 3, 2, 6, 4]), COORDINATES)
NOTHING: Any = Change(np.uint32([0]), np.uint32([0]))


def seen(names: list[str], task: str, events: Block) -> Refits:
    refits = Refits(names, 300, task == "regression")
    run(refits, task, events, learned=True)
    return refits


def run(refits: Refits, task: str, events: Block, learned: bool = False) -> NDArray[np.float64]:
    refits.begin(events)
    targets = labels_of(events, task) if learned else np.full(len(events.starts) - 1, np.nan)
    classes = 5 if task == "multiclass" else 1
    return refits.run(slice(0, len(targets)), targets, np.ones(len(targets)), classes)


def carried(events: Block) -> Block:
    return events._replace(
        attributes=CHANGE.attributes[events.attributes].astype(np.int32),
        coordinates=COORDINATES[events.coordinates].astype(np.int32),
    )


@every_task
@pytest.mark.parametrize("name", ["boosting", "trees"])
def test_trees_and_samples_go_over_to_other_names(instant: None, task: str, name: str) -> None:
    events, asked = block(2 * FIRST, 1), block(60, 2)
    one, few = seen([name], task, events), seen([name], task, block(50, 3))
    expected = run(one, task, asked)
    merged = Refits([name], 300, task == "regression")
    merging.merge([merged, few, one], [NOTHING, CHANGE, CHANGE])
    assert merged.fitted == one.fitted
    np.testing.assert_allclose(run(merged, task, carried(asked)), expected, rtol=0.0, atol=1e-9)
    # From then on results equal those by the old names, with new fits.
    more = block(FIRST, 4)
    run(one, task, more, learned=True)
    run(merged, task, carried(more), learned=True)
    assert merged.fitted == one.fitted
    assert merged.fitted[name] > FIRST


def test_names_that_were_given_up_are_nobodys(instant: None) -> None:
    events = block(150, 1)
    gone = Refits(["boosting"], 300, False)
    gone.begin(events._replace(evicted=[(100, [2], [2])]))
    gone.run(slice(0, 150), labels_of(events, "binary"), np.ones(150), 1)
    merged = Refits(["boosting"], 300, False)
    merging.merge([merged, gone], [NOTHING, CHANGE])
    sample = merged.state()[1]["0.coordinates"]
    before = gone.state()[1]["0.coordinates"]
    # Coordinates of the 100 events before the eviction, and of those since.
    assert (sample == 4).sum() == (before >= 2**30).sum() > 0
    assert (sample >= 2**30).sum() == (before == 2).sum() > 0
    assert merged.state()[0]["indices"]["next"] > sample.max()


@pytest.mark.parametrize("name", ["boosting", "trees"])
@pytest.mark.parametrize(("task", "places"), [("binary", [1, 0]), ("multiclass", [3, 0, 1, 4, 2])])
def test_classes_are_numbered_anew(instant: None, task: str, places: list[int], name: str) -> None:
    refits, asked = seen([name], task, block(2 * FIRST, 1)), block(60, 2)
    before = run(refits, task, asked)
    merging.relabel(refits, places)
    after = run(refits, task, asked)
    expected = -before if task == "binary" else before[:, :, np.argsort(places)]
    np.testing.assert_allclose(after, expected, atol=1e-9)
    kept = refits.state()[1]["0.facts"][:, 0]
    assert set(kept) == {places[int(label)] for label in labels_of(block(2 * FIRST, 1), task)}


@every_task
def test_a_merged_model_has_the_refits_of_the_part_that_has_learned_the_most(
    instant: None, task: str
) -> None:
    events = stream(task, 500)
    parts = [made(task), made(task)]
    for part, own in zip(parts, (events[:350], events[350:]), strict=True):
        for x, y in reversed(own):
            part.learn_one(x, y)
    merged: Any = merge(parts)
    assert merged.summary()["refits"] == parts[0].summary()["refits"]
    assert merged.state()[0]["refit"] == merge(parts[::-1]).state()[0]["refit"]
    for x, y in stream(task, 100, 1):
        merged.learn_one(x, y)
    assert merged.summary()["refits"]["boosting"] >= parts[0].summary()["refits"]["boosting"]


def test_extra_experts_cannot_be_merged() -> None:
    from river.linear_model import LogisticRegression

    from streamkarma.errors import UsageError

    models = [KARMAMixtureClassifier(extra_experts=[LogisticRegression()]) for _ in range(2)]
    with pytest.raises(UsageError, match="extra experts, which cannot be merged"):
        merge(models)
