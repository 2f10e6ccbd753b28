"""The scanner and the general reader give the same events, or the scanner gives none."""

from __future__ import annotations

import json
import math
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamkarma.connectors.jsonlines.lines import parse
from streamkarma.events.labels import LabelColumn
from streamkarma.events.vocabulary import Vocabulary
from streamkarma.sources.names import ID, IGNORED, TARGET, WEIGHT, Names, NameTable
from streamkarma.sources.scanner import Scanned, scan

ROLES = {"y": TARGET, "id": ID, "w": WEIGHT, "skip": IGNORED}


def known(classes: list[Any]) -> tuple[Vocabulary, NameTable]:
    """Names a, bb, …; `kind` and `a` have categories, and `kind` no numbers."""
    vocabulary = Vocabulary(100, 100)
    vocabulary.add({"a": 1, "bb": 2, "temp é": 3, "": 4, "x10": 5, "kind": "red"})
    vocabulary.add({"kind": "grün", "a": "none"})
    names = Names(ROLES)
    names.update(vocabulary, classes)
    return vocabulary, names.table


VOCABULARY, TABLE = known(["spam", "ham"])

numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(10**20), 10**20),
    st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-1000, max_value=1000).map(float),
)
texts = st.sampled_from(["red", "grün", "blue", "none", "spam", "ham", "", 'a"b', "tab\t", "7"])
values = st.one_of(numbers, st.booleans(), st.none(), texts)
keys = st.sampled_from(["a", "bb", "temp é", "", "x10", "kind", *ROLES])
records = st.dictionaries(keys, values, max_size=7).map(lambda r: json.dumps(r, ensure_ascii=False).encode())
literals = st.from_regex(r"-?[0-9]{0,20}(\.[0-9]{0,20})?([eE][+-]?[0-9]{0,4})?", fullmatch=True)
numbered = st.builds(
    lambda name, text: b'{"' + name + b'":' + text.encode() + b"}",
    st.sampled_from([b"a", b"y", b"id", b"w", b"skip", b"kind"]),
    literals,
)
broken = st.builds(
    lambda line, at, byte: line[: at % (len(line) + 1)] + byte + line[at % (len(line) + 1) + 1 :],
    records,
    st.integers(0, 100),
    st.sampled_from([bytes([b]) for b in b'{}[]":,0123456789.eE+-ntfalsru \t\r\\\x00\xff'] + [b""]),
)


def scan_lines(lines: list[bytes], table: NameTable = TABLE) -> Scanned:
    return scan(b"".join(line + b"\n" for line in lines), 0, len(lines), table)


@settings(max_examples=1500, deadline=None)
@given(st.one_of(records, numbered, broken))
@example(b'{"a":-0}')
@example(b'{"a":-0.0}')
@example(b'{"a":1e-5,"bb":123456789012345678901234567890}')
@example(b'{"a":9007199254740993}')
@example(b'{"a":1,"a":2}')
@example(b'{"y":1,"y":2}')
@example(b' { "a" : 1 } \r')
@example(b'{"a":00}')
@example(b'{"a":1}}')
def test_what_is_scanned_is_what_is_parsed(line: bytes) -> None:
    if b"\n" in line:
        return
    scanned = scan_lines([line])
    if not len(scanned.ends):
        return
    assert scanned.ends.tolist() == [len(line) + 1]
    record = parse(line)
    label, identity, weight = record.pop("y", None), record.pop("id", None), record.pop("w", None)
    record.pop("skip", None)
    # All is known, or it would not have been scanned: nothing enters the vocabulary.
    count = VOCABULARY.coordinate_count
    there = sorted(VOCABULARY.add(record))
    assert VOCABULARY.coordinate_count == count
    got = sorted(zip(scanned.coordinates.tolist(), scanned.values.tolist(), strict=True))
    assert [(k, v, math.copysign(1, v)) for k, v in got] == [(k, v, math.copysign(1, v)) for k, v in there]
    assert scanned.weights[0] == (1.0 if weight is None else float(weight))
    begin, end = scanned.ids[0].tolist()
    assert (line[begin:end] or b"null") == orjson.dumps(identity)
    (given_label,) = LabelColumn(scanned.labels, scanned.kinds, ["spam", "ham"])
    assert (type(given_label), given_label) == (type(label), label)


@settings(deadline=None)
@given(st.lists(records, max_size=10))
def test_lines_up_to_the_first_unusual_one(lines: list[bytes]) -> None:
    singles = [scan_lines([line]) for line in lines]
    usual = next((i for i, one in enumerate(singles) if not len(one.ends)), len(lines))
    together = scan_lines(lines)
    assert len(together.ends) == usual
    assert together.values.tolist() == [v for one in singles[:usual] for v in one.values.tolist()]


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":1.5,"bb":-2e3,"y":0}',
        b'{"x10":0.123456789012345,"y":true}',
        b"{}",
        b'{"a":null,"y":null}',
        '{"kind":"grün","a":"none","y":"ham"}'.encode(),
        b'{"id":"A-7","w":2.5,"skip":"what ever","a":1}',
        b'{"id":12,"w":null,"skip":-1e-5}',
    ],
)
def test_the_plain_line_is_not_left_to_the_general_reader(line: bytes) -> None:
    assert len(scan_lines([line]).ends) == 1


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":1.50}',
        b'{"id":"\xc3\x28"}',
        b'{"id":-0}',
        b'{"skip":"\xff"}',
        b'{"w":-1}',
        b'{"w":"3"}',
        b'{"w":true}',
        b'{"kind":1}',
        b'{"kind":true}',
        b'{"kind":"blue"}',
        b'{"y":"eggs"}',
        b'{"y":1,"y":2}',
        b'{"id":1,"id":1}',
        b'{"skip":{}}',
        b"",
    ],
)
def test_what_only_the_general_reader_can_tell_is_left_to_it(line: bytes) -> None:
    assert len(scan_lines([line]).ends) == 0


def test_a_table_of_many_names_that_come_a_few_at_a_time() -> None:
    vocabulary, names = Vocabulary(5000, 5000), Names({"y": TARGET})
    tables = []
    for begin in range(0, 3000, 100):
        vocabulary.add({f"name{i}": float(i) for i in range(begin, begin + 100)})
        names.update(vocabulary, [])
        tables.append(names.table)
    for count, table in enumerate(tables, 1):
        there = {f"name{i}": float(i) for i in range(100 * count)}
        scanned = scan_lines([json.dumps(there).encode(), b'{"name2999":1}'], table)
        assert scanned.values[: len(there)].tolist() == list(there.values())
        assert scanned.coordinates[: len(there)].tolist() == [vocabulary.numeric[name] for name in there]
        assert len(scanned.ends) == 1 + (count == len(tables))


def test_an_attribute_that_becomes_a_number_later() -> None:
    vocabulary, names = Vocabulary(10, 10), Names({})
    vocabulary.add({"kind": "red"})
    names.update(vocabulary, [])
    assert len(scan_lines([b'{"kind":1}'], names.table).ends) == 0
    vocabulary.add({"kind": 3})
    names.update(vocabulary, [])
    assert scan_lines([b'{"kind":1}', b'{"kind":"red"}'], names.table).coordinates.tolist() == [2, 1]
