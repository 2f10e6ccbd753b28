"""How much of an input was consumed: lines, bytes and a checksum, however it was read."""

from __future__ import annotations

import gzip
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from streamkarma.connectors.jsonlines.inputs import Input
from streamkarma.connectors.jsonlines.lines import read_lines
from streamkarma.connectors.jsonlines.position import START, LinePosition, position_from, skip
from streamkarma.errors import ModelFileError, RunError

BOM = b"\xef\xbb\xbf"


def position(content: bytes, lines: int) -> LinePosition:
    """The position after this many lines."""
    taken = b"".join(content.splitlines(keepends=True)[:lines])
    return LinePosition(lines, len(taken), zlib.crc32(taken))


@given(
    st.text(alphabet="ab\n", max_size=150).map(str.encode),
    st.lists(st.integers(0, 1000), max_size=8),
    st.booleans(),
)
def test_every_block_knows_where_it_stands(content: bytes, cuts: list[int], marked: bool) -> None:
    if marked:
        content = BOM + content
    # A byte order mark at the beginning comes in one piece.
    ends = sorted({0, len(content), *(max(3, cut % (len(content) + 1)) for cut in cuts if len(content) > 3)})
    pieces = iter([content[a:b] for a, b in pairwise(ends)])
    done = 0
    for lines in read_lines(lambda _: next(pieces, b""), limit=20, most=7):
        assert lines.begin.lines == done == lines.first - 1
        assert lines.begin == position(content, done) or (done == 0 and lines.begin.bytes == 3)
        for count in range(lines.size):
            if not lines.overlong:
                behind = position(content, done + count)
                assert lines.position(count, lines.records()) == behind or done + count == 0
        done += lines.size
        assert lines.position(lines.size, lines.records()) == lines.end == position(content, done)


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize("mark", [b"", BOM])
def test_going_on_where_it_was_left(tmp_path: Path, ending: str, mark: bytes) -> None:
    content = mark + b"".join(b'{"a": %d}\n' % i for i in range(2000))
    pack = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}[ending]
    path = tmp_path / f"e{ending}"
    path.write_bytes(pack(content))
    for taken in (0, 1, 7, 1999, 2000):
        with Input(str(path)) as file:
            at = skip(file, file.read, position(content, taken), "m")
            rest = list(read_lines(file.read, begin=at, first=taken + 1))
        assert sum(lines.size for lines in rest) == 2000 - taken
        text = content[at.bytes :] if taken else content.removeprefix(mark)
        assert b"".join(lines.text for lines in rest) == text
        if rest:
            assert rest[0].first == taken + 1
            assert rest[-1].end == position(content, 2000)


@pytest.mark.parametrize(
    ("more", "lines"), [(b"", []), (b"\n", []), (b"\n{}\n", [b"{}\n"]), (b"}\n", [b"}\n"])]
)
def test_a_last_line_that_had_no_end(tmp_path: Path, more: bytes, lines: list[bytes]) -> None:
    content = b'{"a": 1}\n{"a": 2}'
    (tmp_path / "e").write_bytes(content + more)
    with Input(str(tmp_path / "e")) as file:
        at = skip(file, file.read, position(content, 2), "m")
        rest = list(read_lines(file.read, begin=at, first=3))
    assert [each.text for each in rest] == lines
    assert (rest[-1].end if rest else at).bytes == len(content + more)


@pytest.mark.parametrize("content", [b"", b"{}\n", b'{"a": 2}\n{"a": 2}\n{"a": 3}\n'])
def test_another_input_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "e").write_bytes(content)
    with Input(str(tmp_path / "e")) as file, pytest.raises(RunError, match="does not begin with the 2 lines"):
        skip(file, file.read, position(b'{"a": 1}\n{"a": 2}\n', 2), "m")


@pytest.mark.parametrize(
    "kept",
    [
        3,
        [],
        {},
        {"lines": 1},
        {"lines": -1, "bytes": 0, "crc32": 0},
        {"lines": 1.0, "bytes": 0, "crc32": 0},
        {"lines": True, "bytes": 0, "crc32": 0},
        {"lines": 1, "bytes": None, "crc32": "0"},
    ],
)
def test_what_is_no_position(kept: Any) -> None:
    with pytest.raises(ModelFileError, match="m does not record how much"):
        position_from(kept, "m")


def test_what_is_one() -> None:
    assert position_from(None, "m") is None
    assert position_from(START._asdict(), "m") == START
