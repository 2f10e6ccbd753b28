"""Streams close to a subspace, and models of them, for the tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamkarma.core.subspace import Completion, Subspace, SubspaceSettings
from streamkarma.events.block import Block
from tests.reference import Array

FORMS = {"pairs": 64, "factor": 1}

#: Indices in the array "clock" of a state: events learned, the number of events at which the completion is
#: next updated, what an event of weight 1 adds to the counts, and the variance of the noise.
EVENTS, DUE, GROWTH, NOISE = range(4)


def block_of(rows: Array) -> Block:
    """The constant, then rows with NaN for missing values: column j is coordinate j + 1."""
    rows = np.column_stack([np.ones(len(rows)), rows])
    there = ~np.isnan(rows)
    starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    where = np.nonzero(there)[1].astype(np.int32)
    return Block(starts, where, where.copy(), rows[there])


def categorical_block(columns: Array) -> tuple[Block, int]:
    """Two attributes with categories 0, 1, … or NaN, and the number of coordinates with the constant."""
    levels = int(np.nanmax(columns)) + 1
    starts, items = [0], []
    for row in columns:
        items.append((0, 0))
        items += [(a + 1, 1 + a * levels + int(c)) for a, c in enumerate(row) if not np.isnan(c)]
        starts.append(len(items))
    attributes, coordinates = np.array(items, np.int32).T.copy()
    return Block(np.array(starts), attributes, coordinates, np.ones(len(items))), 1 + 2 * levels


def model_of(classes: int = 1, **changes: Any) -> Subspace:
    model = Subspace(SubspaceSettings(**changes))
    if classes > 1:
        model.widen(classes)
    return model


def completion_of(model: Subspace) -> Completion:
    """The completion of a model."""
    completion = Completion(model.settings)
    completion.engine.restore(model.arrays(), 1 << 31, 1 << 31)
    return completion


def is_factor(model: Subspace) -> bool:
    """Whether a factor replaces pairwise moments."""
    return model.summary()["rank"] is not None


def due(events: int) -> int:
    """The next number of events at which a completion without forgetting is up to date."""
    count = 10
    while count < events:
        count += max(10, count // 10)
    return count


def low_rank(seed: int, events: int, columns: int, rank: int, observed: float = 0.5) -> tuple[Array, Array]:
    """Complete vectors from a random subspace, and the same with values missing at random."""
    rng = np.random.default_rng(seed)
    basis = rng.standard_normal((columns, rank))
    full = rng.standard_normal((events, rank)) @ (basis / np.linalg.norm(basis, axis=1)[:, None]).T
    return full, np.where(rng.random(full.shape) < observed, full, np.nan)


def signs(full: Array, seed: int = 0) -> Array:
    return np.sign(full @ np.random.default_rng(seed).standard_normal(full.shape[1]))


def error(model: Completion, rows: Array, full: Array) -> float:
    """Root mean square error of the completed values, relative to that of the data."""
    missing = np.isnan(rows)
    away = model.completed(block_of(rows), full.shape[1] + 1)[:, 1:] - full
    return float(np.sqrt((away[missing] ** 2).mean() / (full**2).mean()))


def same_state(one: Subspace | Completion, other: Subspace | Completion) -> bool:
    left, right = one.arrays(), other.arrays()
    return left.keys() == right.keys() and all(left[name].tobytes() == right[name].tobytes() for name in left)


def train(model: Subspace, rows: Array, labels: Array) -> tuple[Array, Array]:
    return model.run(block_of(rows), labels, np.ones(len(labels)))
