"""Passes over all support vectors at once: where the time goes.

Slots are taken in tiles of 64, and arrays have room for whole tiles; the slots in use, rounded up
to whole tiles, are the ``span``. Past the slots in use the masks and values are zero. All write
into scratch that the caller owns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import compiled
from streamkarma.core.lanes import item, load, multiply_add, spread, store, where_less

Floats = NDArray[np.float64]
Indices = NDArray[np.int32]

#: Slots in a tile: as many as there are bytes in a vector.
TILE = 64

#: Slots in a vector of doubles.
LANES = 8

#: The whole of what a projection could keep: below 2^16, with room for rounding.
FULL = 65000.0


@compiled
def whole_tiles(used: int) -> int:
    """The span of so many slots in use."""
    return (used + TILE - 1) // TILE * TILE


@compiled
def count_overlaps(mask: NDArray[np.uint8], attributes: Indices, size: int, span: int,
                   few: NDArray[np.uint8], overlap: Floats) -> float:  # fmt: skip
    """Write |o ∩ q_i|, and return the greatest. All attributes are among the mask's.

    Counted in bytes, in rounds of as many as a byte can count.
    """
    slots = mask.shape[1]
    most = spread(0.0)
    for begin in range(0, max(size, 1), 255):
        for tile in range(0, span, TILE):
            count = spread(np.uint8(0))
            for j in range(begin, min(begin + 255, size)):
                count = count + load(mask, attributes[j] * slots + tile, np.uint8)
            store(few, tile, count)
        for i in range(0, span, LANES):
            count = load(few, i, np.float64)
            if begin > 0:
                count = count + load(overlap, i, np.float64)
            most = where_less(most, count, count, most)
            store(overlap, i, count)
    greatest = 0.0
    for lane in range(LANES):
        greatest = max(greatest, item(most, lane))
    return float(greatest)


@compiled
def raise_gains(overlap: Floats, gamma: int, span: int, gain: Floats) -> None:
    """Write G_gamma of every overlap: ``kernel.growth``, for all slots."""
    one = spread(1.0)
    for i in range(0, span, LANES):
        store(gain, i, load(overlap, i, np.float64) + one if gamma > 1 else one)
    for _ in range(gamma - 2):
        for i in range(0, span, LANES):
            store(gain, i, load(gain, i, np.float64) * load(overlap, i, np.float64) + one)


@compiled
def product(values: NDArray[np.float64], c: int, rows: Indices, x: Floats, length: int, span: int,
            gain: Floats) -> float:  # fmt: skip
    """Sum over slots of gain_i <x, u_i>, for class ``c``."""
    classes, slots = values.shape[1], values.shape[2]
    total = spread(0.0)
    for i in range(0, span, TILE):
        p0 = p1 = p2 = p3 = p4 = p5 = p6 = p7 = spread(0.0)
        for j in range(length):
            at = (rows[j] * classes + c) * slots + i
            x_j = spread(x[j])
            p0 = multiply_add(x_j, load(values, at, np.float64), p0)
            p1 = multiply_add(x_j, load(values, at + 8, np.float64), p1)
            p2 = multiply_add(x_j, load(values, at + 16, np.float64), p2)
            p3 = multiply_add(x_j, load(values, at + 24, np.float64), p3)
            p4 = multiply_add(x_j, load(values, at + 32, np.float64), p4)
            p5 = multiply_add(x_j, load(values, at + 40, np.float64), p5)
            p6 = multiply_add(x_j, load(values, at + 48, np.float64), p6)
            p7 = multiply_add(x_j, load(values, at + 56, np.float64), p7)
        p0 = p0 * load(gain, i, np.float64) + p1 * load(gain, i + 8, np.float64)
        p2 = p2 * load(gain, i + 16, np.float64) + p3 * load(gain, i + 24, np.float64)
        p4 = p4 * load(gain, i + 32, np.float64) + p5 * load(gain, i + 40, np.float64)
        p6 = p6 * load(gain, i + 48, np.float64) + p7 * load(gain, i + 56, np.float64)
        total = total + ((p0 + p2) + (p4 + p6))
    result = 0.0
    for lane in range(LANES):
        result += item(total, lane)
    return result


@compiled
def least(values: Floats, used: int) -> int:
    """Where the least value stands first; no value is infinite.

    Each lane keeps the least value of its eighth of the whole tiles, and where that stands.
    """
    whole = used // TILE * TILE
    best, place = spread(np.inf), spread(np.inf)
    for i in range(0, whole, TILE):
        m0, p0 = load(values, i, np.float64), spread(float(i))
        for k in range(i + LANES, i + TILE, LANES):
            m1 = load(values, k, np.float64)
            p0 = where_less(m1, m0, spread(float(k)), p0)
            m0 = where_less(m1, m0, m1, m0)
        place = where_less(m0, best, p0, place)
        best = where_less(m0, best, m0, best)
    smallest = np.inf
    for lane in range(LANES):
        smallest = min(smallest, item(best, lane))
    first = np.inf
    for lane in range(LANES):
        first = min(first, item(place, lane) + lane if item(best, lane) == smallest else np.inf)
    for i in range(whole, used):
        if values[i] < smallest:
            smallest, first = values[i], float(i)
    return int(first)


@compiled
def find(sizes: Indices, overlap: Floats, size: int, used: int) -> int:
    """The slot whose observed set is exactly the event's, or -1.

    Of the set itself, |q| - 2 |o ∩ q| is -|o|; of every other set it is more.
    """
    nearest, twice = spread(0.0), spread(-2.0)
    for i in range(0, used, LANES):
        apart = load(sizes, i, np.float64) + twice * load(overlap, i, np.float64)
        nearest = where_less(apart, nearest, apart, nearest)
    for lane in range(LANES):
        if item(nearest, lane) == -size:
            for i in range(used):
                if overlap[i] == size and sizes[i] == size:
                    return i
    return -1


@compiled
def sum_where(mask: NDArray[np.uint8], owners: Indices, amounts: Floats, length: int, span: int,
              units: NDArray[np.uint16], kept: NDArray[np.uint16]) -> None:  # fmt: skip
    """Write, per slot, the share of the amounts whose attribute the slot has.

    In units of 1 / FULL of their total, so that many slots fit into a vector.
    """
    slots = mask.shape[1]
    total = 0.0
    for j in range(length):
        total += amounts[j]
    unit = FULL / total if total > 0.0 else 0.0
    for j in range(length):
        units[j] = np.uint16(amounts[j] * unit)
    for i in range(0, span, TILE):
        left = right = spread(np.uint16(0))
        for j in range(length):
            at = owners[j] * slots + i
            share = spread(units[j])
            left = left + share * load(mask, at, np.uint16)
            right = right + share * load(mask, at + TILE // 2, np.uint16)
        store(kept, i, left)
        store(kept, i + TILE // 2, right)


@compiled
def rank(kept: NDArray[np.uint16], gain: Floats, inverse: Floats, span: int, ranks: Floats) -> None:
    """Write minus what each slot's pattern would keep in a projection (Fact 2)."""
    minus = spread(-1.0)
    for i in range(0, span, LANES):
        grown = load(gain, i, np.float64)
        share = load(kept, i, np.float64) * grown * minus
        store(ranks, i, share * (grown * load(inverse, i, np.float64)))
