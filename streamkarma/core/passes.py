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
from streamkarma.core.lanes import (
    LANES,
    first_equal,
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

#: Slots in a tile: a vector of any kind of number.
TILE = LANES

#: The whole of what a projection could keep: below 2^16, with room for rounding.
FULL = 65000.0


@borrowing
def whole_tiles(used: int) -> int:
    """The span of so many slots in use."""
    return (used + TILE - 1) // TILE * TILE


@borrowing
def meet(values: NDArray[np.float64], rows: Indices, x: Floats, mask: Bytes, attributes: Indices,
         units: Shares, size: int, span: int, gamma: int, sizes: Indices, gain: Floats,
         kept: Shares) -> tuple[float, int]:  # fmt: skip
    """An event and all slots: gains, what each pattern keeps of it, and the score.

    In one go, as most of the time goes by waiting for the values: the masks are counted meanwhile.

    Parameters
    ----------
    rows, x, attributes, units
        The items of the event: rows of the values and what these are multiplied by, the attributes, all
        among the mask's, and their shares of the squares in units of 1 / FULL.
    gain, kept
        Receive G_gamma(|o ∩ q_i|) and the shares of the attributes in o ∩ q_i.

    Returns
    -------
    Sum over slots of gain_i <x, u_i> for class 0, and the slot whose observed set is the event's, or -1.
    """
    stride, slots = values.shape[1] * values.shape[2], values.shape[2]
    total, same = spread(0.0), -1
    for i in range(0, span, TILE):
        product, overlap = spread(0.0), spread(0.0)
        share, low = spread(np.uint16(0)), spread(np.uint8(0))
        # Counted in bytes, in rounds of as many as a byte can count.
        for begin in range(0, max(size, 1), 255):
            count = spread(np.uint8(0))
            for j in range(begin, min(begin + 255, size)):
                has = load(mask, item(attributes, j) * slots + i)
                count = count + has
                share = share + where_set(has, item(units, j))
                product = multiply_add(spread(item(x, j)), load(values, item(rows, j) * stride + i), product)
            overlap = overlap + to(np.float64, count)
            low = low + count
        listed = load(sizes, i)
        if first_equal(low, to(np.uint8, listed), np.uint8(size)) < TILE:
            lane = first_equal(overlap, to(np.float64, listed), float(size))
            same = i + lane if lane < TILE else same
        grown = _growth(overlap, gamma)
        store(gain, i, grown)
        total = multiply_add(product, grown, total)
        store(kept, i, share)
    return sum_lanes(total), same


@inlined
def _growth(overlap: Any, gamma: int) -> Any:
    """``kernel.growth``, for a vector of slots."""
    one = spread(1.0)
    grown = overlap + one if gamma > 1 else one
    for _ in range(gamma - 2):
        grown = multiply_add(grown, overlap, one)
    return grown


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
        store(gain, i, _growth(overlap, gamma))


@borrowing
def product(values: NDArray[np.float64], c: int, rows: Indices, x: Floats, size: int, span: int,
            gain: Floats) -> float:  # fmt: skip
    """Sum over slots of gain_i <x, u_i>, for class ``c``."""
    classes, slots = values.shape[1], values.shape[2]
    total = spread(0.0)
    for i in range(0, span, TILE):
        product = spread(0.0)
        for j in range(size):
            at = (item(rows, j) * classes + c) * slots + i
            product = multiply_add(spread(item(x, j)), load(values, at), product)
        total = multiply_add(product, load(gain, i), total)
    return float(sum_lanes(total))


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


@inlined
def _rank(share: Any, grown: Any, inverse: Floats, tile: int) -> Any:
    """What the patterns of a tile would keep in a projection (Fact 2)."""
    return to(np.float64, share) * grown * (grown * load(inverse, tile))


@borrowing
def keeper(kept: Shares, gain: Floats, inverse: Floats, span: int) -> int:
    """The first slot whose pattern would keep most in a projection, or -1 if none keeps anything."""
    most, tile = 0.0, -1
    for i in range(0, span, TILE):
        highest = greatest_lane(_rank(load(kept, i), load(gain, i), inverse, i))
        tile = i if highest > most else tile
        most = max(most, highest)
    if tile < 0:
        return -1
    ranks = _rank(load(kept, tile), load(gain, tile), inverse, tile)
    return int(tile + first_equal(ranks, ranks, most))


@borrowing
def share_unit(total: float) -> float:
    """What amounts are multiplied by to be shares of their total; a total that is all but nil has none."""
    return FULL / total if total > 1e-300 else 0.0


@borrowing
def sum_where(mask: Bytes, owners: Indices, amounts: Floats, length: int, span: int, units: Shares,
              kept: Shares) -> None:  # fmt: skip
    """Write, per slot, the share of the amounts whose attribute the slot has.

    In units of 1 / FULL of their total, so that many slots fit into a vector.
    """
    slots = mask.shape[1]
    total = 0.0
    for j in range(length):
        total += item(amounts, j)
    unit = share_unit(total)
    for j in range(length):
        units[j] = np.uint16(amounts[j] * unit)
    for i in range(0, span, TILE):
        share = spread(np.uint16(0))
        for j in range(length):
            share = share + where_set(load(mask, item(owners, j) * slots + i), item(units, j))
        store(kept, i, share)
