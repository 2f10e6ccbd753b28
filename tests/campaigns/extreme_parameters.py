"""Every learner with extreme parameters, on extreme streams."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from streamkarma.errors import UsageError
from streamkarma.estimators.learners import LEARNERS, Model
from streamkarma.estimators.persistence import load, save

TRIES = "a learner with random parameters, many at their extremes, on an extreme stream"
PROMISE = (
    "after any part of the stream the model is saved, read back and goes on: "
    "both models, the one read back and the one that never stopped, are the same to the bit"
)
SHORT = 60
LONG = 20_000

Event = tuple[dict[str, Any], Any, float]
Stream = Callable[[random.Random, int, bool], list[Event]]

_FORGET = [None, None, 1, 1.5, 2, 3, 50, 1e12]
_SHARED = {"scale": [True, True, False], "forget": _FORGET, "max_attributes": [16384, 16384, 1, 3],
           "max_coordinates": [16384, 16384, 1, 5], "entity": [None, None, "b", "a"],
           "carry": ["fill", "last", "off"], "carry_labels": [False, True],
           "carry_for": [None, 1e-9, 5, 1e12], "max_entities": [100_000, 1, 3],
           "coverage": [None, None, 0.01, 0.9, 0.999]}  # fmt: skip
#: Of classifiers.
_COSTS = {"class_weight": [None, "balanced", {"c1": 1e12, "c2": 1e-12}], "threshold": [None, "balanced"],
          "max_classes": [1000, 50]}  # fmt: skip
#: The values to draw from for each parameter; all are in range, but two may contradict each other.
PARAMETERS: dict[str, dict[str, list[Any]]] = {
    "karma": {
        "gamma": [1, 2, 2, 3, 8, 32, "auto"],
        "rho": [None, None, 1e-12, 1.0, 1e6, "auto"],
        "eta": [None, None, 1e-12, 0.5, 1e6],
        "budget": [None, 1, 2, 64, 512],
        "pruning": ["merge", "remove", "oldest"],
        "normalize": [True, False],
        "average": [True, False],
        "horizon": [None, None, 1, 10**9],
        "regularity": [None, None, 1e-6, 1.0],
        **_SHARED,
    },
    "explicit": {
        "gamma": [1, 2, 3],
        "update": ["arow", "adagrad", "sgd"],
        "r": [1.0, 1e-12, 1e12],
        "eta": [None, None, 1e-12, 1e6],
        "rho": [None, None, 1e-12, 1e6],
        "normalize": [True, False],
        "table_bits": [8, 12, 22],
        **_SHARED,
    },
    "subspace": {
        "indicators": [True, False],
        "r": [10.0, 1e-12, 1e12],
        "shrink": [5.0, 0.0, 1e-12, 1e12],
        "max_pairwise_coordinates": [64, 1, 2, 200],
        "rank": [16, 1, 64],
        **_SHARED,
    },
    "bins": {"r": [1.0, 1e-12, 1e12], "table_bits": [8, 12, 22], **_SHARED},
    "sgd": {"eta": [0.03, 1e-12, 1e12], "table_bits": [8, 12, 22], **_SHARED},
    "forest": {"trees": [10, 1, 1000], **_SHARED},
    "boosting": {"window": [4096, 1, 1 << 20], **_SHARED},
    "neighbors": {"window": [1000, 1, 1 << 20], "neighbors": [10, 1, 1024], **_SHARED},
    "auto": {"budget": [128, 1, 2], **_SHARED},
}
_LOSSES = {
    False: ["logistic", "hinge", "squared_hinge"],
    True: ["squared", "absolute", "huber", "epsilon_insensitive"],
}


def _label(rng: random.Random, regression: bool) -> Any:
    return rng.gauss(0.0, 1.0) if regression else rng.random() < 0.5


def _rare_categories(rng: random.Random, events: int, regression: bool) -> list[Event]:
    kinds = rng.choice([2, 20, 200])
    return [({"a": rng.gauss(0.0, 1.0), "b": f"n{rng.randrange(kinds)}"}, _label(rng, regression), 1.0)
            for _ in range(events)]  # fmt: skip


def _constant(rng: random.Random, events: int, regression: bool) -> list[Event]:
    record, label = {"a": rng.choice([0.0, 3.5, -1e300]), "b": "same"}, _label(rng, regression)
    return [(dict(record), label, 1.0)] * events


def _sized(rng: random.Random, events: int, regression: bool) -> list[Event]:
    """Numbers mostly of one extreme magnitude."""
    size, target = rng.choice([1e-320, 1e-150, 1e150, 1.7e308]), rng.choice([1e-300, 1e90])
    stream = []
    for _ in range(events):
        record = {f"x{i}": rng.uniform(-1.0, 1.0) * (size if rng.random() < 0.9 else 1.0) for i in range(5)}
        label = rng.uniform(-1.0, 1.0) * target if regression else rng.random() < 0.5
        stream.append((record, label, 1.0))
    return stream


def _many_classes(rng: random.Random, events: int, regression: bool) -> list[Event]:
    kinds = rng.choice([3, 30, 100])
    stream = []
    for _ in range(events):
        record = {f"x{i}": rng.gauss(0.0, 1.0) for i in range(4) if rng.random() < 0.6}
        label = rng.gauss(0.0, 1.0) if regression else f"c{rng.randrange(kinds)}"
        stream.append((record, label, 1.0))
    return stream


def _drifting(rng: random.Random, events: int, regression: bool) -> list[Event]:
    """Attributes that come and go, and change their kind and magnitude."""
    stream = []
    for t in range(events):
        era = t * 6 // max(events, 1)
        record: dict[str, Any] = {
            f"x{era}": rng.gauss(10.0**era, 1.0),
            "late": f"{era}" if era % 2 else 1.0 * t,
        }
        record |= {f"y{i}": rng.choice([True, 2, "text", float("nan"), None]) for i in range(3)}
        label = (-1) ** era * record[f"x{era}"] if regression else (record[f"x{era}"] > 10**era) == (era % 2)
        stream.append((record, label, 1.0))
    return stream


def _weighted(rng: random.Random, events: int, regression: bool) -> list[Event]:
    """Weights of all magnitudes, and 0."""
    weights = [0.0, 1.0, 1e-300, 1e-6, 1e6, 1e300]
    return [
        (record, label, rng.choice(weights)) for record, label, _ in _rare_categories(rng, events, regression)
    ]


def _wide(rng: random.Random, events: int, regression: bool) -> list[Event]:
    """New names all the time."""
    stream = []
    for t in range(events):
        record = {f"x{rng.randrange(t + 1)}": rng.gauss(0.0, 1.0) for _ in range(3)}
        stream.append((record, _label(rng, regression), 1.0))
    return stream


def _texts(rng: random.Random, events: int, regression: bool) -> list[Event]:
    """Words and tags, sometimes none, in two or many classes."""
    words, kinds = [f"word{n}" for n in range(rng.choice([5, 60, 5000]))], rng.choice([2, 3, 40])
    stream: list[Event] = []
    for _ in range(events):
        record = {
            "text": " ".join(rng.choices(words, k=rng.randrange(1, 9))),
            "tags": rng.choices(words, k=2),
        }
        label = rng.gauss(0.0, 1.0) if regression else f"c{rng.randrange(kinds)}"
        stream.append((record if rng.random() < 0.8 else {"x": 1.0}, label, rng.choice([1.0, 1e-300, 1e300])))
    return stream


STREAMS: list[Stream] = [
    _rare_categories, _constant, _sized, _many_classes, _drifting, _weighted, _wide, _texts,
]  # fmt: skip


def make(rng: random.Random, learner: str, regression: bool) -> tuple[Model, dict[str, Any]]:
    """A model with random parameters that do not contradict each other."""
    while True:
        possible = PARAMETERS[learner] | ({} if regression else _COSTS)
        drawn = {name: rng.choice(values) for name, values in possible.items()}
        given = {name: value for name, value in drawn.items() if rng.random() < 0.5}
        if learner == "karma" and rng.random() < 0.5:
            given["loss"] = rng.choice(_LOSSES[regression])
        try:
            return LEARNERS[learner][regression](**given), given
        except UsageError:
            continue


def run(tries: int, seed: int, folder: Path) -> None:
    """See ``TRIES`` and ``PROMISE``; a failure names the seed of its try."""
    for own_seed in range(seed, seed + tries):
        attempt(own_seed, folder)


def attempt(seed: int, folder: Path) -> None:
    """One try."""
    rng = random.Random(seed)
    learner, regression, make_stream = rng.choice(list(LEARNERS)), rng.random() < 0.3, rng.choice(STREAMS)
    model, given = make(rng, learner, regression)
    stream = make_stream(rng, rng.choice([1, 3, 40, 400]), regression)
    at = rng.randrange(len(stream) + 1)
    told = f"seed {seed}: {learner} {given}, {make_stream.__name__}, {at} of {len(stream)} events"
    try:
        learn(model, stream[:at])
        save(model, folder / "model")
        again = load(folder / "model")
        for each, name in ((model, "one"), (again, "other")):
            learn(each, stream[at:])
            save(each, folder / name)
    except Exception as error:
        raise AssertionError(f"{told}: {error!r}") from error
    assert (folder / "one").read_bytes() == (folder / "other").read_bytes(), told


def learn(model: Model, events: list[Event]) -> None:
    """Learn events in blocks, like the command line, without labels that the model refuses."""
    for begin in range(0, len(events), 100):
        records, labels, weights = [], [], []
        for record, label, weight in events[begin : begin + 100]:
            try:
                checked = model.check_label(label)
                model.register_labels([checked], [weight])
            except ValueError:
                continue
            records.append(record)
            labels.append(checked)
            weights.append(weight)
        model.run(model.read(records, [weight > 0.0 for weight in weights]), labels, weights)
