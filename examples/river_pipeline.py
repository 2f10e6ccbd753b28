"""Evaluate KARMA with river's own tools, and compare it with river's ways to handle missing attributes.

River's Phishing data set with half of the attributes dropped at random, labels that arrive 50 events late,
and progressive accuracy: every event is predicted before its label is learned.

    python examples/river_pipeline.py
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Hashable, Iterator
from typing import Any

from river import base, compose, datasets, evaluate, linear_model, metrics, preprocessing, stats

from streamkarma import KARMAClassifier

OBSERVED = 0.5
SEED = 7
#: Events between a prediction and its label.
DELAY = 50
#: Events between two columns of the table.
STEP = 250

Event = dict[Hashable, Any]


def incomplete_phishing() -> Iterator[tuple[Event, bool]]:
    """Phishing with about half of the keys dropped; a few events lose all of them."""
    rng = random.Random(SEED)
    for x, y in datasets.Phishing():
        yield {name: value for name, value in x.items() if rng.random() < OBSERVED}, y


NAMES = list(next(iter(datasets.Phishing()))[0])


def with_none(x: Event) -> Event:
    """All attributes, with None for absent ones, which StatImputer fills."""
    return {name: x.get(name) for name in NAMES}


def models() -> dict[str, base.Estimator]:
    """The models to compare, by name."""
    imputer = preprocessing.StatImputer(*((name, stats.Mean()) for name in NAMES))
    return {
        # KARMA takes events as they are and standardises numbers itself ...
        "KARMA": KARMAClassifier(),
        # ... or leaves that to a previous step.
        "scale | KARMA": preprocessing.StandardScaler() | KARMAClassifier(scale=False),
        "impute | scale | logistic": (
            compose.FuncTransformer(with_none)
            | imputer
            | preprocessing.StandardScaler()
            | linear_model.LogisticRegression()
        ),
        # An absent key adds nothing to a linear score: this imputes 0 after scaling.
        "scale | logistic": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    }


def accuracies(model: base.Estimator) -> dict[int, float]:
    """Accuracy over the first labels, by their number."""
    states = evaluate.iter_progressive_val_score(
        incomplete_phishing(), model, metrics.Accuracy(), delay=DELAY, step=STEP
    )
    return {state["Step"]: state["Accuracy"].get() for state in states}


def main() -> None:
    """Print the table."""
    table = {name: accuracies(model) for name, model in models().items()}
    print(f"{'accuracy over the first':<28}" + "".join(f"{n:>8,}" for n in table["KARMA"]))
    for name, row in table.items():
        print(f"{name:<28}" + "".join(f"{value:8.1%}" for value in row.values()))


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    main()
