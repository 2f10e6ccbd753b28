"""The cost of remembering entities: CPU time per event, memory, and the longest pause.

    python examples/entity_scale.py                       # 1,000 and 100,000 entities; then a million
    python examples/entity_scale.py --most 50000 --events 100000 --rounds 1

The first table compares ``streamkarma learn`` with and without ``--entity``, by the CPU time of the whole
process, including the first event of each entity. To give learners the same number of coordinates in both
cases, nothing is carried: with ``complete`` every event has all ten attributes, with ``off`` it has two of
ten, and ``--carry off``, and both have ``--no-carry-labels``. The minimum over all rounds is reported.

The second table is for one process, from Python, event by event: each entity occurs once with all ten
attributes until the maximum number of entities is reached; then a fifth more replace the first ones. Not on
Windows.
"""

from __future__ import annotations

import gc
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory

import click
from arguments import Example, Numbers

from streamkarma import ConstantStepClassifier

NAMES = [f"x{n}" for n in range(10)]
#: The number of attributes of each event and the options, for the two ways to carry nothing.
WAYS = {"complete": (10, ["--carry", "fill"]), "off": (2, ["--carry", "off"])}
#: The number of lines in the second table until it is full.
PARTS = 5


def lines(entities: int, events: int, present: int) -> Iterator[str]:
    """Events of random entities, with ``present`` attributes each."""
    chance = random.Random(0)
    for _ in range(events):
        values = {name: round(chance.gauss(0.0, 1.0), 3) for name in sorted(chance.sample(NAMES, present))}
        y = int(sum(values.values()) > 0)
        yield json.dumps({"entity": f"e{chance.randrange(entities)}", **values, "y": y}) + "\n"


def processor_seconds(source: Path, options: Sequence[str]) -> float:
    """CPU time of ``streamkarma learn``, including its start and end."""
    command = [sys.executable, "-m", "streamkarma", "learn", str(source), "--ignore", "entity"]
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run([*command, "--learner", "sgd", "--no-predictions", "--quiet", *options], check=True)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def speed(counts: Sequence[int], events: int, rounds: int) -> None:
    print("| entities | | µs an event without | with `--entity` | more |\n|--:|---|--:|--:|--:|")
    for entities in counts:
        for way, (present, options) in WAYS.items():
            with TemporaryDirectory() as folder:
                source = Path(folder, "events.jsonl")
                with source.open("w") as file:
                    file.writelines(lines(entities, events, present))
                following = ["--entity", "entity", "--no-carry-labels", *options]
                times = [
                    [processor_seconds(source, chosen) for chosen in ([], following)] for _ in range(rounds)
                ]
            without, having = (1e6 * min(each) / events for each in zip(*times, strict=True))
            figures = f"{without:.2f} | {having:.2f} | {having - without:.2f}"
            print(f"| {entities:,} | {way} | {figures} |", flush=True)


def megabytes() -> float:
    """The peak memory of this process so far."""
    return getrusage(RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def growth(most: int) -> None:
    """Learn one event of each entity, with a fifth more entities than the maximum."""
    model = ConstantStepClassifier(entity="entity", max_entities=most)
    event: dict[str, float | str] = {"entity": "", **dict.fromkeys(NAMES, 0.0)}
    model.learn_one({**event, "entity": "first"}, True)
    # Python's garbage collector has its own pauses.
    gc.collect()
    gc.disable()
    print("| entities | µs an event | longest, ms | MB more |\n|--:|--:|--:|--:|")
    clock, before = time.thread_time, megabytes()
    for part in range(PARTS + 1):
        begin = last = clock()
        longest = 0.0
        for n in range(part * most // PARTS, (part + 1) * most // PARTS):
            event["entity"] = f"entity {n}"
            event["x0"] = n % 7
            model.learn_one(event, n % 2 == 0)
            now = clock()
            longest, last = max(longest, now - last), now
        seen, each = min((part + 1) * most // PARTS, most), 1e6 * PARTS * (last - begin) / most
        print(f"| {seen:,} | {each:.1f} | {1e3 * longest:.1f} | {megabytes() - before:.0f} |", flush=True)


@click.command(cls=Example, help=__doc__.splitlines()[0])
@click.option(
    "--entities",
    type=Numbers(1),
    default="1000,100000",
    show_default=True,
    help="Of the first table, with commas.",
)
@click.option("--events", type=click.IntRange(min=1), default=500_000, show_default=True)
@click.option("--rounds", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--most", type=click.IntRange(min=PARTS), default=1_000_000, show_default=True)
def main(entities: Sequence[int], events: int, rounds: int, most: int) -> None:
    speed(entities, events, rounds)
    growth(most)


if __name__ == "__main__":
    main()
