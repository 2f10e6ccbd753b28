"""The labels of the synthetic streams, and what else these streams have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Literal

import numpy as np

from streamkarma.arrays import Floats
from streamkarma.errors import UsageError

#: Events generated at a time: few enough for a quick start, enough to be fast. The stream does not depend on
#: the number of events requested.
CHUNK = 256
#: No label is more certain than this.
LEAST_PROBABILITY = 1e-6
#: Larger deviations of the noise could make a label infinite.
MOST_NOISE = 1e100
#: The kind of label.
Task = Literal["binary", "multiclass", "regression"]


def check_noise(noise: float, task: Task) -> None:
    """Raise UsageError if ``noise`` is neither a probability nor, in regression, a standard deviation."""
    if not 0.0 <= noise <= (MOST_NOISE if task == "regression" else 1.0):
        raise UsageError(f"noise must be a probability (regression: 0 to {MOST_NOISE:g}), not {noise}")


def check_is_not_multiclass(kind: str, task: Task) -> None:
    """Raise UsageError for the task that this kind of stream does not have."""
    if task == "multiclass":
        raise UsageError(f"the kind {kind} needs the task binary or regression")


def labels(
    output: Floats, sharpness: float, noise: float, task: Task, rng: np.random.Generator
) -> tuple[list[Any], list[float]]:
    """The labels that depend on a sum, and the expectation of each.

    Parameters
    ----------
    output
        The sum for each of the ``CHUNK`` events.
    sharpness
        The log-odds of the label are ``sharpness * output``.
    noise, task
        As in the specification of the stream.
    rng
        The generator of the labels.

    Returns
    -------
    The labels, and the probability that each is 1, or in regression its mean.

    Examples
    --------
    >>> drawn, chances = labels(np.full(CHUNK, 2.0), 1.0, 0.0, "binary", np.random.default_rng(0))
    >>> set(drawn), round(chances[0], 3), round(sum(drawn) / CHUNK, 1)
    ({0, 1}, 0.881, 0.8)
    """
    if task == "regression":
        label = np.round(output + noise * rng.standard_normal(CHUNK), 6)
        return label.tolist(), np.round(output, 6).tolist()
    clean = 1.0 / (1.0 + np.exp(-sharpness * output))
    chance = np.round(clean + noise * (1.0 - 2.0 * clean), 6)
    chance = np.clip(chance, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    return (rng.random(CHUNK) < chance).astype(int).tolist(), chance.tolist()


def in_rows(next_columns: Callable[[], dict[str, list[Any]]], events: int) -> Iterator[dict[str, Any]]:
    """The first events as JSON objects.

    Parameters
    ----------
    next_columns
        Returns the next ``CHUNK`` events, by name, with None for missing values.
    events
        Number of events.

    Examples
    --------
    >>> list(in_rows(lambda: {"x": [1.0, None] * (CHUNK // 2), "y": [0] * CHUNK}, events=2))
    [{'x': 1.0, 'y': 0}, {'y': 0}]
    """
    for begin in range(0, events, CHUNK):
        columns = next_columns()
        rows = zip(*columns.values(), strict=True)
        for row in islice(rows, events - begin):
            yield {name: value for name, value in zip(columns, row, strict=True) if value is not None}
