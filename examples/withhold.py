"""Write one of river's bundled real data sets as JSON lines, with attributes withheld.

Real streams with naturally missing values are rare, so this script makes them: attributes of complete events
are dropped in one of three ways, and the label is kept as ``y``.

    python examples/withhold.py phishing --missing blocks --observed 0.5 > phishing.jsonl

The same options and seed give the same bytes, and a limited stream is a prefix of the whole one.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from itertools import islice, pairwise
from math import e
from typing import Any

import click
import orjson
from river import datasets, stats

Event = dict[str, Any]

#: Data sets bundled with river, so that nothing is downloaded.
DATASETS = {
    each.__name__: each
    for each in (datasets.Phishing, datasets.ImageSegments, datasets.TrumpApproval, datasets.Shuttle)
}


def grouped(names: list[str], count: int) -> list[list[str]]:
    """Divide the names into ``count`` groups of neighbours, as evenly as possible."""
    bounds = [i * len(names) // count for i in range(count + 1)]
    return [names[begin:end] for begin, end in pairwise(bounds)]


def tilted(observed: float, value: float, usual: float) -> float:
    """The probability with e times the odds of ``observed`` if the value is above the usual one, else 1/e."""
    if value == usual:
        return observed
    factor = e if value > usual else 1 / e
    return observed * factor / (observed * factor + 1 - observed)


def incomplete(x: Event, groups: list[list[str]], chances: list[float], rng: random.Random) -> Event:
    """Keep each group of attributes with its probability, and at least one."""
    margins = [chance - rng.random() for chance in chances]
    # If every group would be dropped, the one that came closest to being kept stays.
    bar = min(0.0, max(margins))
    kept = {name for group, margin in zip(groups, margins, strict=True) if margin >= bar for name in group}
    return {name: value for name, value in x.items() if name in kept}


def withhold(
    events: Iterator[tuple[Event, Any]], missing: str, observed: float, blocks: int, seed: int
) -> Iterator[Event]:
    """The events with attributes withheld and the label put in as ``y``."""
    rng = random.Random(seed)
    means: dict[str, stats.Mean] = {}
    for x, y in events:
        groups = grouped(list(x), blocks if missing == "blocks" else len(x))
        chances = [observed] * len(groups)
        if missing == "value":
            # Relative to the mean of previous events, since an event must not affect its own threshold; the
            # first one is neither high nor low.
            chances = [tilted(observed, v, means[i].get() if i in means else v) for i, v in x.items()]
            for name, value in x.items():
                means.setdefault(name, stats.Mean()).update(value)
        yield {**incomplete(x, groups, chances, rng), "y": y}


@click.command()
@click.argument("name", type=click.Choice(list(DATASETS), case_sensitive=False))
@click.option(
    "--missing",
    type=click.Choice(["random", "blocks", "value"]),
    default="random",
    show_default=True,
    help="Each attribute on its own; neighbours together; by the attribute's own value.",
)
@click.option(
    "--observed",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.5,
    show_default=True,
    help="Chance of being observed; with value, before its odds are multiplied by e or 1/e.",
)
@click.option("--blocks", type=click.IntRange(min=1), default=3, show_default=True, help="How many blocks.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed, the same bytes.")
@click.option("--limit", type=click.IntRange(min=0), help="Maximum number of events.")
def main(name: str, missing: str, observed: float, blocks: int, seed: int, limit: int | None) -> None:
    """Write the data set NAME as JSON lines, with attributes withheld."""
    dataset = DATASETS[name]()
    if missing == "blocks" and blocks > dataset.n_features:
        raise click.UsageError(f"{name} has {dataset.n_features} attributes, too few for {blocks} blocks")
    events = islice(iter(dataset), limit)
    for event in withhold(events, missing, observed, blocks, seed):
        sys.stdout.buffer.write(orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()
