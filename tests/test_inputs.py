"""Inputs, compressed or not, intact or not."""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from streamkarma.connectors.jsonlines.inputs import Input
from streamkarma.errors import RunError
from tests.conftest import Program

Pack = Callable[[bytes], bytes]


def zst(content: bytes) -> bytes:
    """Two frames, the second without its content size, and a skippable frame between them."""
    half = len(content) // 2
    packer = zstandard.ZstdCompressor(write_checksum=True)
    stream = packer.compressobj()
    skipped = (0x184D2A50).to_bytes(4, "little") + (5).to_bytes(4, "little") + b"hello"
    return packer.compress(content[:half]) + skipped + stream.compress(content[half:]) + stream.flush()


def gz(content: bytes) -> bytes:
    half = len(content) // 2
    return gzip.compress(content[:half]) + gzip.compress(content[half:])


PACKED = [pytest.param(".gz", gz, id="gz"), pytest.param(".zst", zst, id="zst")]
ROWS = b"".join(b'{"a": %d, "y": %d}\n' % (i, random.Random(i).random() < 0.5) for i in range(20_000))


def read(path: Path, size: int = 1 << 20) -> tuple[bytes, str]:
    """What can be read of a file, and the error message, if any."""
    parts = []
    try:
        with Input(str(path)) as file:
            while part := file.read(size):
                assert len(part) <= size
                parts.append(part)
    except RunError as error:
        return b"".join(parts), str(error)
    return b"".join(parts), ""


@pytest.mark.parametrize(
    ("ending", "pack"), [*PACKED, pytest.param(".GZ", gz, id="GZ"), pytest.param("", bytes, id="plain")]
)
@pytest.mark.parametrize("size", [1 << 20, 1000])
def test_what_is_whole_is_read_whole(tmp_path: Path, ending: str, pack: Pack, size: int) -> None:
    path = tmp_path / f"rows.jsonl{ending}"
    path.write_bytes(pack(ROWS))
    assert read(path, size) == (ROWS, "")


@pytest.mark.parametrize(("ending", "pack"), PACKED)
def test_wherever_it_is_cut_that_is_said(tmp_path: Path, ending: str, pack: Pack) -> None:
    packed, path = pack(ROWS), tmp_path / f"rows{ending}"
    half = len(pack(ROWS[: len(ROWS) // 2])) // 2
    for end in [*range(12), *random.Random(1).sample(range(12, len(packed)), 60), len(packed) - 1]:
        path.write_bytes(packed[:end])
        there, said = read(path)
        assert ROWS.startswith(there)
        assert len(there) < len(ROWS) or end >= len(packed) - 8  # only a checksum may be missing
        assert len(there) > 100_000 or end < 2 * half + 20_000
        # A cut between two frames cannot be detected.
        whole = {len(ROWS) // 2} if end else set()
        assert f"{path} is damaged: " in said or len(there) in whole, end


@pytest.mark.parametrize(("ending", "pack"), PACKED)
@pytest.mark.parametrize("trailing", [b"\x01", b"garbage" * 5, b"garbage" * 50_000])
def test_garbage_at_the_end_comes_after_all_that_is_whole(
    tmp_path: Path, ending: str, pack: Pack, trailing: bytes
) -> None:
    path = tmp_path / f"rows{ending}"
    path.write_bytes(pack(ROWS) + trailing)
    there, said = read(path)
    assert there == ROWS
    assert f"{path} is damaged: " in said
    assert "\n" not in said


@pytest.mark.parametrize(("ending", "pack"), PACKED)
def test_a_bit_that_fell_over(tmp_path: Path, ending: str, pack: Pack) -> None:
    packed, path = pack(ROWS), tmp_path / f"rows{ending}"
    for seed in range(40):
        bad = bytearray(packed)
        bad[random.Random(seed).randrange(len(bad))] ^= 1 << seed % 8
        path.write_bytes(bad)
        there, said = read(path)  # whatever comes of it, no other exception
        assert there == ROWS or f"{path} is damaged: " in said


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("content", [b"", b"{", ROWS])
def test_what_is_not_packed_at_all(tmp_path: Path, ending: str, content: bytes) -> None:
    path = tmp_path / f"rows{ending}"
    path.write_bytes(content)
    there, said = read(path)
    assert there == b""
    assert f"{path} is damaged: " in said
    assert "after a valid part" not in said


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ('{"a": 1}'.encode("utf-16"), "in UTF-16; convert it: iconv -f utf-16 -t utf-8"),
        (b"\xfe\xff" + "a,b".encode("utf-16-be"), "in UTF-16; convert it"),
        (gzip.compress(ROWS), "compressed with gzip; decompress it"),
        (zstandard.compress(ROWS), "compressed with zstd; decompress it"),
    ],
)
@pytest.mark.parametrize("name", ["plain.jsonl", "plain.csv"])
def test_what_is_no_text_is_named(
    streamkarma: Program, tmp_path: Path, content: bytes, what: str, name: str
) -> None:
    (tmp_path / name).write_bytes(content)
    done = streamkarma("learn", name)
    assert (done.code, done.stdout) == (1, b"")
    assert f"\nstreamkarma: {name} is {what}" in f"\n{done.stderr}"


def test_few_bytes_that_stand_for_many_take_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "zeros.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(bytes(64 << 20)))
    assert path.stat().st_size < 10_000
    with Input(str(path)) as file:
        assert sum(map(len, iter(file.read, b""))) == 64 << 20


def test_a_pipe_that_does_not_wait_is_waited_for() -> None:
    there, out = os.pipe()
    os.set_blocking(there, False)
    with Input(f"/dev/fd/{there}") as file:
        os.set_blocking(there, False)
        os.write(out, b"{}\n")
        assert file.read() == b"{}\n"
        os.close(out)
        assert file.read() == b""
    os.close(there)


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    for path in ("/nowhere/x", "/nowhere/x.gz", "/nowhere/x.zst"):
        with pytest.raises(RunError, match=f"cannot read {path}: No such file"):
            Input(path)
    with pytest.raises(RunError, match="Is a directory"):
        Input(str(tmp_path))


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize(("ending", "pack"), PACKED)
def test_what_was_read_before_the_damage_is_learned(
    streamkarma: Program, tmp_path: Path, workers: str, ending: str, pack: Pack
) -> None:
    packed = pack(ROWS)
    (tmp_path / f"e{ending}").write_bytes(packed[: len(packed) // 4 * 3])
    files = ["--summary", "s.json", "--no-predictions", "--model", "m"]
    done = streamkarma(
        "learn", f"e{ending}", *files, "--workers", workers, "--learner", "explicit", "--quiet"
    )
    assert (done.code, done.stderr.count("\n")) == (1, 1)
    assert f"streamkarma: e{ending} is damaged: " in done.stderr
    assert json.loads((tmp_path / "s.json").read_text())["learned"] > 10_000
    assert json.loads(streamkarma("inspect", "m", "--json").stdout)["events"] > 10_000
