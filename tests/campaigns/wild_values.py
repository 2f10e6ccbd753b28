"""Values and targets that are wrong by orders of magnitude, for every learner."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma import (
    ExplicitKARMAClassifier,
    ExplicitKARMARegressor,
    KARMAClassifier,
    KARMAMixtureClassifier,
    KARMAMixtureRegressor,
    KARMARegressor,
    SubspaceClassifier,
    SubspaceRegressor,
)
from tests.campaigns import repeat

TRIES = (
    "1,500 events of any task to each of the learners, with up to 2 % of the values, or of the targets of a "
    "regression, multiplied by up to 10^60 or replaced by one such number"
)
PROMISE = (
    "after 500 events the mean error is at most a quarter above that without them, and 2 % of the events"
)
SHORT, LONG = 3, 500

_CLASSIFIERS = KARMAClassifier, ExplicitKARMAClassifier, SubspaceClassifier, KARMAMixtureClassifier
_REGRESSORS = KARMARegressor, ExplicitKARMARegressor, SubspaceRegressor, KARMAMixtureRegressor
_EVENTS, _BEGIN = 1500, 500

Floats = NDArray[np.float64]


def run(tries: int, seed: int, folder: Path) -> None:
    repeat(_attempt, tries, seed, folder)


def _attempt(rng: random.Random, folder: Path) -> None:
    task = rng.choice(["binary", "multiclass", "regression"])
    targets = task == "regression" and rng.random() < 0.5
    X, y = _clean(task)
    given, spoilt = X.copy(), np.array(y, np.float64)
    _spoil(spoilt if targets else given, rng)
    learned = spoilt.tolist() if targets else y
    for kind in _REGRESSORS if task == "regression" else _CLASSIFIERS:
        error, clean = _error(kind, given, learned, y), _clean_error(kind, task)
        most = 1.25 * clean + 0.02 * (1.0 if task != "regression" else float(np.abs(y).mean()))
        assert error <= most, f"{kind.__name__}, {task}, targets {targets}: {error:.4f}, clean {clean:.4f}"


def _spoil(values: Floats, rng: random.Random) -> None:
    """Corrupt some values, in place."""
    numbers = np.random.default_rng(rng.getrandbits(32))
    wild = (numbers.random(values.shape) < 10 ** rng.uniform(-3.0, np.log10(0.02))) & ~np.isnan(values)
    exponent = rng.choice([3.0, 8.0, 60.0])
    if rng.random() < 0.5:
        values[wild] *= 10.0 ** numbers.uniform(1.0, exponent, wild.sum())
    else:
        values[wild] = rng.choice([-1.0, 1.0]) * 10.0**exponent


@cache
def _clean(task: str) -> tuple[Floats, list[Any]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_EVENTS, 5))
    signal = X @ [2.0, -1.0, 0.5, 1.0, 0.0]
    X[rng.random(X.shape) < 0.2] = np.nan
    several = np.digitize(signal, [-1.0, 1.0])
    return X, {"binary": signal > 0, "multiclass": several, "regression": signal}[task].tolist()


@cache
def _clean_error(kind: Any, task: str) -> float:
    X, y = _clean(task)
    return _error(kind, X, y, y)


def _error(kind: Any, X: Floats, learned: list[Any], right: list[Any]) -> float:
    """Mean error, or mean absolute error, of the predictions after the start."""
    model, errors = kind(), []
    for row, y, truth in zip(X.tolist(), learned, right, strict=True):
        event = {f"x{i}": value for i, value in enumerate(row) if value == value}
        said = model.predict_one(event)
        errors.append(abs(said - truth) if isinstance(truth, float) else said != truth)
        model.learn_one(event, y)
    return float(np.mean(errors[_BEGIN:]))
