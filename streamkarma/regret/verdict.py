"""A sentence that compares a learner with the best offline linear model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from streamkarma.baselines.registry import REGISTRY
from streamkarma.regret.rows import Row, is_linear, per_event, sound

#: Standard errors within which two losses count as equal.
STANDARD_ERRORS = 2


class Rival(NamedTuple):
    """The offline model that a learner is compared with.

    Attributes
    ----------
    name, row
        The baseline and its latest result.
    loss
        Its mean loss, held out or in hindsight.
    held_out
        Whether it is held out; if not, it is the exact loss of a linear model in hindsight.
    """

    name: str
    row: Row
    loss: float
    held_out: bool


def best_offline(rows: Mapping[str, Row]) -> Rival | None:
    """The linear baseline with the smallest loss, or if there is none, the best of the others.

    Parameters
    ----------
    rows
        The latest result of each baseline. Baselines that see complete vectors, as no learner does, are
        excluded, and so are those that ended earlier than others.
    """
    seen = [name for name in rows if not (name in REGISTRY and REGISTRY[name].oracle)]
    for names in ([name for name in seen if is_linear(name)], seen):
        found = [rival for name in names for row in sound([rows[name]]) if (rival := _rival(name, row))]
        if found:
            last = max(rival.row["events"] for rival in found)
            return min((each for each in found if each.row["events"] == last), key=_order)
    return None


def verdict(learner: str, loss: str, rows: Mapping[str, Row], events: int, mean: float) -> str:
    """The sentence.

    Parameters
    ----------
    learner
        The name of the learner.
    loss
        The name of the loss.
    rows
        As in ``best_offline``.
    events, mean
        The number of events that the learner has seen, and its mean loss.
    """
    if not events:
        return f"{learner} has seen no event with a label."
    if (rival := best_offline(rows)) is None:
        return (
            f"{learner} has a mean {loss} loss of {mean:.4g} over {events:,} events; "
            "no baseline to compare it with has a result."
        )
    row, whole = rival.row, rival.loss
    difference = float(row["learner_loss"]) / row["weight"] - whole
    error = STANDARD_ERRORS * (per_event(row, "held_out_standard_error") or 0.0) if rival.held_out else 0.0
    unit = " %" if whole > 0.0 else ""
    size, margin = _rounded(*((100 * each / whole if unit else each) for each in (abs(difference), error)))
    if float(size) <= float(margin):
        standing = "does not differ measurably from"
    else:
        standing = "beats" if difference < 0.0 else "loses to"
    model = "the best offline linear model" if is_linear(rival.name) else "the best offline model"
    part = "" if row["events"] == events else f" over the first {row['events']:,} events"
    amount = f"{size} ± {margin}{unit}" if error else f"{size}{unit}"
    note = f" (± {STANDARD_ERRORS} standard errors)" if error else ""
    return (
        f"{learner} {standing} {model} ({rival.name}, {'held out' if rival.held_out else 'in hindsight'}): "
        f"its mean {loss} loss{part} is {amount} {'higher' if difference > 0.0 else 'lower'}{note}."
    )


def _order(rival: Rival) -> tuple[bool, float]:
    """By loss; last a baseline whose held-out fits failed, because its loss in hindsight is too good."""
    return "held_out_problem" in rival.row, rival.loss


def _rival(name: str, row: Row) -> Rival | None:
    if (loss := per_event(row, "held_out_loss")) is not None:
        return Rival(name, row, loss, held_out=True)
    if is_linear(name) and row["exact"] and (loss := per_event(row, "baseline_loss")) is not None:
        return Rival(name, row, loss, held_out=False)
    return None


def _rounded(size: float, error: float) -> tuple[str, str]:
    """A size and its error to one digit of the error, or two if it begins with 1, 2 or 3.

    Examples
    --------
    >>> _rounded(2.83, 0.42), _rounded(2.834, 0.21), _rounded(31.42, 0.0)
    (('2.8', '0.4'), ('2.83', '0.21'), ('31.4', '0.0'))
    """
    # Without an error, two digits of the size, or three.
    least = (error or size / 10) / 4
    digits = max(0, -math.floor(math.log10(least))) if 0.0 < least < math.inf else 0
    return f"{size:.{digits}f}", f"{error:.{digits}f}"
