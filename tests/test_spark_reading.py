"""What tasks of Spark read: every line and row once, in order, however the input is divided."""

from __future__ import annotations

import datetime
import gzip
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamkarma.connectors.jsonlines.lines import MAX_RECORD_BYTES
from streamkarma.connectors.tables.arrow import lines_of
from streamkarma.errors import RunError

pa = pytest.importorskip("pyarrow", reason="it is an extra")

import pyarrow.parquet as pq
import zstandard

from streamkarma.spark.files import File, files_of, is_new, remove_leftovers, written
from streamkarma.spark.pieces import parts_of
from streamkarma.spark.reading import Chunk, PieceReader, text_of
from streamkarma.spark.windows import split_windows
from streamkarma.spark.work import windowed


def numbers(parts: int) -> list[Any]:
    return [pa.RecordBatch.from_pydict({"part": [part]}) for part in range(parts)]


def chunks_of(
    paths: Iterable[Path], parts: int, longest: int = MAX_RECORD_BYTES
) -> list[tuple[int, list[Chunk]]]:
    shared = tuple(parts_of(files_of([str(path) for path in paths]), parts, 1))
    read = PieceReader(shared, longest).read(numbers(len(shared)))
    return [(part, list(chunks)) for part, chunks in read]


def text_in(read: list[tuple[int, list[Chunk]]]) -> bytes:
    return b"".join(chunk.lines.text for _, chunks in read for chunk in chunks)


@given(st.lists(st.integers(0, 40), max_size=30), st.integers(1, 12), st.booleans())
def test_every_line_is_in_one_part(sizes: list[int], parts: int, ended: bool) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        text = b"\n".join(b"x" * size for size in sizes) + b"\n" * ended
        cut = len(text) // 3
        (Path(folder) / "a.jsonl").write_bytes(text[:cut])
        (Path(folder) / "b.jsonl").write_bytes(text[cut:])
        whole = b"".join(
            part if part.endswith(b"\n") or not part else part + b"\n" for part in (text[:cut], text[cut:])
        )
        assert text_in(chunks_of([Path(folder)], parts)) == whole


def test_parts_are_of_one_size_and_contiguous() -> None:
    files = [File("a.jsonl", 1000), File("b.jsonl.gz", 300), File("c.jsonl", 700)]
    parts = parts_of(files, 4, 1)
    assert [sum(piece.size for piece in part) for part in parts] == [500, 500, 500, 500]
    assert [(p.path[0], p.begin, p.end) for part in parts for p in part] == [
        ("a", 0, 500),
        ("a", 500, 1000),
        ("b", 0, 300),
        ("c", 0, 200),
        ("c", 200, 700),
    ]


def test_without_a_number_there_are_as_many_parts_as_cores_if_there_is_enough_to_do() -> None:
    assert len(parts_of([File("a.jsonl", 1 << 30)], None, 7)) == 7
    assert len(parts_of([File("a.jsonl", 40 << 20)], None, 7)) == 2
    assert len(parts_of([File("a.jsonl", 1000)], None, 7)) == 1


def test_packed_files_and_parquet_have_the_same_lines(tmp_path: Path) -> None:
    rng = random.Random(1)
    rows = [{"x": rng.random(), "n": i, "c": rng.choice("abc")} for i in range(20_000)]
    text = b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)
    half = len(text) // 2
    (tmp_path / "plain.jsonl").write_bytes(text)
    # Two concatenated compressed files are one.
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(text[:half]) + gzip.compress(text[half:]))
    pack = zstandard.ZstdCompressor().compress
    (tmp_path / "b.jsonl.zst").write_bytes(pack(text[:half]) + pack(text[half:]))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "c.parquet", row_group_size=3000)
    for name in ("plain.jsonl", "a.jsonl.gz", "b.jsonl.zst", "c.parquet"):
        read = chunks_of([tmp_path / name], 3)
        assert list(map(json.loads, text_in(read).splitlines())) == rows
        assert name[0] == "c" or text_in(read) == text
        assert len(read) == (1 if name[0] in "ab" else 3)
        assert [chunk.lines.first for _, chunks in read for chunk in chunks if chunk.lines.first == 0] == [
            0
        ] * len(read)


def test_a_damaged_file_is_said_to_be_damaged(tmp_path: Path) -> None:
    packed = gzip.compress(b"{}\n" * 100_000)
    (tmp_path / "a.jsonl.gz").write_bytes(packed[:-20])
    (tmp_path / "b.jsonl.zst").write_bytes(b"no zstd")
    for name in ("a.jsonl.gz", "b.jsonl.zst"):
        with pytest.raises(RunError, match=f"{name}"):
            chunks_of([tmp_path / name], 1)
    (tmp_path / "c.parquet").write_bytes(b"PAR1")
    with pytest.raises(RunError, match="c.parquet is damaged: "):
        chunks_of([tmp_path / "c.parquet"], 1)


