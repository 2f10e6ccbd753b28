"""Events without a label train what needs none, and only if they are meant to."""

from __future__ import annotations

import json
import random
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma import (
    ExplicitKARMAClassifier,
    KARMAMixtureClassifier,
    KARMAMixtureRegressor,
    SubspaceClassifier,
    SubspaceRegressor,
    load,
)
from streamkarma.runtime.fields import Fields
from streamkarma.runtime.pending import Pending
from streamkarma.runtime.task import TaskModel
from streamkarma.synthetic import StreamSpec, records
from tests.cluster import lines
from tests.conftest import Program
from tests.loops import Kept, kept
from tests.test_pending import split, state, without

Events = list[dict[str, Any]]


def partly(share: float, count: int = 400, seed: int = 1, task: str = "binary") -> Events:
    """A stream of low rank in which a share of events has labels."""
    rng = random.Random(seed)
    whole = records(StreamSpec(8, 3, 0.6, task=task, seed=seed), count)
    return [event if rng.random() < share else without(event, "y") for event in whole]


def loop_of(learner: str = "auto", task: str = "auto", **more: Any) -> Kept:
    return kept(TaskModel(task, {}, None, lambda _: None, learner), **more)


def fed(stream: Events, **options: Any) -> Kept:
    loop = loop_of(**options)
    loop.feed(lines(stream))
    return loop


def bits(model: Any) -> Any:
    header, arrays = model.state()
    return header, {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize("learner", ["auto", "subspace", "explicit", "karma"])
@pytest.mark.parametrize("task", ["binary", "regression"])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 99), cuts=st.lists(st.integers(0, 60), max_size=4))
def test_lines_dicts_and_cuts_give_the_same(learner: str, task: str, seed: int, cuts: list[int]) -> None:
    stream = partly(0.3, 60, seed, task)
    whole = fed(stream, learner=learner, task=task)
    pieces, by_dicts = (loop_of(learner, task) for _ in range(2))
    by_dicts.loop._reading = None
    for begin, end in pairwise(sorted({0, 60, *cuts})):
        pieces.feed(lines(stream[begin:end]), begin + 1)
        by_dicts.feed(lines(stream[begin:end]), begin + 1)
    assert state(whole) == state(pieces) == state(by_dicts)
    assert whole.rows == pieces.rows == by_dicts.rows
    assert whole.loop.counters == by_dicts.loop.counters


@pytest.mark.parametrize("made", [SubspaceClassifier, KARMAMixtureClassifier])
def test_one_by_one_as_in_a_table(made: Any) -> None:
    stream = partly(0.2)
    one, many = made(), made()
    for event in stream:
        one.learn_one(without(event, "y"), event.get("y"))
    frame = pd.DataFrame(stream)
    many.learn_many(frame.drop(columns="y"), frame["y"])
    # The column of labels has become one of floats.
    assert bits(one)[1] == bits(many)[1]
    assert one.steps == sum("y" in event for event in stream)


@pytest.mark.parametrize("form", [{}, {"max_pairwise_coordinates": 1, "rank": 3}])
def test_a_prediction_comes_before_the_event_teaches(form: dict[str, int]) -> None:
    model = SubspaceClassifier(**form)
    for event in partly(0.5, 200):
        x = without(event, "y")
        expected = model.decision_one(x)
        found = model.run(model.read([x], [True]), [event.get("y")], [1.0]).scores[0, 0]
        assert found == pytest.approx(expected, abs=1e-12) if "y" in event else found == expected


def test_what_is_learned_is_the_completion_and_not_the_weights() -> None:
    model = SubspaceClassifier()
    for event in partly(1.0, 100):
        model.learn_one(without(event, "y"), event["y"])
    before = model.state()[1]
    for event in partly(0.0, 100, seed=2):
        model.learn_one(event, None)
    after = model.state()[1]
    changed = {name for name in before if not np.array_equal(before[name], after[name])}
    assert "moments" in changed
    assert not any("weights" in name.split(".")[-1] for name in changed)
    assert model.steps == 100


@pytest.mark.parametrize("made", [SubspaceClassifier, KARMAMixtureRegressor, SubspaceRegressor])
def test_predictions_and_weight_0_leave_no_trace(made: Any) -> None:
    model = made(max_pairwise_coordinates=64) if made is SubspaceClassifier else made()
    for event in partly(0.5, 50, task="regression"):
        model.learn_one(without(event, "y"), event.get("y") and float(event["y"] > 0))
    # A mixture records its predictions, and so does one nested in it.
    trace = re.compile(r"asked|(.*\.)?late\.(tickets|marks|numbers)")
    before = bits(model)
    for event in partly(0.5, 50, seed=3):
        model.predict_one({**event, "new": 1.0})
        model.learn_one({**event, "new": 1.0}, None, w=0.0)
        model.learn_one({**event, "new": 1.0}, float("nan"), w=0.0)
    after = bits(model)
    assert before[0] == after[0]
    assert {n: a for n, a in before[1].items() if not trace.fullmatch(n)} == {
        n: a for n, a in after[1].items() if not trace.fullmatch(n)
    }


def test_ignored_they_leave_nothing_behind() -> None:
    """With a learner that is not affected by the delay of labels."""
    stream = partly(0.3)
    ignoring = fed(stream, learner="karma", unlabelled=False)
    alone = fed([event for event in stream if "y" in event], learner="karma")
    assert state(ignoring) == state(alone)
    assert ignoring.loop.counters.unlabelled_learned == 0
    assert fed(stream, learner="karma").loop.counters.unlabelled_learned == sum(
        "y" not in event for event in stream
    )


