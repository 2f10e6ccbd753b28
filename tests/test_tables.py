"""Text tables, row by row: how cells and rows are read, however the input is cut."""

from __future__ import annotations

import csv
import io
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamkarma._engine import MissingWords, boolean, number
from streamkarma.connectors.tables.columns import type_of
from streamkarma.connectors.tables.delimited import DelimitedTable
from streamkarma.connectors.tables.input import TableInput
from streamkarma.connectors.tables.rows import TOO_LONG
from streamkarma.errors import RunError

MISSING = MissingWords(["NA", "?"])
booleans = st.sampled_from(["true", "False"])
numbers = st.one_of(
    st.integers(-1000, 10**20).map(str), st.floats(allow_nan=False, allow_infinity=False).map(repr)
)
texts = st.text(alphabet="ab1,;\t\"'\r\n é日", max_size=6).filter(lambda text: text.strip("\r\n\t ") != "")
missing = st.sampled_from(["", "NA", " na ", "?"])


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[str]], list[list[Any]]]:
    """Rows of cells under a header, and the values that they represent."""
    kinds = draw(st.lists(st.sampled_from([numbers, texts, booleans]), min_size=2, max_size=4))
    rows = draw(st.lists(st.tuples(*(st.one_of(kind, missing) for kind in kinds)), min_size=1, max_size=12))
    columns = [[_value(cell, column) for cell in column] for column in zip(*rows, strict=True)]
    header = [f"n{i}" for i in range(len(kinds))]
    return [header, *map(list, rows)], list(map(list, zip(*columns, strict=True)))


def _value(cell: str, column: tuple[str, ...]) -> Any:
    """The value of a cell in a column; None if missing."""
    there = [each for each in column if each.strip() not in ("", "NA", "na", "?")]
    if cell not in there:
        return None
    for read in (json.loads, lambda word: {"true": True, "false": False}[word.lower()]):
        try:
            values = {each: read(each) for each in there}
        except (ValueError, KeyError):
            continue
        if all(not isinstance(value, str) for value in values.values()):
            return values[cell]
    return cell


def written(rows: list[list[str]], **how: Any) -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file, **how).writerows(rows)
    return file.getvalue().encode()


def opened(
    content: bytes, sizes: list[int] | None = None, limit: int = 10_000, **types: str
) -> DelimitedTable:
    """A table that comes in pieces of these sizes, the last size repeatedly."""
    file, sizes = io.BytesIO(content), sizes or [1 << 20]
    left = iter(sizes)
    return DelimitedTable("t.csv", lambda _: file.read(next(left, sizes[-1])), None, MISSING, types, limit)


def read(table: DelimitedTable) -> tuple[list[str], dict[int, str]]:
    """Its lines, and why some are refused, by their numbers from 0."""
    lines: list[str] = []
    refused: dict[int, str] = {}
    for piece in table.pieces():
        refused |= {len(lines) + at: reason for at, reason in piece.refused.items()}
        lines += piece.lines
    return lines, refused


@given(
    tables(),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n"]),
    st.lists(st.integers(1, 40), min_size=1, max_size=4),
)
def test_rows_become_the_objects_they_stand_for(
    table: tuple[list[list[str]], list[list[Any]]], delimiter: str, ending: str, sizes: list[int]
) -> None:
    rows, values = table
    content = written(rows, delimiter=delimiter, lineterminator=ending, quoting=csv.QUOTE_ALL)
    lines, refused = read(opened(content, sizes))
    expected = [{n: v for n, v in zip(rows[0], row, strict=True) if v is not None} for row in values]
    assert not refused
    assert list(map(json.loads, lines)) == expected
    assert all("\n" not in line for line in lines)


def test_a_number_is_written_as_it_stands() -> None:
    column = ["1", "-0", "1.50", "1e5", "+3", ".5", "5.", " 7 ", "123456789012345678901234567890"]
    lines, _ = read(opened("\n".join(["a", *column]).encode()))
    values = [line.removeprefix('{"a":').removesuffix("}") for line in lines]
    assert values == ["1", "-0", "1.50", "1e5", "3", "0.5", "5.0", "7", "123456789012345678901234567890"]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ("1 2.5 NA -3e4", "number"),
        ("true FALSE ? True", "boolean"),
        ("1 2 x", "text"),
        ("02139 10115", "text"),
        ("NA ?", "unknown"),
        ("1 true", "text"),
        ("1_000 2", "text"),
        ("٣ 4", "text"),
        ("inf 1", "text"),
        ("1 1e999", "text"),
    ],
)
def test_a_column_holds_what_all_its_first_cells_are(cells: str, kind: str) -> None:
    assert type_of(cells.split(), MISSING) == kind


