from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma import KARMAMixtureClassifier, KARMAMixtureRegressor, load, save
from streamkarma._engine import Aggregator
from streamkarma.core.explicit import AROW, Explicit, Products, Step
from streamkarma.core.label_delay import LabelDelay
from streamkarma.core.loss import HINGE
from streamkarma.core.mixture import Mixture
from streamkarma.events.block import Block

Items = list[tuple[int, float]]  # coordinate, value
Records = list[dict[str, Any]]

#: Most events that are remembered.
MOST = 10_000

#: Past every name that was learned.
PASSING = 1 << 30


def block_of(events: list[Items]) -> Block:
    """Events as they are before encoding; each attribute has one coordinate."""
    names = np.array([k for items in events for k, _ in items], np.int32)
    values = np.array([x for items in events for _, x in items], np.float64)
    return Block(np.cumsum([0] + [len(items) for items in events]), names, names, values)


def event(number: int, rng: np.random.Generator | None = None) -> Items:
    """One of many events, no two alike; with ``rng`` its items in any order, and missing ones among them."""
    items = [(1 + k, float(number >> k & 1)) for k in range(6) if number >> k & 3]
    if rng is None:
        return items
    every = items + [(20 + k, np.nan) for k in range(rng.integers(3))]
    return [every[i] for i in rng.permutation(len(every))]


def told(model: LabelDelay, *steps: tuple[int, bool]) -> list[float]:
    """The delays of events by number, each asked about (False) or learned (True), one at a time."""
    return [
        float(model.delays(block_of([event(n)]), np.array([learned]), np.array([not learned]))[0])
        for n, learned in steps
    ]


def same_state(one: Any, other: Any, apart: tuple[str, ...] = ()) -> bool:
    (header, left), (other_header, right) = one.state(), other.state()
    return header == other_header and all(
        left[name].tobytes() == right[name].tobytes() for name in {*left, *right}.difference(apart)
    )


def by_definition(steps: list[tuple[int, bool]]) -> list[float]:
    """For each event learned, those that count between when it was asked about and now."""
    delays, counts = [], []
    for t, (number, learned) in enumerate(steps):
        same = [s for s in range(t) if steps[s][0] == number]
        last = max([s for s in same if steps[s][1]], default=-1)
        asked = min([s for s in same if s > last], default=None)
        delays.append(float(sum(counts[asked + 1 :])) if learned and asked is not None else 0.0)
        counts.append(learned or asked is None)
    return delays


@settings(max_examples=150)
@given(
    # Event 0 has no names.
    steps=st.lists(st.tuples(st.integers(1, 12), st.booleans()), max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=5),
    seed=st.integers(0, 1000),
)
def test_delays_are_those_of_the_definition_however_events_are_cut_into_blocks(
    steps: list[tuple[int, bool]], cuts: list[int], seed: int
) -> None:
    rng, model, delays = np.random.default_rng(seed), LabelDelay(), []
    for begin, end in pairwise(sorted({0, len(steps), *(c for c in cuts if c < len(steps))})):
        raw = block_of([event(number, rng) for number, _ in steps[begin:end]])
        learned = np.array([is_learned for _, is_learned in steps[begin:end]], bool)
        delays += model.delays(raw, learned, ~learned).tolist()
        resumed = LabelDelay()
        resumed.restore(model.arrays())
        model = resumed
    alone = LabelDelay()
    assert delays == told(alone, *steps) == by_definition(steps)
    assert all(model.arrays()[name].tobytes() == array.tobytes() for name, array in alone.arrays().items())


def test_labels_that_are_there_at_once_have_no_delay() -> None:
    assert told(LabelDelay(), *[(n, True) for n in range(5)]) == [0] * 5
    assert told(LabelDelay(), *[(n, learned) for n in range(5) for learned in (False, True)]) == [0] * 10
    assert told(LabelDelay(), (1, False), (1, False), (1, False), (1, True)) == [0] * 4


def test_what_lies_between_is_counted_once() -> None:
    # Event 2 is asked about twice and learned.
    assert told(LabelDelay(), (1, False), (2, False), (2, False), (2, True), (1, True))[-1] == 2
    # Learned for the second time it is a new event.
    assert told(LabelDelay(), (1, False), (2, True), (1, True), (1, True)) == [0, 0, 1, 0]


