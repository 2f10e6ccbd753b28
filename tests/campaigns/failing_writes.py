"""Every step of writing a run's files fails once, in every way."""

from __future__ import annotations

import errno
import gzip
import json
import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import zstandard

from streamkarma import files
from streamkarma.connectors.jsonlines.source import JsonLinesSource
from streamkarma.errors import StreamkarmaError
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.run import Run

TRIES = (
    "`learn` reads a file of 30 lines, good and bad ones; one of some hundred steps by which it writes its "
    "predictions, dead letters, model and summary fails: with ENOSPC, with EIO, after half of the bytes, or "
    "by a kill; it is started again with `--resume-input`, and now and then that fails too"
)
PROMISE = (
    "an error is one line, and in the end predictions, dead letters and model are, to the byte, those of "
    "the undisturbed run"
)
SHORT, LONG = 12, 20_000

_LINES = 30
_WAYS = ("ENOSPC", "EIO", "half", "kill")
#: The files compared at the end; the summary covers only the last run.
_COMPARED = ("model", "predictions", "dead")
#: The modules that write the model.
_WRITERS = ("streamkarma.checkpoint", "streamkarma.replacing")


class KilledError(BaseException):
    """The process was killed at this step."""


class Step(NamedTuple):
    """The number of the step that fails, from 1, and how."""

    number: int
    way: str


