"""When room runs out: which names are evicted, what learners forget, and what stays the same."""

from __future__ import annotations

import copy
import json
import pickle
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma import (
    ExplicitKARMAClassifier,
    KARMAClassifier,
    KARMAMixtureClassifier,
    KARMAMixtureRegressor,
    SubspaceClassifier,
    SubspaceImputer,
)
from streamkarma._engine import Encoded, LineReader
from streamkarma.events.block import Block
from streamkarma.events.lasting_indices import LastingIndices
from streamkarma.runtime.fields import Fields
from streamkarma.runtime.pending import Pending
from streamkarma.runtime.task import TaskModel
from tests.conftest import Program
from tests.encoding import encoded, encoder, items, restored
from tests.loops import Kept, kept, run_of
from tests.room import Reference

names = st.sampled_from([f"n{i}" for i in range(30)])
values = st.floats(-2, 2, allow_nan=False) | st.sampled_from(["u", "v", "w"])
streams = st.lists(st.dictionaries(names, values, max_size=8), min_size=10, max_size=60)
#: Room for fewer names than a stream has.
FEW: dict[str, int] = {"max_coordinates": 24, "max_attributes": 20}
KINDS: list[Any] = [
    lambda: ExplicitKARMAClassifier(**FEW),
    lambda: ExplicitKARMAClassifier(gamma=3, update="sgd", **FEW),
    lambda: KARMAClassifier(budget=10, **FEW),
    lambda: KARMAClassifier(average=True, **FEW),
    lambda: SubspaceClassifier(**FEW),
    lambda: SubspaceClassifier(max_pairwise_coordinates=1, **FEW),
    lambda: KARMAMixtureClassifier(**FEW),
]


def turning(n: int, seed: int = 0, alive: int = 12, life: int = 60) -> list[dict[str, Any]]:
    """Labelled events of numbers and a category, with names that change all the time."""
    rng = random.Random(seed)
    stream = []
    for t in range(n):
        first = t * alive // life
        chosen = rng.sample(range(first, first + alive), 4)
        event: dict[str, Any] = {f"x{i}": round(rng.gauss(0, 1), 3) for i in chosen}
        event |= {"steady": round(rng.gauss(0, 1), 3), "kind": f"k{t // 30 + rng.randrange(3)}"}
        score = event["steady"] + sum(event[f"x{i}"] * (-1) ** i for i in chosen)
        stream.append({**event, "y": int(score > 0)})
    return stream


def split(stream: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[Any]]:
    return [{name: x for name, x in event.items() if name != "y"} for event in stream], [
        event["y"] for event in stream
    ]


def taught(model: Any, stream: list[dict[str, Any]]) -> list[bytes]:
    events, labels = split(stream)
    read = model.read(events, [True] * len(stream))
    return [score.tobytes() for score in model.run(read, labels, [1.0] * len(stream)).scores]


def bits(model: Any) -> tuple[Any, dict[str, bytes]]:
    header, arrays = model.state()
    return header, {name: array.tobytes() for name, array in arrays.items()}


@settings(max_examples=100, deadline=None)
@given(streams, st.integers(4, 20))
def test_those_make_room_that_the_reference_says(stream: list[dict[str, Any]], most: int) -> None:
    by, reference = encoder(max_coordinates=most), Reference(most)
    for event in stream:
        expected = reference.learn(event)
        block = encoded(by, [event])
        assert set(block.coordinates.tolist()) == expected
        assert [gone for _, _, gone in block.evicted] == ([sorted(reference.gone)] if reference.gone else [])
        assert by.entries() == reference.places[1:]
        assert by.evicted == reference.evicted
    assert by.coordinate_count <= most


