"""Tables as INPUT: the same, to the bit, as the equivalent lines of JSON."""

from __future__ import annotations

import datetime
import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import zstandard

from streamkarma.checkpoint import read
from tests.conftest import Program

RNG = np.random.default_rng(0)
ROWS: list[dict[str, Any]] = []
for i in range(3000):
    row = {
        "x": round(float(RNG.normal()), 4),
        "n": int(RNG.integers(100)),
        "on": bool(RNG.random() < 0.5),
        "town": str(RNG.choice(["Linz", "Sankt Pölten", 'a "b", c', "02139"])),
        "at": datetime.datetime(2026, 1, 1) + datetime.timedelta(minutes=i),
    }
    seen = {name: value for name, value in row.items() if RNG.random() < 0.8}
    ROWS.append({**seen, "y": int(row["x"] + row["on"] > 0.5)})
NAMES = ["x", "n", "on", "town", "at", "y"]


def cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if set('",') & set(text) else text


def as_json(rows: list[dict[str, Any]]) -> bytes:
    plain = [{n: v.isoformat() if n == "at" else v for n, v in row.items()} for row in rows]
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in plain)


def as_csv(rows: list[dict[str, Any]], delimiter: str = ",") -> bytes:
    body = [delimiter.join(cell(row.get(name)) for name in NAMES) for row in rows]
    return "\n".join([delimiter.join(NAMES), *body, ""]).encode()


def arrow(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist([{name: row.get(name) for name in NAMES} for row in rows])


def parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    pq.write_table(arrow(rows), path, row_group_size=700)


def feather(path: Path, rows: list[dict[str, Any]]) -> None:
    pyarrow.feather.write_feather(arrow(rows), path, chunksize=500)


def stream(path: Path, rows: list[dict[str, Any]]) -> None:
    with pa.ipc.new_stream(path, arrow(rows).schema) as file:
        file.write_table(arrow(rows), 300)


def text(pack: Callable[[bytes], bytes] = bytes, delimiter: str = ",") -> Callable[[Path, Any], None]:
    return lambda path, rows: path.write_bytes(pack(as_csv(rows, delimiter))) and None


TABLES = {
    "t.csv": text(),
    "t.tsv": text(delimiter="\t"),
    "t.CSV": text(delimiter=";"),
    "t.csv.gz": text(gzip.compress),
    "t.csv.zst": text(zstandard.compress),
    "t.parquet": parquet,
    "t.feather": feather,
    "t.arrow": stream,
}


def model(path: Path) -> Any:
    """A model file without the details of the files that were read and written."""
    header, arrays = read(path)
    for section in ("input", "outputs", "columns"):
        header["run"].pop(section, None)
    return header, {name: array.tobytes() for name, array in arrays.items()}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Any, bytes]:
    """Results of the lines of JSON: predictions while learning, the model, and its later predictions."""
    folder = tmp_path_factory.mktemp("json")
    command = [sys.executable, "-m", "streamkarma", "learn", "--model", "m", "--quiet"]
    done = subprocess.run(command, input=as_json(ROWS), capture_output=True, cwd=folder, check=True)
    command[3:] = ["predict", "m"]
    after = subprocess.run(command, input=as_json(ROWS), capture_output=True, cwd=folder, check=True)
    return done.stdout, model(folder / "m"), after.stdout


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_learned_as_its_rows_of_json_are(
    streamkarma: Program, tmp_path: Path, expected: tuple[bytes, Any, bytes], name: str
) -> None:
    TABLES[name](tmp_path / name, ROWS)
    done = streamkarma("learn", name, "--model", "m")
    assert done.code == 0
    assert (done.stdout, model(tmp_path / "m")) == expected[:2]
    said = [line for line in done.stderr.splitlines() if line.startswith("table: ")]
    assert len(said) == (".csv" in name.lower() or ".tsv" in name)
    assert streamkarma("predict", "m", name).stdout == expected[2]


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("format", ["csv", "arrow"])
def test_a_table_through_a_pipe(
    streamkarma: Program, tmp_path: Path, expected: tuple[bytes, Any, bytes], format: str, workers: str
) -> None:
    TABLES[f"t.{format}"](tmp_path / "t", ROWS)
    content = (tmp_path / "t").read_bytes()
    assert streamkarma("learn", "--format", format, "--workers", workers, text=content).stdout == expected[0]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_a_run_is_resumed_at_its_row(
    streamkarma: Program, tmp_path: Path, expected: tuple[bytes, Any, bytes], name: str
) -> None:
    command = ["learn", name, "--model", "m", "--predictions", "p.jsonl", "--resume-input", "--quiet"]
    for size in (0, 700, 1701, 3000):
        TABLES[name](tmp_path / name, ROWS[:size])
        assert streamkarma(*command).code == 0
    assert ((tmp_path / "p.jsonl").read_bytes(), model(tmp_path / "m")) == expected[:2]
    TABLES[name](tmp_path / name, ROWS[1:])
    other = streamkarma(*command)
    assert other.code == 1
    assert f"{name} does not begin with the 3,000 rows (" in other.stderr


