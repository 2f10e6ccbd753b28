"""Label rates of categories, if an attribute has many: a number that all learners see."""

from __future__ import annotations

import json
import math
import pickle
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma import (
    ExplicitKARMAClassifier,
    ExplicitKARMARegressor,
    KARMAMixtureClassifier,
    KARMAMixtureRegressor,
    SubspaceImputer,
    load,
    merge,
    save,
)
from streamkarma._engine import Encoded, Encoder
from streamkarma.cli import cli
from streamkarma.core.explicit import AROW, Explicit, Step
from streamkarma.core.learner import Rates
from streamkarma.core.loss import HINGE
from streamkarma.events.block import Block
from streamkarma.runtime.describe import describe
from streamkarma.runtime.task import TaskModel
from tests.cluster import lines
from tests.loops import Kept, kept
from tests.test_pending import state

Events = list[dict[str, Any]]

TASKS = ["binary", "multiclass", "regression"]


def stream(events: int, seed: int = 0, task: str = "binary", users: int = 80) -> Events:
    """Users with individual tastes, a few of them frequent, and an irrelevant number."""
    tastes = np.random.default_rng(99).standard_normal(users)
    rng = random.Random(seed)
    result = []
    for _ in range(events):
        user = int(users * rng.random() ** 2)
        label = event_label(task, float(tastes[user]) + rng.gauss(0.0, 0.5))
        event: dict[str, Any] = {"user": f"u{user}", "x": rng.gauss(0.0, 1.0), "y": label}
        result.append({name: value for name, value in event.items() if name == "y" or rng.random() < 0.9})
    return result


def event_label(task: str, score: float) -> Any:
    several = "abcd"[int(score > -1) + int(score > 0) + int(score > 1)]
    return {"binary": score > 0.0, "multiclass": several}.get(task, score)


def as_numbers(events: Events) -> Events:
    """The same with numbers as the names of users; their size is meaningless."""
    numbers = random.Random(1).sample(range(1000, 9000), 100)
    return [
        {**event, "user": numbers[int(event["user"][1:])]} if "user" in event else event for event in events
    ]


def loop_of(learner: str = "auto", task: str = "binary") -> Kept:
    return kept(TaskModel(task, {}, None, lambda _: None, learner))


def learned(model: Any, events: Events) -> Any:
    for event in events:
        model.learn_one({name: value for name, value in event.items() if name != "y"}, event["y"])
    return model


def bits(model: Any) -> Any:
    header, arrays = model.state()
    return header, {name: array.tobytes() for name, array in arrays.items()}


def rates_of(model: Any) -> dict[str, bytes]:
    """The label rates of categories in a state, without the events that wait for their labels."""
    own = {name: array for name, array in bits(model)[1].items() if name.startswith("rates.")}
    return {name: array for name, array in own.items() if not name.startswith("rates.waiting")}


def rated(user_labels: list[tuple[str | None, bool]], few: int = 32) -> list[float | None]:
    """The log-odds of each user before the event, once there are more than a few users."""
    seen, labels, all_labels, result = set[str](), dict[str, list[float]](), [0.0, 0.0], list[float | None]()
    errors = dict.fromkeys((0.25, 1.0, 4.0, 16.0, 64.0), 0.0)
    for user, y in user_labels:
        if user is None or len(seen) <= few:
            result.append(None)
        else:
            (count, positive), prior = labels.get(user, [0.0, 0.0]), (all_labels[1] + 1) / (all_labels[0] + 2)
            shares = {k: (positive + k * prior) / (count + k) for k in errors}
            share = shares[min((error, k != 4.0, k) for k, error in errors.items())[2]]
            result.append(math.log(share / (1 - share)) - math.log(prior / (1 - prior)))
            if user in labels:
                errors = {k: error * (1 - 1 / 5000) + (y - shares[k]) ** 2 for k, error in errors.items()}
            labels[user] = [0.99 * count + 1, 0.99 * positive + y]
            all_labels = [all_labels[0] + 1, all_labels[1] + y]
        seen |= {user} - {None}
    return result