@settings(max_examples=60, deadline=None)
@given(streams, st.integers(3, 9), st.integers(30, 60))
def test_what_is_predicted_looks_as_when_it_is_learned(stream: Any, most: int, size: int) -> None:
    by = encoder(max_attributes=most, max_coordinates=2 * most, all_bytes=size, scale=True)
    for event in stream:
        before = (by.entries(), by.arrays()["moments"].tobytes(), by.uses().tobytes(), by.ignored, by.evicted)
        predicted = encoded(by, [event], learned=False)
        after = (by.entries(), by.arrays()["moments"].tobytes(), by.uses().tobytes(), by.ignored, by.evicted)
        assert before == after
        assert predicted.evicted == []
        learned = encoded(by, [event])
        assert len(learned.coordinates) == len(predicted.coordinates)
        assert sorted(zip(learned.values.tolist(), strict=True)) == sorted(
            zip(predicted.values.tolist(), strict=True)
        )


@settings(max_examples=60, deadline=None)
@given(streams, st.integers(3, 9), st.integers(30, 60), st.randoms())
def test_resumed_or_copied_it_goes_on_and_the_order_of_keys_does_not_show(
    stream: Any, most: int, size: int, rng: random.Random
) -> None:
    bounds = {"max_attributes": most, "max_coordinates": 2 * most, "all_bytes": size, "scale": True}
    one, other = encoder(**bounds), encoder(**bounds)
    for t, event in enumerate(stream):
        keys = list(event)
        rng.shuffle(keys)
        expected, found = encoded(one, [event]), encoded(other, [{key: event[key] for key in keys}])
        assert [a.tobytes() for a in expected[:4]] == [a.tobytes() for a in found[:4]]
        assert expected.evicted == found.evicted
        if t % 7 == 3:
            other = restored(other, encoder(**bounds))
        elif t % 7 == 5:
            other = pickle.loads(pickle.dumps(copy.copy(other)))
    assert one.attribute_names == other.attribute_names
    assert one.tallies().tolist() == other.tallies().tolist()


def test_names_of_any_kind_make_room_and_leave_nothing_behind() -> None:
    by = encoder(max_attributes=5)
    for i in range(50):
        encoded(by, [{i: 1.0, ("p", i): "x"}])
    assert by.attribute_count == 5
    assert set(by.attributes) == {48, 49, ("p", 48), ("p", 49)}
    assert len(items(by, {49: 1.0, ("p", 48): "x", 7: 1.0}, learned=False)) == 3
    assert by.ignored == 0


def test_what_is_too_long_takes_no_room_from_others() -> None:
    by = encoder(max_attributes=4, max_name_bytes=8)
    for i in range(20):
        event = {"a" * 9: 1.0, f"b{i}": "x" * 9, f"c{i}": 1.0, f"d{i}": "x"}
        assert len(items(by, event, learned=False)) == 2
        assert len(items(by, event)) == 2
    assert by.ignored == 40


def test_an_event_of_too_many_names_is_soon_done_with() -> None:
    by = encoder(1000, 1000)
    block = encoded(by, [{"old": 1.0}, {"a": [1.0] * 50_000}, {"old": 1.0}])
    assert np.diff(block.starts).tolist() == [2, 1000, 2]
    assert by.ignored == 50_000 - 999


def test_a_table_is_its_rows_whose_columns_come_and_go() -> None:
    rng = np.random.default_rng(1)
    columns = [f"c{i}" for i in range(30)]
    table = rng.standard_normal((200, 30))
    table[rng.random(table.shape) < 0.85] = np.nan
    rows = [{n: v for n, v in zip(columns, row, strict=True) if v == v} for row in table.tolist()]
    one, other = encoder(scale=True, max_attributes=20), encoder(scale=True, max_attributes=20)
    events = Encoded()
    one.read_table(columns, table, [True] * 200, events)
    found, expected = Block(*events.block), encoded(other, rows)
    assert [a.tobytes() for a in found[:4]] == [a.tobytes() for a in expected[:4]]
    assert found.evicted == expected.evicted != []