@pytest.mark.parametrize("learner", ["auto", "explicit"])
def test_where_all_have_labels_it_does_not_matter(learner: str) -> None:
    stream = partly(1.0)
    assert state(fed(stream, learner=learner)) == state(fed(stream, learner=learner, unlabelled=False))


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_before_the_first_label_names_and_scales_are_learned(task: str) -> None:
    stream = partly(0.0, 100) + partly(1.0, 100, seed=2, task=task)
    settled, told = fed(stream, learner="explicit"), fed(stream, learner="explicit", task=task)
    assert settled.loop.task_model.name == task
    # Giving the task beforehand makes no difference to them.
    (header, arrays), (other, others) = state(settled), state(told)
    assert header["entries"] == other["entries"]
    assert arrays["moments"] == others["moments"]
    if task == "binary":
        assert arrays == others


def test_few_labels_are_enough_once_the_completion_is_known() -> None:
    whole = partly(1.0, 2100, seed=4)
    stream = [without(event, "y") for event in whole[:2000]] + whole[2000:]
    found = [
        fed(stream, learner="subspace", unlabelled=each).loop.evaluator.result() for each in (True, False)
    ]
    assert found[0]["error_rate"] < 0.7 * found[1]["error_rate"]


WAITING: Events = [{"id": i, "a": float(i), "b": 1.0 - i} for i in range(6)]


def test_an_event_that_waits_teaches_once() -> None:
    """On arrival what needs no label, with its label the rest; if it expires nothing more."""
    label = {"id": 1, "y": 1}
    loop = loop_of("subspace", "regression", fields=Fields(id="id"), pending=Pending(3))
    loop.feed(lines([*WAITING[:4], label, *WAITING[4:]]))
    # Event 0 was evicted by 3; then 1 got its label, 4 took its place, and 2 was evicted by 5.
    direct = loop_of("subspace", "regression", fields=Fields(id="id"))
    direct.feed(lines(WAITING))
    (encoder, learner), (expected, _) = split(loop), split(direct)
    assert encoder == expected
    assert np.frombuffer(learner["clock"])[0] == 6.0
    assert loop.loop.task_model.model.steps == 1
    assert loop.loop.counters.unlabelled_learned == 6
    assert [row["n"] for row in loop.rows] == list(range(1, 8))
    assert [row["id"] for row in loop.rows] == [0, 1, 2, 3, 1, 4, 5]
    ignoring = loop_of("subspace", "regression", fields=Fields(id="id"), pending=Pending(3), unlabelled=False)
    ignoring.feed(lines([*WAITING[:4], label, *WAITING[4:]]))
    assert state(ignoring) == state(fed([{**WAITING[1], "y": 1}], learner="subspace", task="regression",
                                        fields=Fields(id="id")))  # fmt: skip


def test_an_id_that_comes_again_is_another_event() -> None:
    stream = [WAITING[0], WAITING[1], {"id": 0, "a": 7.0}]
    loop = loop_of("subspace", "regression", fields=Fields(id="id"), pending=Pending(9))
    loop.feed(lines(stream))
    direct = loop_of("subspace", "regression", fields=Fields(id="id"))
    direct.feed(lines(stream))
    assert split(loop)[0] == split(direct)[0]
    assert loop.loop.pending is not None
    assert loop.loop.pending.summary() == {"matched": 0, "unmatched": 0, "expired": 1, "waiting": 2}


def test_a_resumed_model_goes_on_as_it_began(streamkarma: Program, tmp_path: Path) -> None:
    stream = partly(0.3, 300)
    for mode in ("learn", "ignore"):
        streamkarma("learn", "--model", f"{mode}.whole", "--unlabelled", mode, records=stream)
        streamkarma("learn", "--model", f"{mode}.parts", "--unlabelled", mode, records=stream[:120])
        streamkarma("learn", "--model", f"{mode}.parts", records=stream[120:])
        whole, parts = (load(tmp_path / f"{mode}.{name}") for name in ("whole", "parts"))
        assert bits(whole) == bits(parts)
        shown = json.loads(streamkarma("inspect", f"{mode}.parts", "--json").stdout)
        assert shown["unlabelled"] == mode
    before = (tmp_path / "learn.parts").read_bytes()
    streamkarma("predict", "learn.parts", records=partly(0.3, 50, seed=4))
    assert (tmp_path / "learn.parts").read_bytes() == before


def test_the_summary_says_how_many_have_taught(streamkarma: Program, tmp_path: Path) -> None:
    stream = partly(0.3, 100)
    done = streamkarma(
        "learn", "--summary", "s", records=stream, env={"STREAMKARMA_LEARN_UNLABELLED": "learn"}
    )
    summary = json.loads((tmp_path / "s").read_text())
    count = sum("y" not in event for event in stream)
    assert summary["unlabelled"] == summary["unlabelled_learned"] == count
    assert summary["learned"] == 100 - count
    assert ["unlabelled", "learned", str(count)] in [line.split() for line in done.stderr.splitlines()]


def test_classes_are_those_of_labels_alone() -> None:
    model = ExplicitKARMAClassifier()
    model.learn_one({"a": 1.0}, None)
    assert (model.classes, model.steps, model.vocabulary.attributes) == ([], 0, ["a"])
    assert model.predict_proba_one({"a": 1.0}) == {}
