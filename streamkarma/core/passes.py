"""Passes over all support vectors at once: where the time goes.

Slots are taken in tiles of 64, and arrays have room for whole tiles; the slots in use, rounded up
to whole tiles, are the ``span``. Past the slots in use the masks and values are zero. All write
into scratch that the caller owns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import borrowing, inlined
from streamkarma.core.kernel import growth
from streamkarma.core.lanes import (
    LANES,
    first_equal,
    greater,
    greatest_lane,
    item,
    least_lane,
    load,
    multiply_add,
    spread,
    steps,
    store,
    sum_lanes,
    to,
    where_less,
    where_set,
)

Floats = NDArray[np.float64]
Indices = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Shares = NDArray[np.uint16]
Rounded = NDArray[np.float32]

#: Slots in a tile: a vector of any kind of number.
TILE = LANES

#: The largest gain that is computed with in single precision, which ends at 3e38, and at 1e-38 for what is
#: divided by it.
LIGHT = 1e30

#: The whole of what a projection could keep: below 2^16, with room for rounding.
FULL = 65000.0


@borrowing
def whole_tiles(used: int) -> int:
    """The span of so many slots in use."""
    return (used + TILE - 1) // TILE * TILE


@borrowing
def meet(values: Any, rows: Indices, x: Any, mask: Bytes, attributes: Indices, units: Shares,
         size: int, span: int, gamma: int, sizes: Indices, inverse: Any, gain: Any,
         ranks: Rounded) -> tuple[float, int]:  # fmt: skip
    """An event and all slots: gains, what each pattern keeps of it, and the score.

    In one go, as most of the time goes by waiting for the values: the masks are counted meanwhile. All of
    ``values``, ``x``, ``inverse`` and ``gain`` are in single precision, which is good for gains of at most
    ``LIGHT``, or all in double.

    Parameters
    ----------
    rows, x, attributes, units
        The items of the event: rows of the values and what these are multiplied by, the attributes, all
        among the mask's, and their shares of the squares in units of 1 / FULL.
    sizes, inverse
        Of each slot's observed set: |q_i|, and 1 / G_gamma(|q_i|).
    gain, ranks
        Receive G_gamma(|o ∩ q_i|), and what q_i keeps of the event; see ``keeper``.

    Returns
    -------
    Sum over slots of gain_i <x, u_i> for class 0, and the slot whose observed set is the event's, or -1.
    """
    stride, slots = values.shape[1] * values.shape[2], values.shape[2]
    total, same = spread(0.0), -1
    zero, one = spread(x.dtype.type(0.0)), spread(x.dtype.type(1.0))
    unit = spread(x.dtype.type(1.0 / growth(float(size), gamma)))
    for i in range(0, span, TILE):
        product, overlap = zero, zero
        share, low = spread(np.uint16(0)), spread(np.uint8(0))
        # Counted in bytes, in rounds of as many as a byte can count.
        for begin in range(0, max(size, 1), 255):
            count = spread(np.uint8(0))
            for j in range(begin, min(begin + 255, size)):
                has = load(mask, item(attributes, j) * slots + i)
                count = count + has
                share = share + where_set(has, item(units, j))
                product = multiply_add(spread(item(x, j)), load(values, item(rows, j) * stride + i), product)
            overlap = overlap + to(zero, count)
            low = low + count
        listed = load(sizes, i)
        if first_equal(low, to(np.uint8, listed), np.uint8(size)) < TILE:
            lane = first_equal(overlap, to(zero, listed), x.dtype.type(size))
            same = i + lane if lane < TILE else same
        grown = _growth(overlap, one, gamma)
        store(gain, i, grown)
        total = total + to(np.float64, product * grown)
        store(ranks, i, _rank(share, grown, unit, load(inverse, i)))
    return sum_lanes(total), same


@inlined
def _growth(overlap: Any, one: Any, gamma: int) -> Any:
    """``kernel.growth``, for a vector of slots; ``one`` is 1 in all of its lanes."""
    grown = overlap + one if gamma > 1 else one
    for _ in range(gamma - 2):
        grown = multiply_add(grown, overlap, one)
    return grown


@inlined
def _rank(share: Any, grown: Any, unit: Any, inverse: Any) -> Any:
    """What the patterns of a tile keep in a projection; see ``keeper``."""
    return to(np.float32, to(unit, share) * (grown * unit) * (grown * inverse))


@borrowing
def raise_gains(mask: Bytes, attributes: Indices, size: int, span: int, gamma: int, gain: Floats) -> None:
    """Write G_gamma(|o ∩ q_i|) for a set of attributes."""
    slots = mask.shape[1]
    for i in range(0, span, TILE):
        overlap = spread(0.0)
        for begin in range(0, max(size, 1), 255):
            count = spread(np.uint8(0))
            for j in range(begin, min(begin + 255, size)):
                count = count + load(mask, item(attributes, j) * slots + i)
            overlap = overlap + to(np.float64, count)
        store(gain, i, _growth(overlap, spread(1.0), gamma))


@borrowing
def product(values: Any, c: int, rows: Indices, x: Any, size: int, span: int,
            gain: Any) -> float:  # fmt: skip
    """Sum over slots of gain_i <x, u_i>, for class ``c``; all in single or all in double precision."""
    classes, slots = values.shape[1], values.shape[2]
    total = spread(0.0)
    for i in range(0, span, TILE):
        product = spread(x.dtype.type(0.0))
        for j in range(size):
            at = (item(rows, j) * classes + c) * slots + i
            product = multiply_add(spread(item(x, j)), load(values, at), product)
        total = total + to(np.float64, product * load(gain, i))
    return float(sum_lanes(total))


@borrowing
def shared(mask: Bytes, attributes: Indices, size: int, slot: int) -> float:
    """How many of the attributes a slot has."""
    slots, count = mask.shape[1], 0.0
    for j in range(size):
        count += item(mask, item(attributes, j) * slots + slot)
    return count


@borrowing
def least(values: Floats, used: int) -> int:
    """Where the least value stands first, below ``used`` whatever the values are."""
    smallest, tile = np.inf, 0
    for i in range(0, used, TILE):
        value = least_lane(_within(values, i, used))
        tile = i if value < smallest else tile
        smallest = min(smallest, value)
    found = _within(values, tile, used)
    return int(min(tile + first_equal(found, found, smallest), used - 1))


@inlined
def _within(values: Floats, tile: int, used: int) -> Any:
    """The values of a tile, infinite for slots that are not in use."""
    found = load(values, tile)
    return where_less(steps(found), spread(float(used - tile)), found, spread(np.inf))


@borrowing
def keeper(ranks: Rounded, span: int) -> int:
    """The first slot whose pattern would keep most in a projection (Fact 2), or -1 if none keeps anything.

    A rank is the share of the squares that is kept: sum over o ∩ q_i of x_k^2 / |x|^2, which are counted in
    units of 1 / FULL, times G_gamma(|o ∩ q_i|)^2 / (G_gamma(|o|) G_gamma(|q_i|)).
    """
    best = spread(np.float32(0.0))
    for i in range(0, span, TILE):
        best = greater(load(ranks, i), best)
    most = greatest_lane(best)
    if most > 0.0:
        for i in range(0, span, TILE):
            found = load(ranks, i)
            lane = first_equal(found, found, most)
            if lane < TILE:
                return int(i + lane)
    return -1


@borrowing
def share_unit(total: float) -> float:
    """What amounts are multiplied by to be shares of their total; a total that is all but nil has none."""
    return FULL / total if total > 1e-300 else 0.0


@borrowing
def share_out(amounts: Floats, length: int, units: Shares) -> None:
    """Write what share each of the amounts is, in units of 1 / FULL of their total."""
    total = 0.0
    for j in range(length):
        total += item(amounts, j)
    unit = share_unit(total)
    for j in range(length):
        units[j] = np.uint16(amounts[j] * unit)


@borrowing
def rank(mask: Bytes, owners: Indices, units: Shares, length: int, span: int, most: float,
         inverse: Floats, gain: Floats, ranks: Rounded) -> None:  # fmt: skip
    """Write what each pattern keeps of a slot's vector.

    ``owners`` are the attributes of its coordinates and ``units`` their shares; ``most`` is G_gamma of the
    size of its observed set, and ``gain`` has those of what it shares with each slot.
    """
    slots, unit = mask.shape[1], spread(1.0 / most)
    for i in range(0, span, TILE):
        share = spread(np.uint16(0))
        for j in range(length):
            share = share + where_set(load(mask, item(owners, j) * slots + i), item(units, j))
        store(ranks, i, _rank(share, load(gain, i), unit, load(inverse, i)))
