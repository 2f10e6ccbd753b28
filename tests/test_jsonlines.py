from __future__ import annotations

import io
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamkarma.connectors.jsonlines.lines import BOM, SHOWN_BYTES, read_lines
from streamkarma.connectors.jsonlines.sink import JsonLinesSink
from streamkarma.errors import RunError


def chunked(content: bytes, cuts: list[int]) -> list[tuple[int, bytes, bool]]:
    """Number, text and whether it was cut, for every line read in given pieces."""
    ends = sorted({0, len(content), *(cut % (len(content) + 1) for cut in cuts)})
    pieces = iter([content[a:b] for a, b in pairwise(ends)])
    result = []
    for lines in read_lines(lambda _: next(pieces, b""), limit=20, most=7):
        assert 1 <= len(lines.records()) <= 7
        for number, line in enumerate(lines.records().values, lines.first):
            result.append((number, line, number in lines.overlong))
    return result


@given(
    st.text(alphabet="ab\n\ufeff", max_size=150).map(str.encode), st.lists(st.integers(0, 1000), max_size=8)
)
def test_how_the_input_is_chunked_never_shows(content: bytes, cuts: list[int]) -> None:
    whole = chunked(content, [])
    assert chunked(content, cuts) == whole
    expected = content.removeprefix(BOM).split(b"\n")
    if not expected[-1]:
        expected.pop()
    assert whole == [(i + 1, line, len(line) > 20) for i, line in enumerate(expected)]


def test_a_line_without_end_takes_no_more_memory_than_the_limit() -> None:
    pieces = iter([b"x" * 1000] * 5000 + [b'\n{"a":1}\n'])
    (lines,) = read_lines(lambda _: next(pieces, b""), limit=10_000)
    assert lines.overlong == {1}
    first, second = lines.records().values
    assert len(first) == SHOWN_BYTES
    assert second == b'{"a":1}'


@pytest.mark.parametrize("size", [1, 7, 900, 1100, 5000])
def test_of_a_line_that_is_too_long_its_beginning_is_shown(size: int) -> None:
    text = b"".join(b"%d," % i for i in range(1000))
    file = io.BytesIO(text)
    (lines,) = read_lines(lambda _: file.read(size), limit=50)
    assert lines.records().values == [text[:SHOWN_BYTES]]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 100])
def test_a_byte_order_mark_is_tolerated_in_whatever_pieces_it_comes(size: int) -> None:
    for line in (b'{"a":1}', b"", b"\xef"):
        file = io.BytesIO(b"\xef\xbb\xbf" + line + b"\n")
        (lines,) = read_lines(lambda _, file=file: file.read(size))
        assert lines.records().values == [line]


def test_a_file_that_cannot_be_opened() -> None:
    with pytest.raises(RunError, match="cannot write /nowhere/x: No such file"):
        JsonLinesSink("/nowhere/x")
