"""The support vectors of KARMA, as compiled code sees them.

The model is v = s * sum_i phi(u_i, q_i): support vector i is an observed set q_i and, for
each class, a vector u_i on its coordinates. phi is linear in u for a fixed q (Fact 1 of the
design), so alpha_i is kept folded into u_i: its size is the norm of phi(u_i, q_i), and
examples with the same observed set add up in one support vector without any loss.

Values lie coordinate by coordinate with the support vectors side by side: an event touches
only the rows of what it observed, and each row is one vectorised pass over all of them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import borrowing, compiled
from streamkarma.core.kernel import growth
from streamkarma.core.lanes import WIDTH, item, put
from streamkarma.core.passes import Bytes, Floats, Indices, Rounded, Shares

Ints = NDArray[np.int64]

Table = NDArray[np.int32]
Cube = NDArray[np.float64]

USED, STEPS, LONGEST, MERGED_EXACTLY, MERGED_CLOSEST, REMOVED, ADDED, REPLACED = range(8)
SCALE, SCALE_SUM = range(2)

#: The global scale is multiplied into the vectors below this: long before it underflows, and
#: early enough that the running average loses no digits to cancellation.
SMALLEST_SCALE = 1e-3


class Vectors(NamedTuple):
    """B slots for support vectors, C classes (1 for two classes and for regression).

    B is a multiple of ``passes.TILE``; slots past the budget stay empty.

    Attributes
    ----------
    values
        Shape (coordinates, C, B): u_i before the global scale.
    rounded, narrow
        ``values`` and ``inverse`` in single precision: to read them takes most of the time.
    passed
        Shape as ``values``, or (0, 0, 0) without averaging. The sum of all iterates
        v_1, v_2, … so far is ``scale_sum * values - passed``.
    mask
        Shape (attributes, B): 1 where the attribute belongs to the slot's observed set.
    attributes, coordinates
        Shape (B, L): the slot's observed set, and the coordinates it has values on.
    sizes, lengths
        Shape (B,): how many of them there are.
    inverse
        Shape (B,): 1 / G_gamma of the size; |phi(u, q)|^2 is |u|^2 divided by it.
    squares
        Shape (B,): squared norm of phi(u_i, q_i), all classes, before the global scale.
    born
        Shape (B,): the step in which the slot was filled.
    owners
        Shape (coordinates,): the attribute that a coordinate belongs to.
    clock
        The global scale s, and the sum of its values over the iterates so far.
    counts
        Slots in use; steps; most coordinates in one slot; examples merged exactly; support
        vectors folded into the closest pattern; support vectors removed; examples that
        got a free slot; examples that got the slot of another.
    """

    values: Cube
    rounded: Rounded
    narrow: Rounded
    passed: Cube
    mask: Bytes
    attributes: Table
    coordinates: Table
    sizes: Indices
    lengths: Indices
    inverse: Floats
    squares: Floats
    born: Floats
    owners: Indices
    clock: Floats
    counts: Ints


class Workspace(NamedTuple):
    """Scratch for the passes over B slots, and for up to L items.

    Attributes
    ----------
    gain, exact
        Shape (B,): G_gamma of |o ∩ q_i|, in single precision and in double; whichever was asked for.
    ranks
        Shape (B,): what is kept in a projection; see ``passes.keeper``.
    x, light, rows
        Shape (L,): an event's values scaled in feature space, the same in single precision, and where
        they sit.
    known
        Shape (L,): the attributes of an event that the model knows.
    amounts, units, owners
        Shape (L,): squares of values, their shares in units, and the attributes they belong to.
    """

    gain: Rounded
    exact: Floats
    ranks: Rounded
    x: Floats
    light: Rounded
    rows: Indices
    known: Indices
    amounts: Floats
    units: Shares
    owners: Indices


@compiled
def workspace(slots: int, items: int) -> Workspace:
    """Scratch for ``slots`` slots, whole tiles, and up to ``items`` items.

    One piece of memory, at an address that vectors like: asking for it takes as long as a pass.
    """
    items = (items + 7) // 8 * 8
    raw = np.empty(64 + 16 * slots + 34 * items, np.uint8)
    at = -raw.ctypes.data % 64
    doubles = raw[at : at + 8 * slots + 16 * items].view(np.float64)
    at += 8 * slots + 16 * items
    floats = raw[at : at + 8 * slots + 4 * items].view(np.float32)
    at += 8 * slots + 4 * items
    words = raw[at : at + 12 * items].view(np.int32)
    at += 12 * items
    return Workspace(
        gain=floats[:slots],
        exact=doubles[:slots],
        ranks=floats[slots : 2 * slots],
        light=floats[2 * slots :],
        x=doubles[slots : slots + items],
        rows=words[:items],
        known=words[items : 2 * items],
        amounts=doubles[slots + items :],
        units=raw[at : at + 2 * items].view(np.uint16),
        owners=words[2 * items :],
    )


def grown(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """An array of that shape, zero where the old one has nothing, aligned as vectors like it."""
    if array.shape == shape:
        return array
    size = math.prod(shape) * array.itemsize
    raw = np.zeros(size + WIDTH, np.uint8)
    start = -raw.ctypes.data % WIDTH
    larger = raw[start : start + size].view(array.dtype).reshape(shape)
    larger[tuple(slice(0, size) for size in array.shape)] = array
    return larger


@borrowing
def claim(coordinates: Table, slot: int, length: int, coordinate: int, likely: int) -> int:
    """Make sure a slot lists a coordinate, and return how many it lists then.

    ``likely`` is where it probably stands: where the event has it.
    """
    if likely < length and coordinates[slot, likely] == coordinate:
        return length
    for j in range(length):
        if coordinates[slot, j] == coordinate:
            return length
    coordinates[slot, length] = coordinate
    return length + 1


@borrowing
def fill(v: Vectors, slot: int, attributes: Indices, rows: Indices, size: int, gamma: int) -> None:
    """Give an empty slot its observed set, and the coordinates of its first event, which is the latest."""
    v.sizes[slot] = size
    v.lengths[slot] = size
    v.inverse[slot] = 1.0 / growth(float(size), gamma)
    v.narrow[slot] = np.float32(v.inverse[slot])
    v.born[slot] = v.counts[STEPS]
    for j in range(size):
        v.attributes[slot, j] = attributes[j]
        v.coordinates[slot, j] = rows[j]
        v.owners[rows[j]] = attributes[j]
        v.mask[attributes[j], slot] = 1


@borrowing
def add(values: Cube, mask: Bytes, owners: Indices, coordinates: Table, lengths: Indices,
         slot: int, attributes: Indices, size: int, x: Floats, rows: Indices,
         steps: Floats) -> None:  # fmt: skip
    """u_slot += steps_c * x for every class c, on the attributes that the slot has.

    The others are multiplied by 0 and not left out: nobody could foretell which they are. A
    coordinate with a value is listed; of one without, that is to be seen.
    """
    length, slots = lengths[slot], mask.shape[1]
    for j in range(size):
        row, has = item(rows, j), item(mask, item(attributes, j) * slots + slot)
        at = row * steps.size * slots + slot
        if has > (item(values, at) != 0.0):
            owners[row] = attributes[j]
            length = claim(coordinates, slot, length, row, j)
        amount = has * item(x, j)
        for c in range(steps.size):
            put(values, at + c * slots, item(values, at + c * slots) + item(steps, c) * amount)
    lengths[slot] = length


@borrowing
def round_off(values: Cube, rounded: Rounded, coordinates: Table, lengths: Indices, slot: int) -> float:
    """Round a slot's values anew; returns the sum of their squares, over all coordinates and classes."""
    classes, slots = values.shape[1], values.shape[2]
    result, first = 0.0, slot * coordinates.shape[1]
    for j in range(lengths[slot]):
        at = item(coordinates, first + j) * classes * slots + slot
        for c in range(classes):
            value = item(values, at + c * slots)
            put(rounded, at + c * slots, np.float32(value))
            result += value * value
    return result


@borrowing
def rescale(v: Vectors) -> None:
    """Multiply the global scale into the vectors and set it to 1."""
    values, passed, clock = v.values, v.passed, v.clock
    scale, so_far = clock[SCALE], clock[SCALE_SUM]
    for i in range(v.counts[USED]):
        for j in range(v.lengths[i]):
            k = v.coordinates[i, j]
            for c in range(values.shape[1]):
                if passed.size:
                    passed[k, c, i] -= so_far * values[k, c, i]
                values[k, c, i] *= scale
        v.squares[i] *= scale * scale
        round_off(values, v.rounded, v.coordinates, v.lengths, i)
    clock[SCALE] = 1.0
    clock[SCALE_SUM] = 0.0
