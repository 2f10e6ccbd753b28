"""The cost of a budget of support vectors: progressive error on synthetic low-rank streams.

Half of 20 attributes of rank 5 are observed at random, so that hardly any two events have the same pattern,
and every budget is soon exhausted. Merging folds surplus support vectors into the remaining ones; removing
the smallest or the oldest discards them.

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
    """The progressive error rate."""
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
    # Ratios of the means, since a mean of ratios would give too much weight to streams that are hard for all.
    print(row("mean", [sum(column) / seeds for column in zip(*table, strict=True)]))


if __name__ == "__main__":
    main()
