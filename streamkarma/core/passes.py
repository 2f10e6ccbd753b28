"""Passes over all support vectors at once: where the time goes.

Each takes plain arrays and is compiled on its own: with few arrays in sight the compiler
can tell that they do not overlap, and vectorises. All write into scratch that the caller
owns; ``used`` is the number of slots in use.
"""

from __future__ import annotations

import numpy as np
from streamkarma.core.jit import compiled
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int32]
Singles = NDArray[np.float32]


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
def least(values: Floats, used: int, parts: Floats) -> int:
    """Where the least value stands first; ``parts`` is scratch."""
    for i in range(used):
        parts[i] = values[i]
    count = used
    while count > 8:
        half = (count + 1) // 2
        for i in range(count - half):
            parts[i] = min(parts[i], parts[half + i])
        count = half
    smallest = parts[0]
    for i in range(1, count):
        smallest = min(smallest, parts[i])
    i = 0
    while i < used - 1 and values[i] != smallest:
        i += 1
    return i


@compiled
def find(sizes: Indices, overlap: Floats, size: int, used: int) -> int:
    """The slot whose observed set is exactly the event's, or -1."""
    found = 0
    for i in range(used):
        found = max(found, (i + 1) * ((overlap[i] == size) & (sizes[i] == size)))
    return found - 1


@compiled
def sum_where(mask: NDArray[np.uint8], owners: Indices, weights: Singles,
              length: int, used: int, kept: Singles) -> None:  # fmt: skip
    """Write, per slot, the sum of the weights whose attribute the slot has.

    Four at a time; ``owners`` and ``weights`` have room for three more, which weigh nothing.
    """
    for j in range(length, length + 3):
        owners[j], weights[j] = 0, np.float32(0.0)
    for i in range(used):
        kept[i] = 0.0
    for j in range(0, length, 4):
        r0, r1 = mask[owners[j]], mask[owners[j + 1]]
        r2, r3 = mask[owners[j + 2]], mask[owners[j + 3]]
        w0, w1, w2, w3 = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        for i in range(used):
            kept[i] += (w0 * np.float32(r0[i]) + w1 * np.float32(r1[i])) + (
                w2 * np.float32(r2[i]) + w3 * np.float32(r3[i])
            )


@compiled
def rank(kept: Singles, gain: Floats, inverse: Floats, used: int,
         ranks: Floats) -> None:  # fmt: skip
    """Write minus what each slot's pattern would keep in a projection (Fact 2)."""
    for i in range(used):
        ranks[i] = -(kept[i] * gain[i]) * (gain[i] * inverse[i])
