"""Bad lines of every kind among good ones, read in every way."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from streamkarma.connectors.base import DeadLetter
from streamkarma.connectors.jsonlines.lines import read_lines
from streamkarma.connectors.records import Records
from streamkarma.connectors.rows import Rows
from streamkarma.runtime.fields import Fields
from streamkarma.runtime.loop import Loop
from streamkarma.runtime.output import Counters, Output
from streamkarma.runtime.pending import Pending
from streamkarma.runtime.task import TaskModel
from tests.campaigns import repeat
from tests.campaigns._hostile import BOM, hostile_line
from tests.campaigns._streams import Case, any_case, line

TRIES = "a stream of 200 lines, half of them broken, malformed or extreme, to any learner and task"
PROMISE = (
    "nothing raised; each line is an event, a dead letter or blank; no good line is refused; "
    "a refused line leaves no trace; the same bits however the lines are read"
)
SHORT, LONG = 12, 4000

_LINES = 200


class Setting(NamedTuple):
    """A stream of lines, and how it is read.

    Attributes
    ----------
    case, fields, limit
        The case, the names that are not attributes, and the maximum length of a line in bytes.
    waiting
        Maximum number of events that wait for a label; 0 for none.
    """

    case: Case
    fields: Fields
    limit: int
    waiting: int


class Outcome(NamedTuple):
    """The results of a stream: rows as bytes, their lines, dead letters, counters, and the model."""

    rows: bytes
    lines: list[int]
    letters: list[tuple[int, str, bytes]]
    counters: Counters
    state: Any


def run(tries: int, seed: int, folder: Path) -> None:
    repeat(_attempt, tries, seed, folder)


def _attempt(rng: random.Random, folder: Path) -> None:
    setting, lines, good = _any_setting(rng)
    text = b"\n".join(lines) + rng.choice([b"", b"\n"])
    whole = _read(setting, text, lambda most: most)
    _check(setting, lines, good, whole)
    sizes = [rng.choice([1, 7, 100, 3000, 1 << 20]) for _ in range(7)]
    other = _read(setting, text, lambda most: rng.choice(sizes), rng.choice([1, 10, 8192]))
    assert other == whole, f"pieces: {_difference(other, whole)}"
    other, told = _read(setting, text, lambda most: most, dicts=True), whole._replace(letters=_unsaid(whole))
    other = other._replace(letters=_unsaid(other))
    assert other == told, f"by way of dicts: {_difference(other, told)}"
    refused = {number for number, *_ in whole.letters}
    bare = [lines[0].removeprefix(BOM), *lines[1:]]
    erased = [each for number, each in enumerate(bare, 1) if number not in refused]
    alone = _learn(setting, [Records(erased, len(erased), lambda i: {"line": i + 1})])
    assert (alone.rows, alone.state) == (whole.rows, whole.state), f"a trace: {_difference(alone, whole)}"


def _any_setting(rng: random.Random) -> tuple[Setting, list[bytes], set[int]]:
    """A setting, lines, and the numbers of the valid ones."""
    case = any_case(rng)
    fields = Fields(
        rng.choice(["y", "y", "y", "of.y"]),
        rng.choice([None, "id"]),
        rng.choice([None, "w"]),
        rng.choice([(), ("skip",)]),
    )
    waiting = rng.choice([0, 0, 0, 4]) if fields.id else 0
    setting = Setting(case, fields, rng.choice([1500, 4096, 1 << 16]), waiting)
    # The first lines determine the task, before any other can.
    lines = [_good(setting, rng, label) for label in case.labels or [0.37, 12.5]]
    good = set(range(1, len(lines) + 1))
    for number in range(len(lines) + 1, _LINES + 1):
        plain = _good(setting, rng, case.label(rng))
        if rng.random() < 0.5:
            good.add(number)
        else:
            plain = hostile_line(rng, plain, setting.limit)
        lines.append(plain)
    lines[0] = rng.choice([b"", BOM]) + lines[0]
    return setting, lines, good


def _good(setting: Setting, rng: random.Random, label: Any) -> bytes:
    fields, record = setting.fields, setting.case.record(rng)
    record[fields.target] = label
    if fields.id:
        record[fields.id] = rng.choice([rng.randrange(9), f"A-{rng.randrange(9)}"])
    if fields.weight and rng.random() < 0.5:
        record[fields.weight] = rng.choice([1, 0.5, 3])
    if fields.ignore:
        record["skip"] = rng.choice(["text", 12, None])
    return line(record)


def _read(setting: Setting, text: bytes, size: Callable[[int], int], block: int = 8192,
          dicts: bool = False) -> Outcome:  # fmt: skip
    """Learn from a file that arrives in pieces of the given sizes."""
    file = io.BytesIO(text)
    pieces = read_lines(lambda most: file.read(min(most, size(most))), setting.limit, block)
    return _learn(setting, (piece.records() for piece in pieces), dicts)


def _learn(setting: Setting, blocks: Iterable[Records], dicts: bool = False) -> Outcome:
    rows: list[bytes] = []
    lines: list[int] = []
    letters: list[tuple[int, str, bytes]] = []
    records: Records

    def keep(some: Rows, at: Any) -> None:
        rows.append(some.text())
        lines.extend(records.position(i)["line"] for i in at)

    def keep_letter(letter: DeadLetter) -> None:
        letters.append((letter.position["line"], letter.error, letter.value))

    case = setting.case
    task_model = TaskModel(case.task, dict(case.options), None, lambda _: None, case.learner)
    pending = Pending(setting.waiting) if setting.waiting else None
    loop = Loop(task_model, setting.fields, True, Output(keep, keep_letter), False, 1, pending)
    if dicts:
        loop._reading = None
    for records in blocks:
        loop.feed(records)
    header, arrays = task_model.model.state()
    waits = pending.summary() if pending is not None else None
    state = (header, task_model.state(), {name: array.tobytes() for name, array in arrays.items()}, waits)
    return Outcome(b"".join(rows), lines, letters, loop.counters, state)


def _check(setting: Setting, lines: list[bytes], good: set[int], found: Outcome) -> None:
    """Check an outcome on its own."""
    events, refused = set(found.lines), {number for number, *_ in found.letters}
    blank = {number for number, each in enumerate(lines, 1) if not each.removeprefix(BOM).strip()}
    assert len(events) == len(found.lines), "a line became two events"
    assert not events & refused, f"both an event and refused: {events & refused}"
    assert not good & refused, f"good lines refused: {[x for x in found.letters if x[0] in good][:3]}"
    lost = set(range(1, len(lines) + 1)) - events - refused - blank
    assert setting.waiting or not lost, f"lost: {[lines[number - 1] for number in lost][:3]}"
    counters = found.counters
    assert (counters.events, counters.rejected) == (len(events), len(refused)), counters
    rows = [orjson.loads(row) for row in found.rows.splitlines()]
    assert [row["n"] for row in rows] == list(range(1, len(events) + 1))


def _unsaid(outcome: Outcome) -> list[tuple[int, str, bytes]]:
    """The dead letters without their reasons."""
    return [(number, "", value) for number, _, value in outcome.letters]


def _difference(one: Outcome, other: Outcome) -> str:
    """The first difference between two outcomes."""
    for mine, theirs in zip(one.rows.splitlines(), other.rows.splitlines(), strict=False):
        if mine != theirs:
            return f"{mine!r} and {theirs!r}"
    for mine, theirs in zip(one.letters, other.letters, strict=False):
        if mine != theirs:
            return f"{mine!r} and {theirs!r}"
    parts = [name for name in Outcome._fields if getattr(one, name) != getattr(other, name)]
    return f"{', '.join(parts)} differ; events {one.counters.events} and {other.counters.events}"
