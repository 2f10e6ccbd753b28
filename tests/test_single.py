"""Events given one by one as dictionaries take a shorter path than blocks, and give the same bits."""

from __future__ import annotations

import copy
import math
import pickle
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from river import base

from streamkarma import (
    BinsClassifier,
    BinsRegressor,
    BoostingClassifier,
    ConstantStepClassifier,
    ConstantStepRegressor,
    ExplicitKARMAClassifier,
    ExplicitKARMARegressor,
    KARMAClassifier,
    KARMAMixtureClassifier,
    KARMAMixtureRegressor,
    KARMARegressor,
    NeighborsClassifier,
    NeighborsRegressor,
    SubspaceClassifier,
    SubspaceRegressor,
    _engine,
    load,
    save,
)
from streamkarma.errors import RecordError
from streamkarma.estimators.results import probabilities

#: The forms of every learner that have code of their own.
FORMS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "karma": (KARMAClassifier, KARMARegressor, {"budget": 3}),
    "average": (KARMAClassifier, KARMARegressor, {"budget": None, "average": True, "gamma": 3}),
    "doubling": (KARMAClassifier, KARMARegressor, {"rho": "auto"}),
    "arow": (ExplicitKARMAClassifier, ExplicitKARMARegressor, {}),
    "adagrad": (ExplicitKARMAClassifier, ExplicitKARMARegressor, {"update": "adagrad", "gamma": 1}),
    "sgd": (ExplicitKARMAClassifier, ExplicitKARMARegressor, {"update": "sgd", "scale": False}),
    "hashed": (ExplicitKARMAClassifier, ExplicitKARMARegressor, {"gamma": 3, "table_bits": 8}),
    "subspace": (SubspaceClassifier, SubspaceRegressor, {"forget": 5.0}),
    "bins": (BinsClassifier, BinsRegressor, {"table_bits": 8}),
    "constant": (ConstantStepClassifier, ConstantStepRegressor, {"forget": 5.0}),
    "neighbors": (NeighborsClassifier, NeighborsRegressor, {"window": 8, "neighbors": 3}),
    "mixture": (KARMAMixtureClassifier, KARMAMixtureRegressor, {"budget": 4}),
}
every_form = pytest.mark.parametrize("form", FORMS)
both_tasks = pytest.mark.parametrize("task", ["classes", "regression"])

numbers = st.one_of(
    st.integers(-3, 3), st.booleans(), st.floats(-5, 5), st.sampled_from([1e300, 10**30, Decimal("1.5")])
)
unusual = st.sampled_from([None, float("nan"), "red", "blue", np.float64(0.3), np.int64(2), np.True_])
rows = st.dictionaries(st.sampled_from("abcdef"), numbers | numbers | numbers | unusual, max_size=6)
weights = st.sampled_from([1.0, 1.0, 1.0, 0.0, 0.25, 3])
#: Indices of labels; the last one is no label.
places = st.integers(0, 4)
steps = st.one_of(
    st.tuples(st.just("predict"), rows),
    st.tuples(st.just("both"), rows, places, weights),
    st.tuples(st.just("learn"), rows, places, weights),
    st.tuples(st.just("many"), st.lists(st.tuples(rows, places, weights), max_size=4)),
    st.tuples(st.sampled_from(["copy", "pickle", "save"])),
)


def made(form: str, task: str) -> Any:
    classifier, regressor, own = FORMS[form]
    if form == "doubling" and task == "regression":
        own = {**own, "loss": "absolute"}
    elif form == "doubling":
        own = {**own, "loss": "hinge"}
    return (regressor if task == "regression" else classifier)(**own)


def label(task: str, place: int) -> Any:
    return (-1.5, 0.0, 4, 1e6, None)[place] if task == "regression" else ("x", "y", "z", "x", None)[place]


