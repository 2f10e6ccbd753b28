"""The program, killed while it learns from a file, and restarted."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.campaigns import repeat
from tests.campaigns._streams import any_case, line

TRIES = (
    "`learn --resume-input` reads a file of 60,000 lines, some of them no records, and is killed at three "
    "random moments by SIGKILL, SIGTERM or SIGINT; each time the same command is given again"
)
PROMISE = "predictions, dead letters and the model file are those of the undisturbed run, byte for byte"
SHORT, LONG = 1, 100

_LINES, _DISTINCT, _KILLS = 60_000, 1000, 3
_OPTIONS = [
    ["--learner", "explicit"],
    ["--learner", "explicit", "--update", "sgd", "--gamma", "3"],
    ["--learner", "karma", "--budget", "20"],
    ["--learner", "karma", "--gamma", "1", "--budget", "0"],
    ["--learner", "subspace"],
    ["--learner", "auto"],
]
_CODES = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}
_FILES = ("rows", "letters", "model")


def run(tries: int, seed: int, folder: Path) -> None:
    repeat(_attempt, tries, seed, folder)


def _attempt(rng: random.Random, folder: Path) -> None:
    arguments = [*rng.choice(_OPTIONS), "--workers", rng.choice("12"), "--quiet", "--resume-input"]
    arguments += ["--checkpoint-every", str(rng.choice([700, 5000, 20_000]))]
    task, lines = _stream(rng)
    arguments += ["--task", task]
    (folder / "input").write_bytes(b"\n".join(lines) + rng.choice([b"", b"\n"]))
    whole, killed = folder / "whole", folder / "killed"
    for each in (whole, killed):
        each.mkdir()
    _finish(whole, arguments)
    size = (whole / "rows").stat().st_size
    for _ in range(_KILLS):
        _kill(rng, killed, arguments, size)
    _finish(killed, arguments)
    for name in _FILES:
        same = (whole / name).read_bytes() == (killed / name).read_bytes()
        assert same, f"{name} is another one: {arguments}"


def _stream(rng: random.Random) -> tuple[str, list[bytes]]:
    """The task and the lines, which are repeated, since their content does not matter."""
    case = any_case(rng)
    labels = case.labels or [0.37, 12.5]
    some = [line({**case.record(rng), "y": label}) for label in labels]
    while len(some) < _DISTINCT:
        record = line({**case.record(rng), "y": rng.choice(labels)})
        some.append(rng.choice([b"", b"no"]) if rng.random() < 0.01 else record)
    return case.task, some * (_LINES // _DISTINCT)


def _kill(rng: random.Random, folder: Path, arguments: list[str], size: int) -> None:
    """Start the program, and kill it at once or after it has written a random part of the rows."""
    number = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    rows = folder / "rows"
    written = rows.stat().st_size if rows.exists() else 0
    enough = rng.choice([written + 1, rng.randrange(size), rng.randrange(size)])
    with _start(folder, arguments) as process:
        while process.poll() is None and not (rows.exists() and rows.stat().st_size >= enough):
            time.sleep(0.001)
        time.sleep(rng.choice([0.0, rng.uniform(0.0, 0.05)]))
        process.send_signal(number)
        said = process.communicate()[1]
    # A signal kills the program before it can handle signals, and has no effect after its end.
    assert process.returncode in (0, _CODES[number], -number), (process.returncode, number, said)


def _finish(folder: Path, arguments: list[str]) -> None:
    """Run the program to the end."""
    with _start(folder, arguments) as process:
        said = process.communicate()[1]
    assert process.returncode == 0, said


def _start(folder: Path, arguments: list[str]) -> subprocess.Popen[bytes]:
    files = ["--model", "model", "--predictions", "rows", "--dead-letters", "letters"]
    return subprocess.Popen(
        [sys.executable, "-m", "streamkarma", "learn", "../input", *files, *arguments],
        stderr=subprocess.PIPE, cwd=folder,
    )  # fmt: skip
