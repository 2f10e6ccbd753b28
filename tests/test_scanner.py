"""The scanner and the general reader give the same events, or the scanner gives none."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamkarma.errors import RecordError
from streamkarma.sources.jsonlines import parse
from streamkarma.sources.scanner import BOOLEAN, INTEGER, NO_LABEL, NUMBER, name_table, scan

NAMES = {"a": 1, "bb": 2, "temp é": 3, "": 4, "x10": 5}
TABLE = name_table(NAMES.items(), "y")

numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(10**20), 10**20),
    st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-1000, max_value=1000).map(float),
)
values = st.one_of(numbers, st.booleans(), st.none())
keys = st.sampled_from([*NAMES, "y"])
records = st.dictionaries(keys, values, max_size=7).map(lambda r: json.dumps(r, ensure_ascii=False).encode())
literals = st.from_regex(r"-?[0-9]{0,20}(\.[0-9]{0,20})?([eE][+-]?[0-9]{0,4})?", fullmatch=True)
numbered = literals.map(lambda text: b'{"a":' + text.encode() + b"}")
broken = st.builds(
    lambda line, at, byte: line[: at % (len(line) + 1)] + byte + line[at % (len(line) + 1) + 1 :],
    records,
    st.integers(0, 100),
    st.sampled_from([bytes([b]) for b in b'{}[]":,0123456789.eE+-ntfalsru \t\r\\\x00\xff'] + [b""]),
)


def general(line: bytes) -> tuple[dict[str, Any], Any] | None:
    try:
        record = parse(line)
    except RecordError:
        return None
    return record, record.pop("y", None)


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
    scanned = scan([line], TABLE, 6)
    if scanned.lines == 0:
        return
    parsed = general(line)
    assert parsed is not None, "scanned what is not JSON"
    record, label = parsed
    there = {NAMES[name]: float(value) for name, value in record.items() if value is not None}
    got = dict(zip(scanned.coordinates.tolist(), scanned.values.tolist(), strict=True))
    assert got == there
    assert {k: math.copysign(1, v) for k, v in got.items()} == {
        k: math.copysign(1, v) for k, v in there.items()
    }
    kinds = {type(None): NO_LABEL, bool: BOOLEAN, int: INTEGER, float: NUMBER}
    assert scanned.kinds[0] == kinds[type(label)]
    (given_label,) = scanned.given()
    assert (type(given_label), given_label) == (type(label), label)


@settings(deadline=None)
@given(st.lists(records, max_size=10), st.integers(0, 9))
def test_lines_up_to_the_first_unusual_one(lines: list[bytes], where: int) -> None:
    singles = [scan([line], TABLE, 6) for line in lines]
    usual = next((i for i, one in enumerate(singles) if one.lines == 0), len(lines))
    together = scan(lines, TABLE, 6)
    assert together.lines == usual
    assert together.values.tolist() == [v for one in singles[:usual] for v in one.values.tolist()]


def test_the_plain_line_is_not_left_to_the_general_reader() -> None:
    for line in (b'{"a":1.5,"bb":-2e3,"y":0}', b'{"x10":0.123456789012345,"y":true}', b"{}", b'{"a":null}'):
        assert scan([line], TABLE, 6).lines == 1


def test_a_table_of_many_names() -> None:
    names = {f"name{i}": i + 1 for i in range(3000)}
    table = name_table(names.items(), "y")
    line = json.dumps({name: float(k) for name, k in names.items()}).encode()
    scanned = scan([line], table, 3001)
    assert scanned.values.tolist() == [float(k) for k in scanned.coordinates]
