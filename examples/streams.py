"""The binary streams of examples/accuracy.py, with the order in which learners see events and labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from inputs import opened, table_rows
from numpy.typing import NDArray

from streamkarma.synthetic import StreamSpec, records

Event = dict[str, Any]

SYNTHETIC = {
    "lowrank": (StreamSpec(noise=0.05), 200_000),
    "blocks": (StreamSpec(noise=0.05, blocks=3), 50_000),
    "mnar": (StreamSpec(noise=0.05, missing="mnar"), 50_000),
}
#: The positive label, and the columns that are not attributes.
TABLES = {"weather_aus": ("Yes", ["Date"]), "adult": (">50K", [])}
STAYS = "physionet2012_events"
HAPHAZARD = ("australian", "ionosphere", "wbc", "ipd", "german", "krvskp")


class Stream(NamedTuple):
    """Events and their labels.

    Consecutive events of the same group get their labels together, after the group. The complete vectors are
    included if known.
    """

    events: list[Event]
    labels: list[bool]
    groups: Sequence[int]
    complete: NDArray[np.float64] | None = None

    def first(self, events: int | None) -> Stream:
        """The beginning of the stream, or all of it."""
        complete = None if self.complete is None else self.complete[:events]
        return Stream(self.events[:events], self.labels[:events], self.groups[:events], complete)


class Step(NamedTuple):
    """An event that is predicted if ``asked``, and then learned if it has a label."""

    x: Event
    y: bool | None
    asked: bool


def steps(stream: Stream) -> Iterator[Step]:
    """The steps of a learner: each group is first predicted completely, and then learned."""
    rows = zip(stream.events, stream.labels, stream.groups, strict=True)
    for _, neighbours in groupby(rows, key=lambda row: row[2]):
        group = [(x, y) for x, y, _ in neighbours]
        if len(group) == 1:
            yield Step(*group[0], asked=True)
        else:
            yield from (Step(x, None, asked=True) for x, _ in group)
            yield from (Step(x, y, asked=False) for x, y in group)


def sources(data: Path | None, folder: Path | None) -> dict[str, Callable[[], Stream]]:
    """Functions that make or read each stream; the real ones only if their folders are given."""
    found: dict[str, Callable[[], Stream]] = {
        name: partial(synthetic, plan, events) for name, (plan, events) in SYNTHETIC.items()
    }
    if data:
        for name, (positive, left_out) in TABLES.items():
            found[name] = partial(table, data / f"{name}.csv.gz", positive, left_out)
        found[STAYS] = partial(stays, data / f"{STAYS}.jsonl.gz")
    if folder:
        found |= {name: partial(haphazard, folder / f"{name}.jsonl.gz") for name in HAPHAZARD}
    return found


def synthetic(plan: StreamSpec, events: int) -> Stream:
    """A stream like that of ``streamkarma generate``."""
    made = list(records(plan, events, full=True))
    complete = np.array([list(record.pop("full").values()) for record in made])
    return Stream(made, [record.pop("y") == 1 for record in made], range(events), complete)


def table(path: Path, positive: str, left_out: Sequence[str]) -> Stream:
    """A table with a header and the label in its last column; an empty cell is missing."""
    header, *rows = table_rows(path)
    *columns, labels = zip(*rows, strict=True)
    kept = {name: parsed(cells) for name, cells in zip(header[:-1], columns, strict=True)}
    for name in left_out:
        del kept[name]
    events = [
        {name: value for name, value in zip(kept, row, strict=True) if value != ""}
        for row in zip(*kept.values(), strict=True)
    ]
    return Stream(events, [label == positive for label in labels], range(len(events)))


def parsed(cells: Sequence[str]) -> list[float | str]:
    """The cells of a column, as numbers if all except the empty ones are numbers."""
    try:
        return [float(cell) if cell else "" for cell in cells]
    except ValueError:
        return list(cells)


def stays(path: Path) -> Stream:
    """Hospital stays: ``{"x": {...}, "y": label, "p": stay, "t": minutes}`` per line.

    The time is an attribute. The number of the stay is not; it determines when a label becomes known.
    """
    with opened(path) as file:
        lines = [json.loads(line) for line in file]
    events = [{**line["x"], "t": line["t"]} for line in lines]
    return Stream(events, [line["y"] == 1 for line in lines], [line["p"] for line in lines])


def haphazard(path: Path) -> Stream:
    """One event per line, with its label as ``y``."""
    with opened(path) as file:
        events = [json.loads(line) for line in file]
    return Stream(events, [event.pop("y") == 1 for event in events], range(len(events)))