class Disk:
    """Counts the steps, and makes one of them fail.

    After a kill, no further step has any effect.
    """

    def __init__(self, fails: Step | None) -> None:
        self.steps = 0
        self._fails = fails
        self._half = self._killed = False

    def step(self, do: Any, *arguments: Any) -> Any:
        self.steps += 1
        number, way = self._fails or Step(0, "")
        if self._killed or (self.steps == number and way == "kill"):
            self._killed = True
            raise KilledError
        if self.steps == number:
            code = errno.EIO if way == "EIO" else errno.ENOSPC
            raise OSError(code, os.strerror(code))
        return do(*arguments)

    def write(self, do: Any, data: Any) -> Any:
        """A write, of which half may be done before the rest fails."""
        if self._half:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self._fails == Step(self.steps + 1, "half"):
            self.steps += 1
            self._half = True
            return do(memoryview(data)[: len(data) // 2])
        return self.step(do, data)


class _File:
    """A model file whose writes are steps."""

    def __init__(self, file: Any, disk: Disk) -> None:
        self._file, self._disk = file, disk

    def writelines(self, parts: Any) -> None:
        for part in parts:
            self.write(part)

    def write(self, part: bytes) -> int:
        written: int = self._disk.write(self._file.write, part)
        if written < len(part):
            self._disk.write(self._file.write, part[written:])
        return len(part)

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@contextmanager
def failing(fails: Step | None) -> Iterator[Disk]:
    """Make a step within the block fail."""
    disk = Disk(fails)

    def stepwise(do: Any) -> Any:
        return lambda *arguments, **named: disk.step(lambda: do(*arguments, **named))

    def write_some(file: Any, data: memoryview) -> int:
        return int(disk.write(lambda part: original(file, part), data))

    def fdopen(*arguments: Any, **named: Any) -> Any:
        return _File(os.fdopen(*arguments, **named), disk)

    original = files.write_some
    counted = {name: stepwise(getattr(os, name)) for name in ("fsync", "replace", "link", "fchmod", "chmod")}
    names = {name: getattr(os, name) for name in dir(os)}
    faulty = SimpleNamespace(**{**names, **counted, "fdopen": fdopen})
    temporary = SimpleNamespace(mkstemp=stepwise(tempfile.mkstemp))
    with ExitStack() as stack:
        for name in ("create", "cut", "sync"):
            stack.enter_context(patch.object(files, name, stepwise(getattr(files, name))))
        stack.enter_context(patch.object(files, "write_some", write_some))
        for name in _WRITERS:
            module = import_module(name) if find_spec(name) else None
            for own, instead in (("os", faulty), ("tempfile", temporary)):
                if module is not None and hasattr(module, own):
                    stack.enter_context(patch.object(module, own, instead))
        yield disk


def run(tries: int, seed: int, folder: Path) -> None:
    while tries > 0:
        tries -= _try_steps(seed, tries, folder / str(seed))
        seed += 1


def _try_steps(seed: int, most: int, folder: Path) -> int:
    """Make each step of a run fail, or ``most`` of them, in separate runs; returns how many."""
    rng = random.Random(seed)
    (folder / "whole").mkdir(parents=True)
    plan = Plan(
        learner=rng.choice(["explicit", "karma"]),
        checkpoint_every=rng.choice([5, 10, 20]),
        workers=rng.choice([1, 2]),
        quiet=True,
    )
    source = JsonLinesSource(
        str(_source(rng, folder)), resume=True, max_record_bytes=400, prefetch=plan.workers > 1
    )
    with failing(None) as disk:
        assert Run(_into(plan, folder / "whole"), source).execute() == 0
    wanted = _content(folder / "whole")
    numbers = rng.sample(range(1, disk.steps + 1), min(most, disk.steps))
    for number in numbers:
        steps = _steps(random.Random(f"{seed} {number}"), number, disk.steps)
        own = folder / str(number)
        own.mkdir()
        try:
            for step in steps:
                _disturbed(_into(plan, own), source, step)
            assert Run(_into(plan, own), source).execute() == 0
            for name, content in _content(own).items():
                assert content == wanted[name], f"another file of {name}"
            assert json.loads((own / "summary").read_bytes())["learner"] == plan.learner
        except Exception as error:
            repeat = f"repeat it with --tries {disk.steps} --seed {seed}"
            raise AssertionError(f"{error!r} after {steps}; {repeat}") from error
    return len(numbers)


def _steps(rng: random.Random, first: int, most: int) -> list[Step]:
    """The steps that fail in the first run, and in those after it."""
    steps = [Step(first, rng.choice(_WAYS))]
    while rng.random() < 0.3:
        steps.append(Step(rng.randint(1, most), rng.choice(_WAYS)))
    return steps


def _disturbed(plan: Plan, source: JsonLinesSource, step: Step) -> None:
    """Run until the failing step."""
    said = ""
    with failing(step), suppress(KilledError):
        try:
            Run(plan, source).execute()
        except StreamkarmaError as error:
            said = str(error)
    if said:
        assert step.way != "kill", said
        assert "\n" not in said, said
        assert "No space left on device" in said or "Input/output error" in said, said


def _into(plan: Plan, folder: Path) -> Plan:
    paths = {name: str(folder / name) for name in ("model", "predictions", "summary")}
    return plan._replace(**paths, dead_letters=str(folder / "dead"))


def _content(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in _COMPARED}


def _source(rng: random.Random, folder: Path) -> Path:
    """Lines of all kinds: events, labels alone, blank, broken and too long ones."""
    lines = []
    for i in range(_LINES):
        event = {f"x{j}": round(rng.gauss(0, 1), 3) for j in range(5) if rng.random() < 0.6}
        good = json.dumps({**event, "y": i % 2} if i < 2 or rng.random() < 0.9 else event)
        odd = rng.choice(["", "no", '{"a": {"b": [1, "c"]}, "y": 1}', '{"a": "%s"}' % ("z" * 500), "[1]"])
        lines.append(odd if i > 1 and rng.random() < 0.2 else good)
    text = "\n".join([*lines, *([""] if rng.random() < 0.5 else [])]).encode()
    text = b"\xef\xbb\xbf" * (rng.random() < 0.3) + text
    ending = rng.choice(["", ".gz", ".zst"])
    pack = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}[ending]
    path = folder / f"events.jsonl{ending}"
    path.write_bytes(pack(text))
    return path
