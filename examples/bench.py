"""Compare the speed and accuracy of streamkarma and other tools on a stream of incomplete events.

    python examples/bench.py
    python examples/bench.py --events 200000 --python --json bench.json --plot bench.png
    python examples/bench.py --check

The events have 20 attributes of rank 5, each observed half of the time, and are stored in a file. Every tool
runs as a separate process on that file, in turn and in several rounds, so that other load on the machine
affects all of them alike: once with one core, if the system supports pinning, and once with all cores.

Events per second are measured for the whole process, including the interpreter and imports; the loop, in
microseconds per event, is measured by the tool itself. All figures are medians; ratios of whole processes are
medians over the rounds. Errors are those of predictions made before the label was learned. Each tool first
runs on a few events, so that nothing is loaded from disk while it is timed.

--python also times ``learn_one`` and ``predict_proba_one`` on events that are already Python dicts.
--check fails if a ratio is below its threshold; thresholds are for the default number of events.
The tools are in examples/bench_peers.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click
from arguments import COUNT, SEED, Example, in_folder, picture
from bench_calls import NUMBERS, STRINGS, calls
from bench_peers import ALL, ONE, RIVER, VW, VW_LINEAR, Timed, command, installed, places, write_vw
from bench_picture import figure

#: The results of each round, by place and tool.
Results = dict[tuple[str, str], list[Timed]]
#: A row of the table, as JSON.
Row = dict[str, Any]


class Mark(NamedTuple):
    """A tool must have ``least`` times the speed of another, and with ``no_worse`` no higher error rate."""

    where: str
    tool: str
    other: str
    least: float
    no_worse: bool = False


MARKS = (
    # Both use pairs of features; one parses JSON, the other its own format.
    Mark(ONE, "explicit", VW, 1.7, no_worse=True),
    Mark(ONE, "explicit", VW_LINEAR, 1.3, no_worse=True),
    Mark(ONE, "karma 512", VW, 1.35),
    Mark(ONE, "subspace", VW, 1.3, no_worse=True),
    # Eighteen learners and their blend, for the error of the best.
    Mark(ONE, "auto", RIVER, 0.7, no_worse=True),
    # With two cores, one can parse, for which Vowpal Wabbit also uses its second.
    Mark(ALL, "explicit, 2 workers", VW, 2.0),
    Mark(ALL, "auto, 2 workers", RIVER, 1.2),
    # A line of JSON for every event.
    Mark(ONE, "explicit, written", "explicit", 0.85),
    # From Python: the inverse of their time relative to river's.
    Mark(NUMBERS, "explicit", RIVER, 1 / 0.5),
    Mark(NUMBERS, "karma 512", RIVER, 1 / 0.7),
    Mark(NUMBERS, "auto", RIVER, 1 / 2.5),
    Mark(STRINGS, "explicit", RIVER, 1 / 0.2),
    Mark(STRINGS, "karma 512", RIVER, 1 / 0.3),
    Mark(STRINGS, "auto", RIVER, 1 / 0.8),
)

#: Let Python cache bytecode, as for ordinary users.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@contextmanager
def cores(where: str) -> Iterator[None]:
    """Pin processes started here to one core, if the system supports it."""
    if where == ALL or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, [max(before)])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def make(path: Path, events: int, seed: int) -> Path:
    """Write the stream, in both formats."""
    command = [sys.executable, "-m", "streamkarma", "generate", "lowrank", "--events", str(events)]
    options = ["--attributes", "20", "--rank", "5", "--observed", "0.5", "--seed", str(seed)]
    with path.open("wb") as file:
        subprocess.run([*command, *options], stdout=file, check=True)
    write_vw(path)
    return path


def timed(tool: str, path: Path, events: int) -> Timed:
    """Run a tool."""
    summary = path.with_suffix(".summary")
    words = command(tool, path, summary)
    begin = time.perf_counter()
    subprocess.run(words, check=True, env=_ENVIRONMENT)
    whole = time.perf_counter() - begin
    result = json.loads(summary.read_bytes())
    return Timed(events / whole, events / result["seconds"], result["metrics"]["error_rate"])


def measure(folder: Path, events: int, rounds: int, seed: int, python: bool) -> Results:
    """Time all tools in turn, round after round."""
    tools = list(installed())
    small = make(folder / "small.jsonl", 1_000, seed)
    for tool in tools:
        timed(tool, small, 1_000)
    path = make(folder / "events.jsonl", events, seed)
    results: Results = defaultdict(list)
    for number in range(1, rounds + 1):
        for where in (ONE, ALL):
            for tool in (name for name in tools if where in places(name)):
                print(f"round {number}: {where}, {tool}", file=sys.stderr)
                with cores(where):
                    results[where, tool].append(timed(tool, path, events))
        with cores(ONE):
            for kind, found in calls(path).items() if python else ():
                for tool, result in found.items():
                    results[kind, tool].append(result)
    return results


def summarised(results: Results) -> Iterator[Row]:
    """Medians, and medians of the ratios to all others in the same place."""
    for (where, tool), runs in results.items():
        whole, loop, error = map(median, zip(*runs, strict=True))
        others = {other: each for (place, other), each in results.items() if place == where}
        over = {
            other: median(mine.whole / its.whole for mine, its in zip(runs, each, strict=True))
            for other, each in others.items()
        }
        yield {"where": where, "tool": tool, "events_per_second": whole, "loop": loop, "error": error,
               "over": over}  # fmt: skip


def table(rows: Iterable[Row]) -> Iterator[str]:
    """Lines of the table."""
    for where, group in groupby(rows, key=itemgetter("where")):
        yield f"\n{where:<22}{'events/s':>10}{'µs, loop':>10}{'x river':>9}{'x vw':>7}{'error':>9}"
        for row in group:
            over = row["over"]
            river, vw = (f"{over[name]:.2f}" if name in over else "-" for name in (RIVER, VW))
            yield (f"{row['tool']:<22}{row['events_per_second']:>10,.0f}{1e6 / row['loop']:>10.2f}"
                   f"{river:>9}{vw:>7}{row['error']:>9.4f}")  # fmt: skip


def verdicts(rows: Iterable[Row]) -> Iterator[tuple[bool, str]]:
    """Whether each mark holds, if known, and a line about it."""
    known = {(row["where"], row["tool"]): row for row in rows}
    for mark in MARKS:
        said = f"{mark.where}, {mark.tool} to {mark.other}, at least {mark.least:.2f}"
        said += ", erring no more often" if mark.no_worse else ""
        mine, other = (known.get((mark.where, tool)) for tool in (mark.tool, mark.other))
        if mine is None or other is None:
            yield True, f"unchecked  {said}"
            continue
        ratio = mine["over"][mark.other]
        holds = ratio >= mark.least and not (mark.no_worse and mine["error"] > other["error"])
        errors = f" ({mine['error']:.4f} to {other['error']:.4f})" if mark.no_worse else ""
        yield holds, f"{'holds' if holds else 'FAILS':<11}{said}: {ratio:.2f}{errors}"


@click.command(cls=Example)
@click.option("--events", type=COUNT, default=1_000_000, show_default=True)
@click.option("--rounds", type=COUNT, default=3, show_default=True)
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option("--python", is_flag=True, help="Time calls from Python as well.")
@click.option("--check", is_flag=True, help="The same, and fail if a ratio is below its mark.")
@click.option(
    "--json", "file", metavar="FILE", callback=in_folder, help="Write the rows to this file as well."
)
@click.option("--plot", callback=picture, metavar="FILE", help="Draw speed against error, as PNG.")
def main(
    events: int, rounds: int, seed: int, python: bool, check: bool, file: str | None, plot: str | None
) -> None:
    """Print the table of speeds, ratios and errors."""
    with TemporaryDirectory() as folder:
        rows = list(summarised(measure(Path(folder), events, rounds, seed, python or check)))
    print("\n".join(table(rows)))
    if file:
        Path(file).write_text(json.dumps(rows, indent=1))
    if plot:
        figure(rows).savefig(plot)
    if check:
        print()
        judged = list(verdicts(rows))
        print("\n".join(said for _, said in judged))
        sys.exit(not all(holds for holds, _ in judged))


if __name__ == "__main__":
    main()
