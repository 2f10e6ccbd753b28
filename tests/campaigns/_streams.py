"""Streams and learners of every kind, chosen at random."""

from __future__ import annotations

import json
import random
from typing import Any, NamedTuple

#: Options of each learner to try; few support vectors, so that many are pruned.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "karma": [{"budget": 6}, {"budget": 8, "pruning": "remove"}, {"budget": 8, "pruning": "oldest"},
              {"budget": None, "gamma": 3}, {"eta": 0.3, "budget": 5}, {"budget": 9, "forget": 20.0},
              {"scale": False, "budget": 7}, {"normalize": False, "gamma": 1}],
    "explicit": [{}, {"update": "sgd"}, {"update": "adagrad"}, {"gamma": 3}, {"table_bits": 8},
                 {"forget": 20.0}, {"scale": False}, {"normalize": False, "gamma": 1}],
    "subspace": [{}, {"indicators": True}, {"r": 2.0}, {"scale": False}],
    "bins": [{}, {"table_bits": 8}, {"forget": 20.0}, {"scale": False}],
    "sgd": [{}, {"eta": 0.5}, {"forget": 20.0}, {"table_bits": 8}],
    "forest": [{}, {"trees": 3}, {"forget": 20.0}, {"scale": False}],
    "boosting": [{}, {"window": 40}, {"forget": 20.0}, {"scale": False}],
    "neighbors": [{}, {"window": 20, "neighbors": 3}, {"scale": False}],
    "auto": [{}, {"scale": False}, {"forget": 50.0}],
}  # fmt: skip

LABELS: dict[str, list[list[Any]]] = {
    "binary": [[0, 1], [-1, 1], [False, True], ["no", "yes"]],
    "multiclass": [["x", "y", "z"], ["é", "b", "c", "d"], [0, 1, 2, 7]],
}


class Case(NamedTuple):
    """A learner and the stream for it.

    Attributes
    ----------
    task, learner, options
        The arguments of ``TaskModel``.
    labels
        The classes, or empty for regression.
    names, categories
        Numeric attributes, and categorical ones of three strings.
    share
        Fraction of the values that are observed.
    """

    task: str
    learner: str
    options: dict[str, Any]
    labels: list[Any]
    names: list[str]
    categories: list[str]
    share: float

    def label(self, rng: random.Random) -> Any:
        """A label of this stream."""
        return rng.choice(self.labels) if self.labels else round(rng.gauss(3, 10), rng.randrange(5))

    def record(self, rng: random.Random) -> dict[str, Any]:
        """The attributes of an event."""
        seen = {name: round(rng.gauss(0, 3), rng.randrange(8)) for name in self.names if self._is_seen(rng)}
        more = {name: rng.choice(["red", "grün", "a b"]) for name in self.categories if self._is_seen(rng)}
        gaps = {name: None for name in self.names if rng.random() < 0.03}
        return {**gaps, **seen, **more}

    def _is_seen(self, rng: random.Random) -> bool:
        return rng.random() < self.share


def any_case(rng: random.Random) -> Case:
    """A learner, its options, a task, and attributes."""
    learner = rng.choice([*OPTIONS, "karma", "explicit"])
    kind = rng.choice(["binary", "multiclass", "regression"])
    labels = rng.choice(LABELS[kind]) if kind in LABELS else []
    # Numbers as labels of more than two classes need an explicit task; otherwise they mean regression.
    tasks = [kind] if kind == "multiclass" and isinstance(labels[0], int) else [kind, "auto"]
    options = rng.choice(OPTIONS[learner])
    names = ["a", "b", "ü", "x y", *(f"x{i}" for i in range(rng.choice([0, 3, 12])))]
    categories = ["kind"] if rng.random() < 0.5 else []
    return Case(rng.choice(tasks), learner, options, labels, names, categories, rng.choice([0.3, 0.6, 1.0]))


def line(record: dict[str, Any]) -> bytes:
    """A record as JSON, with few spaces, as most producers write it."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
