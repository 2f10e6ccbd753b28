"""From raw events to the numbers the learners see.

An event arrives as raw values at coordinates. What is missing (NaN) is dropped, numeric
values are standardised by the mean and deviation up to and including the event itself, and
the items are put in the one canonical order, ascending attribute, in which everything is
summed later: the order of an event's keys never shows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import borrowing, compiled
from streamkarma.core.scale import LARGEST, mean_and_deviation, standardise
from streamkarma.events.block import Block

Floats = NDArray[np.float64]


@compiled
def encode(raw: Block, numeric: NDArray[np.bool_], moments: Floats, learned: NDArray[np.bool_],
           scale: bool, bias: bool, longest: float) -> Block:  # fmt: skip
    """Turn a block of raw events into what the learners see.

    Parameters
    ----------
    raw
        The events, items in any order.
    numeric
        Shape (K,): whether a coordinate holds numbers, which are standardised, or marks a
        category. Coordinates of K and more are taken as they are.
    moments
        Shape (K, WIDTH): what ``scale`` knows of each coordinate, updated.
    learned
        Shape (T,): whether the event will be learned; the others leave no trace in
        ``moments``.
    scale
        Standardise at all.
    bias
        Put the constant attribute 0, coordinate 0, value 1 in front of every event.
    longest
        Values of an attribute that count, see ``memory``.

    Returns
    -------
    The same events: no NaN, attributes ascending, values finite.
    """
    events = raw.starts.size - 1
    room = raw.values.size + events
    attributes, coordinates = np.empty(room, np.int32), np.empty(room, np.int32)
    block = Block(np.zeros(events + 1, np.int64), attributes, coordinates, np.empty(room, np.float64))
    end = encode_into(block, raw, numeric, moments, learned, scale, bias, longest)
    return Block(block.starts, attributes[:end], coordinates[:end], block.values[:end])


@borrowing
def encode_into(block: Block, raw: Block, numeric: NDArray[np.bool_], moments: Floats,
                learned: NDArray[np.bool_], scale: bool, bias: bool, longest: float) -> int:  # fmt: skip
    """Encode into a block that has room, and return how many items there are."""
    starts, attributes, coordinates, values = block
    end = 0
    for t in range(raw.starts.size - 1):
        if bias:
            attributes[end], coordinates[end], values[end] = 0, 0, 1.0
            end += 1
        first = end
        for j in range(raw.starts[t], raw.starts[t + 1]):
            value = raw.values[j]
            if np.isnan(value):
                continue
            attribute, coordinate = raw.attributes[j], raw.coordinates[j]
            if scale and coordinate < numeric.size and numeric[coordinate]:
                value = standardise(moments[coordinate], value, learned[t], longest)
            place = end
            while place > first and attributes[place - 1] > attribute:
                attributes[place] = attributes[place - 1]
                coordinates[place] = coordinates[place - 1]
                values[place] = values[place - 1]
                place -= 1
            attributes[place], coordinates[place] = attribute, coordinate
            values[place] = min(max(value, -LARGEST), LARGEST)
            end += 1
        starts[t + 1] = end
    return end


@compiled
def encode_targets(targets: Floats, weights: Floats, moments: Floats, scale: bool, longest: float,
                   centres: Floats, spreads: Floats) -> Floats:  # fmt: skip
    """Targets of a regression in units the learner can take in any stream.

    Parameters
    ----------
    targets
        Shape (T,): NaN where there is none.
    weights
        Shape (T,): targets of weight 0 leave no trace.
    moments
        Shape (WIDTH,): what ``scale`` knows of the targets, updated.
    scale
        Standardise at all.
    longest
        Targets that count, see ``memory``.
    centres, spreads
        Shape (T,): receive what a score at that moment is to be multiplied by and shifted
        by to be a prediction: what was known before the target was.

    Returns
    -------
    Shape (T,): the target in standard deviations from the mean, itself included, within
    ±CLIP; 0 for a constant, and for what is no measurement (see ``scale``).
    """
    standard = targets.copy()
    for t in range(targets.size):
        centres[t], spreads[t] = 0.0, 1.0
        if not scale:
            continue
        centres[t], deviation = mean_and_deviation(moments)
        if deviation > 0.0:
            spreads[t] = deviation
        if not np.isnan(targets[t]):
            standard[t] = standardise(moments, targets[t], weights[t] > 0.0, longest)
    return standard


@compiled
def encode_target(target: float, weight: float, moments: Floats, scale: bool,
                  longest: float) -> tuple[float, float, float]:  # fmt: skip
    """As ``encode_targets``, of one: the target in standard deviations, and its centre and spread."""
    centres, spreads = np.empty(1), np.empty(1)
    standard = encode_targets(np.full(1, target), np.full(1, weight), moments, scale, longest,
                              centres, spreads)  # fmt: skip
    return standard[0], centres[0], spreads[0]
