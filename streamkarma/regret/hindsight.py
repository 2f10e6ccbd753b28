"""The loss of a baseline on a table of events: in hindsight, and held out.

*In hindsight* a baseline is fitted on the same rows it is scored on. This is the regret of the theory,
and it favours methods that memorise. *Held out* is five-fold cross-validation: what you would get by
collecting first and training afterwards. ``fit.Fit`` says how it is fitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Floats
from streamkarma.baselines.registry import named
from streamkarma.events.reservoir import ERROR, LOSS, TARGET, WEIGHT, ReservoirSnapshot
from streamkarma.regret.competitor import (
    LIPSCHITZ,
    REGULARITY,
    BoundEvents,
    LearnerProfile,
    bound_terms,
    subspace_of_events,
    with_constant,
)
from streamkarma.regret.fit import Fit
from streamkarma.regret.losses import pointwise_loss, wrong
from streamkarma.regret.units import near_units


class EventTable(NamedTuple):
    """The events of a snapshot in the form that baselines take.

    Attributes
    ----------
    X, attributes
        Rows with NaN for missing values, and the attribute of each column.
    facts
        As in ``ReservoirSnapshot``.
    full
        Complete rows, or None.
    whole
        The same rows with only the columns of X, in the same order, or None.
    events
        Number of events that the rows represent.
    """

    X: Floats
    attributes: NDArray[np.int64]
    facts: Floats
    full: Floats | None
    whole: Floats | None
    events: int

    @classmethod
    def of(cls, snapshot: ReservoirSnapshot) -> EventTable:
        """The table of a snapshot; ValueError if it is too large."""
        X, attributes, coordinates = snapshot.table()
        if X.shape[1] == 0:
            # Without any attributes, a baseline still has its constant, as with a missing attribute.
            X, attributes = np.full((len(X), 1), np.nan), np.zeros(1, np.int64)
        full = snapshot.full
        if full.shape[1] == 0 or np.isnan(full).any():
            return cls(X, attributes, snapshot.facts, None, None, snapshot.events)
        place = {int(coordinate): column for column, coordinate in enumerate(snapshot.name_coordinates)}
        columns = [place.get(int(coordinate), -1) for coordinate in coordinates]
        whole = full[:, columns] if -1 not in columns else None
        return cls(X, attributes, snapshot.facts, full, whole, snapshot.events)


def evaluate_baseline(
    name: str, table: EventTable, task: str, loss: str, learner: LearnerProfile | None = None
) -> dict[str, Any]:
    """Compare a baseline with the learner by the same loss on the same rows: the last of ``rows_in_turn``."""
    *_, row = rows_in_turn(name, table, task, loss, learner)
    return row


def rows_in_turn(
    name: str, table: EventTable, task: str, loss: str, learner: LearnerProfile | None = None
) -> Iterator[dict[str, Any]]:
    """Compare a baseline with the learner: in hindsight, and then, which takes longer, held out as well.

    Parameters
    ----------
    name
        A name in the registry.
    table
        The events, with the learner's loss on each.
    task, loss
        ``"binary"``, ``"multiclass"`` or ``"regression"``, and one of its ``LOSSES``.
    learner
        The learner whose regret is bounded, if there is a bound: ``bound`` in the row of
        ``projection-full`` then has its terms.

    Yields
    ------
    A row of the report: ``events``, ``weight``, ``learner_loss``, ``baseline_loss`` and ``regret`` (sums over
    all events, of their weights and weighted losses, estimated if the rows are a sample),
    ``regret_per_event``, ``exact``, ``standard_error`` (of the regret), ``learner_error``, ``error``,
    ``held_out_loss`` (a sum), ``held_out_error`` and ``held_out_standard_error``: the standard error of the
    learner's loss minus the held-out loss, if the events are regarded as a sample. Means and errors are
    weighted, too: they are divided by the sum of the weights. What is held out is None in the first row.

    Raises
    ------
    ValueError
        If the baseline cannot be fitted to these events; the message says why.
    """
    entry = named(name)
    if entry.oracle and table.full is None:
        raise ValueError("needs complete vectors (--full NAME) of all events")
    y, weights = table.facts[:, TARGET], table.facts[:, WEIGHT]
    fit = Fit(entry, task, loss, table.attributes, int(y.max()) + 1 if task == "multiclass" else 1)
    X = table.full if entry.oracle and table.full is not None else near_units(table.X)
    if entry.name == "projection-full":
        if table.whole is None:
            raise ValueError(
                "needs complete vectors with the same attributes as the events, all of them numbers"
            )
        X, Q = with_constant(table.X), subspace_of_events(table.X, table.whole)
        fit.settings |= {"subspace": Q, "regularity": REGULARITY, "scale": False}
    # Only ratios of weights count, and equal ones are left out of the fit.
    given = weights / weights.mean() if (weights != weights[0]).any() else None
    scores = fit.hindsight(X, y, given)
    w, b = fit.linear()
    row = compare_losses(table, weights * pointwise_loss(loss, scores, y))
    row["error"] = float(np.average(wrong(task, scores, y), weights=weights))
    if entry.name == "projection-full" and learner is not None and loss in LIPSCHITZ and w is not None:
        row["bound"] = bound_terms(BoundEvents(X, y, weights, loss, table.events), Q, w, b, learner)
    yield row
    held = fit.held_out(X, y, given)
    if held is not None:
        losses = weights * pointwise_loss(loss, held, y)
        differences = table.facts[:, LOSS] - losses
        # The mean difference is a ratio of two sums, so its error is that of the residuals.
        spread = float((differences - weights * differences.sum() / weights.sum()).std(ddof=1))
        row = {
            **row,
            "held_out_loss": float(losses.mean() * table.events),
            "held_out_error": float(np.average(wrong(task, held, y), weights=weights)),
            "held_out_standard_error": table.events * spread / float(np.sqrt(len(y))),
        }
    yield row


def compare_losses(table: EventTable, losses: Floats) -> dict[str, Any]:
    """Sums over all events, estimated from the weighted losses of the sampled rows."""
    n, N = len(losses), table.events
    own, weights = table.facts[:, LOSS], table.facts[:, WEIGHT]
    differences = own - losses
    # The standard error of the mean of n out of N events, drawn without replacement.
    share = np.sqrt(max(0.0, 1.0 - n / N) / n) if n else 0.0
    spread = float(differences.std(ddof=1)) if n > 1 else 0.0
    return {
        "events": N,
        "weight": float(weights.mean() * N),
        "learner_loss": float(own.mean() * N),
        "baseline_loss": float(losses.mean() * N),
        "regret": float(differences.mean() * N),
        "regret_per_event": float(differences.sum() / weights.sum()),
        "exact": n == N,
        "standard_error": float(N * spread * share),
        "learner_error": float(np.average(table.facts[:, ERROR], weights=weights)),
        "error": None,
        "held_out_loss": None,
        "held_out_error": None,
        "held_out_standard_error": None,
    }