def test_a_learner_sees_what_a_script_would_have_fed() -> None:
    events = stream(600)
    labels = np.array([1.0 if event["y"] else -1.0 for event in events])
    encoder, encoded = Encoder(100, 1000, 99, False, math.inf, rates=1), Encoded()
    encoder.read_dicts([{**event, "y": None} for event in events], [True] * 600, encoded)
    attribute = encoder.attributes.index("user.rate") + 1
    coordinate = encoder.entries().index(("user.rate", "(rate)")) + 1
    block, rates = Block(*encoded.block), rated([(event.get("user"), event["y"]) for event in events])
    rows = [
        [*zip(*(part[first:last].tolist() for part in block[1:4]), strict=True)]
        + [(attribute, coordinate, rate)] * (rate is not None)
        for (first, last), rate in zip(pairwise(block.starts), rates, strict=True)
    ]
    parts = list(zip(*(item for row in rows for item in sorted(row)), strict=True))
    starts = np.cumsum([0, *map(len, rows)])
    fed = Block(starts, np.int32(parts[0]), np.int32(parts[1]), np.array(parts[2]))
    step = Step(AROW, HINGE, 1.0, 0.0, 0.0, 0.0, 0.0)
    own, reference = Explicit(2, True, step), Explicit(2, True, step)
    own.rates = Rates(1, False, False, math.inf)
    found = own.run(encoded, labels, np.ones(600))[0], reference.run(fed, labels, np.ones(600))[0]
    np.testing.assert_allclose(*found, atol=1e-9)
    assert len(starts) == 601
    assert sum(rate is not None for rate in rates) > 400


@pytest.mark.parametrize("learner", ["auto", "karma", "explicit", "subspace", "bins", "sgd"])
@pytest.mark.parametrize("task", TASKS)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 99), cuts=st.lists(st.integers(0, 150), max_size=4), numbers=st.booleans())
def test_lines_dicts_cuts_and_the_order_of_keys_give_the_same(
    learner: str, task: str, seed: int, cuts: list[int], numbers: bool
) -> None:
    events, rng = stream(150, seed, task, 40 if numbers else 50), random.Random(seed)
    events = as_numbers(events) if numbers else events
    for event in events:
        event["tags"] = rng.choices([f"t{i}" for i in range(40)], k=rng.randint(1, 4))
    whole, pieces, by_dicts = (loop_of(learner, task) for _ in range(3))
    whole.feed(lines(events))
    by_dicts.loop._reading = None
    for begin, end in pairwise(sorted({0, 150, *cuts})):
        pieces.feed(lines([dict(reversed(event.items())) for event in events[begin:end]]), begin + 1)
        by_dicts.feed(lines(events[begin:end]), begin + 1)
    assert state(whole) == state(pieces) == state(by_dicts)
    assert whole.rows == pieces.rows == by_dicts.rows
    model = whole.loop.task_model.model
    assert model is not None
    assert {"user.rate", "tags.rate"} <= set(model.vocabulary.attributes)


@pytest.mark.parametrize("task", TASKS)
def test_the_own_label_shows_only_later(task: str) -> None:
    events = stream(300, 1, task)
    at = next(t for t in range(200, 300) if events[t].get("user") in {e.get("user") for e in events[t + 1 :]})
    other = next(event["y"] for event in events if event["y"] != events[at]["y"])
    permuted = [*events[:at], {**events[at], "y": other}, *events[at + 1 :]]
    (one, two) = (loop_of(task=task), loop_of(task=task))
    one.feed(lines(events))
    two.feed(lines(permuted))
    for row in (one.rows[at], two.rows[at]):
        del row["target"], row["loss"]
    assert one.rows[: at + 1] == two.rows[: at + 1]
    assert one.rows[at + 1 :] != two.rows[at + 1 :]


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize(
    "made", [KARMAMixtureClassifier, ExplicitKARMAClassifier, KARMAMixtureRegressor, ExplicitKARMARegressor]
)
def test_resumed_is_never_stopped(made: Any, numbers: bool, tmp_path: Path) -> None:
    events = stream(300, 2, "regression" if "Regressor" in made.__name__ else "multiclass")
    events = as_numbers(events) if numbers else events
    whole, resumed = learned(made(), events), learned(made(), events[:170])
    save(resumed, tmp_path / "model.karma")
    resumed = learned(load(tmp_path / "model.karma"), events[170:])
    assert bits(resumed) == bits(whole)
    save(whole, tmp_path / "model.karma")
    assert describe(str(tmp_path / "model.karma"))["values"]["user.rate"]["observed"] > 0.5


def test_where_the_task_shows_late_resumed_is_never_stopped(tmp_path: Path) -> None:
    """The first model is a classifier, with room for several classes in its rates."""
    events = stream(300, 2, "regression")
    for t, event in enumerate(events):
        event.update({"item": f"i{t % 45}"} if t > 150 else {"y": None} if t < 100 else {})
    whole, resumed = loop_of(task="auto"), loop_of(task="auto")
    whole.feed(lines(events))
    resumed.feed(lines(events[:150]))
    first = resumed.loop.task_model.model
    assert first is not None
    assert "user.rate" in first.vocabulary.attributes
    save(first, tmp_path / "model.karma")
    model = load(tmp_path / "model.karma")
    for event in events[150:]:
        model.learn_one({name: value for name, value in event.items() if name != "y"}, event["y"])
    other = whole.loop.task_model.model
    assert other is not None
    assert "item.rate" in other.vocabulary.attributes
    assert bits(model) == bits(other)


