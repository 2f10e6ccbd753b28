"""The error of an oracle that sees the complete data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


class Oracle:
    """Counts the errors of an oracle that knows the weights and the complete events.

    Parameters
    ----------
    task
        Kind of label: ``"binary"`` or ``"regression"``.
    key
        Key of the oracle's prediction in a record: an object whose only value is the probability of the
        label 1 or, in regression, the label's mean.

    Examples
    --------
    >>> oracle = Oracle("binary", "full")
    >>> oracle.add([{"y": 1, "full": {"probability": 0.75}}, {"y": 1, "full": {"probability": 0.25}}])
    >>> str(oracle)
    'oracle: error rate 0.5000, log loss 0.8370 on 2 events'
    """

    def __init__(self, task: str, key: str) -> None:
        self._regression, self._key = task == "regression", key
        self._events, self._errors, self._loss = 0, 0.0, 0.0

    def add(self, records: Iterable[dict[str, Any]]) -> None:
        """Count records made with ``full``."""
        known = [(record["y"], *record[self._key].values()) for record in records]
        label, expected = np.array(known, dtype=float).reshape(-1, 2).T
        self._events += len(label)
        if self._regression:
            self._errors += float(np.abs(label - expected).sum())
            self._loss += float(((label - expected) ** 2).sum())
        else:
            self._errors += int(((expected > 0.5) != (label > 0.5)).sum())
            self._loss -= float(np.log(np.where(label > 0.5, expected, 1.0 - expected)).sum())

    def __str__(self) -> str:
        events = max(self._events, 1)
        error, loss = self._errors / events, self._loss / events
        if self._regression:
            figures = f"mean absolute error {error:.4f}, RMSE {loss**0.5:.4f}"
        else:
            figures = f"error rate {error:.4f}, log loss {loss:.4f}"
        return f"oracle: {figures} on {self._events:,} events"
