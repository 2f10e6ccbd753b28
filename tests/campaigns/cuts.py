"""A run that ends and is resumed anywhere, with lines in blocks of any size and any number of workers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from streamkarma._engine import use_threads
from streamkarma.connectors.base import DeadLetter
from streamkarma.connectors.records import Records
from streamkarma.runtime.output import Output
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.session import Session
from tests.campaigns import repeat
from tests.campaigns._hostile import hostile_line
from tests.campaigns._runs import Run, any_run
from tests.campaigns._streams import line

TRIES = (
    "a stream of 40, 240 or 2,500 lines to any learner and task, with options of every kind (entities, late "
    "labels, costs, bounds, a regret sample), in blocks of any size, by one to three workers; the model is "
    "saved and loaded at one to eight places, or after each line"
)
PROMISE = "predictions, dead letters and the model file are those of the undisturbed run, byte for byte"
SHORT, LONG = 8, 3000


class Written(NamedTuple):
    """The output of a run: rows as bytes, and dead letters."""

    rows: list[bytes]
    letters: list[tuple[int, str, bytes]]

    def output(self) -> Output:
        """An output that fills it."""
        return Output(lambda rows, at: self.rows.append(rows.text()), self._keep_letter)

    def _keep_letter(self, letter: DeadLetter) -> None:
        self.letters.append((letter.position["line"], letter.error, letter.value))


def run(tries: int, seed: int, folder: Path) -> None:
    repeat(_attempt, tries, seed, folder)


def _attempt(rng: random.Random, folder: Path) -> None:
    plan, lines, times = _any_stream(rng)
    if rng.random() < 0.2:
        lines, times = lines[:40], times[:40]
        cuts = list(range(41))
    else:
        cuts = sorted({0, len(lines), *(rng.randrange(len(lines)) for _ in range(rng.randrange(1, 9)))})
    whole = _run(plan._replace(model=str(folder / "whole")), [_records(lines, times, 0, len(lines))])
    written = Written([], [])
    for begin, end in pairwise(cuts):
        blocks = _blocks(rng, lines, times, begin, end)
        _run(plan._replace(model=str(folder / "cut"), workers=rng.choice([1, 2, 3])), blocks, written)
    described = f"{plan}, cut at {cuts}"
    assert b"".join(written.rows) == b"".join(whole.rows), f"other predictions: {described}"
    assert written.letters == whole.letters, f"other dead letters: {described}"
    same = (folder / "cut").read_bytes() == (folder / "whole").read_bytes()
    assert same, f"another model: {described}"


def _run(plan: Plan, blocks: list[Records], written: Written | None = None) -> Written:
    """Learn some records with the existing model, or a new one, and save it."""
    written = written or Written([], [])
    use_threads(plan.workers)
    session = Session(plan, plan.model, lambda _: None)
    loop = session.new_loop(written.output())
    for records in blocks:
        loop.feed(records)
    session.close()
    session.save()
    use_threads(1)
    return written


def _any_stream(rng: random.Random) -> tuple[Plan, list[bytes], list[float]]:
    """A plan, the lines, and their times."""
    run = any_run(rng)
    lines = []
    for record in _late_labels(rng, run) if run.plan.pending else _labelled(rng, run):
        plain = line(record)
        lines.append(hostile_line(rng, plain, 2000) if rng.random() < 0.03 else plain)
    # Like the clocks of several sources, which may also go back.
    times = [1000.0 + number + rng.uniform(-4.0, 4.0) for number in range(len(lines))]
    return run.plan, lines, times


def _labelled(rng: random.Random, run: Run) -> Iterator[dict[str, Any]]:
    """Events, some without a label; the first comparison is at the 256th."""
    for number in range(_events(rng, run)):
        label = run.case.label(rng) if rng.random() < 0.9 else None
        yield {**run.record(rng, number), "y": label}


def _events(rng: random.Random, run: Run) -> int:
    """Few, or enough for some of the experts of a mixture to rest."""
    return 2500 if run.case.learner == "auto" and rng.random() < 0.2 else 240


def _late_labels(rng: random.Random, run: Run) -> Iterator[dict[str, Any]]:
    """Events without labels, and labels that arrive later, earlier, or never."""
    to_come: list[int] = []
    for number in range(120):
        key = number if rng.random() < 0.97 else rng.randrange(120)
        if rng.random() < 0.1:
            yield {**run.record(rng, key), "y": run.case.label(rng)}
            continue
        yield run.record(rng, key)
        to_come.append(key if rng.random() < 0.95 else number + 5)
        if to_come and rng.random() < 0.95:
            late = to_come.pop(rng.randrange(len(to_come)) if rng.random() < 0.3 else -1)
            to_all = run.entities and rng.random() < 0.5
            addressee = {"who": rng.choice(run.entities)} if to_all else {"id": late}
            yield {**addressee, "y": run.case.label(rng)}


def _blocks(
    rng: random.Random, lines: list[bytes], times: list[float], begin: int, end: int
) -> list[Records]:
    """A range of lines, in blocks of any size."""
    size = rng.choice([1, 3, 40, 1000])
    cuts = [*range(begin, end, size), end]
    return [_records(lines, times, first, last) for first, last in pairwise(cuts)]


def _records(lines: list[bytes], times: list[float], begin: int, end: int) -> Records:
    """Some of the lines, numbered from 1."""
    return Records(
        lines[begin:end], end - begin, lambda i: {"line": begin + i + 1}, time=lambda i: times[begin + i]
    )
