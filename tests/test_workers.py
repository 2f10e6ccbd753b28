"""One worker or several: the same answers, errors and signals."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from streamkarma.estimators.persistence import load_with_run
from streamkarma.synthetic import StreamSpec, records
from tests.conftest import Program

EVENTS = list(records(StreamSpec(attributes=6, rank=3), 300))


def summary_of(path: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads(path.read_bytes())
    return summary


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_signal_in_the_middle_of_a_fast_stream(tmp_path: Path, workers: str) -> None:
    lines = "".join(json.dumps(e) + "\n" for e in EVENTS)
    command = ["learn", "--model", "m", "--summary", "s.json", "--predictions", "p", "--workers", workers]
    with subprocess.Popen(
        [sys.executable, "-m", "streamkarma", *command],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stderr is not None
        with contextlib.suppress(BrokenPipeError):
            for _ in range(20):
                process.stdin.write(lines)
            process.send_signal(signal.SIGTERM)
            while process.poll() is None:
                process.stdin.write(lines)
        assert process.wait(timeout=60) == 143, process.stderr.read()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
    learned = summary_of(tmp_path / "s.json")["learned"]
    assert (tmp_path / "p").read_bytes().count(b"\n") == learned
    model, _, _ = load_with_run(str(tmp_path / "m"))
    assert model.steps == learned


def test_several_workers_write_the_bytes_of_one(streamkarma: Program, tmp_path: Path) -> None:
    odd: list[Any] = [
        {**e, "who": i, "kind": "ab"[i % 2], **({f"late{i}": 1.0} if i % 50 == 7 else {})}
        for i, e in enumerate(EVENTS * 20)
    ]
    text = b"".join(b"no\n" if i % 97 == 5 else json.dumps(e).encode() + b"\n" for i, e in enumerate(odd))
    (tmp_path / "events").write_bytes(text)
    for workers in ("1", "2", "5"):
        names = {name: f"{name}{workers}" for name in ("model", "predictions", "dead-letters")}
        files = [word for name, path in names.items() for word in (f"--{name}", path)]
        done = streamkarma("learn", "events", "--id", "who", "--quiet", "--workers", workers, *files)
        assert done.code == 0
        assert (tmp_path / names["dead-letters"]).read_bytes().count(b"\n") == 62
    for name in ("model", "predictions", "dead-letters"):
        assert len({(tmp_path / f"{name}{workers}").read_bytes() for workers in "125"}) == 1