class OneByOne:
    """A model called through the methods of river."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, x: dict[str, Any]) -> Any:
        if isinstance(self.model, base.Classifier):
            return self.model.predict_proba_one(x), self.model.decision_one(x)
        return self.model.predict_one(x), self.model.predict_one(x)

    def learn(self, x: dict[str, Any], y: Any, w: float) -> None:
        self.model.learn_one(x, y, w)


class InBlocks(OneByOne):
    """A model called with blocks of one event."""

    def predict(self, x: dict[str, Any]) -> Any:
        with patch("streamkarma.estimators.pipeline.Pipeline.one", one_in_a_block):
            return super().predict(x)

    def learn(self, x: dict[str, Any], y: Any, w: float) -> None:
        events = self.model.read([x], [w > 0.0])
        self.model.run(events, [None if y is None else self.model.check_label(y)], [float(w)])


def one_in_a_block(
    learner: Any, x: dict[str, Any], *_: float, unit: tuple[float, float, float] = (math.nan, 0.0, 1.0)
) -> list[float]:
    scores: list[float] = learner.scores(learner.read([x], [False]), unit[1:])[0].tolist()
    return scores


def renewed(model: Any, how: str, folder: Path) -> Any:
    if how == "copy":
        return copy.deepcopy(model)
    if how == "pickle":
        return pickle.loads(pickle.dumps(model))
    save(model, folder / "model")
    return load(folder / "model")


def bits(model: Any) -> tuple[Any, dict[str, bytes]]:
    header, arrays = model.state()
    return header, {name: array.tobytes() for name, array in arrays.items()}


def follow(way: OneByOne, task: str, plan: list[Any], folder: Path) -> list[Any]:
    """Predictions on the way."""
    said = []
    for what, *rest in plan:
        if what in ("predict", "both"):
            said.append(way.predict(rest[0]))
        if what in ("learn", "both"):
            way.learn(rest[0], label(task, rest[1]), rest[2])
        elif what == "many":
            way.model._learn([x for x, _, _ in rest[0]], [label(task, y) for _, y, _ in rest[0]],
                             [w for _, _, w in rest[0]])  # fmt: skip
        elif what in ("copy", "pickle", "save"):
            old, way.model = way.model, renewed(way.model, what, folder)
            # What the old one learns later does not affect the new one.
            old.learn_one({"a": 1.0, "b": 2.0}, label(task, 0))
    return said


PAIR = {"a": 1.5, "b": -0.5}


@every_form
@both_tasks
@settings(max_examples=12)
@given(plan=st.lists(steps, min_size=1, max_size=30))
@example(plan=[("both", PAIR, t % 2, 1.0) for t in range(8)] + [("both", {**PAIR, "c": 1.0}, 2, 1.0)] * 3)
@example(plan=[("both", {name: 1.0 + t, "a": t}, t % 2, 1.0) for t, name in enumerate("abcdef" * 3)])
@example(plan=[("learn", {**PAIR, "c": 1.0}, 1, 1.0), ("predict", {**PAIR, "d": 1.0}),
               ("learn", {"d": 3.0}, 0, 1.0), ("learn", {**PAIR, "d": 1.0}, 0, 1.0), ("copy",),
               ("both", PAIR, 2, 0.25)])  # fmt: skip
def test_any_sequence_gives_the_bits_of_blocks(form: str, task: str, plan: list[Any]) -> None:
    one, other = OneByOne(made(form, task)), InBlocks(made(form, task))
    with TemporaryDirectory() as name:
        assert follow(one, task, plan, Path(name)) == follow(other, task, plan, Path(name))
    assert bits(one.model) == bits(other.model)


@every_form
@both_tasks
def test_a_stream_with_half_of_its_values_gives_the_bits_of_blocks(form: str, task: str) -> None:
    rng = np.random.default_rng(5)
    one, other = OneByOne(made(form, task)), InBlocks(made(form, task))
    for t in range(150):
        x = {f"n{i}": rng.standard_normal() for i in range(12) if rng.random() < 0.5}
        y, w = label(task, int(x.get("n0", 0.0) > 0.0) + 2 * (t % 40 == 39)), rng.choice([1.0, 2.0])
        assert one.predict(x) == other.predict(x)
        one.learn(x, y, w)
        other.learn(x, y, w)
    assert bits(one.model) == bits(other.model)


@pytest.mark.parametrize("wrong", [float("inf"), 10**400, 1j, np.complex128(1), b"1", {1.0}, object()])
def test_what_blocks_refuse_is_refused_and_leaves_no_trace(wrong: Any) -> None:
    model = ExplicitKARMAClassifier()
    for t in range(4):
        model.learn_one(PAIR, t % 2 == 0)
    before = bits(model)
    for _ in range(2):
        with pytest.raises(RecordError):
            model.learn_one({**PAIR, "b": wrong}, True)
        with pytest.raises(RecordError):
            model.predict_proba_one({**PAIR, "b": wrong})
    for y, w in (([], 1.0), (3, 1.0), (True, -1.0), (True, float("nan"))):
        with pytest.raises(RecordError):
            model.learn_one(PAIR, y, w)
    assert bits(model) == before


class Text(str):
    """A name that is not quite a string."""


def test_names_may_be_anything_that_can_be_hashed() -> None:
    one, other = OneByOne(made("arow", "classes")), InBlocks(made("arow", "classes"))
    rows = [{"a": 1.0, 7: 2.0}, {True: -1.0, "a": 0.5}, {Text("a"): 3.0}, {("a", 1): 2.0, 7: 1.5}, {7.0: 1.0}]
    for t, x in enumerate(rows * 4):
        assert one.predict(x) == other.predict(x)
        one.learn(x, t % 2 == 0, 1.0)
        other.learn(x, t % 2 == 0, 1.0)
    assert bits(one.model) == bits(other.model)


@every_form
def test_of_many_events_none_is_learned_if_one_cannot_be(form: str) -> None:
    model = made(form, "classes")
    for t in range(4):
        model.learn_one(PAIR, t % 2 == 0)
    before = bits(model)
    with pytest.raises(RecordError):
        model._learn([{"new": 1.0}, {"a": 1j}], [True, True], [1.0, 1.0])
    assert bits(model) == before


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 99)), max_size=40), st.integers(0, 90))
@settings(max_examples=30)
def test_labels_that_come_late_count_as_in_blocks(plan: list[tuple[bool, int]], first: int) -> None:
    one, other = OneByOne(made("arow", "classes")), InBlocks(made("arow", "classes"))
    for way in (one, other):
        way.learn(PAIR, True, 1.0)
        for number in range(first):
            way.predict({**PAIR, "a": float(number)})
        for asks, number in plan:
            x = {**PAIR, "a": float(number)}
            way.predict(x) if asks else way.learn(x, number % 2 == 0, 1.0)
    assert bits(one.model) == bits(other.model)


def test_two_models_learn_in_two_threads_as_in_turn() -> None:
    def learned(seed: int) -> list[Any]:
        rng = np.random.default_rng(seed)
        way, said = OneByOne(made("arow", "classes")), []
        for _ in range(2_000):
            x = {f"n{i}": rng.standard_normal() for i in range(8) if rng.random() < 0.5}
            said.append(way.predict(x))
            way.learn(x, bool(x.get("n0", 0.0) > 0.0), 1.0)
        return [said, bits(way.model)]

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(learned, range(2))) == list(map(learned, range(2)))


def test_mappings_need_not_be_dictionaries() -> None:
    class Repeating(OrderedDict[str, float]):
        """Yields each name three times."""

        def __len__(self) -> int:
            return 3 * super().__len__()

        def __iter__(self) -> Any:
            return (name for name in super().__iter__() for _ in range(3))

        def values(self) -> Any:
            return [self[name] for name in self]

    model = KARMAClassifier()
    for t in range(4):
        model.learn_one(OrderedDict(PAIR), t % 2 == 0)
    assert set(model.predict_proba_one(Repeating(PAIR))) == {False, True}


@given(st.lists(st.floats(-800, 800), min_size=1, max_size=9))
def test_one_probability_is_that_of_many(scores: list[float]) -> None:
    expected = probabilities(np.array(scores)[:, None], 2)[:, 1].tolist()
    assert _engine.logistics(np.array(scores)).tolist() == expected


def test_predicting_another_event_does_not_change_what_is_learned() -> None:
    """Both are outliers, and equal once they are standardised."""

    def trained(predicts: bool) -> BoostingClassifier:
        model, random = BoostingClassifier(), Random(1)
        for t in range(400):
            value = random.uniform(15, 40) if t % 20 == 0 else random.gauss(0, 1)
            if predicts and t % 20 == 0:
                model.predict_one({"a": 55.0 - value})
            model.learn_one({"a": value}, value > (27 if t % 20 == 0 else 0))
        return model

    (_, ours), (_, theirs) = trained(True).state(), trained(False).state()
    # What was predicted may have its label later.
    kept = [name for name in ours if name != "asked" and not name.startswith("late.")]
    assert all(np.array_equal(ours[name], theirs[name]) for name in kept)
