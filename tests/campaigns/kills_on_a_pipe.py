"""The program itself, killed while it learns from a pipe, and started again."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from streamkarma.checkpoint import read
from tests.campaigns import repeat
from tests.campaigns._streams import any_case, line

TRIES = (
    "`learn` reads 60,000 events from a pipe and is killed at three random moments by SIGKILL, SIGTERM or "
    "SIGINT; each time it is started again with the events that its model does not have"
)
PROMISE = "the predictions up to the model's last event, and the model, are those of the undisturbed run"
SHORT, LONG = 1, 100

_EVENTS, _DISTINCT, _KILLS = 60_000, 1000, 3
_OPTIONS = [
    ["--learner", "explicit"],
    ["--learner", "explicit", "--update", "sgd", "--gamma", "3"],
    ["--learner", "karma", "--budget", "20"],
    ["--learner", "karma", "--gamma", "1", "--budget", "0"],
    ["--learner", "subspace"],
    ["--learner", "auto"],
]
_CODES = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}


def run(tries: int, seed: int, folder: Path) -> None:
    repeat(_attempt, tries, seed, folder)


def _attempt(rng: random.Random, folder: Path) -> None:
    task, lines = _stream(rng)
    arguments = [*rng.choice(_OPTIONS), "--task", task, "--workers", rng.choice("12"), "--quiet"]
    arguments += ["--checkpoint-every", str(rng.choice([700, 5000, 20_000]))]
    rows: list[bytes] = []
    for number in range(_KILLS):
        rows += _killed(rng, folder, arguments, lines[len(rows) :], len(rows), f"rows{number}")
        assert len(rows) == _learned(folder / "model"), (arguments, len(rows))
    rows += _finished(folder, arguments, lines[len(rows) :], "model", "last")
    assert rows == _finished(folder, arguments, lines, "whole", "all"), f"other predictions: {arguments}"
    assert _content(folder / "model") == _content(folder / "whole"), f"another model: {arguments}"


def _stream(rng: random.Random) -> tuple[str, list[bytes]]:
    """The task, and labelled events: the same ones again and again, for what they say does not matter."""
    case = any_case(rng)
    labels = case.labels or [0.37, 12.5]
    some = [line({**case.record(rng), "y": rng.choice(labels)}) for _ in range(_DISTINCT)]
    first = [line({**case.record(rng), "y": label}) for label in labels]
    return case.task, first + some * (_EVENTS // _DISTINCT)


def _killed(rng: random.Random, folder: Path, arguments: list[str], lines: list[bytes], before: int,
            output: str) -> list[bytes]:  # fmt: skip
    """Have the program learn and kill it; returns the rows of what its model has learned since."""
    number = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    text = b"\n".join([*lines, b""])
    text = text[: rng.randrange(len(text))]
    with _start(folder, arguments, "model", output) as process:
        assert process.stdin is not None
        process.stdin.write(text)
        process.stdin.flush()
        started = rng.random() < 0.8 and len(text) > 1000
        while started and not ((folder / output).exists() and (folder / output).stat().st_size):
            assert process.poll() is None, process.communicate()
            time.sleep(0.005)
        time.sleep(rng.choice([0.0, rng.uniform(0.0, 0.1)]))
        process.send_signal(number)
        said = process.communicate()[1]
    # Before the program has installed its handlers, the signal ends it as it ends any other.
    codes = {_CODES[number]} if started else {_CODES[number], -number}
    assert process.returncode in codes, (process.returncode, number, said)
    learned = _learned(folder / "model") - before
    written = (folder / output).read_bytes().splitlines() if (folder / output).exists() else []
    assert len(written) >= learned, f"the model has {learned} events, and there are {len(written)} rows"
    if process.returncode > 0:
        assert len(written) == learned, f"{learned} events are saved, and {len(written)} rows were written"
    return written[:learned]


def _finished(folder: Path, arguments: list[str], lines: list[bytes], model: str, output: str) -> list[bytes]:
    """Have the program learn lines to their end; returns the rows."""
    with _start(folder, arguments, model, output) as process:
        said = process.communicate(b"\n".join([*lines, b""]))[1]
    assert process.returncode == 0, said
    return (folder / output).read_bytes().splitlines()


def _start(folder: Path, arguments: list[str], model: str, output: str) -> subprocess.Popen[bytes]:
    command = ["learn", "--model", model, "--predictions", output, *arguments]
    return subprocess.Popen(
        [sys.executable, "-m", "streamkarma", *command],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
    )  # fmt: skip


def _learned(model: Path) -> int:
    """How many events a model has, be it there or not."""
    return int(read(model)[0]["run"]["events"]) if model.exists() else 0


def _content(model: Path) -> Any:
    """All of a model file that is learned."""
    header, arrays = read(model)
    kept = {name: header["run"][name] for name in ("task", "fields", "events")}
    return header["params"], header["learned"], kept, {name: each.tobytes() for name, each in arrays.items()}
