"""The cost of late labels: error and log loss of predictions made when the events arrived.

Every event has an id and no label; its label follows in a separate record, a given number of events later.

    python examples/late.py                              # generate lowrank, labels up to 5,000 events late
    python examples/late.py --seed 101 --delay 1000 --learner subspace
    python examples/late.py --stays FOLDER/physionet2012_events.jsonl.gz --events 60000
    python examples/late.py --print --delay 1000 | streamkarma learn --id id --pending 1000

For lowrank, events from twice the delay on are counted. In the physionet stream, the labels of the events of
a hospital stay follow its last event; all are counted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from arguments import COUNT, SEED, Example
from streams import stays

from streamkarma.synthetic import StreamSpec, records

Record = dict[str, Any]
LEARNERS = ("auto", "subspace", "explicit", "karma")
DELAYS = ("0", "100", "1000", "5000", "random")
#: Maximum delay in events with the delay ``random``.
MOST = 5000


def delayed(events: Sequence[Record], labels: Sequence[Any], due: Sequence[int]) -> Iterator[Record]:
    """Events without labels, each followed by the labels that are due after it."""
    waiting: dict[int, list[int]] = {}
    for t, then in enumerate(due):
        waiting.setdefault(then, []).append(t)
    for t, event in enumerate(events):
        yield {"id": t, **event}
        yield from ({"id": each, "y": labels[each]} for each in waiting.get(t, ()))


def lowrank(seed: int, count: int, delay: str) -> tuple[Iterable[Record], int]:
    """A stream of low rank, and the first event that is counted."""
    events = list(records(StreamSpec(seed=seed), count))
    if delay == "0":
        return ({"id": t, **event} for t, event in enumerate(events)), 0
    labels = [event.pop("y") for event in events]
    due = np.arange(count)
    if delay == "random":
        due += np.random.default_rng(seed).integers(0, MOST + 1, count)
        return delayed(events, labels, due.tolist()), 2 * MOST
    return delayed(events, labels, (due + int(delay)).tolist()), 2 * int(delay)


def in_hospital(path: Path, count: int) -> tuple[Iterable[Record], int]:
    """Hospital stays, with the labels of each after its last event."""
    stream = stays(path).first(count)
    last = {group: t for t, group in enumerate(stream.groups)}
    return delayed(stream.events, stream.labels, [last[group] for group in stream.groups]), 0


def measured(stream: Iterable[Record], begin: int, learner: str) -> tuple[int, float, float]:
    """The number of labelled events from ``begin`` on, and the error and log loss of their predictions."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in stream))
        options = ["--id", "id", "--pending", "100000", "--predictions", "-", "--quiet"]
        command = [sys.executable, "-m", "streamkarma", "learn", "--learner", learner, *options, str(path)]
        done = subprocess.run(command, capture_output=True, check=True)
    rows = [row for row in map(json.loads, done.stdout.splitlines()) if "target" in row]
    counted = [row for row in rows if row["id"] >= begin and "probability" in row]
    if not counted:
        raise click.UsageError(f"no label comes for an event from number {begin} on; give more --events")
    right = np.array([row["prediction"] == row["target"] for row in counted])
    chances = np.array([row["probability"] for row in counted])
    chances = np.where(right, chances, 1.0 - chances)
    return len(counted), float((~right).mean()), float(-np.log(np.maximum(chances, 1e-15)).mean())


@click.command(cls=Example)
@click.option("--delay", "delays", type=click.Choice(DELAYS), multiple=True, help="Only these delays.")
@click.option("--seed", "seeds", type=SEED, multiple=True, default=[100], help="Seeds of lowrank.")
@click.option("--events", type=COUNT, default=60_000, show_default=True, help="How many events.")
@click.option(
    "--learner", "learners", type=click.Choice(LEARNERS), multiple=True, help="Only these learners."
)
@click.option("--stays", "path", type=click.Path(exists=True, path_type=Path), help="The physionet stream.")
@click.option("--print", "printed", is_flag=True, help="Print the first stream instead.")
def main(delays: Sequence[str], seeds: Sequence[int], events: int, learners: Sequence[str],
         path: Path | None, printed: bool) -> None:  # fmt: skip
    """Print a table as Markdown, row by row."""
    streams: list[tuple[str, Callable[[], tuple[Iterable[Record], int]]]] = [
        (f"lowrank, seed {seed}, delay {delay}", partial(lowrank, seed, events, delay))
        for seed in seeds
        for delay in delays or DELAYS
    ]
    if path is not None:
        streams = [("physionet2012", partial(in_hospital, path, events))]
    if printed:
        for record in streams[0][1]()[0]:
            print(json.dumps(record))
        return
    print("| stream | learner | events | error | log loss |\n|---|---|--:|--:|--:|")
    for name, make in streams:
        for learner in learners or LEARNERS:
            count, error, loss = measured(*make(), learner)
            print(f"| {name} | {learner} | {count:,} | {error:.4f} | {loss:.4f} |", flush=True)


if __name__ == "__main__":
    main()
