"""Streams for examples/bent.py: river's generators with nonlinear or drifting targets, its data sets, tables.

The generators in ``CHANGING`` have an abrupt change in the middle. Any fraction of the values can be withheld
at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from random import Random
from typing import Any

import click
from csv_events import events as rows_of
from inputs import table_rows
from river import datasets
from river.datasets import synth

Event = dict[str, Any]
#: An event from river, and its label.
Pair = tuple[Mapping[Any, Any], Any]


@dataclass(frozen=True)
class Stream:
    """Events and their labels, classes or numbers, and the event at which the target changes, if it does."""

    events: list[Event]
    labels: list[Any]
    regression: bool
    change: int | None

    def withheld(self, rate: float, seed: int) -> Stream:
        """The same with a fraction of the values missing at random."""
        # Not the same seed: the generators draw their values from it, and missingness would be informative.
        random = Random(f"gaps {seed}")
        kept = [{name: value for name, value in x.items() if random.random() >= rate} for x in self.events]
        return Stream(kept, self.labels, self.regression, self.change)


def agrawal(function: int, seed: int) -> Iterable[Pair]:
    """One of Agrawal's ten functions, with strings for categories, which are numbers there."""
    for x, y in synth.Agrawal(classification_function=function, seed=seed):
        yield {name: named(name, value, AGRAWAL_CATEGORIES) for name, value in x.items()}, y


def stagger(function: int, seed: int) -> Iterable[Pair]:
    """One of three rules on three categories."""
    for x, y in synth.STAGGER(classification_function=function, seed=seed):
        yield {name: f"{name} {value}" for name, value in x.items()}, y


def tree(seed: int) -> Iterable[Pair]:
    """A random tree on five numbers and five categories."""
    for x, y in synth.RandomTree(seed_tree=seed, seed_sample=seed):
        yield {name: named(name, value, ("x_cat",)) for name, value in x.items()}, y


def named(name: str, value: Any, categories: tuple[str, ...]) -> Any:
    """A value, as a string if its name begins with the name of a category."""
    return f"{name} {value}" if name.startswith(categories) else value


AGRAWAL_CATEGORIES = ("elevel", "car", "zipcode")


def changing(
    make: Callable[..., Iterable[Pair]], before: int, after: int
) -> Callable[[int, int], Iterator[Pair]]:
    """A generator that switches to another function half-way."""

    def made(seed: int, events: int) -> Iterator[Pair]:
        return chain(islice(make(before, seed), events // 2), make(after, seed + 1))

    return made


def steady(make: Callable[[int], Iterable[Pair]]) -> Callable[[int, int], Iterable[Pair]]:
    """A generator without a switch."""
    return lambda seed, _: make(seed)


def rbf(seed: int) -> Iterable[Pair]:
    """Twenty moving centres of two classes in eight dimensions."""
    return synth.RandomRBFDrift(
        seed_model=seed, seed_sample=seed, n_classes=2, n_features=8, n_centroids=20, change_speed=0.0005,
        n_drift_centroids=20,
    )  # fmt: skip


SEA = partial(synth.SEA, noise=0.05)

CHANGING: dict[str, Callable[[int, int], Iterable[Pair]]] = {
    **{f"agrawal {k}": changing(agrawal, k, (k + 3) % 10) for k in range(5)},
    "sea": changing(lambda variant, seed: SEA(variant=variant, seed=seed), 0, 2),
    "mixed": changing(lambda which, seed: synth.Mixed(classification_function=which, seed=seed), 0, 1),
    "sine": changing(lambda which, seed: synth.Sine(classification_function=which, seed=seed), 0, 3),
    "stagger": changing(stagger, 0, 2),
}
STEADY: dict[str, Callable[[int, int], Iterable[Pair]]] = {
    **{f"agrawal {k}": steady(partial(agrawal, k)) for k in range(5, 10)},
    "led": steady(lambda seed: synth.LED(seed=seed, noise_percentage=0.1)),
    "rbf": steady(rbf),
    "hyperplane": steady(
        lambda seed: synth.Hyperplane(seed=seed, n_features=10, n_drift_features=4, mag_change=0.001)
    ),
    "waveform": steady(lambda seed: synth.Waveform(seed=seed)),
    "tree": steady(tree),
}
REGRESSION: dict[str, Callable[[int, int], Iterable[Pair]]] = {
    "friedman": steady(lambda seed: synth.Friedman(seed=seed)),
    "mv": steady(lambda seed: synth.Mv(seed=seed)),
    "planes": steady(lambda seed: synth.Planes2D(seed=seed)),
}
#: River's data sets: name, and whether the label is a number.
SMALL = {
    "bananas": (datasets.Bananas, False),
    "segments": (datasets.ImageSegments, False),
    "phishing": (datasets.Phishing, False),
    "trump": (datasets.TrumpApproval, True),
    "chicks": (datasets.ChickWeights, True),
}
NAMES = [*CHANGING, *STEADY, *REGRESSION, *SMALL]


#: Labels that are numbers with no more different values than this are classes.
MOST_CLASSES = 20


def table(path: Path, in_order: bool, seed: int, events: int) -> Stream:
    """The rows of a CSV table, in random order unless ``in_order``; the label is in the last column."""
    *_, target = next(table_rows(path))
    rows = [row for row in rows_of(path) if target in row]
    if not rows:
        raise click.ClickException(f"{path} has no row with a label in its last column, {target}")
    if not in_order:
        Random(seed).shuffle(rows)
    labels = [row.pop(target) for row in rows[:events]]
    regression = len({*labels}) > MOST_CLASSES and not any(isinstance(label, str) for label in labels)
    return Stream(rows[:events], labels if regression else [*map(str, labels)], regression, None)


def stream(name: str, seed: int, events: int) -> Stream:
    """A stream by name; river's data sets have no seed."""
    if name in SMALL:
        source, regression = SMALL[name]
        pairs = list(islice(source(), events))
    else:
        made = {**CHANGING, **STEADY, **REGRESSION}[name]
        regression = name in REGRESSION
        pairs = list(islice(made(seed, events), events))
    plain = [{str(key): value for key, value in x.items()} for x, _ in pairs]
    labels = [float(y) if regression else str(y) for _, y in pairs]
    return Stream(plain, labels, regression, len(plain) // 2 if name in CHANGING else None)