def test_events_of_which_no_name_is_known_do_not_wait() -> None:
    model, empty = LabelDelay(), block_of([[], []])
    assert model.delays(block_of([]), np.zeros(0, bool), np.zeros(0, bool)).shape == (0,)
    assert model.delays(empty, np.zeros(2, bool), np.ones(2, bool)).tolist() == [0, 0]
    assert told(model, (1, True)) == [0]
    assert model.delays(empty, np.ones(2, bool), np.zeros(2, bool)).tolist() == [0, 0]
    unknown = block_of([[(PASSING, 0.0), (PASSING + 1, 0.0)]])
    model.delays(unknown, np.zeros(1, bool), np.ones(1, bool))
    # It has as many names as the one before, and is another.
    assert model.delays(block_of([[(1, 2.0), (2, 3.0)]]), np.ones(1, bool), np.zeros(1, bool)).tolist() == [0]
    assert model.arrays()["asked"].size == 0


def test_past_the_bound_the_oldest_is_dropped() -> None:
    model, count = LabelDelay(), MOST + 2
    raw, all_of_them = block_of([[(1, float(n))] for n in range(count)]), np.ones(count, bool)
    model.delays(raw, ~all_of_them, all_of_them)
    assert len(model.arrays()["asked"]) == MOST
    assert model.delays(raw, all_of_them, ~all_of_them).tolist() == [0, 0, *[count - 1] * MOST]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("asked", lambda a: a[:-1]),
        ("asked", lambda a: a[:, None]),
        ("asked", lambda a: a.astype(np.int64)),
        ("asked", lambda a: a[0]),
        ("asked_at", lambda a: a[:-1]),
        ("asked_at", lambda a: a[:0]),
        ("asked_at", lambda a: a[::-1]),
        ("asked_at", lambda a: -a[::-1]),
        ("asked_at", lambda a: a.astype(float)),
    ],
)
def test_a_state_that_contradicts_itself_is_refused(name: str, change: Any) -> None:
    model = LabelDelay()
    told(model, *[(n, False) for n in range(1, 5)])
    arrays = model.arrays()
    arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match="contradict|of no kind"):
        LabelDelay().restore(arrays)


def stream_of(seed: int, count: int, third: bool = False) -> tuple[Records, list[Any]]:
    """Records of numbers and a category, a third of them missing, and labels."""
    rng = np.random.default_rng(seed)
    rows, kinds = rng.standard_normal((count, 4)), rng.integers(0, 3, count)
    labels = (rows[:, 0] * rows[:, 1] + rows[:, 2] + (kinds - 1) > 0).astype(int)
    if third:
        labels[rows[:, 3] > 1] = 2
    records = [
        {**{f"x{k}": x for k, x in enumerate(row) if rng.random() < 0.67}, "kind": "abc"[kind]}
        for row, kind in zip(rows.tolist(), kinds, strict=True)
    ]
    return records, [f"class {y}" for y in labels]


def test_asking_and_learning_at_once_is_learning_alone() -> None:
    records, labels = stream_of(1, 150, third=True)
    asks, learns = KARMAMixtureClassifier(), KARMAMixtureClassifier()
    for x, y in zip(records, labels, strict=True):
        asks.predict_proba_one(x)
        asks.learn_one(dict(reversed(x.items())), y)
        learns.learn_one(x, y)
    # The clock is ahead by the events asked about, which only differences show.
    assert same_state(asks, learns, apart=("asked", "asked_at"))


@pytest.mark.parametrize("kind", [KARMAMixtureClassifier, KARMAMixtureRegressor])
def test_a_model_saved_with_events_waiting_goes_on_to_the_bit(kind: Any, tmp_path: Path) -> None:
    records, labels = stream_of(2, 120)
    targets: list[Any] = labels if kind is KARMAMixtureClassifier else [float(len(x)) for x in records]
    model = kind()
    model.learn_one({**dict.fromkeys([f"x{k}" for k in range(4)], 0.5), "kind": "a"}, targets[0])
    for t in range(0, 120, 30):
        ask(model, records[t : t + 30])
        for s in range(t, t + 15):
            model.learn_one(records[s], targets[s])
        save(model, tmp_path / "model")
        resumed = load(tmp_path / "model")
        assert len(resumed.state()[1]["asked"]) >= 15
        for s in range(t + 15, t + 30):
            model.learn_one(records[s], targets[s])
            resumed.learn_one(records[s], targets[s])
        assert same_state(model, resumed)
        model = resumed


def two_experts() -> Mixture:
    step = Step(AROW, HINGE, 1.0, 0.0, 0.0, 0.0, 0.0)
    return Mixture({"explicit": Explicit(2, True, step), "products": Products(step, 18)})


