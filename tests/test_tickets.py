from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma import KARMAMixtureClassifier, KARMAMixtureRegressor, load, save
from streamkarma.core.tickets import TicketRegistry
from streamkarma.events.block import Block

Items = list[tuple[int, float]]  # coordinate, value
Records = list[dict[str, Any]]

#: Maximum number of events that are remembered.
MOST = 10_000

#: An index beyond those of all learned names.
PASSING = 1 << 30


def block_of(events: list[Items]) -> Block:
    """Events before encoding; each attribute has one coordinate."""
    names = np.array([k for items in events for k, _ in items], np.int32)
    values = np.array([x for items in events for _, x in items], np.float64)
    return Block(np.cumsum([0] + [len(items) for items in events]), names, names, values)


def event(number: int, rng: np.random.Generator | None = None) -> Items:
    """One of many distinct events; with ``rng``, its items in random order, with missing ones among them."""
    items = [(1 + k, float(number >> k & 1)) for k in range(6) if number >> k & 3]
    if rng is None:
        return items
    every = items + [(20 + k, np.nan) for k in range(rng.integers(3))]
    return [every[i] for i in rng.permutation(len(every))]


def told(model: TicketRegistry, *steps: tuple[int, bool]) -> list[int]:
    """The tickets of events by number, each predicted (False) or learned (True), one at a time."""
    return [
        int(model.tickets(block_of([event(n)]), np.array([learned]), np.array([not learned]))[0])
        for n, learned in steps
    ]


def same_state(one: Any, other: Any, apart: tuple[str, ...] = ()) -> bool:
    (header, left), (other_header, right) = one.state(), other.state()
    return header == other_header and all(
        left[name].tobytes() == right[name].tobytes() for name in {*left, *right}.difference(apart)
    )


@settings(max_examples=150)
@given(
    # Event 0 has no names.
    steps=st.lists(st.tuples(st.integers(1, 12), st.booleans()), max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=5),
    seed=st.integers(0, 1000),
)
def test_an_event_has_one_ticket_until_it_is_learned_however_events_are_cut_into_blocks(
    steps: list[tuple[int, bool]], cuts: list[int], seed: int
) -> None:
    rng, model, tickets = np.random.default_rng(seed), TicketRegistry(), []
    for begin, end in pairwise(sorted({0, len(steps), *(c for c in cuts if c < len(steps))})):
        raw = block_of([event(number, rng) for number, _ in steps[begin:end]])
        learned = np.array([is_learned for _, is_learned in steps[begin:end]], bool)
        tickets += model.tickets(raw, learned, ~learned).tolist()
        resumed = TicketRegistry()
        resumed.restore(model.arrays())
        model = resumed
    alone = TicketRegistry()
    assert tickets == told(alone, *steps)
    assert model.arrays()["asked"].tobytes() == alone.arrays()["asked"].tobytes()
    waiting: dict[int, int] = {}
    for (number, is_learned), ticket in zip(steps, tickets, strict=True):
        expected = waiting.pop(number, 0) if is_learned else waiting.setdefault(number, ticket)
        assert ticket == expected
    assert len({*waiting.values(), 0}) == len(waiting) + 1


def test_labels_that_are_there_at_once_have_no_ticket() -> None:
    assert told(TicketRegistry(), *[(n, True) for n in range(5)]) == [0] * 5
    # When it is learned a second time, it is a new event.
    assert told(TicketRegistry(), (1, False), (1, False), (1, True), (1, True))[3] == 0


def test_events_of_which_no_name_is_known_do_not_wait() -> None:
    model, empty = TicketRegistry(), block_of([[], []])
    assert model.tickets(block_of([]), np.zeros(0, bool), np.zeros(0, bool)).shape == (0,)
    assert model.tickets(empty, np.zeros(2, bool), np.ones(2, bool)).tolist() == [0, 0]
    assert told(model, (1, True)) == [0]
    assert model.tickets(empty, np.ones(2, bool), np.zeros(2, bool)).tolist() == [0, 0]
    unknown = block_of([[(PASSING, 0.0), (PASSING + 1, 0.0)]])
    model.tickets(unknown, np.zeros(1, bool), np.ones(1, bool))
    # It has as many names as the previous one, but is a different event.
    assert model.tickets(block_of([[(1, 2.0), (2, 3.0)]]), np.ones(1, bool), np.zeros(1, bool)).tolist() == [
        0
    ]
    assert model.arrays()["asked"].size == 0


def test_past_the_bound_the_oldest_is_dropped() -> None:
    model, count = TicketRegistry(), MOST + 2
    raw, all_of_them = block_of([[(1, float(n))] for n in range(count)]), np.ones(count, bool)
    asked = model.tickets(raw, ~all_of_them, all_of_them)
    assert len(model.arrays()["asked"]) == MOST
    assert model.tickets(raw, all_of_them, ~all_of_them).tolist() == [0, 0, *asked[2:].tolist()]


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a[:, None],
        lambda a: a.astype(np.int64),
        lambda a: a[0],
        lambda a: a * np.uint64(0),
        lambda a: a[[0, 0]],
    ],
)
def test_a_state_that_contradicts_itself_is_refused(change: Any) -> None:
    model = TicketRegistry()
    told(model, *[(n, False) for n in range(1, 5)])
    arrays = model.arrays()
    arrays["asked"] = change(arrays["asked"])
    with pytest.raises(ValueError, match="contradict|unsupported type|larger than"):
        TicketRegistry().restore(arrays)


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
    # The correlations of label residuals, which are used for late labels, may differ.
    assert same_state(asks, learns, apart=("late.marks", "late.sums"))


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


def ask(model: KARMAMixtureClassifier | KARMAMixtureRegressor, records: Records) -> Any:
    """The model's predictions for a block of events without labels."""
    events = model.read(records, [False] * len(records))
    return model.run(events, [None] * len(records), [0.0] * len(records))


def test_events_asked_about_under_names_not_learned_yet_are_known_again() -> None:
    model = KARMAMixtureClassifier()
    for t in range(30):
        x = {"user": f"user {t}", "value": float(t)}
        model.predict_proba_one(x)
        model.learn_one(x, t % 2 == 0)
    assert model.state()[1]["asked"].size == 0
    # Several waiting events that share a new name.
    for t in range(10):
        model.predict_proba_one({"day": "Monday", "value": float(t)})
    assert model.state()[1]["asked"].size == model.state()[1]["late.tickets"].size == 10
    for t in range(10):
        model.learn_one({"day": "Monday", "value": float(t)}, True)
    assert model.state()[1]["asked"].size == 0
