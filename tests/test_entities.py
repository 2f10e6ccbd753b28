"""Values carried over from entities' earlier events, against a short reference in Python."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamkarma import (
    ExplicitKARMAClassifier,
    KARMAClassifier,
    KARMAMixtureClassifier,
    SubspaceClassifier,
    checkpoint,
    load,
    save,
)
from streamkarma._engine import Encoded, Encoder, LineReader
from streamkarma.errors import RecordError, UsageError
from streamkarma.events.block import Block
from streamkarma.events.roles import TARGET
from streamkarma.runtime.fields import seconds_of
from tests.encoding import encoded, encoder, restored

Records = list[dict[str, Any]]


def carried(
    records: Iterable[dict[str, Any]],
    carry: str,
    time: str | None = None,
    longest: float = math.inf,
    labels: Sequence[Any] | None = None,
) -> Iterator[dict[str, Any]]:
    """The reference: records with the earlier values of their device, and with its labels."""
    memory: dict[Any, dict[str, tuple[Any, float]]] = {}
    past: dict[Any, list[tuple[Any, float]]] = {}
    for n, record in enumerate(records, 1):
        own = {name: value for name, value in record.items() if value is not None and name != time}
        device = str(record.get("device"))
        now, last = record[time] if time else n, memory.setdefault(device, {})
        ages = {name: max(0.0, now - then) for name, (_, then) in last.items()}
        said = {name: value for name, (value, _) in last.items() if ages[name] <= longest}
        known = past.setdefault(device, [])
        # If times go backwards, the latest one holds.
        is_carried = known and now - max(then for _, then in known) <= longest
        had = labels_of([label for label, _ in known]) if is_carried else {}
        if "device" in own:
            last.update((name, (value, now)) for name, value in own.items() if name != "device")
            if labels is not None and labels[n - 1] is not None:
                known.append((labels[n - 1], now))
        if carry == "last":
            beside = {f"{name}.last": value for name, value in said.items()}
            yield own | beside | {f"{name}.age": math.log1p(ages[name]) for name in said} | had
        else:
            yield (said if "device" in own and carry == "fill" else {}) | own | had


def labels_of(labels: Sequence[Any]) -> dict[str, Any]:
    """The last label, and the mean of the last sixteen or so of its kind, or the share of each."""
    means: dict[str, float] = {}
    kind, count = None, 0
    for label in labels:
        if kind is not isinstance(label, str):
            kind, count, means = isinstance(label, str), 0, {}
        count = min(count + 1, 16)
        name, value = (f"label.mean.{label}", 1.0) if kind else ("label.mean", float(label))
        means = {own: mean * (1.0 - 1.0 / count) for own, mean in means.items()}
        means[name] = means.get(name, 0.0) + value * (1.0 / count)
    return {"label.last": labels[-1], **means}


def ample(given: tuple[Any, ...] | None = None, **options: Any) -> Encoder:
    by = encoder(10_000, 10_000, 1 << 20, scale=True, **options)
    if given is not None:
        by.follow(given)
    return by


def following(
    carry: str = "fill", time: str | None = None, longest: float = math.inf, most: int = 1000
) -> tuple[Any, ...]:
    return "device", True, time, carry, True, longest, most


def same(one: Block, other: Block) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one[:4], other[:4], strict=True))


# The square of a much smaller number is 0, and so is the deviation.
numbers = st.floats(-5, 5).map(lambda number: round(number, 6))
values = st.one_of(st.none(), st.integers(-3, 3), numbers, st.sampled_from(["a", "b", "c"]))
events = st.fixed_dictionaries(
    {"at": st.integers(0, 50)},
    optional={
        "device": st.one_of(st.none(), st.sampled_from(["d1", "d2", "7", 7, 8])),
        **dict.fromkeys("pqrs", values),
    },
)


labels = st.one_of(st.none(), st.booleans(), numbers, st.sampled_from(["ham", "spam"]))


def at_times(*times: int) -> list[tuple[dict[str, Any], Any]]:
    """Events of one device, with labels."""
    return [({"at": at, "device": "d1", "p": n}, n % 2 == 0) for n, at in enumerate(times)]


@settings(max_examples=100)
@example(at_times(10, 5, 12), "fill", "at", 4.0)
@example(at_times(50, 40, 30, 20, 10), "last", "at", 4.0)
@given(
    st.lists(st.tuples(events, labels), max_size=25),
    st.sampled_from(["fill", "last", "off"]),
    st.sampled_from([None, "at"]),
    st.sampled_from([math.inf, 4.0]),
)
def test_events_are_as_if_carried_before(
    pairs: list[tuple[dict[str, Any], Any]], carry: str, time: str | None, longest: float
) -> None:
    records, given = [record for record, _ in pairs], [label for _, label in pairs]
    if time is None:
        records = [{name: value for name, value in each.items() if name != "at"} for each in records]
    by, plain = ample(following(carry, time, longest)), ample()
    expected = encoded(plain, list(carried(records, carry, time, longest, given)))
    assert same(encoded(by, records, labels=given), expected)
    assert by.entries() == plain.entries()


@settings(max_examples=50)
@given(
    st.lists(st.tuples(events, labels), max_size=20), st.integers(0, 20), st.sampled_from(["fill", "last"])
)
def test_blocks_lines_and_a_resumed_encoder_are_the_same(
    pairs: list[tuple[dict[str, Any], Any]], at: int, carry: str
) -> None:
    records, given = [record for record, _ in pairs], [label for _, label in pairs]
    rules = following(carry, "at")
    whole = encoded(ample(rules), records, labels=given)
    singly, halves = ample(rules), ample(rules)
    single = [encoded(singly, [record], labels=[y]).values.tolist() for record, y in pairs]
    assert [value for values in single for value in values] == whole.values.tolist()
    first = encoded(halves, records[:at], labels=given[:at])
    resumed = restored(halves, ample(rules))
    for again in (resumed, copy.deepcopy(halves), pickle.loads(pickle.dumps(halves))):
        rest = encoded(again, records[at:], labels=given[at:])
        assert first.values.tolist() + rest.values.tolist() == whole.values.tolist()
    lines = "".join(json.dumps({**record, "y": y}) + "\n" for record, y in pairs).encode()
    reader = LineReader({"y": TARGET}, True, True, False)
    read = reader.read(ample(rules), lines, 0, 100, given=True)
    assert same(Block(*read.events.block), whole)


def test_a_table_is_read_like_dicts() -> None:
    table = np.array([[7, 1.0, np.nan], [8, np.nan, 2.0], [7, np.nan, 3.0], [7, 4.0, np.nan]])
    names = ["device", "a", "b"]
    records = [{n: x for n, x in zip(names, row, strict=True) if x == x} for row in table.tolist()]
    events, by = Encoded(), ample(following())
    by.read_table(names, table, [True] * 4, events)
    assert same(Block(*events.block), encoded(ample(following()), records))
    assert by.carried() == {"b": 3.0}


def test_those_unseen_for_the_longest_time_are_forgotten() -> None:
    by = ample(following(most=2))
    encoded(by, [{"device": name, "x": n} for n, name in enumerate("abac")])
    assert by.entity_counts is not None
    assert by.entity_counts[0] == 2
    assert by.entity_counts[2] == 1
    said = {name: (encoded(by, [{"device": name}], learned=False), by.carried())[1] for name in "acb"}
    assert said == {"a": {"x": 2.0}, "c": {"x": 3.0}, "b": {}}


@pytest.mark.parametrize("seed", range(3))
def test_a_store_that_is_full_is_what_a_dict_in_order_of_use_would_be(seed: int) -> None:
    rng, by = np.random.default_rng(seed), ample(following(most=8))
    reference: dict[str, float] = {}
    for n in range(500):
        name = f"d{rng.integers(14)}"
        encoded(by, [{"device": name}], learned=False)
        expected = {} if name not in reference else {"x": reference[name]}
        assert by.carried() == expected
        encoded(by, [{"device": name, "x": n}])
        reference.pop(name, None)
        reference[name] = float(n)
        while len(reference) > 8:
            del reference[next(iter(reference))]


def test_many_values_of_some_leave_room_for_fewer_entities() -> None:
    by = ample(following(most=4))
    wide = {f"x{n}": n for n in range(50)}
    encoded(by, [{"device": f"d{n}", **wide} for n in range(4)])
    assert by.entity_counts is not None
    assert by.entity_counts[0] == 2  # 4 x 32 values in all


def test_what_was_only_asked_takes_its_part_of_the_room(tmp_path: Path) -> None:
    model = ExplicitKARMAClassifier(entity="device", max_entities=10)
    wide = {f"x{i}": float(i) for i in range(100)}
    model.learn_one({"device": "first", **wide}, True)
    for device in range(30):
        model.predict_proba_one({"device": str(device), **wide})
        summary = model.summary()
        assert 3_200 * summary["entities"] <= summary["entity_bytes"] <= 20_000
    assert model.summary()["entities"] == 3
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").summary()["entities"] == 3


def test_what_made_room_for_others_is_not_carried() -> None:
    by = encoder(4, 6, 1024)
    by.follow(following())
    encoded(by, [{"device": "d", "x": 1.0, "k": "old"}])
    encoded(by, [{"k": f"new {n}"} for n in range(20)])
    encoded(by, [{"device": "d", "z": 1.0}])
    # Its place now belongs to a newer category.
    assert "k" not in by.carried()
    places = {tuple(entry) for entry in by.entries() if entry is not None}
    assert all((name, None) in places or (name, value) in places for name, value in by.carried().items())


def test_names_that_are_too_long_are_no_entities_and_are_counted() -> None:
    by = encoder(100, 100, 10)
    by.follow(("device", False, None, "fill", True, math.inf, 100))
    encoded(by, [{"device": "d" * 11, "x": 1.0}, {"device": "d" * 11}, {"device": "d" * 1_000_000}])
    assert by.carried() == {}
    assert by.ignored == 3
    assert by.entity_counts is not None
    assert by.entity_counts[0] == 0
    assert by.attributes == ["x"]


def stream(count: int, seed: int = 0) -> tuple[Records, list[bool]]:
    """Devices with a slowly moving state, which report one of three numbers at a time."""
    rng = np.random.default_rng(seed)
    state = rng.normal(size=(10, 3))
    records, labels = [], []
    for _ in range(count):
        d = int(rng.integers(10))
        state[d] += rng.normal(scale=0.1, size=3)
        records.append({"device": f"d{d}", "xyz"[(k := int(rng.integers(3)))]: float(state[d, k])})
        labels.append(bool(state[d].sum() > 0))
    return records, labels


MODELS = (KARMAClassifier, ExplicitKARMAClassifier, SubspaceClassifier, KARMAMixtureClassifier)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("carry", ["fill", "last"])
def test_an_event_that_is_predicted_and_then_learned_counts_once(model: Any, carry: str) -> None:
    one, other = (model(entity="device", carry=carry) for _ in range(2))
    for x, y in zip(*stream(60), strict=True):
        before = one.predict_proba_one(x)
        assert one.predict_proba_one(x) == before
        one.learn_one(x, y)
        other.learn_one(x, y)
    assert one.predict_proba_one({"device": "d1"}) == other.predict_proba_one({"device": "d1"})
    (_, ours), (_, theirs) = one.state(), other.state()
    kept = [name for name in ours if name.startswith("entity")] + ["moments", "uses"]
    assert all(np.array_equal(ours[name], theirs[name]) for name in kept)


def test_what_is_only_predicted_is_remembered_and_teaches_nothing() -> None:
    model = ExplicitKARMAClassifier(entity="device")
    for x, y in zip(*stream(60), strict=True):
        model.learn_one(x, y)
    before, twin = model.summary()["bytes"], copy.deepcopy(model)
    model.predict_one({"device": "d3", "x": 5.0})
    model.predict_one({"device": "d3", "y": -1.0})
    given = model.predict_proba_one({"device": "d3"})
    assert given == twin.predict_proba_one({"device": "d3", "x": 5.0, "y": -1.0, "z": last(twin, "d3", "z")})
    assert model.summary()["bytes"] == before


def last(model: Any, device: str, name: str) -> float:
    model.predict_one({"device": device})
    return float(model.vocabulary.carried()[name])


def test_a_model_that_is_saved_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    records, labels = stream(100)
    model = KARMAMixtureClassifier(entity="device", max_entities=7)
    for x, y in zip(records[:50], labels[:50], strict=True):
        model.learn_one(x, y)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    for each in (model, again):
        for x, y in zip(records[50:], labels[50:], strict=True):
            each.learn_one(x, y)
    save(model, tmp_path / "one")
    save(again, tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert again.summary()["entities"] == 7


def test_carrying_pays() -> None:
    records, labels = stream(3000)

    def errors(model: Any) -> int:
        wrong = 0
        for x, y in zip(records, labels, strict=True):
            wrong += model.predict_one(x) != y
            model.learn_one(x, y)
        return wrong

    assert errors(ExplicitKARMAClassifier(entity="device")) < 0.7 * errors(ExplicitKARMAClassifier())


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"entity": 7}, "must be names or None"),
        ({"time": "t"}, "need an entity"),
        ({"carry_for": 3.0}, "need an entity"),
        ({"entity": "d", "time": "d"}, "cannot be both"),
        ({"entity": "d", "carry": "all"}, "carry must be one of"),
        ({"entity": "d", "carry_for": -1.0}, "carry_for must be"),
        ({"entity": "d", "max_entities": 0}, "max_entities must be"),
    ],
)
def test_options_out_of_their_range_are_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        ExplicitKARMAClassifier(**options)


def test_states_no_run_could_have_left_are_refused() -> None:
    by = ample(following())
    records = [{"device": "d", "x": 1.0, "y": 2.0}, {"device": "e", "x": 1.0}, {"device": "f", "x": 1.0}]
    encoded(by, records, labels=[1.0, "spam", None])
    names, right = (by.entries(), by.ignored, by.evicted), by.arrays()

    def altered(name: str, change: Any) -> dict[str, Any]:
        return {**right, name: change(right[name].copy())}

    def put(at: Any, value: Any) -> Any:
        def change(array: Any) -> Any:
            array[at] = value
            return array

        return change

    wrong = [
        altered("entity_sizes", put((0, 2), 3)),
        altered("entity_sizes", put((0, 0), 9)),
        altered("entity_sizes", put((0, 1), -1)),
        altered("entity_places", put((0, 0), 99)),
        altered("entity_places", put((0, 1), 0)),
        altered("entity_places", put((1, 0), 0)),
        altered("entity_values", put((0, 0), math.nan)),
        altered("entity_seen", put(0, math.inf)),
        altered("entity_names", put(0, 300)),
        altered("entity_names", put(0, ord("e"))),
        altered("entity_clock", put(0, -1.0)),
        altered("entity_label_sizes", put((0, 0), 3)),
        altered("entity_label_sizes", put((1, 0), 1)),
        altered("entity_label_sizes", put((1, 0), -3)),
        altered("entity_label_sizes", put((1, 0), -1)),
        altered("entity_label_sizes", put((1, 2), 2)),
        altered("entity_label_sizes", put((1, 2), 0)),
        altered("entity_label_shares", put(0, 2.0)),
        altered("entity_label_shares", put(0, math.nan)),
        altered("entity_label_lengths", put(0, 5)),
        altered("entity_label_lengths", put(0, -1)),
        altered("entity_label_sizes", put((0, 1), 17)),
        altered("entity_label_sizes", put((0, 1), -1)),
        altered("entity_label_sizes", put((2, 0), -1)),
        altered("entity_label_sizes", put((2, 1), 1)),
        altered("entity_label_values", put((0, 0), math.nan)),
        altered("entity_label_values", put((0, 1), math.inf)),
        altered("entity_label_values", put((0, 2), math.nan)),
        altered("entity_label_texts", put(0, 256)),
        altered("entity_label_texts", lambda texts: texts[:-1]),
        altered("entity_label_values", lambda values: values[:1]),
        altered("entity_label_sizes", lambda sizes: sizes[:2]),
        {name: array for name, array in right.items() if name != "entity_seen"},
    ]
    for each in wrong:
        with pytest.raises(ValueError, match="entit|right kind"):
            by.restore(*names, each)
    by.restore(*names, dict(right))
    assert all(np.array_equal(array, right[name]) for name, array in by.arrays().items())


def test_a_million_entities_that_never_come_back_take_bounded_memory() -> None:
    by = ample(("device", False, None, "fill", True, math.inf, 1000))
    reader = LineReader({}, True, True, False)
    for block in range(20):
        names = (f"{block}-{n}" for n in range(50_000))
        text = "".join(f'{{"device":"{name}","x":1,"z":"a"}}\n' for name in names).encode()
        end = 0
        while end < len(text):
            end = reader.read(by, text, end, 50_000).end
    assert by.entity_counts is not None
    count, size, forgotten = by.entity_counts
    assert (count, forgotten) == (1000, 999_000)
    assert size < 1000 * (110 + 10 + 2 * 32)
    assert by.attributes == ["x", "z"]


def test_whose_the_event_is_that_was_checked_last() -> None:
    by = ample(following())
    said = [
        ("a", "a"),
        (7, "7"),
        (7.0, "7"),
        (-0.0, "0"),
        (True, "1"),
        ("7.50", "7.50"),
        (1e15, "1" + 15 * "0"),
    ]
    for value, name in [*said, (None, None), ("N/A", None), ("x" * (1 + (1 << 20)), None), (["a"], None)]:
        by.check({"device": value})
        assert by.entity == name
    assert Encoder(10, 10, 1024, True, 5.0).entity is None


def test_times_that_are_far_out_leave_a_model_that_can_be_saved(tmp_path: Path) -> None:
    model = KARMAMixtureClassifier(entity="device", time="at", carry="last")
    for n in range(20):
        model.learn_one({"device": "d", "x": float(n), "at": (-1.7e308, 1.7e308)[n % 2]}, n % 3 == 0)
    save(model, tmp_path / "m")
    assert load(tmp_path / "m").steps == 20


def test_what_is_no_time_is_counted_and_the_latest_one_holds() -> None:
    by = ample(following(time="at", longest=10.0))
    encoded(by, [{"device": "d", "x": 1.0, "at": 100}, {"device": "e", "at": "1970-01-01T00:01:50Z"}])
    encoded(by, [{"device": "d", "at": "yesterday"}])
    assert by.carried() == {"x": 1.0}
    assert by.ignored == 1
    encoded(by, [{"device": "d", "at": "111"}])
    assert by.carried() == {}


@pytest.mark.parametrize("time", [1.7e9, 1.7e12, "1700000000", 1_700_000_000_000_000, "1.7e18", "20231114T"])
def test_times_are_read_alike_by_the_store_of_waiting_events_and_by_that_of_entities(time: Any) -> None:
    by = ample(following(time="at", longest=10.0))
    encoded(by, [{"device": "d", "x": 1.0, "at": 1.7e9 - 20.0}])
    encoded(by, [{"device": "d", "at": time}])
    try:
        seconds = seconds_of(time)
    except RecordError:
        # The latest time so far holds.
        assert (by.ignored, by.carried()) == (1, {"x": 1.0})
    else:
        assert seconds == 1.7e9
        assert (by.ignored, by.carried()) == (0, {})


def test_values_that_are_far_out_leave_a_model_that_can_be_saved(tmp_path: Path) -> None:
    model = KARMAMixtureClassifier(entity="device")
    for n in range(20):
        model.learn_one({"device": "d", "x": (-1.7e308, 1.7e308)[n % 2], "z": float(n)}, n % 3 == 0)
    save(model, tmp_path / "m")
    assert load(tmp_path / "m").steps == 20


@pytest.mark.parametrize("missing", [-9999.0, 7e9])
@pytest.mark.parametrize("carry", ["fill", "last"])
def test_what_counts_as_missing_is_filled_and_not_remembered(missing: float, carry: str) -> None:
    def model() -> KARMAClassifier:
        made = KARMAClassifier(entity="u", carry=carry, sentinel={"t": [-9999.0]})
        for k in range(300):
            made.learn_one({"u": f"z{k % 5}", "t": 20 + k % 7, "s": float(k % 3)}, k % 2)
        made.learn_one({"u": "a", "t": 21.0, "s": 1.0}, 1)
        return made

    wrong, absent = model(), model()
    wrong.learn_one({"u": "a", "t": missing, "s": 1.5}, 1)
    absent.learn_one({"u": "a", "s": 1.5}, 1)
    for _ in range(60):
        wrong.learn_one({"u": "a", "s": 2.0}, 1)
        absent.learn_one({"u": "a", "s": 2.0}, 1)
    assert wrong.vocabulary.carried() == absent.vocabulary.carried()
    # One reading counts once, however long no other comes, and becomes no sentinel by being repeated.
    names = wrong.vocabulary.attribute_names
    counts = {name: wrong.vocabulary.tallies()[index] for index, name in names.items()}
    assert counts["t"][3] + counts["t"][4] == 1


def test_a_predicted_event_keeps_its_ticket_while_others_of_its_entity_are_learned() -> None:
    """What is carried into it is different by then."""
    for carry in ("fill", "last"):
        model = KARMAMixtureClassifier(entity="id", carry=carry)
        for i in range(30):
            model.learn_one({"id": f"d{i % 3}", "x": float(i % 7), "z": float(i % 4)}, i % 2)
        record = {"id": "d0", "x": 2.0}
        model.predict_proba_one(record)
        model.learn_one({"id": "d0", "x": 3.0, "z": 9.0}, 1)
        model.learn_one({"id": "d1", "x": 3.0}, 1)
        model.learn_one(record, 1)
        pipeline = model._pipeline
        assert pipeline.ticket_registry is not None
        assert pipeline.encoder.ticket > 0
        assert not pipeline.ticket_registry.arrays()["asked"].size


def test_a_predicted_event_with_a_rare_category_is_recognised_when_it_is_learned() -> None:
    model = encoder()
    model.follow(("id", False, None, "last", True, 1e9, 100))
    events = Encoded()
    for i in range(60):
        x = {"id": "d", "k": f"c{i % 40}" if i < 40 else f"n{i}", "x": float(i)}
        model.read_dicts([x], [True], events)
    record = {"id": "d", "k": "new", "x": 77.0}
    carried_into = []
    for learned in (False, True):
        model.read_dicts([record], [learned], events, awaiting=True)
        carried_into.append(sorted(map(str, model.carried().items())))
    assert carried_into[0] == carried_into[1]


def test_a_file_may_claim_that_an_entity_remembers_a_value_that_is_gone(tmp_path: Path) -> None:
    model = ExplicitKARMAClassifier(entity="id", max_coordinates=64)
    free: list[int] = []
    while not free:
        t = model.steps
        model.learn_one({"id": "d", "k": f"c{t // 2}", "x": float(t % 9)}, t % 2)
        free = [k for k, use in enumerate(model.vocabulary.uses()) if use[0] == -1]
    save(model, tmp_path / "m")
    header, arrays = checkpoint.read(tmp_path / "m")
    name = next(name for name in arrays if name.endswith("entity_places"))
    places = np.array(arrays[name])
    places[0, 1:] = free[0], model.vocabulary.uses()[free[0]][3]
    (tmp_path / "m").write_bytes(checkpoint.to_bytes(header, {**arrays, name: places}))
    assert 0.0 <= load(tmp_path / "m").predict_proba_one({"id": "d", "x": 1.0})[True] <= 1.0