def test_delays_are_weights_in_the_mixing_and_nothing_to_the_experts() -> None:
    rng, ones = np.random.default_rng(3), np.ones(200)
    rows, delays, weights = rng.standard_normal((200, 3)), rng.integers(0, 50, 200), rng.random(200)
    labels = np.where(rows[:, 0] * rows[:, 1] > 0, 1.0, -1.0)
    names = np.tile(np.arange(4, dtype=np.int32), 200)
    block = Block(np.arange(0, 801, 4), names, names, np.column_stack([ones, rows]).ravel())
    mixture, alone, mixing = two_experts(), [*two_experts().experts.values()], Aggregator(2)
    mixed, _ = mixture.run(block, labels, weights, delays.astype(float))
    scores = np.stack([each.run(block, labels, weights)[0] for each in alone])
    expected, _ = mixing.run(scores, labels, weights / (1 + delays))
    assert mixed.tobytes() == expected.tobytes()
    again = np.stack([each.scores(block) for each in alone])
    expected, _ = mixing.run(again, np.full(200, np.nan), ones)
    assert mixture.scores(block).tobytes() == expected.tobytes()


def ask(model: KARMAMixtureClassifier | KARMAMixtureRegressor, records: Records) -> Any:
    """What the model says of a block of events without labels."""
    events = model.read(records, [False] * len(records))
    return model.run(events, [None] * len(records), [0.0] * len(records))


def test_the_mixture_is_told_how_late_a_label_comes() -> None:
    records, labels = stream_of(4, 90)
    model, seen = KARMAMixtureClassifier(), []
    model.learn_many(pd.DataFrame(records[:30]), pd.Series(labels[:30]))
    plain = Mixture.run

    def spied(self: Mixture, *args: Any) -> Any:
        seen.extend(args[3].tolist())
        return plain(self, *args)

    for begin in (30, 60):
        ask(model, records[begin : begin + 30])
        with patch.object(Mixture, "run", spied):
            for t in range(begin, begin + 30):
                model.run(model.read([records[t]], [True]), [labels[t]], [1.0])
    # 29 others were asked about after the first one, and all but the last learned before the last one.
    assert seen == [29.0] * 60


def late_log_loss(seed: int, bunches: int = 20, size: int = 50) -> float:
    """Log loss on bunches of one label and one value of their own, each predicted before it is learned."""
    rng, model, losses = np.random.default_rng(seed), KARMAMixtureClassifier(), []
    for number in range(bunches):
        label = bool(rng.integers(2))
        rows = rng.standard_normal((size, 6))
        rows[:, :2] += np.array([1.0 if label else -1.0, rng.standard_normal()])
        rows[rng.random(rows.shape) < 0.2] = np.nan
        records = [{f"x{k}": x for k, x in enumerate(row)} for row in rows.tolist()]
        scores = ask(model, records).scores[:, 0]
        if number >= 4:
            losses.append(np.logaddexp(0.0, -scores if label else scores).mean())
        model.learn_many(pd.DataFrame(records), pd.Series([label] * size))
    return float(np.mean(losses))


def test_labels_that_come_in_bunches_are_borne_better_for_it() -> None:
    minded = late_log_loss(101)
    with patch.object(LabelDelay, "delays", lambda self, raw, learned, asked: np.zeros(len(learned))):
        unminded = late_log_loss(101)
    assert minded < unminded - 0.1


def test_events_asked_about_under_names_not_learned_yet_are_known_again() -> None:
    model = KARMAMixtureClassifier()
    for t in range(30):
        x = {"user": f"user {t}", "value": float(t)}
        model.predict_proba_one(x)
        model.learn_one(x, t % 2 == 0)
    assert model.state()[1]["asked"].size == 0
    # A bunch with a name of its own.
    for t in range(10):
        model.predict_proba_one({"day": "Monday", "value": float(t)})
    delays = []
    for t in range(10):
        model.run(model.read([{"day": "Monday", "value": float(t)}], [True]), [True], [1.0])
        delays.append(float(model._pipeline._delays[0]))
    assert delays == [9.0] * 10


@pytest.mark.parametrize(
    ("asked", "asked_at"),
    [
        ([1, 1], [1, 2, 3]),
        ([1, 2], [1, 1, 3]),
        ([], [2**63 - 1]),
        ([1], [-1, 0]),
        (range(MOST + 1), range(MOST + 2)),
    ],
)
def test_states_no_run_could_have_left_are_refused(asked: Sequence[int], asked_at: Sequence[int]) -> None:
    with pytest.raises(ValueError, match="contradict"):
        LabelDelay().restore({"asked": np.array(asked, np.uint64), "asked_at": np.array(asked_at, np.int64)})
