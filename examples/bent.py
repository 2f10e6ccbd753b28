"""Compare streamkarma and other online learners on nonlinear and drifting targets.

Every learner uses its defaults and makes one pass; each event is predicted before its label is learned.
Errors are error rates, or mean absolute errors of numbers; if there is an abrupt change in the middle of a
stream, also those of events 200 to 1,000 after it.

    python examples/bent.py --events 5000                       # two classes, several, and numbers
    python examples/bent.py --only sine --missing 0.3 --learners auto --learners ARF
    python examples/bent.py --json table.json                   # 50,000 events each: takes hours
    python examples/bent.py --table mine.csv                    # its label is in the last column
    python examples/bent.py --table elec2.csv --in-order        # a stream in the order of time

The streams are in examples/bent_streams.py, the others in examples/bent_rivals.py.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from arguments import COUNT, SEED, Example, in_folder
from bent_rivals import RIVALS, Rival
from bent_streams import NAMES, Stream, stream, table
from numpy.typing import NDArray

import streamkarma
from streamkarma.estimators.results import ClassificationResult

Floats = NDArray[np.float64]

#: Classifier and regressor.
OURS = {"auto": (streamkarma.KARMAMixtureClassifier, streamkarma.KARMAMixtureRegressor)}
#: Events passed to streamkarma at once, which affects only the speed.
BLOCK = 4096
#: Events after a change whose errors are reported separately.
AFTER = slice(200, 1000)


def our_errors(learner: str, given: Stream, **parameters: Any) -> Floats:
    """The error of each prediction of a streamkarma learner, with its defaults except some parameters."""
    model: Any = OURS[learner][given.regression](**parameters)
    errors = []
    for begin in range(0, len(given.events), BLOCK):
        labels = given.labels[begin : begin + BLOCK]
        events = model.read(given.events[begin : begin + BLOCK], [True] * len(labels))
        result = model.run(events, labels, [1.0] * len(labels))
        if given.regression:
            errors.append(np.abs(result.predictions - np.array(labels)))
        else:
            errors.append(likeliest(result) != [model.classes.index(label) for label in labels])
    return np.concatenate(errors).astype(float)


def likeliest(result: ClassificationResult) -> NDArray[np.int64]:
    """The index of the likeliest class of those known at each event; -1 before any was."""
    scores, known = result.scores, result.known[:, None]
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    scores = np.where(np.arange(scores.shape[1]) < known, scores, -np.inf)
    return np.where(result.known > 0, scores.argmax(axis=1), -1)


def rival_errors(rival: Rival, given: Stream) -> Floats:
    """The error of each prediction of another learner; no prediction counts as wrong, or as 0."""
    errors = []
    for x, y in zip(given.events, given.labels, strict=True):
        said = rival.predict(x)
        errors.append(abs((said or 0.0) - y) if given.regression else said != y)
        rival.learn(x, y)
    return np.array(errors, float)


def rows(name: str, given: Stream, missing: float, learners: Sequence[str]) -> Iterator[dict[str, Any]]:
    """One row for each learner."""
    for learner in learners:
        begin = time.perf_counter()
        if learner in OURS:
            errors = our_errors(learner, given)
        else:
            errors = rival_errors(RIVALS[learner](given.regression), given)
        row = {"stream": name, "missing": missing, "learner": learner, "events": len(errors)}
        row |= {"error": errors.mean(), "seconds": time.perf_counter() - begin}
        yield row | ({} if given.change is None else {"after": errors[given.change :][AFTER].mean()})


def compared(table: Sequence[dict[str, Any]], learner: str) -> str:
    """A learner compared with the best of the others on each stream, in two sentences."""
    ratios = []
    for row in (row for row in table if row["learner"] == learner):
        same = [other for other in table if other not in (row,) and all(other[k] == row[k] for k in KEYS)]
        if same:
            ratios.append(row["error"] / max(min(other["error"] for other in same), 1e-12))
    if not ratios:
        return ""
    close = sum(ratio <= CLOSE for ratio in ratios)
    return (
        f"{learner}: at most {CLOSE} x the best of the others, chosen in hindsight, on {close} of "
        f"{len(ratios)} streams; the geometric mean of these ratios is {np.exp(np.mean(np.log(ratios))):.3f}."
    )


#: Columns that identify a stream.
KEYS = ("stream", "missing")
#: Ratios of errors up to this count as equal.
CLOSE = 1.02


@click.command(cls=Example)
@click.option(
    "--events", type=COUNT, default=50_000, show_default=True, help="Events of each stream, at most."
)
@click.option(
    "--seed",
    type=SEED,
    default=1,
    show_default=True,
    help="Of the generators, of the order of tables, and of what is missing.",
)
@click.option("--missing", type=click.FloatRange(0.0, 1.0, max_open=True), multiple=True,
              default=(0.0, 0.3, 0.5), show_default=True, help="Share withheld.")  # fmt: skip
@click.option("--only", type=click.Choice(NAMES), multiple=True, help="Only these streams.")
@click.option(
    "--table",
    "tables",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="A CSV table, in random order, instead of the streams; repeatable.",
)
@click.option("--in-order", is_flag=True, help="Take the rows of tables in their order.")
@click.option("--learners", type=click.Choice([*OURS, *RIVALS]), multiple=True, help="Only these learners.")
@click.option(
    "--json", "file", metavar="FILE", callback=in_folder, help="Write the rows to this file as well."
)
def main(events: int, seed: int, missing: Sequence[float], only: Sequence[str], tables: Sequence[Path],
         in_order: bool, learners: Sequence[str], file: str | None) -> None:  # fmt: skip
    """Print the table as Markdown, row by row."""
    print("| stream | missing | learner | events | error | after the change | seconds |")
    print("|---|--:|---|--:|--:|--:|--:|")
    names = only or (() if tables else NAMES)
    streams = {name: partial(stream, name) for name in names} | {
        each.name: partial(table, each, in_order) for each in tables
    }
    results = []
    for name, make in streams.items():
        whole = make(seed, events)
        for rate in missing:
            for row in rows(name, whole.withheld(rate, seed), rate, learners or [*OURS, *RIVALS]):
                results.append(row)
                after = f"{row['after']:.4f}" if "after" in row else "-"
                print(
                    f"| {name} | {rate:g} | {row['learner']} | {row['events']:,} | {row['error']:.4f} "
                    f"| {after} | {row['seconds']:.1f} |",
                    flush=True,
                )
    print(f"\n{compared(results, 'auto')}")
    if file:
        Path(file).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
