"""Passes over all support vectors at once: where the time goes.

Each takes plain arrays and is compiled on its own: with few arrays in sight the compiler
can tell that they do not overlap, and vectorises. All write into scratch that the caller
owns; ``used`` is the number of slots in use.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import compiled

Floats = NDArray[np.float64]
Indices = NDArray[np.int32]

#: The whole of what a projection could keep: below 2^16, with room for rounding.
FULL = 65000.0


@compiled
def count_overlaps(mask: NDArray[np.uint8], attributes: Indices, used: int,
                   few: NDArray[np.uint8], overlap: Floats) -> None:  # fmt: skip
    """Write |o ∩ q_i|. Counted in bytes, in rounds of as many as a byte can count."""
    for i in range(used):
        overlap[i] = 0.0
    for begin in range(0, attributes.size, 255):
        for i in range(used):
            few[i] = 0
        for j in range(begin, min(begin + 255, attributes.size)):
            if attributes[j] < mask.shape[0]:
                row = mask[attributes[j]]
                for i in range(used):
                    few[i] += row[i]
        for i in range(used):
            overlap[i] += few[i]


@compiled
def raise_gains(overlap: Floats, gamma: int, used: int, gain: Floats) -> None:
    """Write G_gamma of every overlap: ``kernel.growth``, for all slots."""
    for i in range(used):
        gain[i] = 1.0
    for _ in range(gamma - 1):
        for i in range(used):
            gain[i] = gain[i] * overlap[i] + 1.0


@compiled
def product(values: NDArray[np.float64], c: int, rows: Indices, x: Floats, used: int,
            gain: Floats, parts: Floats) -> float:  # fmt: skip
    """Sum over slots of gain_i <x, u_i>, for class ``c``.

    Four coordinates a pass: a quarter of the traffic through ``parts``.
    """
    for i in range(used):
        parts[i] = 0.0
    j = 0
    while j + 4 <= rows.size:
        r0, r1 = values[rows[j], c], values[rows[j + 1], c]
        r2, r3 = values[rows[j + 2], c], values[rows[j + 3], c]
        x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        for i in range(used):
            parts[i] += (x0 * r0[i] + x1 * r1[i]) + (x2 * r2[i] + x3 * r3[i])
        j += 4
    while j < rows.size:
        r0, x0 = values[rows[j], c], x[j]
        for i in range(used):
            parts[i] += x0 * r0[i]
        j += 1
    for i in range(used):
        parts[i] *= gain[i]
    return _total(parts, used)


@compiled
def _total(parts: Floats, count: int) -> float:
    """Sum of the first ``count`` parts, which are overwritten.

    The upper half is laid onto the lower until few are left: vectorised, more exact than
    one after another, and in an order that depends on ``count`` alone.
    """
    while count > 8:
        half = (count + 1) // 2
        for i in range(count - half):
            parts[i] += parts[half + i]
        count = half
    result = 0.0
    for i in range(count):
        result += parts[i]
    return result


@compiled
def least(values: Floats, used: int) -> int:
    """Where the least value stands first. Eight minima side by side, which vectorises."""
    m0 = m1 = m2 = m3 = m4 = m5 = m6 = m7 = values[0]
    whole = used // 8 * 8
    for i in range(0, whole, 8):
        m0, m1 = min(m0, values[i]), min(m1, values[i + 1])
        m2, m3 = min(m2, values[i + 2]), min(m3, values[i + 3])
        m4, m5 = min(m4, values[i + 4]), min(m5, values[i + 5])
        m6, m7 = min(m6, values[i + 6]), min(m7, values[i + 7])
    smallest = min(min(min(m0, m1), min(m2, m3)), min(min(m4, m5), min(m6, m7)))
    for i in range(whole, used):
        smallest = min(smallest, values[i])
    i = 0
    while i < used - 1 and values[i] != smallest:
        i += 1
    return i


@compiled
def find(sizes: Indices, overlap: Floats, size: int, used: int) -> int:
    """The slot whose observed set is exactly the event's, or -1."""
    supersets = 0
    for i in range(used):
        supersets += overlap[i] == size
    if supersets:
        for i in range(used):
            if overlap[i] == size and sizes[i] == size:
                return i
    return -1


@compiled
def sum_where(mask: NDArray[np.uint8], owners: Indices, amounts: Floats, length: int, used: int,
              kept: NDArray[np.uint16]) -> None:  # fmt: skip
    """Write, per slot, the share of the amounts whose attribute the slot has.

    In units of 1 / FULL of their total, so that sixteen slots fit in a vector register.
    Four attributes at a time; ``owners`` and ``amounts`` have room for three more.
    """
    total = 0.0
    for j in range(length):
        total += amounts[j]
    for j in range(length, length + 3):
        owners[j], amounts[j] = 0, 0.0
    unit = FULL / total if total > 0.0 else 0.0
    for i in range(used):
        kept[i] = 0
    for j in range(0, length, 4):
        r0, r1 = mask[owners[j]], mask[owners[j + 1]]
        r2, r3 = mask[owners[j + 2]], mask[owners[j + 3]]
        w0, w1 = np.uint16(amounts[j] * unit), np.uint16(amounts[j + 1] * unit)
        w2, w3 = np.uint16(amounts[j + 2] * unit), np.uint16(amounts[j + 3] * unit)
        for i in range(used):
            kept[i] = np.uint16(kept[i] + w0 * r0[i] + w1 * r1[i] + w2 * r2[i] + w3 * r3[i])


@compiled
def rank(kept: NDArray[np.uint16], gain: Floats, inverse: Floats, used: int, ranks: Floats) -> None:
    """Write minus what each slot's pattern would keep in a projection (Fact 2)."""
    for i in range(used):
        ranks[i] = -(kept[i] * gain[i]) * (gain[i] * inverse[i])
