"""Events per second of ``streamkarma learn``, beside a loop around river's LogisticRegression.

Both read the same file of incomplete events, predict each, and learn from its label:

* river: orjson.loads, ``predict_proba_one`` and ``learn_one`` in a Python loop;
* streamkarma: ``streamkarma learn FILE --no-predictions``.

    python examples/speed.py --events 1000000 --rounds 3

Each is a process of its own, timed from start to end with interpreter and imports; the part
without those is printed beside it. They run in turn, so that whatever else the machine does
falls on both. Nothing is pinned to a core, and neither uses more than one: orjson, river and
what numba compiled for streamkarma are all single-threaded. The learners are not the same, so
their progressive error rates stand beside the speeds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click

STREAMKARMA = [sys.executable, "-m", "streamkarma"]


class Timed(NamedTuple):
    """Events per second of the whole process and of the loop in it, and the error rate."""

    whole: float
    inner: float
    error: float


def make(path: Path, events: int) -> Path:
    """Write a stream of which half of the values are observed."""
    options = ["--attributes", "20", "--rank", "5", "--observed", "0.5"]
    with path.open("wb") as file:
        command = [*STREAMKARMA, "generate", "lowrank", "--events", str(events), *options]
        subprocess.run(command, stdout=file, check=True)
    return path


def run_river(path: Path) -> None:
    """Predict and learn every line; what came of it goes to stdout as JSON."""
    import orjson
    from river import linear_model

    model = linear_model.LogisticRegression()
    errors = events = 0
    begin = time.perf_counter()
    with path.open("rb") as file:
        for line in file:
            x = orjson.loads(line)
            y = x.pop("y") == 1
            errors += (model.predict_proba_one(x)[True] > 0.5) != y
            model.learn_one(x, y)
            events += 1
    print(json.dumps({"seconds": time.perf_counter() - begin, "error_rate": errors / events}))


def time_river(path: Path, events: int) -> Timed:
    """Run the loop in a process of its own."""
    begin = time.perf_counter()
    command = [sys.executable, __file__, "--river-loop", str(path)]
    result = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    whole = time.perf_counter() - begin
    return Timed(events / whole, events / result["seconds"], result["error_rate"])


def time_streamkarma(path: Path, events: int, budget: int) -> Timed:
    """Run ``streamkarma learn``."""
    summary = path.with_suffix(".summary")
    options = ["--no-predictions", "--quiet", "--summary", str(summary), "--budget", str(budget)]
    begin = time.perf_counter()
    subprocess.run([*STREAMKARMA, "learn", str(path), *options], check=True)
    whole = time.perf_counter() - begin
    result = json.loads(summary.read_bytes())
    return Timed(events / whole, events / result["seconds"], result["metrics"]["error_rate"])


def row(name: str, river: Timed, karma: Timed, ratio: float) -> str:
    """One line of the table."""
    cells = "".join(f"{each.whole:>11,.0f}{each.inner:>11,.0f}{each.error:>8.4f}" for each in (river, karma))
    return f"{name:<7}{cells}{ratio:>8.2f}"


def compare(path: Path, events: int, rounds: int, budget: int) -> None:
    """Time both in turn and print the table."""
    print(f"{'':<7}{'river':>11}{'':19}{'streamkarma':>11}")
    print(f"{'round':<7}" + f"{'process':>11}{'loop':>11}{'error':>8}" * 2 + f"{'ratio':>8}")
    rivers, karmas, ratios = [], [], []
    for number in range(1, rounds + 1):
        rivers.append(time_river(path, events))
        karmas.append(time_streamkarma(path, events, budget))
        ratios.append(karmas[-1].whole / rivers[-1].whole)
        print(row(str(number), rivers[-1], karmas[-1], ratios[-1]), flush=True)
    river, karma = (Timed(*map(median, zip(*each, strict=True))) for each in (rivers, karmas))
    print(row("median", river, karma, median(ratios)))


@click.command()
@click.option("--events", type=click.IntRange(min=1), default=1_000_000, show_default=True)
@click.option("--rounds", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--budget", type=click.IntRange(min=0), default=512, show_default=True, help="0 for no limit.")
@click.option("--river-loop", type=Path, hidden=True, help="Be the process that is timed for river.")
def main(events: int, rounds: int, budget: int, river_loop: Path | None) -> None:
    """Compare the speed of streamkarma with that of a loop around a linear river model."""
    if river_loop:
        run_river(river_loop)
        return
    with TemporaryDirectory() as folder:
        small = make(Path(folder, "small.jsonl"), 1_000)
        time_river(small, 1_000)
        time_streamkarma(small, 1_000, budget)
        print("Both ran once over 1,000 events before, so that compiling is not in the figures.")
        print(f"Events per second over {events:,} events, of the whole process and of the loop in it:\n")
        compare(make(Path(folder, "events.jsonl"), events), events, rounds, budget)
    print("\nratio: streamkarma to river, whole processes; error: progressive error rate")


if __name__ == "__main__":
    main()