@pytest.mark.parametrize(
    ("learner", "names", "tolerance"),
    [
        (ExplicitKARMAClassifier, "ab", 1e-9),
        (ExplicitKARMAClassifier, "ba", 1e-9),
        (KARMAMixtureClassifier, "ab", 1e-9),
        (KARMAMixtureClassifier, "ba", 0.05),
    ],
)
def test_a_merged_model_has_them_whichever_class_came_first(
    learner: type, names: str, tolerance: float
) -> None:
    """With the classes swapped, trees drop the rates, and logarithms are approximate."""
    events = [{**event, "y": names[event["y"] > 0]} for event in stream(400, 3)]
    events.sort(key=lambda event: event["y"] != names[0])
    first, rest = events[:1], events[1:]
    random.Random(1).shuffle(rest)
    model = learned(learner(), first + rest)
    merged: Any = merge([model, learner()])
    asked = [{name: value for name, value in event.items() if name != "y"} for event in stream(200, 4)]
    away = [merged.predict_proba_one(x)["a"] - model.predict_proba_one(x)["a"] for x in asked]
    assert max(map(abs, away)) <= tolerance


@pytest.mark.parametrize("numbers", [False, True])
def test_merged_models_know_the_categories_of_all(numbers: bool) -> None:
    events, asked = stream(6000, 4), stream(1000, 5)
    if numbers:
        events, asked = as_numbers(events), as_numbers(asked)
    whole = learned(ExplicitKARMAClassifier(), events)
    parts = [learned(ExplicitKARMAClassifier(), events[k::3]) for k in range(3)]
    merged = merge(parts)
    assert errors_of(merged, asked) <= errors_of(whole, asked) + 10
    assert errors_of(merged, asked) <= sum(errors_of(part, asked) for part in parts) / 3 + 5


def errors_of(model: Any, events: Events) -> int:
    return sum(model.predict_one({n: v for n, v in e.items() if n != "y"}) != e["y"] for e in events)


def test_late_labels_are_heeded_when_they_come() -> None:
    events = stream(300, 3)
    model = learned(ExplicitKARMAClassifier(), events)
    before, asked = rates_of(model), {"user": "u70"}
    first = model.predict_proba_one(asked)
    assert rates_of(model) == before
    model.learn_one(asked, None)
    assert rates_of(model) == before
    model.learn_one(asked, True)
    after = rates_of(model)
    assert all(
        after[name] != before[name]
        for name in before
        if name not in ("rates.coordinates", "rates.keys") and "gains" not in name
    )
    assert model.predict_proba_one(asked)[True] > first[True]


@pytest.mark.parametrize("task", TASKS)
def test_they_tell_soon_of_whom_little_is_known(task: str) -> None:
    """Many users that are rare: weights of their own would be learned slowly."""
    events = stream(6000, 4, task, 1500)
    errors = {}
    for rates in (True, False):
        made = ExplicitKARMARegressor if task == "regression" else ExplicitKARMAClassifier
        model = made(gamma=1)
        if not rates:
            model._pipeline.encoder = Encoder(1 << 14, 1 << 14, 1024, True, math.inf)
        wrong = 0.0
        for event in events:
            x = {name: value for name, value in event.items() if name != "y"}
            if task == "regression":
                wrong += (model.predict_one(x) - event["y"]) ** 2
            else:
                wrong += (
                    max(model.predict_proba_one(x).items(), key=lambda p: p[1], default=(0, 0))[0]
                    != event["y"]
                )
            model.learn_one(x, event["y"])
        errors[rates] = wrong / len(events)
    assert errors[True] < 0.98 * errors[False], errors


@pytest.mark.parametrize("task", TASKS)
def test_numbers_are_names_where_that_tells_more_than_their_size(task: str) -> None:
    """Otherwise a model equals one without rates."""
    by_name = as_numbers(stream(3000, 6, task))
    rng = random.Random(7)
    sizes = [{"user": rng.randrange(100), "x": rng.gauss(0, 1)} for _ in range(3000)]
    by_size = [{**x, "y": event_label(task, x["user"] / 25 - 2 + rng.gauss(0, 0.5))} for x in sizes]
    made = ExplicitKARMARegressor if task == "regression" else ExplicitKARMAClassifier
    errors = {}
    for rates in (True, False):
        for name, events in {"name": by_name, "size": by_size}.items():
            model, wrong = made(gamma=1), 0.0
            if not rates:
                model._pipeline.encoder = Encoder(1 << 14, 1 << 14, 1024, True, math.inf)
            for event in events:
                x = {each: value for each, value in event.items() if each != "y"}
                said = model.predict_one(x)
                wrong += abs(said - event["y"]) if task == "regression" else said != event["y"]
                model.learn_one(x, event["y"])
            assert ("user.rate" in model.vocabulary.attributes) == rates
            errors[name, rates] = wrong
    assert errors["name", True] < 0.8 * errors["name", False], errors
    assert errors["size", True] == errors["size", False]


