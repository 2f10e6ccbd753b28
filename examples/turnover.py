"""A stream of JSON lines whose names change constantly, and the performance of a learner on it.

    python examples/turnover.py categories | streamkarma learn
    python examples/turnover.py attributes --events 300000 --measure auto

``categories``: each event has a user and an item, from 500 each at any time, and four numbers.
``attributes``: each event has four numbers, from 1,000 attributes at any time. In both streams, a name lives
for 10,000 events and is then replaced permanently; the label depends on a weight of each name, and on noise.
``--measure LEARNER`` prints, for every tenth of the stream, the progressive error rate and the memory of the
process.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from arguments import COUNT, LEARNER, SEED, Example

from streamkarma.estimators.learners import create

#: Lifetime of a name, in events.
LIFE = 10_000
#: Number of events learned at a time.
BLOCK = 2_000

Record = dict[str, Any]


class Names:
    """Names with a weight each, which are replaced by new ones, one after the other."""

    def __init__(self, prefix: str, alive: int, rng: random.Random) -> None:
        self.prefix = prefix
        self.rng = rng
        self.born = 0
        self.alive = [self._new() for _ in range(alive)]

    def _new(self) -> tuple[str, float]:
        self.born += 1
        return f"{self.prefix}{self.born}", self.rng.gauss(0.0, 1.0)

    def advance(self, t: int) -> None:
        """Replace the names that are due after ``t`` events."""
        while self.born - len(self.alive) < t * len(self.alive) // LIFE:
            self.alive[self.born % len(self.alive)] = self._new()


def categories(rng: random.Random) -> Iterator[Record]:
    """Events with a user, an item and four numbers."""
    users, items = Names("u", 500, rng), Names("i", 500, rng)
    t = 0
    while True:
        users.advance(t)
        items.advance(t)
        (user, liking), (item, quality) = rng.choice(users.alive), rng.choice(items.alive)
        x = [rng.gauss(0.0, 1.0) for _ in range(4)]
        score = liking + quality + 0.5 * sum(x) + rng.gauss(0.0, 0.5)
        numbers = {f"x{k}": round(value, 4) for k, value in enumerate(x)}
        yield {"user": user, "item": item, **numbers, "target": int(score > 0)}
        t += 1


def attributes(rng: random.Random) -> Iterator[Record]:
    """Events with four numbers whose names change."""
    names = Names("x", 1000, rng)
    t = 0
    while True:
        names.advance(t)
        chosen = rng.sample(names.alive, 4)
        x = [rng.gauss(0.0, 1.0) for _ in chosen]
        score = sum(weight * value for (_, weight), value in zip(chosen, x, strict=True))
        numbers = {name: round(value, 4) for (name, _), value in zip(chosen, x, strict=True)}
        yield {**numbers, "target": int(score + rng.gauss(0.0, 0.5) > 0)}
        t += 1


def memory() -> float:
    """The memory of the process, in MB."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1e3


def measure(stream: Iterator[Record], events: int, learner: str, options: dict[str, Any]) -> None:
    """Learn a stream block by block, and print the results of every tenth."""
    model: Any = create(learner, options, regression=False)
    errors, counted, tenth = 0, 0, 1
    size = min(BLOCK, math.ceil(events / 10))
    for begin in range(0, events, size):
        records = [next(stream) for _ in range(min(size, events - begin))]
        labels = [record.pop("target") for record in records]
        ones = [1.0] * len(records)
        result = model.run(model.read(records, [True] * len(records)), labels, ones)
        positive = model.classes.index(1) if 1 in model.classes else 1
        said = (result.scores[:, 0] > 0.0) == (positive == 1)
        errors += sum(bool(one) != bool(label) for one, label in zip(said, labels, strict=True))
        counted += len(records)
        if (begin + len(records)) * 10 >= tenth * events:
            share, summary = errors / counted, model.summary()
            click.echo(
                f"tenth {tenth:2d}: errors {share:.4f}, memory {memory():.0f} MB, model "
                f"{summary['bytes'] / 1e6:.1f} MB, evicted {summary['evicted']:,}, ignored {model.ignored:,}"
            )
            errors, counted, tenth = 0, 0, tenth + 1


@click.command(cls=Example, help=__doc__)
@click.argument("kind", type=click.Choice(["categories", "attributes"]))
@click.option("--events", type=COUNT, default=1_000_000, show_default=True)
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option("--measure", "learner", type=LEARNER, help="Learn the stream, and print how it went.")
@click.option("--max-coordinates", type=COUNT, help="Places for numbers and categories.")
@click.option("--max-attributes", type=COUNT, help="Places for attributes.")
def main(kind: str, events: int, seed: int, learner: str | None, **options: int | None) -> None:
    """Print or learn the stream."""
    stream = {"categories": categories, "attributes": attributes}[kind](random.Random(seed))
    if learner is not None:
        given = {name: value for name, value in options.items() if value is not None}
        measure(stream, events, learner, given)
        return
    for _ in range(events):
        click.echo(json.dumps(next(stream)))


if __name__ == "__main__":
    main()