def test_lines_are_dicts() -> None:
    stream = turning(300)
    text = "".join(json.dumps(event) + "\n" for event in stream).encode()
    one, other = encoder(scale=True, **FEW), encoder(scale=True, **FEW)
    reader = LineReader({"y": -1}, learn=True, unlabelled=False, strict=False)
    reader.know([0, 1])
    found, expected = Block(*reader.read(one, text, 0, 1000).events.block), encoded(other, split(stream)[0])
    assert [a.tobytes() for a in found[:4]] == [a.tobytes() for a in expected[:4]]
    assert found.evicted == expected.evicted != []


@pytest.mark.parametrize("made", KINDS)
def test_blocks_are_single_events_and_what_is_saved_goes_on(made: Any) -> None:
    stream = turning(240)
    whole, single, saved = made(), made(), made()
    scores = taught(whole, stream)
    for event in stream:
        single.learn_one({name: value for name, value in event.items() if name != "y"}, event["y"])
    assert bits(single) == bits(whole)
    in_parts: list[bytes] = []
    for begin, end in pairwise([0, 1, 50, 51, 130, 240]):
        in_parts += taught(saved, stream[begin:end])
        again = made()
        again.restore(*(copy.deepcopy(each) for each in saved.state()))
        saved = again
    assert in_parts == scores
    assert bits(saved) == bits(whole)
    assert whole.vocabulary.evicted > 20
    assert whole.summary()["coordinates"] <= 23


def test_the_imputer_forgets_too() -> None:
    imputer = SubspaceImputer(max_coordinates=4, max_attributes=4)
    rng = np.random.default_rng(0)
    for x in rng.standard_normal(200):
        imputer.learn_one({"a": x, "b": 2.0 * x})
    assert imputer.transform_one({"a": 1.0})["b"] == pytest.approx(2.0, abs=0.3)
    for i, x in enumerate(rng.standard_normal(3000)):
        imputer.learn_one({"a": x, f"c{i // 1500}": -x})
    assert set(imputer.transform_one({"a": 1.0})) <= {"a", "c0", "c1"}


def looped(plan: dict[str, Any], stream: list[dict[str, Any]], most: int, fields: Fields, wait: int) -> Kept:
    task_model = TaskModel("binary", plan, None, lambda _: None, "explicit")
    loop = kept(task_model, True, fields, Pending(wait) if wait else None)
    lines = [json.dumps(event).encode() for event in stream]
    for begin in range(0, len(lines), most):
        loop.feed(lines[begin : begin + most], begin + 1)
    return loop


def test_a_late_label_never_teaches_a_newcomer() -> None:
    """Names of a waiting event that were evicted meanwhile are not learned with its label."""
    stream = turning(200)
    asked = [{**{n: x for n, x in e.items() if n != "y"}, "id": i} for i, e in enumerate(stream)]
    labels = [{"id": i, "y": e["y"]} for i, e in enumerate(stream)]
    late: list[dict[str, Any]] = []
    for t, event in enumerate(asked):
        late += [event] + ([labels[t - 60]] if t >= 60 else [])
    late += labels[-60:]
    fields = Fields(id="id")
    whole = looped(FEW, late, 1000, fields, 100)
    for most in (1, 7):
        pieces = looped(FEW, late, most, fields, 100)
        assert bits(pieces.loop.task_model.model) == bits(whole.loop.task_model.model)
        assert pieces.rows == whole.rows
    model = whole.loop.task_model.model
    at_once = looped(FEW, stream, 1000, Fields(), 0).loop.task_model.model
    assert model.vocabulary.evicted == at_once.vocabulary.evicted > 20
    assert model.vocabulary.entries() == at_once.vocabulary.entries()
    plain = {**FEW, "gamma": 1, "scale": False}
    for last, places in ((0, 3), (150, 2)):
        # The first event has the constant, a name that stays and one that is evicted in the end.
        first = {"id": -1, "steady": 1.0, "old": 2.0}
        stream = [{"id": i, "steady": 0.5, f"x{i // 5}": 1.0} for i in range(last)]
        loop = looped(plain, [first, *stream, {"id": -1, "y": 1}], 1000, fields, 1000)
        assert ("old" in loop.loop.task_model.model.vocabulary.attributes) == (places == 3)
        weights = np.frombuffer(bits(loop.loop.task_model.model)[1]["0.weights"])
        assert np.count_nonzero(weights) == places