@pytest.mark.parametrize("seed", [8, 9])
def test_what_numbers_tell_of_a_stay_counts_only_if_it_was_known_when_they_were_asked_about(
    seed: int,
) -> None:
    """Labels of a stay come at once: they predict each other, but not yet when the events were predicted."""
    gains = {}
    for asked in (True, False):
        rng, model = random.Random(seed), KARMAMixtureClassifier()
        for _ in range(300):
            weights, label = rng.sample(range(600), 3), rng.random() < 0.3
            stay = [{"weight": rng.choice(weights), "x": rng.gauss(0, 1)} for _ in range(12)]
            if asked:
                assert [model.predict_proba_one(x) for x in stay]
            for x in stay:
                model.learn_one(x, label)
        [[count, gain, _]] = model.state()[1]["rates.gains"]
        gains[asked] = gain / count
    assert gains[True] < 0.03
    assert gains[False] > 0.1


def test_few_categories_have_none_and_many_have_them_beyond_all_bounds() -> None:
    few = learned(ExplicitKARMAClassifier(), stream(300, 5, users=32))
    assert "user.rate" not in few.vocabulary.attributes
    assert not rates_of(few)
    assert "rated_categories" not in few.summary()
    # Half of the 80 users have no coordinate at any time: there are too few.
    bounded = learned(ExplicitKARMAClassifier(max_coordinates=48), stream(900, 6))
    assert bounded.summary()["evicted"] > 0
    assert bounded.summary()["rated_categories"] > 60
    full = learned(ExplicitKARMAClassifier(max_coordinates=38), stream(900, 6))
    assert "user.rate" not in full.vocabulary.attributes


def test_an_attribute_of_that_name_counts_itself() -> None:
    model = learned(ExplicitKARMAClassifier(), stream(300, 7))
    before = rates_of(model)
    model.learn_one({"user": "u1", "user.rate": 3.0}, True)
    model.learn_one({"user": "u1", "user.rate": "(rate)"}, True)
    assert rates_of(model) == before
    early = ExplicitKARMAClassifier()
    for event in stream(300, 7):
        early.learn_one({"user": event.get("user"), "user.rate": "(rate)"}, event["y"])
    assert set(early.predict_proba_one({"user": "u1"})) == {False, True}


def test_nobody_else_meets_what_is_not_filled_in(tmp_path: Path) -> None:
    events = stream(400, 8)
    loop = loop_of("explicit")
    loop.feed(lines(events))
    model = loop.loop.task_model.model
    assert model is not None
    assert np.abs(model.encoded.values).max() < 10.0
    sizes = [len(event) - 1 for event in events]
    assert [row["observed"] for row in loop.rows] == sizes
    imputer = SubspaceImputer()
    for event in events:
        imputer.learn_one({name: value for name, value in event.items() if name != "y"})
    assert set(imputer.transform_one({"x": 1.0})) == {"x", "user"}


def test_the_running_regret_knows_nothing_of_them(tmp_path: Path) -> None:
    source, summary = tmp_path / "events.jsonl", tmp_path / "summary.json"
    source.write_bytes(b"\n".join(lines(stream(400, 9))))
    options = [
        "--no-predictions",
        "--regret",
        "zero,mean",
        "--regret-memory",
        "24",
        "--summary",
        str(summary),
        "--quiet",
    ]
    result = CliRunner().invoke(cli, ["learn", str(source), *options])
    assert result.exit_code == 0, result.output
    regret = json.loads(summary.read_bytes())["regret"]
    assert [math.isfinite(regret[name]["regret"]) for name in ("zero", "mean")] == [True, True]


def test_who_resumes_knows_the_rates_of_an_attribute_that_has_few_categories_left() -> None:
    model = ExplicitKARMAClassifier(max_attributes=120, max_coordinates=120)
    numbers = random.Random(3)
    for t in range(3000):
        # First 40 categories, later ten, while other names evict them.
        categories = 40 if t < 1500 else 10
        x: dict[str, Any] = {"c": f"c{numbers.randrange(categories)}", "x": numbers.gauss(0, 1)}
        x |= {f"n{numbers.randrange(60 if t < 1500 else 4000)}": 1.0 for _ in range(3)}
        model.learn_one(x, x["x"] > 0)
    again = pickle.loads(pickle.dumps(model))
    for category in range(12):
        x = {"c": f"c{category}", "x": 0.1}
        assert model.predict_proba_one(x) == again.predict_proba_one(x)
        model.learn_one(x, True)
        again.learn_one(x, True)
    assert model.vocabulary.attributes == again.vocabulary.attributes
