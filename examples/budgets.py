"""What a budget of support vectors costs: progressive error on synthetic low-rank streams.

Half of 20 attributes of rank 5 are observed at random, so that hardly two events show the same
ones and every budget is soon full. Merging folds what has to go into the support vectors that
stay; removing, of the smallest or of the oldest, throws it away.

    python examples/budgets.py
"""

from __future__ import annotations

from typing import Any

import click

from streamkarma import KARMAClassifier
from streamkarma.synthetic import StreamSpec, records

MODELS: dict[str, dict[str, Any]] = {
    "unlimited": {"budget": None},
    "default": {},
    "merge": {"budget": 100},
    "remove": {"budget": 100, "pruning": "remove"},
    "oldest": {"budget": 100, "pruning": "oldest"},
}


def progressive_error(model: KARMAClassifier, seed: int, events: int) -> float:
    """Share of events predicted wrongly, each before it was learned."""
    errors = 0
    for x in records(StreamSpec(attributes=20, rank=5, observed=0.5, seed=seed), events):
        y = x.pop("y")
        errors += model.predict_one(x) != y
        model.learn_one(x, y)
    return errors / events


def row(name: str, errors: list[float]) -> str:
    """One line of the table: errors in the order of ``MODELS``, then the ratios."""
    unlimited, _, merge, remove, _ = errors
    ratios = f"{merge / unlimited:>16.3f}{merge / remove:>14.3f}"
    return f"{name:<6}" + "".join(f"{error:>11.4f}" for error in errors) + ratios


@click.command()
@click.option("--seeds", type=click.IntRange(min=1), default=5, show_default=True, help="Streams 0, 1, …")
@click.option("--events", type=click.IntRange(min=1), default=10_000, show_default=True)
def main(seeds: int, events: int) -> None:
    """Print the progressive error of each budget on each stream."""
    default = KARMAClassifier().budget
    print(f"budgets: unlimited; {default}, the default; 100 with merge, remove and oldest")
    print(f"{'seed':<6}" + "".join(f"{name:>11}" for name in MODELS) + "  merge/unlimited  merge/remove")
    table = []
    for seed in range(seeds):
        table.append([progressive_error(KARMAClassifier(**said), seed, events) for said in MODELS.values()])
        print(row(str(seed), table[-1]), flush=True)
    # Ratios of the means: a stream that is hard for all must not count as much as it does
    # in a mean of ratios.
    print(row("mean", [sum(column) / seeds for column in zip(*table, strict=True)]))


if __name__ == "__main__":
    main()