@pytest.mark.parametrize("made", [KARMAMixtureClassifier, KARMAMixtureRegressor])
def test_names_that_change_for_ever_are_learned_for_ever(made: Any) -> None:
    model = made(max_coordinates=64, max_attributes=64)
    stream = turning(4000, alive=12, life=600)
    errors = []
    for begin in range(0, 4000, 500):
        events, labels = split(stream[begin : begin + 500])
        if made is KARMAMixtureRegressor:
            labels = [float(y) for y in labels]
        result = model.run(model.read(events, [True] * 500), labels, [1.0] * 500)
        said = result.scores[:, 0] if made is KARMAMixtureClassifier else result.predictions - 0.5
        sign = -1 if made is KARMAMixtureClassifier and model.classes[0] == 1 else 1
        errors.append(np.mean((sign * said > 0) != np.array(labels, bool)))
    assert model.vocabulary.evicted > 50
    assert np.mean(errors[-2:]) <= np.mean(errors[1:3]) + 0.03


def test_what_is_kept_for_the_regret_means_what_it_meant() -> None:
    """Each evicted index becomes another from then on, whatever the blocks."""
    by = encoder(max_coordinates=8)
    stream = split(turning(100))[0]
    meant: dict[int, Any] = {}
    indices, whole = LastingIndices(), LastingIndices()
    translated = []
    for event in stream:
        block = indices.block(encoded(by, [event]))
        translated.append(block.coordinates.tolist())
        for at, entry in zip(block.coordinates.tolist(), encoded_entries(by, event), strict=True):
            assert meant.setdefault(at, entry) == entry
        indices = LastingIndices.restored(json.loads(json.dumps(indices.state())))
    at_once = whole.block(encoded(encoder(max_coordinates=8), stream))
    assert at_once.coordinates.tolist() == [at for event in translated for at in event]


def encoded_entries(by: Any, event: dict[str, Any]) -> list[Any]:
    """What the coordinates of an event stand for."""
    at = encoded(by, [event], learned=False).coordinates
    entries = [("", None), *by.entries()]
    return [entries[k] for k in at.tolist()]


def test_it_is_said_once_and_counted(streamkarma: Program, tmp_path: Path) -> None:
    done = streamkarma("learn", "--max-coordinates", "20", "--summary", str(tmp_path / "s"),
                       records=turning(300))  # fmt: skip
    told = [line for line in done.stderr.splitlines() if "is reached" in line]
    assert told == [
        "the limit of 20 numbers and categories (--max-coordinates) is reached: new names and categories "
        "replace those that are rare and have not been seen for long"
    ]
    summary = json.loads((tmp_path / "s").read_text())
    assert summary["model"]["evicted"] > 50
    assert summary["ignored_attributes"] == 0


def test_a_model_file_goes_on(tmp_path: Path) -> None:
    stream = turning(400)
    paths = {name: str(tmp_path / name) for name in ("whole", "parts", "in")}

    def learn(model: str, events: list[dict[str, Any]]) -> Any:
        Path(paths["in"]).write_text("".join(json.dumps(event) + "\n" for event in events))
        plan = {"fields": {"target": "y"}, "options": FEW, "learner": "auto"}
        plan |= {"regret": "zero", "regret_memory": 24}
        run = run_of(input=paths["in"], model=paths[model], predictions=None, quiet=True, **plan)
        run.execute()
        return bits(run.session.task_model.model)

    whole = learn("whole", stream)
    learn("parts", stream[:150])
    assert learn("parts", stream[150:]) == whole
