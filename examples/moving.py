"""The errors of `auto` after attributes or labels of a low-rank stream change half-way.

    python examples/moving.py                                     # seeds 100 to 104, 40,000 events each
    python examples/moving.py --only means --forget 1000 --forget 5000

Each stream has 20 attributes of rank 5, half of them observed, and is learned in one pass, with each event
predicted before its label is learned. From the middle on:

- `means`: the mean of each attribute drifts, up or down, by five standard deviations until the end;
- `units`: ten attributes are multiplied by 100, and 500 is added;
- `labels`: all labels are flipped;
- `nothing`: nothing changes.

Errors are in per cent: before the change, of the first 5,000 events after it, and of the events after these.
With `--forget`, these half-lives are tried on each stream, to find the best one in hindsight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import numpy as np
from arguments import SEED, Example
from bent import our_errors
from bent_streams import Stream
from numpy.typing import NDArray

from streamkarma.synthetic import StreamSpec, records

CHANGES = ("means", "units", "labels", "nothing")
#: How far means drift, in standard deviations.
FARTHEST = 5.0
#: Number of events after a change that are reported separately.
SOON = 5000


def made(change: str, seed: int, events: int) -> Stream:
    """A stream that changes in the middle."""
    rows = list(records(StreamSpec(seed=seed), events))
    labels = [str(row.pop("y")) for row in rows]
    names = sorted({name for row in rows for name in row})
    rng, middle = np.random.default_rng(seed), events // 2
    signs = dict(zip(names, rng.choice([-1.0, 1.0], len(names)), strict=True))
    deviations = {name: np.std([row[name] for row in rows if name in row]) for name in names}
    rescaled = set(rng.permutation(names)[: len(names) // 2])
    for t in range(middle, events):
        row, moved = rows[t], FARTHEST * (t - middle) / (events - middle)
        if change == "means":
            rows[t] = {name: value + signs[name] * moved * deviations[name] for name, value in row.items()}
        elif change == "units":
            rows[t] = {name: 100 * value + 500 if name in rescaled else value for name, value in row.items()}
        elif change == "labels":
            labels[t] = "0" if labels[t] == "1" else "1"
    return Stream(rows, labels, regression=False, change=middle)


def shares(stream: Stream, forget: float | None) -> NDArray[np.float64]:
    """Errors before the change, soon after it and later, in per cent."""
    errors, middle = our_errors("auto", stream, forget=forget), stream.change
    parts = errors[:middle], errors[middle:][:SOON], errors[middle:][SOON:]
    return np.array([100.0 * part.mean() for part in parts])


@click.command(cls=Example)
@click.option("--events", type=click.IntRange(min=2 * SOON + 2), default=40_000, show_default=True,
              help="Events of each stream.")  # fmt: skip
@click.option(
    "--seeds", type=SEED, default=(100, 104), nargs=2, show_default=True, help="The first and the last."
)
@click.option("--only", type=click.Choice(CHANGES), multiple=True, help="Only these changes.")
@click.option("--forget", type=click.FloatRange(min=1), multiple=True, help="A half-life to compare with.")
def main(events: int, seeds: tuple[int, int], only: Sequence[str], forget: Sequence[float]) -> None:
    """Print the table as Markdown, row by row."""
    if seeds[0] > seeds[1]:
        raise click.BadParameter("give the least seed first", param_hint="--seeds")
    half_lives: list[Any] = [None, *forget]
    names = [f"forget {each:g}" if each else "auto" for each in half_lives]
    print("| " + " | ".join(["change", "seed", *names]) + " |")
    print("|---|---|" + "--:|" * len(half_lives))
    for change in only or CHANGES:
        for seed in range(seeds[0], seeds[1] + 1):
            stream = made(change, seed, events)
            found = (shares(stream, each) for each in half_lives)
            cells = (" / ".join(f"{share:.2f}" for share in each) for each in found)
            print(f"| {change} | {seed} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
