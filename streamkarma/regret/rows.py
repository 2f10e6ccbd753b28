"""Access to the rows of a regret report, which ``hindsight.evaluate_baseline`` describes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from streamkarma.baselines.registry import REGISTRY

Row = dict[str, Any]


def rows_of(report: dict[str, Any]) -> dict[str, list[Row]]:
    """The rows of each baseline of the first learner."""
    regret: dict[str, list[Row]] = next(iter(report["learners"].values()))["regret"]
    return regret


def is_finite(value: float | None) -> bool:
    """Whether there is a value, and it is neither infinite nor NaN."""
    return value is not None and math.isfinite(value)


def failed(row: Row | None, events: int, reason: str) -> Row:
    """The row of a baseline that could not be evaluated: its loss in hindsight remains, if ``row`` has it.

    Examples
    --------
    >>> failed(None, 256, "not enough memory")
    {'events': 256, 'problem': 'not enough memory'}
    """
    return {"events": events, "problem": reason} if row is None else {**row, "held_out_problem": reason}


def sound(rows: Sequence[Row]) -> list[Row]:
    """The rows with a result."""
    return [row for row in rows if "problem" not in row and is_finite(row["regret"])]


def per_event(row: Row, name: str) -> float | None:
    """A sum in a row, as a mean over the events by their weights; None if the row has none."""
    return float(row[name]) / float(row["weight"]) if is_finite(row.get(name)) else None


def is_linear(name: str) -> bool:
    """Whether a baseline is linear, so that it cannot memorise and its loss in hindsight is meaningful.

    Examples
    --------
    >>> is_linear("mean"), is_linear("trees")
    (True, False)
    """
    return name in REGISTRY and REGISTRY[name].linear
