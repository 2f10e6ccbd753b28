"""What streamkarma and river cost from Python, one event at a time, for examples/bench.py."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from bench_peers import RIVER, Timed, events_of
from river import linear_model

import streamkarma

#: By the names that the same learners have in the other tables.
MODELS: dict[str, Callable[[], Any]] = {
    RIVER: linear_model.LogisticRegression,
    "explicit": lambda: streamkarma.ExplicitKARMAClassifier(gamma=2),
    "karma 512": lambda: streamkarma.KARMAClassifier(budget=512),
    "auto": streamkarma.KARMAMixtureClassifier,
}
#: Events of a round, and those that come before, while all is loaded.
EVENTS, FIRST = 20_000, 100


def through(model: Any, stream: list[tuple[dict[str, float], bool]]) -> Timed:
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


def calls(path: Path) -> dict[str, Timed]:
    """One round: all models in turn over the first events of a file."""
    stream = list(islice(events_of(path), EVENTS))
    return {name: through(make(), stream) for name, make in MODELS.items()}
