"""Corrupt a stream of JSON lines like broken sensors, careless exports and busy systems.

    streamkarma generate lowrank --events 60000 | python examples/spoil.py outliers | streamkarma learn

``outliers``: one value in a thousand is multiplied by 10³ to 10⁸. ``sentinels``: one value in twenty is
replaced by -9999. ``strings``: every number becomes a string. ``words``: one value in ten becomes "N/A".
``gaps``: one value in ten is removed. ``ids``: an id, a timestamp and one of 5,000 users are added, none of
which is informative. ``columns``: 100 columns of noise are added, each observed half of the time. ``labels``:
49 of 50 events lose their label. ``nothing``: the stream is unchanged.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import click
from inputs import json_records

Record = dict[str, Any]


def by_value(change: Callable[[float, random.Random], Any]) -> Callable[[Record, str, random.Random], Record]:
    """A change of every number except the target; None removes the number."""

    def spoil(record: Record, target: str, rng: random.Random) -> Record:
        numbers = {
            name for name, value in record.items() if name != target and isinstance(value, int | float)
        }
        changed = {name: change(v, rng) if name in numbers else v for name, v in record.items()}
        return {name: value for name, value in changed.items() if value is not None}

    return spoil


class WithIds:
    """Adds an id, a time that advances by about a quarter of an hour, and a user."""

    def __init__(self) -> None:
        self.time = datetime(2025, 1, 1, tzinfo=UTC)

    def __call__(self, record: Record, _: str, rng: random.Random) -> Record:
        self.time += timedelta(seconds=rng.expovariate(1 / 900))
        ids = {"event_id": f"{rng.getrandbits(128):032x}", "ts": self.time.isoformat(timespec="seconds")}
        return {**ids, "user": f"u{rng.randrange(5000)}", **record}


def with_columns(record: Record, _: str, rng: random.Random) -> Record:
    """A record with columns of noise."""
    noise = {f"n{i}": round(rng.gauss(0.0, 1.0), 6) for i in range(100) if rng.random() < 0.5}
    return {**record, **noise}


def without_labels(record: Record, target: str, rng: random.Random) -> Record:
    """A record that rarely keeps its label."""
    if rng.random() >= 0.02:
        record.pop(target, None)
    return record


def outlier(value: float, rng: random.Random) -> float:
    """A value that is rarely replaced by a far too large one."""
    return float(value * 10.0 ** rng.uniform(3.0, 8.0)) if rng.random() < 0.001 else value


KINDS: dict[str, Callable[[Record, str, random.Random], Record]] = {
    "nothing": lambda record, _target, _rng: record,
    "outliers": by_value(outlier),
    "sentinels": by_value(lambda value, rng: -9999.0 if rng.random() < 0.05 else value),
    "strings": by_value(lambda value, _: str(value)),
    "words": by_value(lambda value, rng: "N/A" if rng.random() < 0.1 else value),
    "gaps": by_value(lambda value, rng: None if rng.random() < 0.1 else value),
    "ids": WithIds(),
    "columns": with_columns,
    "labels": without_labels,
}


@click.command()
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.option("--target", default="y", show_default=True, help="The label, which is not changed.")
@click.option("--seed", default=0, show_default=True, help="The same seed, the same bytes.")
def main(kind: str, target: str, seed: int) -> None:
    """Read JSON lines from standard input, and write corrupted ones to standard output."""
    rng, spoil = random.Random(seed), KINDS[kind]
    for record in json_records(sys.stdin.buffer, json.loads):
        sys.stdout.write(json.dumps(spoil(record, target, rng)) + "\n")


if __name__ == "__main__":
    main()
