"""Compare how well streamkarma and other online learners predict incomplete streams.

Each learner uses its defaults, makes one pass, and predicts every event before it learns its label; all
metrics are those of these predictions.

    python examples/accuracy.py                                   # synthetic streams
    python examples/accuracy.py --data FOLDER --streams FOLDER    # and the real ones there
    python examples/accuracy.py --only lowrank --learners auto --learners vw-xm
    python examples/accuracy.py --experts --json table.json       # and each expert of auto on its own

--data is a folder with weather_aus.csv.gz, adult.csv.gz (with the label in the last column, and empty cells
missing) and physionet2012_events.jsonl.gz; --streams has the streams of examples/haphazard.py. In the
physionet stream, the label of a hospital stay becomes known when the next stay begins, and its events are
learned then.

The row "complete vectors" is not a learner: it is the best linear classifier on the complete synthetic
events, fitted in hindsight. The other learners are in examples/rivals.py.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import click
import numpy as np
from arguments import Example, in_folder
from numpy.typing import NDArray
from rivals import RIVALS, Kinds, Rival
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from streams import HAPHAZARD, STAYS, SYNTHETIC, TABLES, Step, Stream, sources, steps

import streamkarma
from streamkarma.core.mixture import Calibrated
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.estimators.experts import experts
from streamkarma.estimators.results import probabilities
from streamkarma.estimators.settings import ValueParameters

Floats = NDArray[np.float64]

OURS = {
    "auto": streamkarma.KARMAMixtureClassifier,
    "explicit": streamkarma.ExplicitKARMAClassifier,
    "subspace": streamkarma.SubspaceClassifier,
    "karma": streamkarma.KARMAClassifier,
}
EXPERTS = [f"expert {name}" for name in experts(1, 0.0, regression=False)]
REFERENCE = "complete vectors"
#: Maximum number of events for a learner that takes milliseconds per event.
LIMITS = {"river-arf": 20_000}
#: Events passed to streamkarma at once, which affects only the speed.
BLOCK = 4096
#: Bins of the calibration error.
BINS = 15
COLUMNS = ("error", "log_loss", "balanced_accuracy", "auc", "ece")


class Expert(ValueParameters, BaseClassifier):
    """A single expert of the mixture, with its scores calibrated in the same way."""

    scale, forget, loss = True, None, "logistic"
    max_attributes = max_coordinates = max_classes = 16384
    max_name_bytes = 1024

    def __init__(self, name: str) -> None:
        self.name = name
        self._begin(Calibrated(experts(128, 0.0, regression=False)[name], 0.0))


def karma_chances(model: Any, todo: Iterator[Step]) -> Floats:
    """Probabilities of True from a streamkarma model, in blocks of events."""
    chances = []
    while part := list(islice(todo, BLOCK)):
        events = model.read([step.x for step in part], [step.y is not None for step in part])
        judged = model.run(events, [step.y for step in part], [1.0] * len(part))
        chances.append(probabilities(judged.scores, 2)[[step.asked for step in part], 1])
    return np.concatenate(chances)


def rival_chances(rival: Rival, todo: Iterator[Step]) -> Floats:
    """Probabilities of True from another learner."""
    chances = []
    for x, y, asked in todo:
        if asked:
            chances.append(rival.predict(x))
        if y is not None:
            rival.learn(x, y)
    return np.array(chances)


def make(learner: str, kinds: Kinds) -> Any:
    """Create a learner by name; ImportError if it is not installed."""
    if learner in OURS:
        return OURS[learner]()
    if learner in EXPERTS:
        return Expert(learner.removeprefix("expert "))
    return RIVALS[learner](kinds)


def chances_of(learner: str, stream: Stream) -> Floats:
    """Probability of True for every event."""
    if learner == REFERENCE:
        hindsight = LogisticRegression().fit(stream.complete, stream.labels)
        return np.asarray(hindsight.predict_proba(stream.complete)[:, 1])
    kinds = {name: type(value) for event in stream.events for name, value in event.items()}
    chances = rival_chances if learner in RIVALS else karma_chances
    return chances(make(learner, kinds), steps(stream))


def measures(chances: Floats, labels: Sequence[bool]) -> dict[str, float]:
    """The metrics in the table; balanced accuracy and AUC only if both labels occur.

    The calibration error (ECE) is the mean over events of the distance between the mean probability of True
    and the fraction of True in the event's bin, one of 15 of equal width.
    """
    truth = np.array(labels)
    right = (chances > 0.5) == truth
    losses = -np.log(np.maximum(np.where(truth, chances, 1.0 - chances), 1e-15))
    result = {"error": (~right).mean(), "log_loss": losses.mean()}
    if truth.any() and not truth.all():
        result["balanced_accuracy"] = (right[truth].mean() + right[~truth].mean()) / 2
        result["auc"] = roc_auc_score(truth, chances)
    bins = np.minimum((chances * BINS).astype(int), BINS - 1)
    result["ece"] = np.abs(np.bincount(bins, chances - truth)).sum() / len(truth)
    return {"errors": int((~right).sum()), **{name: float(value) for name, value in result.items()}}


def line(row: dict[str, Any]) -> str:
    """A row of the Markdown table."""
    events = f"{row['events']:,}" + (f" of {row['of']:,}" if row["events"] < row["of"] else "")
    figures = " | ".join(f"{row[name]:.4f}" if name in row else "-" for name in COLUMNS)
    return f"| {row['stream']} | {row['learner']} | {events} | {row['errors']:,} | {figures} |"


def rows(name: str, whole: Stream, learners: Sequence[str], events: int | None) -> Iterator[dict[str, Any]]:
    """One row for each learner."""
    for learner in learners:
        if learner == REFERENCE and whole.complete is None:
            continue
        most = [number for number in (events, LIMITS.get(learner)) if number is not None]
        stream = whole.first(min(most, default=None))
        figures = measures(chances_of(learner, stream), stream.labels)
        sizes = {"events": len(stream.events), "of": len(whole.events)}
        yield {"stream": name, "learner": learner, **sizes, **figures}


def installed(learners: Sequence[str]) -> Iterator[str]:
    """The installed learners; the others are named on stderr."""
    for learner in learners:
        try:
            if learner != REFERENCE:
                make(learner, {})
            yield learner
        except ImportError as error:
            print(f"{learner} is left out: {error}", file=sys.stderr)


FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
STREAMS = [*SYNTHETIC, *TABLES, STAYS, *HAPHAZARD]
LEARNERS = [*OURS, *RIVALS, REFERENCE, *EXPERTS]


@click.command(cls=Example)
@click.option("--data", type=FOLDER, help="Folder of the larger real streams.")
@click.option("--streams", type=FOLDER, help="Folder of the small real streams.")
@click.option("--only", type=click.Choice(STREAMS), multiple=True, help="Only these streams.")
@click.option("--learners", type=click.Choice(LEARNERS), multiple=True, help="Only these learners.")
@click.option("--experts", "with_experts", is_flag=True, help="The experts of auto, one by one, too.")
@click.option("--events", type=click.IntRange(min=1), help="Maximum number of events of each stream.")
@click.option(
    "--json", "file", metavar="FILE", callback=in_folder, help="Write the rows to this file as well."
)
def main(data: Path | None, streams: Path | None, only: Sequence[str], learners: Sequence[str],
         with_experts: bool, events: int | None, file: str | None) -> None:  # fmt: skip
    """Print the table as Markdown, row by row."""
    found = sources(data, streams)
    if unknown := set(only) - set(found):
        raise click.UsageError(f"{', '.join(sorted(unknown))}: give its folder with --data or --streams")
    usual = [name for name in LEARNERS if with_experts or name not in EXPERTS]
    present = list(installed(learners or usual))
    print("| stream | learner | events | errors | error | log loss | balanced accuracy | AUC | ECE |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    table = []
    for name in only or found:
        for row in rows(name, found[name](), present, events):
            table.append(row)
            print(line(row), flush=True)
    if file:
        Path(file).write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
