"""The cost of an event on Spark, compared with the command line, and the gain from a second executor.

    pip install 'streamkarma[spark]'
    python examples/backfill_speed.py
    python examples/backfill_speed.py --events 2000000 --learner explicit

Each variant learns all events, and then only a tenth; the difference excludes the start-up. CPU time is
measured for the whole machine (driver, executors, their JVMs and Python workers), on which nothing else
should run. It needs Linux, and one core per executor.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import click
from arguments import COUNT, LEARNER, Example

#: Columns of /proc/stat with busy time: user, nice, system, interrupts; see proc(5).
BUSY = (1, 2, 3, 6, 7)
#: The stream repeats this many events, which does not change the cost of reading and learning.
DISTINCT = 500_000
#: Settings that keep Spark on this machine.
SETTINGS = ["--spark", "spark.ui.enabled=false", "--spark", "spark.driver.host=127.0.0.1"]


class Cost(NamedTuple):
    """Seconds of CPU time, over all cores, and of wall-clock time."""

    processor: float
    clock: float


def measure(command: list[str], folder: Path) -> Cost:
    """The cost of a command, including everything that it starts."""
    before, begin = busy(), time.perf_counter()
    subprocess.run([sys.executable, "-m", "streamkarma", *command, "--quiet"], check=True, cwd=folder)
    return Cost(busy() - before, time.perf_counter() - begin)


def busy() -> float:
    """CPU time of all cores so far, in seconds."""
    counts = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return sum(int(counts[at]) for at in BUSY) / os.sysconf("SC_CLK_TCK")


def ways(learner: str) -> dict[str, list[str]]:
    """The commands to compare, without their input."""
    learn = ["learn", "--learner", learner, "--no-predictions", "--model", "one.karma", "--fresh"]
    spark = ["backfill", "--learner", learner, "--task", "binary", "--model", "many.karma", *SETTINGS]
    masters = {f"Spark, {n} executor{'s'[: n > 1]}": f"local-cluster[{n},1,1024]" for n in (1, 2)}
    return {"command line": learn} | {name: [*spark, "--master", url] for name, url in masters.items()}


@click.command(cls=Example, help=__doc__.splitlines()[0])
@click.option("--events", type=click.IntRange(min=10), default=10_000_000, show_default=True)
@click.option("--learner", type=LEARNER, default="auto", show_default=True)
@click.option("--partitions", type=COUNT, default=8, show_default=True)
def main(events: int, learner: str, partitions: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate = ["generate", "lowrank", "--noise", "0.05", "--events", str(min(DISTINCT, events))]
        made = subprocess.run(
            [sys.executable, "-m", "streamkarma", *generate], check=True, capture_output=True
        )
        inputs = {}
        for count in (events // 10, events):
            inputs[count] = folder / f"{count}.jsonl"
            lines = made.stdout.splitlines(keepends=True)
            with inputs[count].open("wb") as file:
                for start in range(0, count, len(lines)):
                    file.writelines(lines[: count - start])
        few, many = inputs
        print(f"{events:,} events of lowrank, {learner}")
        print(f"{'microseconds an event':<24}{'processor':>12}{'clock':>12}")
        for way, command in ways(learner).items():
            costs = []
            for path in inputs.values():
                parts = ["--partitions", str(partitions)] if command[0] == "backfill" else []
                costs.append(measure([command[0], str(path), *command[1:], *parts], folder))
                (folder / "many.karma").unlink(missing_ok=True)
            each = [1e6 * (after - before) / (many - few) for before, after in zip(*costs, strict=True)]
            print(f"{way:<24}{each[0]:>12.2f}{each[1]:>12.2f}", flush=True)


if __name__ == "__main__":
    main()
