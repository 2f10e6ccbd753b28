"""The cost of streamkarma and river from Python, one event at a time, for examples/bench.py."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from bench_peers import RIVER, Timed, events_of
from river import compose, linear_model, preprocessing

import streamkarma

#: The two tables: events with only numbers, and with numbers and strings.
NUMBERS, STRINGS = "dicts of numbers", "dicts with strings"
#: Categories in the second table, in addition to about ten numbers.
CATEGORIES = ("red", "green", "blue", "black", "white")


def one_hot() -> Any:
    """The transformer that river needs for numbers and strings together."""
    numbers = compose.SelectType(float) | preprocessing.StandardScaler()
    strings = compose.SelectType(str) | preprocessing.OneHotEncoder()
    return (numbers + strings) | linear_model.LogisticRegression()


#: Models, by the names of the same learners in the other tables.
MODELS: dict[str, Callable[[], Any]] = {
    "explicit": lambda: streamkarma.ExplicitKARMAClassifier(gamma=2),
    "karma 512": lambda: streamkarma.KARMAClassifier(budget=512),
    "auto": streamkarma.KARMAMixtureClassifier,
}
#: Number of events in a round, and of the events before it for warming up.
EVENTS, FIRST = 20_000, 100

Stream = list[tuple[dict[str, Any], bool]]


def with_strings(stream: Stream) -> Stream:
    """The events with five additional categorical attributes."""
    chosen = random.Random(0)
    return [({**x, **{f"k{i}": chosen.choice(CATEGORIES) for i in range(5)}}, y) for x, y in stream]


def through(model: Any, stream: Stream) -> Timed:
    """Predict and learn each event."""
    for x, y in stream[:FIRST]:
        model.predict_proba_one(x)
        model.learn_one(x, y)
    errors, rest = 0, stream[FIRST:] or stream
    begin = time.perf_counter()
    for x, y in rest:
        errors += (model.predict_proba_one(x).get(True, 0.0) > 0.5) != y
        model.learn_one(x, y)
    rate = len(rest) / (time.perf_counter() - begin)
    return Timed(rate, rate, errors / len(rest))


def calls(path: Path) -> dict[str, dict[str, Timed]]:
    """One round: all models in turn over the first events of a file, without and with strings."""
    stream = list(islice(events_of(path), EVENTS))
    streams = {NUMBERS: (linear_model.LogisticRegression, stream), STRINGS: (one_hot, with_strings(stream))}
    return {
        where: {name: through(make(), events) for name, make in {RIVER: river, **MODELS}.items()}
        for where, (river, events) in streams.items()
    }
