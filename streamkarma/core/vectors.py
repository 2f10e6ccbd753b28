"""The support vectors of KARMA, as compiled code sees them.

The model is v = s * sum_i phi(u_i, q_i): support vector i is an observed set q_i and, for
each class, a vector u_i on its coordinates. phi is linear in u for a fixed q (Fact 1 of the
design), so alpha_i is kept folded into u_i: its size is the norm of phi(u_i, q_i), and
examples with the same observed set add up in one support vector without any loss.

Values lie coordinate by coordinate with the support vectors side by side: an event touches
only the rows of what it observed, and each row is one vectorised pass over all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import compiled, inlined
from streamkarma.core.kernel import growth
from streamkarma.core.lanes import borrowed
from streamkarma.core.passes import Floats, Indices

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Table = NDArray[np.int32]
Cube = NDArray[np.float64]
Shares = NDArray[np.uint16]

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
    few
        Shape (B,): bytes to count in.
    overlap, gain
        Shape (B,): |o ∩ q_i| and G_gamma of it.
    ranks
        Shape (B,): what is compared.
    kept
        Shape (B,): share of the squares kept in a projection; see ``passes.sum_where``.
    x, rows
        Shape (L,): an event's values scaled in feature space, and where they sit.
    known
        Shape (L,): the attributes of an event that the model knows.
    amounts, units, owners
        Shape (L,): squares of values, their shares in units, and the attributes they belong to.
    """

    few: Bytes
    overlap: Floats
    gain: Floats
    ranks: Floats
    kept: Shares
    x: Floats
    rows: Indices
    known: Indices
    amounts: Floats
    units: Shares
    owners: Indices


@inlined
def lent(v: Vectors) -> Vectors:
    """The same arrays, ``borrowed`` for the length of a call."""
    return Vectors(
        borrowed(v.values),
        borrowed(v.passed),
        borrowed(v.mask),
        borrowed(v.attributes),
        borrowed(v.coordinates),
        borrowed(v.sizes),
        borrowed(v.lengths),
        borrowed(v.inverse),
        borrowed(v.squares),
        borrowed(v.born),
        borrowed(v.owners),
        borrowed(v.clock),
        borrowed(v.counts),
    )


@inlined
def lent_workspace(work: Workspace) -> Workspace:
    """The same arrays, ``borrowed`` for the length of a call."""
    return Workspace(
        borrowed(work.few),
        borrowed(work.overlap),
        borrowed(work.gain),
        borrowed(work.ranks),
        borrowed(work.kept),
        borrowed(work.x),
        borrowed(work.rows),
        borrowed(work.known),
        borrowed(work.amounts),
        borrowed(work.units),
        borrowed(work.owners),
    )


@compiled
def workspace(slots: int, items: int) -> Workspace:
    """Scratch for ``slots`` slots, whole tiles, and up to ``items`` items.

    One piece of memory, at an address that vectors like: asking for it takes as long as a pass.
    """
    items = (items + 7) // 8 * 8
    raw = np.empty(64 + 27 * slots + 30 * items, np.uint8)
    at = -raw.ctypes.data % 64
    few, at = raw[at : at + slots], at + slots
    kept, at = raw[at : at + 2 * slots].view(np.uint16), at + 2 * slots
    doubles = raw[at : at + 24 * slots + 16 * items].view(np.float64)
    at += 24 * slots + 16 * items
    words = raw[at : at + 12 * items].view(np.int32)
    at += 12 * items
    return Workspace(
        few=few,
        overlap=doubles[:slots],
        gain=doubles[slots : 2 * slots],
        ranks=doubles[2 * slots : 3 * slots],
        kept=kept,
        x=doubles[3 * slots : 3 * slots + items],
        rows=words[:items],
        known=words[items : 2 * items],
        amounts=doubles[3 * slots + items :],
        units=raw[at : at + 2 * items].view(np.uint16),
        owners=words[2 * items :],
    )


@compiled
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


@compiled
def fill(slot: int, step: int, attributes: Indices, rows: Indices, size: int, gamma: int,
          sizes: Indices, lengths: Indices, inverse: Floats, born: Floats, observed: Table,
          coordinates: Table, owners: Indices, mask: Bytes) -> None:  # fmt: skip
    """Give an empty slot its observed set, and the coordinates of its first event."""
    sizes[slot] = size
    lengths[slot] = size
    inverse[slot] = 1.0 / growth(float(size), gamma)
    born[slot] = step
    for j in range(size):
        observed[slot, j] = attributes[j]
        coordinates[slot, j] = rows[j]
        owners[rows[j]] = attributes[j]
        mask[attributes[j], slot] = 1


@compiled
def add(values: Cube, mask: Bytes, owners: Indices, coordinates: Table, lengths: Indices,
         slot: int, attributes: Indices, size: int, x: Floats, rows: Indices,
         steps: Floats) -> None:  # fmt: skip
    """u_slot += steps_c * x for every class c, on the attributes that the slot has.

    The others are multiplied by 0 and not left out: nobody could foretell which they are. A
    coordinate with a value is listed; of one without, that is to be seen.
    """
    length = lengths[slot]
    for j in range(size):
        row, has = rows[j], mask[attributes[j], slot]
        if has > (values[row, 0, slot] != 0.0):
            owners[row] = attributes[j]
            length = claim(coordinates, slot, length, row, j)
        amount = has * x[j]
        for c in range(steps.size):
            values[row, c, slot] += steps[c] * amount
    lengths[slot] = length


@compiled
def square_norm(values: Cube, coordinates: Table, lengths: Indices, slot: int) -> float:
    """Sum of the squares of a slot's values, over all its coordinates and classes."""
    result = 0.0
    for j in range(lengths[slot]):
        for c in range(values.shape[1]):
            value = values[coordinates[slot, j], c, slot]
            result += value * value
    return result


@compiled
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
    clock[SCALE] = 1.0
    clock[SCALE_SUM] = 0.0