def test_what_does_not_fit_the_first_rows_is_still_there() -> None:
    rows = [["a", "b", "c"], *[["1", "true", ""]] * 1000, ["x", "no", "2"], ["02", "FALSE", "yes"]]
    lines, refused = read(opened(written(rows)))
    assert not refused
    assert lines[-2:] == ['{"a":"x","b":"no","c":2}', '{"a":"02","b":false,"c":"yes"}']


def test_what_a_model_knows_of_a_column_counts() -> None:
    table = opened(b"a,b\n1,2\n", a="text")
    assert read(table)[0] == ['{"a":"1","b":2}']
    assert table.types == {"a": "text", "b": "number"}


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"1,2", "has 2 fields, not 3"),
        (b"1,2,3,4", "has 4 fields, not 3"),
        (b'1,"2"x,3', "not CSV: ',' expected after '\"'"),
        (b'1,"2,3', None),
        (b"1,\xff,3", "not valid UTF-8"),
        (b"1," + b"y" * 3000 + b",3", "longer than the limit"),
    ],
)
@pytest.mark.parametrize("size", [7, 1 << 20])
def test_a_bad_row_is_refused_alone(bad: bytes, reason: str | None, size: int) -> None:
    good = [b'%d,"x, %d",""' % (i, i) for i in range(50)]
    for at in (0, 20, 50):
        content = b"\n".join([b"a,b,c", *good[:at], bad, *good[at:]])
        lines, refused = read(opened(content, [size], limit=2000))
        assert list(refused) == [at]
        assert reason is None or reason in refused[at]
        assert [json.loads(line)["a"] for i, line in enumerate(lines) if i != at] == list(range(50))
        assert lines[at].encode("utf-8", "surrogateescape") in bad


def test_a_quote_that_is_never_closed_costs_one_row_and_bounded_memory() -> None:
    rows = b"".join(b"%d,x\n" % i for i in range(20_000))
    lines, refused = read(opened(b'a,b\n1,x\n"2,x\n' + rows, [1000], limit=10_000))
    assert refused == {1: TOO_LONG}
    assert len(lines) == 20_002


@given(st.binary(max_size=200), st.integers(0, 2**32), st.lists(st.integers(1, 60), min_size=1, max_size=3))
def test_any_bytes_are_rows_or_not_however_they_come(noise: bytes, seed: int, sizes: list[int]) -> None:
    rng = random.Random(seed)
    rows = bytearray(b"a,b\n" + b"".join(b'%d,"q"\n' % i for i in range(20)))
    for byte in noise:
        rows.insert(rng.randrange(4, len(rows) + 1), rng.choice([byte, *b'",\n\r']))
    whole = read(opened(bytes(rows), limit=50))
    assert read(opened(bytes(rows), sizes, limit=50)) == whole
    lines, refused = whole
    assert all(isinstance(json.loads(line), dict) for i, line in enumerate(lines) if i not in refused)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"", "t.csv has no header row"),
        (b"\n\n", "t.csv has no header row"),
        (b",,\n1,2,3\n", "t.csv has no header row"),
        (b"a,b,a\n1,2,3\n", "t.csv has several columns named 'a'"),
        (b"\xff\xfea\x00\n", "the first row of t.csv has no column names: not valid UTF-8"),
    ],
)
def test_a_table_without_names_is_said_to_be_none(header: bytes, message: str) -> None:
    with pytest.raises(RunError, match=message):
        opened(header)


def test_it_says_what_it_was_taken_for() -> None:
    names = [f"n{i}" for i in range(7)]
    rows = [["", "t", *names, "u"], ["0", "x", *"1234567", ""], ["1", "y", *"1234567", ""]]
    assert opened(written(rows, delimiter=";")).describe() == (
        "table: columns separated by semicolons: 7 numbers (n0, n1, n2, n3, n4 and 2 more), 1 text (t), "
        "1 unknown (u); columns without a name, left out: 1"
    )


def test_a_header_alone_is_a_table_without_rows() -> None:
    assert read(opened(b"\xef\xbb\xbfa,b")) == ([], {})


def test_reasons_are_there_when_their_rows_are_read() -> None:
    content = b"a,b\n" + b"".join(b"%d\n" % i if i % 3 else b"%d,x\n" % i for i in range(5000))
    table = TableInput("t.csv", opened(content, [1000]).pieces(), False, {})
    row = 0
    while text := table.read(100):
        for _ in range(text.count(b"\n")):
            row += 1
            assert (row in table.refused) == bool((row - 1) % 3)
    assert row == 5000
    assert len(table.refused) < 1000


def test_a_cell_that_is_no_unicode_is_neither_a_number_nor_missing() -> None:
    # JSON can contain lone surrogates, and profiled attributes are parsed like cells.
    for text in ("\ud800", "NA\udcff", "1\ud800"):
        assert text not in MISSING
        assert number(text) is boolean(text) is None