def test_bad_rows_are_kept_with_their_number(streamkarma: Program, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b'x,y\n1,0\n2\n3,1\n\n"4,0\n5,1\n6,2,\xff\n7,0\n')
    done = streamkarma("learn", "t.csv", "--dead-letters", "d.jsonl", "--task", "binary")
    assert [row["target"] for row in done.rows] == [0, 1, 1, 0]
    letters = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()]
    assert [(each["row"], each["record"]) for each in letters] == [(2, "2"), (4, '"4,0'), (6, "6,2,\ufffd")]
    assert letters[0]["error"] == "has 1 field, not 2"
    failed = streamkarma("learn", "t.csv", "--on-error", "fail", "--task", "binary")
    assert (failed.code, len(failed.rows)) == (1, 1)
    assert "row 2: has 1 field, not 2" in failed.stderr


def test_a_model_knows_what_columns_hold(streamkarma: Program, tmp_path: Path) -> None:
    train = "".join(f"{i % 7},{'AB1'[i % 3]}\n" for i in range(90))
    streamkarma("learn", "--format", "csv", "--model", "m", text=f"x,y\n{train}".encode())
    done = streamkarma("predict", "m", "--format", "csv", text=b"x,y\n1,1\n4,1\n")
    assert [row["target"] for row in done.rows] == ["1", "1"]


def test_words_for_nothing(streamkarma: Program) -> None:
    content = b"x,y\n1,0\nNA,1\n999,0\n,1\n2,.\n"
    done = streamkarma("learn", "--format", "csv", text=content)
    assert [row["observed"] for row in done.rows] == [1, 0, 1, 0, 1]
    told = streamkarma("learn", "--format", "csv", "--na", "999", "--na", ".", "--model", "m", text=content)
    assert [row["observed"] for row in told.rows] == [1, 1, 0, 0, 1]
    assert [row.get("target") for row in told.rows] == [0, 1, 0, 1, None]
    again = streamkarma("predict", "m", "--format", "csv", text=content)
    assert [row["observed"] for row in again.rows] == [1, 1, 0, 0, 1]


def test_regret_takes_tables(streamkarma: Program, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(as_csv(ROWS[:100]))
    (tmp_path / "t.jsonl").write_bytes(as_json(ROWS[:100]))
    options = ["--learner", "explicit,bins", "--regret", "mean", "--json", "--quiet"]
    options += ["--regret-memory", "24"]
    reports = [json.loads(streamkarma("regret", name, *options).stdout) for name in ("t.csv", "t.jsonl")]
    curves = [{n: each["curve"] for n, each in report["learners"].items()} for report in reports]
    assert curves[0] == curves[1]


def test_what_cannot_be_read_is_said_in_a_line(streamkarma: Program, tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and so on")
    (tmp_path / "t.arrow").write_bytes(b"ARROW1 and so on")
    pq.write_table(arrow(ROWS), tmp_path / "cut.parquet")
    said = {
        ("t.parquet",): "t.parquet cannot be read: ",
        ("t.arrow",): "t.arrow cannot be read: ",
        ("none.parquet",): "cannot read none.parquet: No such file",
        ("none.csv",): "cannot read none.csv: No such file",
        ("--format", "parquet"): "standard input cannot be read: the index of a Parquet file is at its end",
        ("t.parquet.gz",): "t.parquet.gz: decompress it first",
    }
    for args, message in said.items():
        done = streamkarma("learn", *args)
        assert done.code in (1, 2)
        assert done.stderr.startswith(f"streamkarma: {message}")
        assert done.stderr.count("\n") == 1


def test_values_that_only_arrow_has(streamkarma: Program, tmp_path: Path) -> None:
    columns = {
        "ns": pa.array([1, None, 1_700_000_000_123_456_789], pa.timestamp("ns", "UTC")),
        "day": pa.array([datetime.date(2026, 1, 2), None, None]),
        "f32": pa.array([0.1, float("nan"), None], pa.float32()),
        "cost": pa.array(["1.50", "2.25", None]).cast(pa.decimal128(5, 2)),
        "tags": pa.array([["a", "b"], [], None]),
        "gps": pa.array([{"lat": 1.5}, {"lat": None}, None]),
        "kind": pa.array(["u", "v", None]).dictionary_encode(),
        "y": pa.array([True, False, None]),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    done = streamkarma("learn", "t.parquet")
    assert [(row.get("target"), row["observed"]) for row in done.rows] == [(True, 7), (False, 2), (None, 1)]
    # Dates beyond the years of Python's calendar are strings.
    far = pa.array([2**62, 0, None], pa.timestamp("us")), pa.array([2**30, 1, None], pa.int32())
    beyond = {"at": far[0].cast(pa.timestamp("us", "Asia/Tokyo")), "day": far[1].cast(pa.date32())}
    pq.write_table(pa.table({**beyond, "y": [True, False, True]}), tmp_path / "far.parquet")
    done = streamkarma("learn", "far.parquet")
    assert [(row["target"], row["observed"]) for row in done.rows] == [(True, 2), (False, 2), (True, 0)]
    pq.write_table(pa.table({"x": [1.0, float("inf")]}), tmp_path / "i.parquet")
    stderr = streamkarma("learn", "i.parquet").stderr
    assert "first rejected: row 2: the record contains an infinite number" in stderr
