"""Compare ``auto`` with refitted LightGBM alone, and with its refits as an expert (``--refit lightgbm``).

LightGBM alone is fitted after 128, 256, 512, … events to all of them, with its defaults and 100 rounds, and
predicts from the next event on. Categorical attributes are declared to it. Before the first fit it predicts
the most frequent class, or the mean. Each event is predicted before its label is learned.

    python examples/refits.py --events 10000 --seed 1      # river's generators and data sets
    python examples/refits.py --data FOLDER                # tables, shuffled by the seed, too

FOLDER has tables as NAME.csv or NAME.csv.gz whose last column is the label. Errors are error rates, or mean
absolute errors of numbers.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click
import lightgbm
import numpy as np
from arguments import COUNT, SEED, Example
from bent import our_errors, rival_errors
from bent_streams import Event, stream, table

#: Nonlinear streams, and tables.
STREAMS = ("agrawal 1", "agrawal 4", "tree", "sine", "friedman", "mv", "planes", "segments", "phishing")
TABLES = ("pima", "banknote", "german", "adult", "cpu_act")
FIRST = 128
#: More events than any of these tables has.
ALL = 1_000_000


class Refitted:
    """LightGBM, refitted whenever the number of events has doubled."""

    def __init__(self, regression: bool) -> None:
        self.regression = regression
        self.events: list[Event] = []
        self.labels: list[Any] = []
        self.names: list[str] = []
        self.codes: dict[str, dict[str, int]] = {}
        self.classes: list[Any] = []
        self.booster: lightgbm.Booster | None = None

    def predict(self, x: Event) -> Any:
        if self.booster is None:
            if self.regression:
                return float(np.mean(self.labels)) if self.labels else 0.0
            return Counter(self.labels).most_common(1)[0][0] if self.labels else None
        said = self.booster.predict(np.array([self.row(x)]))[0]
        if self.regression:
            return float(said)
        return self.classes[int(said > 0.5) if np.ndim(said) == 0 else int(np.argmax(said))]

    def learn(self, x: Event, y: Any) -> None:
        self.events.append(x)
        self.labels.append(y)
        known = len(self.labels)
        if known >= FIRST and known & (known - 1) == 0:
            self.fit()

    def fit(self) -> None:
        """Fit to all events so far."""
        self.names = sorted({name for x in self.events for name in x})
        self.codes = {}
        for name in self.names:
            words = sorted({x[name] for x in self.events if isinstance(x.get(name), str)})
            if words:
                self.codes[name] = {word: code for code, word in enumerate(words)}
        self.classes = sorted(set(self.labels)) if not self.regression else []
        y = self.labels if self.regression else [self.classes.index(label) for label in self.labels]
        objective = {0: "regression", 1: "binary", 2: "binary"}.get(len(self.classes), "multiclass")
        settings: dict[str, Any] = {"objective": objective, "verbosity": -1, "num_threads": 1, "seed": 0}
        if objective == "multiclass":
            settings["num_class"] = len(self.classes)
        categories = [number for number, name in enumerate(self.names) if name in self.codes]
        data = lightgbm.Dataset(
            np.array([self.row(x) for x in self.events]),
            np.array(y, float),
            categorical_feature=categories,
            params={"verbosity": -1},
        )
        self.booster = lightgbm.train(settings, data, 100)

    def row(self, x: Event) -> list[float]:
        """An event as numbers; a category not seen in the fit is missing."""
        values = ((x.get(name), self.codes.get(name)) for name in self.names)
        coded = (codes.get(str(value)) if codes and value is not None else value for value, codes in values)
        return [np.nan if value is None else float(value) for value in coded]


@click.command(cls=Example, help=__doc__.splitlines()[0])
@click.option(
    "--events", type=COUNT, default=10_000, show_default=True, help="Events of each stream, at most."
)
@click.option(
    "--seed", type=SEED, default=1, show_default=True, help="Of the generators, and of the tables' order."
)
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path), help="FOLDER.")
def main(events: int, seed: int, data: Path | None) -> None:
    print("| stream | events | LightGBM alone | auto | auto with refits |")
    print("|---|--:|--:|--:|--:|")
    given = {name: stream(name, seed, events) for name in STREAMS}
    if data is not None:
        paths = {path.name.split(".")[0]: path for path in data.glob("*.csv*")}
        given |= {name: table(paths[name], False, seed, ALL) for name in TABLES if name in paths}
    for name, each in given.items():
        alone = rival_errors(Refitted(each.regression), each).mean()
        ours, voted = (our_errors("auto", each, refit=refit).mean() for refit in (None, "lightgbm"))
        print(f"| {name} | {len(each.labels):,} | {alone:.4f} | {ours:.4f} | {voted:.4f} |", flush=True)


if __name__ == "__main__":
    main()
