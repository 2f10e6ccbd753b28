"""The encoder against a short reference, and its three readers against each other."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma._engine import Encoded, Encoder, LineReader, parse
from streamkarma.errors import RecordError
from streamkarma.events.block import Block
from streamkarma.events.flatten import flatten
from tests.encoding import encoded, encoder

numbers = st.one_of(st.floats(-1e3, 1e3), st.integers(-5, 5), st.booleans(), st.sampled_from([1e8, 10**30]))
categories = st.sampled_from(["red", "blue", "02139", "ein längerer"])
times = st.sampled_from(["2026-11-22", "2026-11-22T07:30:00+01:00"])
missing = st.sampled_from([None, float("nan"), ""])
names = st.sampled_from(["a", "b", "c", "kind", "d.e", "é", "x1", "x2"])
nested = st.recursive(
    numbers | categories | missing,
    lambda inner: st.dictionaries(names, inner, max_size=3) | st.lists(inner, max_size=3),
)
records = st.dictionaries(names, nested, max_size=6)
#: Records with values that the reference below does not handle.
dirty = st.dictionaries(names, nested | times | st.sampled_from(["N/A", "?", "1e3"]), max_size=6)
streams = st.lists(st.tuples(records, st.booleans()), max_size=12)


def is_event(record: Any) -> bool:
    try:
        flatten(record)
    except RecordError:
        return False
    return True


class Reference:
    """Names and categories get indices when they are first learned, in the order of their text."""

    def __init__(self) -> None:
        self.attributes: list[str] = []
        self.entries: list[tuple[str, str | None]] = []

    def encode(self, record: Any, learned: bool) -> list[tuple[int, float]]:
        there: dict[tuple[str, str | None], float] = {}
        for name, value in flatten(record).items():
            if isinstance(value, str | list):
                counts = Counter(tag for tag in ([value] if isinstance(value, str) else value) if tag)
                norm = math.sqrt(sum(count * count for count in counts.values()))
                there |= {(name, tag): count / norm for tag, count in counts.items()}
            elif value is not None and value == value:
                there[name, None] = float(value)
        for name, category in sorted(there, key=lambda entry: (entry[0], entry[1] or "")):
            if learned and (name, category) not in self.entries:
                self.attributes += [name] if name not in self.attributes else []
                self.entries.append((name, category))
        known = [entry for entry in there if entry in self.entries]
        known.sort(key=lambda entry: (self.attributes.index(entry[0]), self.entries.index(entry)))
        return [(1 + self.entries.index(entry), there[entry]) for entry in known]


@settings(max_examples=60)
@given(streams)
def test_names_are_places_and_values_their_own(stream: list[Any]) -> None:
    # No stream is long enough to run out of coordinates: the reference has no bounds.
    by, reference = encoder(10_000, 10_000, 1 << 20), Reference()
    for record, learned in stream:
        if not is_event(record):
            with pytest.raises(RecordError, match="when joined by dots"):
                encoded(by, [record], learned)
            continue
        expected = reference.encode(record, learned)
        block = encoded(by, [record], learned)
        stored = block.coordinates < 1 << 30
        assert list(zip(block.coordinates[stored], block.values[stored], strict=True)) == [
            (0, 1.0),
            *expected,
        ]
        assert (np.diff(block.attributes) >= 0).all()
        assert by.entries() == reference.entries
        assert by.attributes == reference.attributes


@settings(max_examples=60)
@given(st.lists(st.tuples(dirty, st.booleans()), max_size=12))
def test_events_at_once_are_events_one_by_one(stream: list[Any]) -> None:
    stream = [(record, learned) for record, learned in stream if is_event(record)]
    one, other = encoder(scale=True), encoder(scale=True)
    at_once = encoded(one, [record for record, _ in stream], [learned for _, learned in stream])
    in_turn = [encoded(other, [record], learned).values for record, learned in stream]
    assert at_once.values.tobytes() == np.concatenate([np.zeros(0), *in_turn]).tobytes()
    assert one.arrays()["moments"].tobytes() == other.arrays()["moments"].tobytes()


def test_a_table_is_its_rows() -> None:
    rng = np.random.default_rng(0)
    table = rng.standard_normal((50, 3))
    table[rng.random(table.shape) < 0.4] = np.nan
    rows = [
        {name: value for name, value in zip("abc", row, strict=True) if value == value}
        for row in table.tolist()
    ]
    learned = (rng.random(50) < 0.7).tolist()
    one, other = encoder(scale=True), encoder(scale=True)
    events = Encoded()
    one.read_table(list("abc"), table, learned, events)
    expected = encoded(other, rows, learned)
    assert [array.tobytes() for array in events.block[:4]] == [array.tobytes() for array in expected[:4]]
    assert one.arrays()["moments"].tobytes() == other.arrays()["moments"].tobytes()
    table[7, 1] = np.inf
    with pytest.raises(RecordError, match="attribute 'b' is infinite"):
        one.read_table(list("abc"), table, learned, events)
    assert len(events) == 50
    assert one.arrays()["moments"].tobytes() == other.arrays()["moments"].tobytes()


@settings(max_examples=60)
@given(st.lists(dirty.filter(is_event), max_size=5))
def test_lines_of_json_are_their_dicts(events: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps({**event, "y": t % 2}) + "\n" for t, event in enumerate(events)).encode()
    one, other = encoder(scale=True), encoder(scale=True)
    reader = LineReader({"y": -1}, learn=True, unlabelled=False, strict=False)
    reader.know([0, 1])
    lines = reader.read(one, text, 0, 1000)
    assert (lines.unknown, lines.rejected, lines.count, lines.end) == (None, [], len(events), len(text))
    expected = encoded(other, events)
    found = lines.events.block
    assert [array.tobytes() for array in found[:4]] == [array.tobytes() for array in expected[:4]]
    states = [
        (by.entries(), by.arrays()["moments"].tobytes(), by.tallies().tolist(), by.ignored)
        for by in (one, other)
    ]
    assert states[0] == states[1]


texts = st.text(st.characters(exclude_categories=["Cs"]))
floats = st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | floats | texts,
    lambda inner: st.lists(inner) | st.dictionaries(st.text('abc"\\é'), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text('abc"\\é'), values), st.booleans())
def test_parsing_is_that_of_python(record: dict[str, Any], ascii_only: bool) -> None:
    parsed = parse(json.dumps(record, ensure_ascii=ascii_only).encode())
    assert parsed == record
    assert repr(parsed) == repr(record)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"hello", "not JSON"),
        (b'{"a":1', "not JSON"),
        (b'{"a":1}{"b":2}', "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"a":\xff}', "not JSON"),
        (b"[1]", "expected an object, not an array"),
        (b'"x"', "expected an object, not a string"),
        (b"null", "expected an object, not null"),
        (b"true", "expected an object, not a boolean"),
        (b"3", "expected an object, not a number"),
        (b'{"a":1e999}', "the record contains an infinite number"),
        (b'{"a":Infinity}', "the record contains an infinite number"),
        (b'{"a":-Infinity}', "the record contains an infinite number"),
        (b'{"a":NaN', "not JSON"),
        (b'{"a":' * 2000, "nested deeper|not JSON"),
        (b'{"a":' + b"[" * 500 + b"]" * 500 + b"}", "nested deeper than 200 levels"),
        (b'{"a":NaN,"b":' + b"[" * 100_000, "nested deeper|not JSON"),
    ],
)
def test_what_is_no_object_is_refused(line: bytes, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        parse(line)


def test_nan_is_missing_and_of_equal_names_the_last_counts() -> None:
    assert parse(b'{"a": NaN, "b": "NaN", "c": 1, "c": 2}') == {"a": None, "b": "NaN", "c": 2}


def test_copies_and_pickles_go_their_own_way() -> None:
    by = encoder(scale=True, max_attributes=3)
    encoded(by, [{"a": 1.0, ("b", 7): "x", "c": 3.0}, {"a": 2.0}])
    for other in (copy.deepcopy(by), pickle.loads(pickle.dumps(by))):
        assert (other.entries(), other.ignored) == (by.entries(), by.ignored)
        assert other.arrays()["moments"].tobytes() == by.arrays()["moments"].tobytes()
        before = by.arrays()["moments"].tobytes()
        block = encoded(other, [{"a": 4.0, ("b", 7): "y"}])
        assert block.attributes.tolist() == [0, 1, 2]
        assert by.arrays()["moments"].tobytes() == before


@pytest.mark.parametrize(
    "entries", [[("a", None), ("a", None)], [(b"a", None)], [("a", 7)], [("a long name", None)]]
)
def test_names_that_cannot_be_are_refused(entries: list[Any]) -> None:
    by, known = encoder(max_name_bytes=9), encoder(max_name_bytes=9)
    encoded(known, [{"a": "x", "b": 1.0}])
    arrays, places = known.arrays(), known.entries()
    with pytest.raises(ValueError, match="name|cannot hold"):
        by.restore([*entries, *places[len(entries) :]], 0, 0, dict(arrays))
    assert by.entries() == []
    by.restore(places, 0, 0, dict(arrays))
    assert by.entries() == places


def test_events_of_one_encoder_are_a_block() -> None:
    events = Encoded()
    by = Encoder(9, 9, 9, False, np.inf)
    by.read_dicts([{"a": 2.0}, {}], [True, True], events)
    assert (len(events), events.sizes.tolist()) == (2, [1, 0])
    assert Block(*events.block).starts.tolist() == [0, 2, 3]