def test_paths(tmp_path: Path) -> None:
    for name in ("b/1.jsonl", "b/2.jsonl", "b/_SUCCESS", "b/.x", "a.jsonl", "b/c/3.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("{}\n")

    def found(*paths: str) -> list[str]:
        files = files_of([str(tmp_path / path) for path in paths])
        return [str(Path(file.path).relative_to(tmp_path)) for file in files]

    assert found("b") == ["b/1.jsonl", "b/2.jsonl", "b/c/3.jsonl"]
    assert found("b/*.jsonl", "a.jsonl") == ["b/1.jsonl", "b/2.jsonl", "a.jsonl"]
    assert found("*/[12].jsonl") == ["b/1.jsonl", "b/2.jsonl"]
    assert found("") == ["a.jsonl", "b/1.jsonl", "b/2.jsonl", "b/c/3.jsonl"]
    with pytest.raises(RunError, match=r"^no file matches .*nothing\*; give"):
        found("nothing*")
    with pytest.raises(RunError, match="^no file matches "):
        found("b/1.jsonl/x")


def test_a_frame_is_read_as_its_lines_would_be() -> None:
    batch = pa.RecordBatch.from_pylist(
        [
            {
                "t": 1.5,
                "n": 1 << 60,
                "on": True,
                "site": "b\n",
                "at": datetime.datetime(2026, 1, 2, 3),
                "gps": {"lat": 1.0, "fix": None},
                "tags": ["new", "red"],
                "took": datetime.timedelta(seconds=90),
                "raw": b"\xff",
            },
            {"t": float("nan"), "n": None},
        ]
    )
    first, second, rest = lines_of(batch).split(b"\n")
    assert json.loads(first) == {
        "t": 1.5,
        "n": 1 << 60,
        "on": True,
        "site": "b\n",
        "at": "2026-01-02T03:00:00",
        "gps": {"lat": 1.0, "fix": None},
        "tags": ["new", "red"],
        "took": 90.0,
        "raw": "\ufffd",
    }
    assert json.loads(second) == {}
    assert rest == b""
    assert text_of(pa.array(['{"x":\n1}', None, "{}"])) == b'{"x": 1}\n\n{}\n'


def test_overlong_lines_are_refused_wherever_they_are(tmp_path: Path) -> None:
    lines = [b"x" * (50 if i % 7 == 3 else 5) for i in range(40)]
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines))
    seen = 0
    for _, chunks in chunks_of([tmp_path / "a.jsonl"], 3, longest=20):
        for chunk in chunks:
            packed = Chunk.unpacked(chunk.packed()).records()
            assert packed.refused == chunk.records().refused
            assert {seen + i for i in chunk.records().refused} == {
                i for i in range(seen, seen + chunk.lines.size) if i % 7 == 3
            }
            seen += chunk.lines.size
    assert seen == 40


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=6),
    st.integers(0, 30),
    st.integers(0, 30),
    st.integers(1, 4),
)
def test_windows_are_what_comes_first_between_and_last(
    sizes: list[int], warm: int, tail: int, cut: int
) -> None:
    from streamkarma.connectors.jsonlines.lines import Lines

    total = sum(sizes)
    every = [f"{n}\n".encode() for n in range(total)]
    found: list[list[bytes]] = []
    for window in split_windows(dict(enumerate(sizes)), warm, tail):
        found.append([])
        at = 0
        for part, size in enumerate(sizes):
            own = every[at : at + size]
            chunks = (
                Chunk(Lines(i, len(own[i : i + cut]), b"".join(own[i : i + cut])), {}, "line")
                for i in range(0, size, cut)
            )
            for chunk in windowed(chunks, window.get(part, (0, 0))):
                found[-1] += chunk.lines.text.splitlines(keepends=True)
            at += size
    warmed = min(warm, total)
    rest = total - warmed
    assert [len(each) for each in found] == [warmed, rest - min(tail, rest), min(tail, rest)]
    assert [line for each in found for line in each] == every


def test_a_file_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    path = str(tmp_path / "new" / "file")
    assert is_new(str(tmp_path / "new"))
    with pytest.raises(TypeError), written(path) as write:
        write("no bytes")
    assert not list(Path(path).parent.iterdir())
    leftover = Path(path).with_name(".file.01234567.tmp")
    leftover.touch()
    with written(path) as write:
        write(b"whole")
    remove_leftovers(str(tmp_path))
    assert not leftover.exists()
    assert Path(path).read_bytes() == b"whole"
    assert not is_new(str(tmp_path / "new"))
    assert not is_new(path)
    with pytest.raises(RunError, match="^cannot write "), written(path + "/below"):
        pass


def test_a_name_that_is_not_utf_8_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{}\n")
    assert len(files_of([str(tmp_path)])) == 1
    with open(bytes(tmp_path / "b") + b"\xff.jsonl", "w") as file:
        file.write("{}\n")
    with pytest.raises(RunError, match="a file name in .* is not UTF-8; rename it"):
        files_of([str(tmp_path / "*.jsonl")])
