"""A run that ends and is resumed anywhere, with lines in blocks of any size."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from streamkarma.connectors.base import DeadLetter
from streamkarma.connectors.records import Records
from streamkarma.runtime.output import Output
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.session import Session
from tests.campaigns import repeat
from tests.campaigns._hostile import hostile_line
from tests.campaigns._streams import Case, any_case, line

TRIES = (
    "a stream of up to 240 lines to any learner and task, some with late labels or a regret sample, "
    "in blocks of any size; the model is saved and loaded at one to eight places, or after each line"
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
    whole = _run(plan._replace(model=str(folder / "whole")), [_records(lines, times, 0, len(lines))])
    if rng.random() < 0.2:
        lines, times = lines[:40], times[:40]
        whole = _run(plan._replace(model=str(folder / "whole40")), [_records(lines, times, 0, 40)])
        cuts = list(range(41))
    else:
        cuts = sorted({0, len(lines), *(rng.randrange(len(lines)) for _ in range(rng.randrange(1, 9)))})
    written = Written([], [])
    for begin, end in pairwise(cuts):
        blocks = _blocks(rng, lines, times, begin, end)
        _run(plan._replace(model=str(folder / "cut")), blocks, written)
    described = f"{plan}, cut at {cuts}"
    assert b"".join(written.rows) == b"".join(whole.rows), f"other predictions: {described}"
    assert written.letters == whole.letters, f"other dead letters: {described}"
    undisturbed = folder / ("whole40" if len(lines) == 40 else "whole")
    assert (folder / "cut").read_bytes() == undisturbed.read_bytes(), f"another model: {described}"


def _run(plan: Plan, blocks: list[Records], written: Written | None = None) -> Written:
    """Learn some records with the existing model, or a new one, and save it."""
    written = written or Written([], [])
    session = Session(plan, plan.model, lambda _: None)
    loop = session.new_loop(written.output())
    for records in blocks:
        loop.feed(records)
    session.close()
    session.save()
    return written


def _any_stream(rng: random.Random) -> tuple[Plan, list[bytes], list[float]]:
    """A plan, the lines, and their times."""
    case = any_case(rng)
    waiting = rng.choice([0, 0, 3, 30])
    fields = {"id": "id"} if waiting or rng.random() < 0.3 else {}
    if rng.random() < 0.3:
        fields["weight"] = "w"
    regret = rng.choice(["none", "none", "zero", "mean,complete-case"])
    plan = Plan(
        task=case.task,
        learner=case.learner,
        options=case.options,
        fields=fields,
        pending=waiting or None,
        pending_seconds=rng.choice([None, 15.0]) if waiting else None,
        regret=regret,
        # Too small for all events, or large enough.
        regret_memory=None if regret == "none" else rng.choice([20, 500]),
    )
    records = _late_labels(rng, case) if waiting else _labelled(rng, case)
    lines = []
    for record in records:
        if "weight" in fields:
            record["w"] = rng.choice([1, 1, 0.25, 4, 0])
        plain = line(record)
        lines.append(hostile_line(rng, plain, 2000) if rng.random() < 0.03 else plain)
    # Like the clocks of several sources, which may also go back.
    times = [1000.0 + number + rng.uniform(-4.0, 4.0) for number in range(len(lines))]
    return plan, lines, times


def _labelled(rng: random.Random, case: Case) -> Iterator[dict[str, Any]]:
    """Events, some without a label; the first comparison is at the 256th."""
    for number in range(240):
        label = case.label(rng) if rng.random() < 0.9 else None
        yield {"id": number, **case.record(rng), "y": label}


def _late_labels(rng: random.Random, case: Case) -> Iterator[dict[str, Any]]:
    """Events without labels, and labels that arrive later, earlier, or never."""
    to_come: list[int] = []
    for number in range(120):
        key = number if rng.random() < 0.97 else rng.randrange(120)
        if rng.random() < 0.1:
            yield {"id": key, **case.record(rng), "y": case.label(rng)}
            continue
        yield {"id": key, **case.record(rng)}
        to_come.append(key if rng.random() < 0.95 else number + 5)
        if to_come and rng.random() < 0.95:
            late = to_come.pop(rng.randrange(len(to_come)) if rng.random() < 0.3 else -1)
            yield {"id": late, "y": case.label(rng)}


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
