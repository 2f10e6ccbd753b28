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
        (b"5.1,3.5,1.4,setosa\n4.9,3.0,1.4,setosa\n", "t.csv has numbers instead of column names"),
        (b"33\t1\t3\t1\n37\t1\t2\t2\n", "t.csv has numbers instead of column names"),
        (b",,\n1,2,3\n", "t.csv has no header row"),
        (b"a,b,a\n1,2,3\n", "t.csv has several columns named 'a'"),
        (b"\xff\xfea\x00\n", "the first row of t.csv has no column names: not valid UTF-8"),
        (b"a,b\r1,2\r3,4\r", r"t.csv ends its lines with CR; convert it: tr '\\r' '\\n'"),
    ],
)
def test_a_table_without_names_is_said_to_be_none(header: bytes, message: str) -> None:
    with pytest.raises(RunError, match=message):
        opened(header)


@pytest.mark.parametrize(
    ("content", "refused"),
    [
        pytest.param("a,b\n1,x,\n,y, \n3,z\n", {}, id="empty surplus cells"),
        pytest.param("a,b\n1,x,\n,y,0\n3,z,,\n", {1, 2}, id="more than an empty surplus cell"),
        pytest.param("a,b,,\n1,x\n,y,\n3,z,,\n", {}, id="without the cells of unnamed columns"),
        pytest.param("a,,b\n1,,x\n,,y\n3,z\n", {2}, id="an unnamed column within"),
        pytest.param("sep=;\na;b\n1;x\n;y\n3;z\n", {}, id="sep="),
        pytest.param("\ufeffsep=|\r\na|b\r\n1|x\r\n|y\r\n3|z\r\n", {}, id="sep= after a BOM"),
        pytest.param("# made, today\n#by me\na,b\n1,x\n,y\n3,z\n", {}, id="comments"),
    ],
)
def test_rows_and_headers_as_other_programs_write_them(content: str, refused: set[int]) -> None:
    for sizes in ([1], [1 << 20]):
        lines, why = read(opened(content.encode(), sizes))
        expected = ['{"a":1,"b":"x"}', '{"b":"y"}', '{"a":3,"b":"z"}']
        assert set(why) == set(refused)
        assert [line for at, line in enumerate(lines) if at not in why] == [
            line for at, line in enumerate(expected) if at not in refused
        ]


def test_a_header_may_begin_with_a_hash() -> None:
    for row in ("1,x", "1,x,"):
        table = opened(f"# made today\n#a,b\n{row}\n".encode())
        assert read(table)[0] == ['{"#a":1,"b":"x"}']


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_decimal_commas_in_a_column_of_numbers(delimiter: str) -> None:
    rows = [["a", "b", "c", "d"], ["0,94", "1.234,5", "1,234", "x"], ["", "-7", "5,123", "0,5"]]
    table = opened(written(rows, delimiter=delimiter))
    assert read(table)[0] == [
        '{"a":0.94,"b":1234.5,"c":"1,234","d":"x"}',
        '{"b":-7,"c":"5,123","d":"0,5"}',
    ]
    assert "with decimal commas: a, b" in table.describe()
    assert table.types == {"a": "number", "b": "number", "c": "text", "d": "text"}
    # What the model file says of a column still counts.
    again = opened(written(rows, delimiter=delimiter), a="text", b="number")
    assert read(again)[0][0] == '{"a":"0,94","b":1234.5,"c":"1,234","d":"x"}'


def test_a_missing_value_may_look_like_a_number_with_a_decimal_comma() -> None:
    missing = MissingWords(["-99,0"])
    table = DelimitedTable("t.csv", io.BytesIO(b"a;b\n0,5;x\n-99,0;x\n").read, None, missing, {}, 1000)
    assert read(table)[0] == ['{"a":0.5,"b":"x"}', '{"b":"x"}']


def test_a_later_cell_in_a_column_with_decimal_commas() -> None:
    rows = [["a", "b"], *[["0,5", "x"]] * 1001, ["1.250,5", "x"], ["no", "x"], ["1.5", "x"]]
    assert read(opened(written(rows, delimiter=";")))[0][-3:] == [
        '{"a":1250.5,"b":"x"}',
        '{"a":"no","b":"x"}',
        '{"a":1.5,"b":"x"}',
    ]


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        ("0,94 NA 3,5", "decimal commas"),
        ("5,123 812 1,024,000.5", "thousands separators"),
        ("$5 $1,200 -€3", "currency signs"),
        ("5.3% 4% 7", "per cent signs"),
        ("0,94 a", None),
        ("5 7", None),
        ("02139 10115", None),
        ("1,2,3 4,5,6", None),
    ],
)
def test_a_hint_where_numbers_are_taken_as_texts(cells: str, form: str | None) -> None:
    hints = opened(written([["a", "b"], *([cell, "x"] for cell in cells.split())])).hints
    assert len(hints) == (form is not None)
    assert (
        form is None
        or f"numbers with {form}, such as {cells.split()[0]!r}, are taken as text: a;" in hints[0]
    )


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
