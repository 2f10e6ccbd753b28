"""Late labels: neither bunches of them nor a constant delay mislead the mixture."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma import KARMAMixtureClassifier
from streamkarma.core.tickets import TicketRegistry
from streamkarma.estimators.persistence import load_with_run
from streamkarma.estimators.results import ClassificationResult
from streamkarma.regret.losses import pointwise_loss
from streamkarma.runtime.class_predictions import with_prior
from streamkarma.runtime.event_buffer import EventBatch
from streamkarma.runtime.fields import Fields
from streamkarma.runtime.pending import Pending, PriorPrediction
from streamkarma.runtime.task import TaskModel
from streamkarma.synthetic import StreamSpec, records
from tests.cluster import lines
from tests.conftest import Program
from tests.loops import Kept, kept
from tests.test_pending import split, state, without

Records = list[dict[str, Any]]
LEARNERS = ["auto", "subspace", "explicit", "karma"]


def stream_of(seed: int, count: int, task: str = "binary", attributes: int = 8) -> Records:
    """Labelled events of low rank, with ids."""
    made = records(StreamSpec(attributes, 3, 0.6, task=task, seed=seed), count)
    return [{"id": t, **record} for t, record in enumerate(made)]


def delayed(stream: Records, due: Sequence[int]) -> Records:
    """The events, and after each the labels that are due then."""
    labels: dict[int, Records] = {}
    for event, then in zip(stream, due, strict=True):
        labels.setdefault(then, []).append({"id": event["id"], "y": event["y"]})
    pairs = ([without(event, "y"), *labels.get(t, ())] for t, event in enumerate(stream))
    return [record for pair in pairs for record in pair]


def loop_of(learner: str = "auto", task: str = "binary", limit: int = 1000, **more: Any) -> Kept:
    model = TaskModel(task, {}, None, lambda _: None, learner)
    return kept(model, fields=Fields(id="id"), pending=Pending(limit), **more)


def fed(stream: Records, **options: Any) -> Kept:
    loop = loop_of(**options)
    loop.feed(lines(stream))
    return loop


def losses(rows: Iterable[dict[str, Any]], begin: int) -> float:
    """The mean loss of predictions from event ``begin`` on."""
    return float(np.mean([row["loss"] for row in rows if "loss" in row and row["id"] >= begin]))


@pytest.mark.parametrize("delay", [60, 200])
def test_a_constant_delay_costs_little(delay: int) -> None:
    """With a weight of 1 / (1 + delay) the mixture's loss was .209 and .162, above the subspace's."""
    stream = stream_of(201, 1500)
    late = delayed(stream, range(delay, 1500 + delay))
    assert losses(fed(late).rows, 600) < losses(fed(stream).rows, 600) + 0.04


@pytest.mark.parametrize("delay", [200, 500])
def test_the_first_labels_of_a_rare_class_count_fully(delay: int) -> None:
    """What is predicted before any label errs in the same direction each time, whatever the labels are.

    While it was taken to say that the labels are shared, these losses were .03 above those without a delay.
    """
    rng, stream = random.Random(0), []
    for t in range(2000):
        a, b = rng.gauss(0, 1), rng.gauss(0, 1)
        stream.append({"id": t, "a": a, "b": b, "y": rng.random() < 1 / (1 + math.exp(4.0 - 1.5 * a + b))})
    late = delayed(stream, range(delay, 2000 + delay))
    assert losses(fed(late, limit=3000).rows, 1000) < losses(fed(stream).rows, 1000) + 0.01


def bunches(seed: int, count: int = 24, size: int = 50) -> tuple[Records, list[bool]]:
    """Bunches of events, each with a label and an offset of its own."""
    rng, events, labels = np.random.default_rng(seed), [], []
    for _ in range(count):
        label = bool(rng.integers(2))
        rows = rng.standard_normal((size, 6))
        rows[:, :2] += np.array([1.0 if label else -1.0, rng.standard_normal()])
        rows[rng.random(rows.shape) < 0.2] = np.nan
        events += [{f"x{k}": x for k, x in enumerate(row) if x == x} for row in rows.tolist()]
        labels += [label] * size
    return events, labels


def loss_in_bunches(seed: int, size: int = 50) -> float:
    """Log loss on bunches, each predicted before it is learned."""
    (events, labels), model, found = bunches(seed), KARMAMixtureClassifier(), []
    for begin in range(0, len(events), size):
        part, label = events[begin : begin + size], labels[begin]
        encoded = model.read(part, [False] * size)
        scores = model.run(encoded, [None] * size, [0.0] * size).scores[:, 0]
        found.append(np.logaddexp(0.0, -scores if label else scores).mean())
        model.learn_many(pd.DataFrame(part), pd.Series([label] * size))
    return float(np.mean(found[4:]))


def recognised_by_nothing(_: TicketRegistry, events: Any, learned: Any, asked: Any) -> Any:
    """The tickets of events if their values are ignored."""
    return np.zeros(len(learned), np.uint64)


def test_labels_that_come_in_bunches_do_not_mislead() -> None:
    minded = loss_in_bunches(201)
    with patch.object(TicketRegistry, "tickets", recognised_by_nothing):
        unminded = loss_in_bunches(201)
    assert minded < unminded - 0.1


def test_bunches_whose_events_wait_by_their_id_do_not_mislead_either() -> None:
    events, labels = bunches(201)
    stream = [
        {"id": t, **event, "y": label} for t, (event, label) in enumerate(zip(events, labels, strict=True))
    ]
    late = delayed(stream, [t // 50 * 50 + 49 for t in range(len(stream))])
    minded = losses(fed(late).rows, 200)
    by_id = patch.object(EventBatch, "late", lambda self, first, shares: None)
    with by_id, patch.object(TicketRegistry, "tickets", recognised_by_nothing):
        unminded = losses(fed(late).rows, 200)
    assert minded < unminded - 0.1


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 99), cut=st.integers(1, 150))
def test_labels_that_have_not_come_change_nothing(seed: int, cut: int) -> None:
    rng, stream = random.Random(seed), stream_of(seed, 100)
    whole = delayed(stream, [t + rng.randrange(30) for t in range(100)])
    there = {record["id"] for record in whole[:cut] if "y" in record}
    others = [event["y"] for event in stream if event["id"] not in there]
    rng.shuffle(others)
    permuted = {e["id"]: e["y"] if e["id"] in there else others.pop() for e in stream}
    other = [{**record, "y": permuted[record["id"]]} if "y" in record else record for record in whole]
    one, two = fed(whole), fed(other)
    assert one.rows[:cut] == two.rows[:cut]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("task", ["binary", "regression"])
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 99), cuts=st.lists(st.integers(0, 120), max_size=4), limit=st.integers(1, 40))
def test_cuts_do_not_show(learner: str, task: str, seed: int, cuts: list[int], limit: int) -> None:
    rng = random.Random(seed)
    stream = delayed(stream_of(seed, 60, task), [t + rng.randrange(30) for t in range(60)])
    whole, pieces = fed(stream, learner=learner, task=task, limit=limit), loop_of(learner, task, limit)
    for begin, end in pairwise(sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})):
        pieces.feed(lines(stream[begin:end]), begin + 1)
    assert whole.rows == pieces.rows
    assert state(whole) == state(pieces)


@pytest.mark.parametrize("learner", ["auto", "explicit"])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 99), cuts=st.lists(st.integers(0, 120), max_size=6), limit=st.integers(1, 60))
def test_cuts_do_not_show_in_labels_of_entities(learner: str, seed: int, cuts: list[int], limit: int) -> None:
    rng = random.Random(seed)
    stream: Records = []
    for t in range(60):
        device = {"device": f"d{rng.randrange(6)}"}
        stream.append(device | ({"id": t} if rng.random() < 0.5 else {}) | {"a": rng.gauss(0.0, 1.0)})
        if rng.random() < 0.4:
            stream.append({"device": f"d{rng.randrange(6)}", "y": rng.randrange(2)})
        if rng.random() < 0.3:
            stream.append({"id": rng.randrange(t + 1), "y": rng.randrange(2)})

    def after(ends: list[int]) -> Any:
        model = TaskModel("binary", {"entity": "device"}, None, lambda _: None, learner)
        loop = kept(model, fields=Fields(id="id"), pending=Pending(limit))
        for begin, end in pairwise(sorted({0, len(stream), *(each % len(stream) for each in ends)})):
            loop.feed(lines(stream[begin:end]), begin + 1)
        assert loop.loop.pending is not None
        return loop.rows, state(loop), loop.dead, loop.loop.pending.summary()

    assert after(cuts) == after([]) == after(list(range(200)))


@pytest.mark.parametrize("mode", ["learn", "ignore"])
def test_a_model_resumed_while_events_wait_goes_on_as_it_began(
    streamkarma: Program, tmp_path: Path, mode: str
) -> None:
    # Prose, categories and evicted coordinates: waiting events are kept as the learner saw them.
    rng = random.Random(3)
    stream = [
        {
            **event,
            "kind": rng.choice("abc"),
            "user": f"u{rng.randrange(60)}",
            "told": f"word{t % 7} of {t % 5}",
        }
        for t, event in enumerate(stream_of(3, 300))
    ]
    late = delayed(stream, [t + rng.randrange(80) for t in range(300)])
    arguments = ("--id", "id", "--pending", "50", "--unlabelled", mode, "--max-coordinates", "64")
    whole = streamkarma("learn", *arguments, "--model", "whole", records=late)
    parts = [
        streamkarma("learn", *arguments, "--model", "parts", records=part)
        for part in (late[:150], late[150:151], late[151:400], late[400:])
    ]
    assert [row for part in parts for row in part.rows] == whole.rows
    one, two = (load_with_run(tmp_path / name) for name in ("whole", "parts"))
    assert one[1]["pending"] == two[1]["pending"]
    assert all(one[2][name].tobytes() == two[2][name].tobytes() for name in one[2])
    assert all(a.tobytes() == two[0].state()[1][name].tobytes() for name, a in one[0].state()[1].items())
    assert one[0].vocabulary.evicted > 0


def test_moments_are_learned_when_events_come_and_weights_when_labels_do() -> None:
    stream = stream_of(7, 200)
    arrivals = [without(event, "y") for event in stream]
    loop, unlabelled = loop_of("subspace"), loop_of("subspace")
    loop.feed(lines(arrivals))
    before = split(loop)
    loop.feed(lines([{"id": event["id"], "y": event["y"]} for event in stream]), 201)
    encoder, learner = split(loop)
    assert encoder == before[0]
    changed = {name for name in learner if learner[name] != before[1][name]}
    assert loop.loop.task_model.model.steps == 200
    unlabelled.feed(lines([without(event, "id") for event in arrivals]))
    moments = {name for name in learner if name.rpartition(".")[2] in ("moments", "counts", "correlations")}
    assert moments
    assert not moments & changed
    assert all(learner[name] == split(unlabelled)[1][name] for name in moments)


def test_what_a_new_task_has_not_seen_is_learned_with_its_label() -> None:
    """The second label of the stream shows that it is a regression: the learner starts from scratch."""
    stream = stream_of(8, 60, "regression")
    events = [without(event, "y") for event in stream]
    labels = [{"id": event["id"], "y": event["y"]} for event in stream]
    found = fed([*events, {"id": 0, "y": 1}, *labels[1:]], learner="subspace", task="auto")
    model = found.loop.task_model.model
    assert (found.loop.task_model.name, model.steps) == ("regression", 60)
    told = fed([{**event, "y": label["y"]} for event, label in zip(events, labels, strict=True)][1:],
               learner="subspace", task="regression")  # fmt: skip
    seen, expected = (np.frombuffer(split(loop)[1]["clock"])[0] for loop in (found, told))
    assert seen == expected == 59.0


@pytest.mark.parametrize("learner", ["auto", "explicit"])
def test_a_late_loss_is_by_the_classes_known_when_the_event_came(streamkarma: Program, learner: str) -> None:
    rng, stream = random.Random(4), []
    for t in range(240):
        label = min(int(rng.expovariate(0.4)), t // 30)  # classes come one by one
        stream.append({"id": t, "a": label + rng.gauss(0, 0.3), "y": f"c{label}"})
    # Each label comes 40 events after its event.
    events, labels = [without(each, "y") for each in stream], [without(each, "a") for each in stream]
    mixed = events[:40] + [each for pair in zip(events[40:], labels, strict=False) for each in pair]
    told = streamkarma("learn", "--learner", learner, "--id", "id", "--pending", "50", records=mixed)
    before: dict[int, dict[str, float]] = {}
    known = new = 0
    for row in told.rows:
        if "target" not in row:
            before[row["id"]] = row.get("score", {})
        elif isinstance(scores := before[row["id"]], dict) and len(scores) > 2:
            own = scores.get(row["target"], sum(scores.values()) / len(scores))
            every = {**scores, row["target"]: own}.values()
            assert row["loss"] == pytest.approx(math.log(sum(map(math.exp, every))) - own, rel=1e-9)
            known, new = known + (row["target"] in scores), new + (row["target"] not in scores)
    assert known > 50
    assert new > 5


def test_classes_that_came_later_are_no_rivals_of_an_earlier_prediction() -> None:
    zeros, empty = np.zeros(3), np.zeros((3, 0))
    now = ClassificationResult(np.zeros((3, 5)), np.full(3, 5), np.array([1, 4, -1]), zeros, empty)
    before = PriorPrediction({}, [-3.0, -1.0, -2.0], 3)
    two = PriorPrediction({}, [2.0], 2)
    then = with_prior(now, {0: before, 1: before, 2: two}, "hinge")
    none = -math.inf
    assert then.scores.tolist() == [
        [-3, -1, -2, none, none],
        [-3, -1, -2, none, -2],
        [-1, 1, none, none, none],
    ]
    assert then.known.tolist() == [3, 3, 2]
    assert then.losses.tolist() == [0, 2, 0]
    assert pointwise_loss("hinge", then.scores[:2], np.array([1.0, 4.0])).tolist() == [0, 2]
