"""The cost of an event in ``streamkarma learn``, and what it depends on.

    python examples/scaling.py
    python examples/scaling.py --events 10000000 --rounds 3

Costs are in microseconds per event, from the JSON line to the learned label. They should not grow with the
length of the stream or the total number of attributes. With the budget, and with the number of attributes
observed in an event, they should grow at most linearly (except for the explicit learner with order 2, which
has a product for every pair of observed attributes, and eventually grows faster). What values are matters
little for few categories, and more where the model has to learn what each of many values or names means.

Seconds are taken from the summary, as the minimum over several rounds, minus those of a run on only the first
1,000 events, which measures the start-up. MiB is the peak memory of a process in the last round, some 45 of
which are the interpreter and its libraries.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click
import numpy as np
import orjson

from streamkarma.synthetic import StreamSpec, records

Record = dict[str, Any]

LEARNERS = {"explicit": ["--learner", "explicit", "--gamma", "2"], "karma": ["--budget", "512"]}
BUDGETS = (128, 256, 512, 1024, 2048)
OBSERVED = (10, 20, 40, 80)
#: Numbers of attributes, more than the 20 observed ones, since without missing values all events have the
#: same pattern.
WIDTHS = (40, 100, 1_000, 10_000)
#: What every second attribute's value becomes in the table of kinds.
VALUES: dict[str, Callable[[float, random.Random], Any]] = {
    "numbers": lambda value, drawn: value,
    "of one decimal": lambda value, drawn: round(value, 1),
    "booleans": lambda value, drawn: value > 0,
    "of 5 categories": lambda value, drawn: f"c{drawn.randrange(5)}",
    "of 300 categories": lambda value, drawn: f"c{drawn.randrange(300)}",
    "nested": lambda value, drawn: {"inner": value},
}
#: What is added to each event there.
ADDED: dict[str, Callable[[int, random.Random], Record]] = {
    "and a new category": lambda number, drawn: {"id": f"i{number}"},
    "and a new name": lambda number, drawn: {f"n{number}": 1},
    "and a time": lambda number, drawn: {"ts": 1_760_000_000 + 60 * number},
    "and ten words": lambda number, drawn: {"text": " ".join(f"w{drawn.randrange(3000)}" for _ in range(10))},
}
#: Number of first events that are excluded.
START = 1_000
#: The number of attributes when the observed ones vary, and of observed ones when the attributes vary.
ATTRIBUTES, PRESENT = 100, 20


class Cost(NamedTuple):
    """Microseconds per event, and the peak memory of the process in MiB."""

    microseconds: float
    memory: float


def usual(observed: int = 10, attributes: int = 20) -> Iterator[dict[str, Any]]:
    """Vectors of rank 5, with attributes missing independently."""
    return records(StreamSpec(attributes=attributes, rank=5, observed=observed / attributes), 1 << 62)


def wide(attributes: int) -> Iterator[dict[str, Any]]:
    """Independent attributes, with the same number in each event regardless of their total number."""
    random = np.random.default_rng(0)
    weights = random.normal(size=attributes)
    while True:
        present = random.choice(attributes, PRESENT, replace=False)
        values = random.normal(size=PRESENT).round(6)
        names = [f"x{place}" for place in present]
        yield dict(zip(names, values.tolist(), strict=True)) | {"y": int(weights[present] @ values > 0)}


def of_kind(kind: str) -> Iterator[Record]:
    """The usual stream with values of a kind, or something added."""
    drawn = random.Random(0)
    for number, record in enumerate(usual()):
        if kind in ADDED:
            yield ADDED[kind](number, drawn) | record
            continue
        odd = {name for name in record if name[1:].isdigit() and int(name[1:]) % 2}
        yield {name: VALUES[kind](value, drawn) if name in odd else value for name, value in record.items()}


def write(path: Path, stream: Iterator[dict[str, Any]], events: int) -> Path:
    """Write the first events of a stream to a file."""
    with path.open("wb") as file:
        file.writelines(orjson.dumps(record) + b"\n" for record in islice(stream, events))
    return path


def seconds(path: Path, options: Sequence[str]) -> tuple[float, float]:
    """The seconds that ``learn`` takes for a file, and its memory in MiB."""
    summary = path.with_suffix(".summary")
    command = [sys.executable, "-m", "streamkarma", "learn", str(path), "--no-predictions", "--quiet"]
    process = subprocess.Popen([*command, "--workers", "1", "--summary", str(summary), *options])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(process.returncode)
    return float(json.loads(summary.read_bytes())["seconds"]), usage.ru_maxrss / 1024


def cost(path: Path, options: Sequence[str], rounds: int) -> Cost:
    """The cost of an event of a file, without the first ones."""
    start = path.with_suffix(".start")
    with path.open("rb") as file:
        start.write_bytes(b"".join(islice(file, START)))
        events = sum(1 for _ in file)
    pairs = [(seconds(start, options)[0], *seconds(path, options)) for _ in range(rounds)]
    fixed, whole, memory = zip(*pairs, strict=True)
    return Cost(1e6 * (min(whole) - min(fixed)) / events, memory[-1])


def table(title: str, cells: Mapping[int, dict[str, Cost]] | Mapping[str, dict[str, Cost]]) -> None:
    """Print the cost of an event for each learner."""
    learners = list(next(iter(cells.values())))
    print(f"\n{title}")
    print(" " * 18 + "".join(f"{name + ', µs':>14}{'MiB':>6}" for name in learners))
    for case, row in cells.items():
        each = (row[name] for name in learners)
        shown = case if isinstance(case, str) else f"{case:,}"
        print(f"{shown:>18}" + "".join(f"{one.microseconds:>14.2f}{one.memory:>6.0f}" for one in each))


@click.command()
@click.option("--events", type=click.IntRange(min=20_000), default=1_000_000, show_default=True,
              help="Of the longest stream; the others have a tenth.")  # fmt: skip
@click.option("--rounds", type=click.IntRange(min=1), default=3, show_default=True)
def main(events: int, rounds: int) -> None:
    """Print the cost of an event by length, budget, number of attributes, and kind of values."""
    part = events // 10
    with TemporaryDirectory() as folder:
        path = Path(folder, "events.jsonl")

        def costs(stream: Iterator[dict[str, Any]], length: int) -> dict[str, Cost]:
            write(path, stream, length)
            return {name: cost(path, options, rounds) for name, options in LEARNERS.items()}

        lengths = [length for power in range(4, 10) if (length := 10**power) <= events]
        table("events of the stream: flat", {length: costs(usual(), length) for length in lengths})
        write(path, usual(), part)
        budgets = {size: {"karma": cost(path, ["--budget", str(size)], rounds)} for size in BUDGETS}
        table("support vectors: linear at most", budgets)
        observed = {number: costs(usual(number, ATTRIBUTES), part) for number in OBSERVED}
        table(f"attributes observed of {ATTRIBUTES}: linear", observed)
        widths = {number: costs(wide(number), part) for number in WIDTHS}
        table(f"total attributes, {PRESENT} of them observed: flat", widths)
        kinds = {kind: costs(of_kind(kind), part) for kind in (*VALUES, *ADDED)}
        table("values of every second attribute, or something added", kinds)


if __name__ == "__main__":
    main()
