"""Standard streams that are closed or full: one correct line where possible, and the right exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from streamkarma.estimators.persistence import load_with_run
from streamkarma.synthetic import StreamSpec, records
from tests import forked
from tests.forked import ForkedProgram

EVENTS = b"".join(json.dumps(e).encode() + b"\n" for e in records(StreamSpec(attributes=6, rank=3), 300))
LEARN = "learn --learner explicit --quiet"
FULL = "streamkarma: cannot write standard output: No space left on device\n"
CLOSED = "streamkarma: cannot write standard output: it is closed\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stream and a model."""
    folder = tmp_path_factory.mktemp("streams")
    (folder / "e.jsonl").write_bytes(EVENTS)
    shell(f"{LEARN} e.jsonl --no-predictions --model m", folder)
    return folder


def shell(command: str, folder: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run the program as a shell does."""
    return subprocess.run(
        f"{before} exec {sys.executable} -m streamkarma {command}",
        shell=True, executable="/bin/bash", cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (f"{LEARN} e.jsonl >&-", 1, CLOSED),
        (f"{LEARN} e.jsonl >/dev/full", 1, FULL),
        (f"{LEARN} <&-", 1, "streamkarma: cannot read standard input: it is closed\n"),
        (f"{LEARN} e.jsonl --no-predictions <&- >&-", 0, ""),
        (f"{LEARN} e.jsonl --no-predictions --model closed <&- >&- 2>&-", 0, ""),
        ("learn --learner explicit e.jsonl >/dev/full 2>/dev/full", 1, ""),
        ("learn --learner explicit nothing 2>&-", 1, ""),
        ("predict m e.jsonl --quiet >/dev/full", 1, FULL),
        ("predict m <&- 2>/dev/full", 1, ""),
        ("inspect m >/dev/full", 1, FULL),
        ("inspect m --json >&-", 1, CLOSED),
        ("inspect nothing >&- 2>&-", 1, ""),
        ("generate lowrank >/dev/full", 1, FULL),
        ("generate lowrank >&- 2>/dev/full", 1, ""),
        ("regret --learner explicit --baselines mean --regret-memory 24 e.jsonl --quiet >/dev/full", 1, FULL),
        ("--version >/dev/full", 1, FULL),
        ("learn --help >&-", 1, CLOSED),
    ],
)
def test_streams_that_take_or_give_nothing(folder: Path, command: str, code: int, said: str) -> None:
    done = shell(command, folder)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)


@pytest.mark.parametrize("instead", ["2>&-", "2>/dev/full"])
def test_nobody_to_talk_to_changes_no_result(folder: Path, instead: str) -> None:
    done = shell(
        f"learn --learner explicit e.jsonl --report-every 50 --model new --summary s {instead}", folder
    )
    assert (done.returncode, done.stderr) == (0, "")
    # Messages must not end up among the data, nor in a file that has got the descriptor.
    assert [json.loads(line)["n"] for line in done.stdout.splitlines()] == list(range(1, 301))
    assert json.loads((folder / "s").read_text())["events"] == 300
    load_with_run(folder / "new")
    (folder / "new").unlink()


def test_a_file_that_may_grow_no_further(tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_bytes(EVENTS)
    files = "--model m --predictions p --checkpoint-every 50 --resume-input"
    done = shell(f"{LEARN} e.jsonl {files}", tmp_path, before="ulimit -f 24;")
    assert (done.returncode, done.stderr) == (1, "streamkarma: cannot write p: File too large\n")
    rows = (tmp_path / "p").read_bytes()
    # Whole rows only, and no fewer than the model has learned.
    assert rows.endswith(b"}\n")
    assert 0 < load_with_run(tmp_path / "m")[1]["events"] <= rows.count(b"\n") < 300
    assert shell(f"{LEARN} e.jsonl {files}", tmp_path).returncode == 0
    assert shell(f"{LEARN} e.jsonl --model m1 --predictions p1", tmp_path).returncode == 0
    for name in "mp":
        assert (tmp_path / name).read_bytes() == (tmp_path / f"{name}1").read_bytes()


#: As after ``ulimit -f 0``: no file may have any bytes.
WITHOUT_FILES = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
from streamkarma.cli import main
main()
"""


@pytest.mark.parametrize(
    "command",
    [
        f"{LEARN} e.jsonl --no-predictions --summary result",
        "profile e.jsonl --quiet --json result",
        "profile e.jsonl --quiet --html result",
        "regret e.jsonl --learner explicit --regret zero --regret-memory 24 --quiet --plot result.html",
    ],
)
def test_a_result_that_cannot_be_written_leaves_the_previous_one(tmp_path: Path, command: str) -> None:
    (tmp_path / "e.jsonl").write_bytes(EVENTS)
    name = command.split()[-1]
    (tmp_path / name).write_text("the previous one")
    (tmp_path / name).chmod(0o604)
    with ForkedProgram(command.split(), tmp_path, WITHOUT_FILES) as process:
        said = process.communicate(timeout=60)[1]
    assert (process.returncode, said) == (1, f"streamkarma: cannot write {name}: File too large\n")
    assert (tmp_path / name).read_text() == "the previous one"
    assert forked.run(command.split(), b"", tmp_path).returncode == 0
    assert (tmp_path / name).read_text() != "the previous one"
    # Nobody gets other rights to it, and neither attempt leaves another file.
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o604
    assert {path.name for path in tmp_path.iterdir()} == {"e.jsonl", name}


@pytest.mark.parametrize("path", ["/dev/stdout", "-", "fifo"])
def test_a_summary_for_a_pipe(tmp_path: Path, path: str) -> None:
    (tmp_path / "e.jsonl").write_bytes(EVENTS)
    before = "mkfifo fifo; cat fifo &" if path == "fifo" else ""
    done = shell(f"{LEARN} e.jsonl --no-predictions --summary {path} | cat", tmp_path, before)
    assert json.loads(done.stdout)["events"] == 300
