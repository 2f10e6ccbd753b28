"""KARMA in its explicit form, one compiled call for an event or a block of events."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.adaptive import Rows, Step, judge, learn, predict
from streamkarma.core.features import (
    ATTRIBUTES,
    COORDINATES,
    Form,
    Places,
    Scratch,
    expand,
    scratch,
    set_count,
)
from streamkarma.core.jit import borrowing, compiled
from streamkarma.core.passes import Floats, Indices
from streamkarma.events.block import Block


@compiled
def run_block(form: Form, shares: Rows, step: Step, known: Places, clock: Floats, weights: Rows, spread: Rows,
              block: Block, labels: Floats, counts: Floats, first: int, scores: NDArray[np.float64],
              losses: Floats) -> int:  # fmt: skip
    """Predict, then learn, every event in turn.

    Parameters
    ----------
    known
        How many attributes and coordinates were in events that were learned; updated.
    clock, weights, spread
        See ``core.adaptive``.
    labels
        Shape (T,): +1 or -1, a class number, or the target; NaN is predicted only.
    counts
        Shape (T,): how often each event counts; 0 leaves the model as it is.
    first
        The event to begin with.
    scores, losses
        Shapes (T, C) and (T,): receive the scores before learning and the losses suffered.

    Returns
    -------
    The event that is to be learned and has features beyond the table, or T.
    """
    room = scratch(form, block.starts)
    return _run(form, shares, step, known, clock, weights, spread, block, labels, counts, first, scores,
                losses, room, np.empty((2, room.phi.size)), np.empty(scores.shape[1]))  # fmt: skip


@borrowing
def _run(form: Form, shares: Rows, step: Step, known: Places, clock: Floats, weights: Rows, spread: Rows,
         block: Block, labels: Floats, counts: Floats, first: int, scores: NDArray[np.float64],
         losses: Floats, room: Scratch, work: Rows, slopes: Floats) -> int:  # fmt: skip
    """``run_block``, which makes room for it."""
    starts, attributes, coordinates, values = block
    places, phi, codes, share = room
    for t in range(first, labels.size):
        begin, end = starts[t], starts[t + 1]
        learns = not np.isnan(labels[t]) and counts[t] > 0.0
        if learns and not _meet(form, known, attributes, coordinates, begin, end, weights.shape[1]):
            return t
        size = expand(form, known, attributes, coordinates, values, begin, end, shares,
                      places, phi, codes, share)  # fmt: skip
        index, features, now = places[:size], phi[:size], scores[t]
        predict(step, clock, weights, index, features, now)
        if np.isnan(labels[t]):
            continue
        losses[t] = judge(step, now, labels[t], slopes)
        if learns:
            learn(step, clock, weights, spread, index, features, losses[t], slopes, counts[t],
                  work)  # fmt: skip
    return int(labels.size)


@borrowing
def _meet(form: Form, known: Places, attributes: Indices, coordinates: Indices, begin: int, end: int,
          room: int) -> bool:  # fmt: skip
    """Count an event's names as known, if the table has room for them."""
    most_attributes, most_coordinates = known[ATTRIBUTES], known[COORDINATES]
    for j in range(np.uint64(begin), np.uint64(end)):
        most_attributes = max(most_attributes, attributes[j] + 1)
        most_coordinates = max(most_coordinates, coordinates[j] + 1)
    if form.hash_bits == 0 and (
        set_count(most_attributes, form.gamma) > 1 << form.set_bits
        or most_coordinates > room >> form.set_bits
    ):
        return False
    known[ATTRIBUTES], known[COORDINATES] = most_attributes, most_coordinates
    return True
