"""An event in feature space, and its scores by the support vectors."""

from __future__ import annotations

import numpy as np

from streamkarma.core.jit import borrowing, inlined
from streamkarma.core.kernel import growth
from streamkarma.core.lanes import item, put
from streamkarma.core.passes import FULL, LIGHT, Floats, Indices, Rounded, Shares, meet, product, share_unit
from streamkarma.core.vectors import SCALE, SCALE_SUM, STEPS, Vectors, Workspace


@borrowing
def scale(attributes: Indices, coordinates: Indices, values: Floats, begin: int, end: int, many: int,
          limit: int, gamma: int, normalize: bool, known: Indices, rows: Indices, x: Floats, light: Rounded,
          units: Shares) -> tuple[int, float]:  # fmt: skip
    """Scale an event so that phi of it is the event in feature space.

    Its items whose attribute is below ``many`` are written to ``known``, ``rows``, ``x``, ``light`` and, as
    shares of the squares, ``units``; one on a coordinate the model does not know, from ``limit`` on, is nil
    there.

    Returns how many these are, and k(x, x).
    """
    square = 0.0
    for j in range(begin, end):
        square += item(values, j) * item(values, j)
    grown = growth(float(end - begin), gamma)
    factor, unit = 1.0, share_unit(square)
    square *= grown
    if normalize and square > 0.0:
        factor, unit = 1.0 / np.sqrt(square), FULL * grown
        square = 1.0
    size = 0
    for j in range(begin, end):
        attribute, row, value = item(attributes, j), item(coordinates, j), item(values, j)
        if attribute < many:
            put(known, size, attribute)
            put(rows, size, row if row < limit else np.int32(0))
            scaled = factor * value if row < limit else 0.0
            put(x, size, scaled)
            put(light, size, np.float32(scaled))
            put(units, size, np.uint16(scaled * scaled * unit))
            size += 1
    return size, square


@inlined
def score(v: Vectors, work: Workspace, gamma: int, rough: bool, size: int, span: int, averaged: bool,
          now: Floats, said: Floats) -> int:  # fmt: skip
    """Write the scores of v_t, and those to be reported; returns the slot whose observed set is the event's.

    If ``rough`` will do they are made in single precision, where there is half as much to read, unless the
    numbers are too large for it.
    """
    rows, clock = work.rows, v.clock
    plain, same, narrowly = np.nan, -1, False
    if rough and not averaged and growth(float(size), gamma) <= LIGHT:
        plain, same = meet(v.rounded, rows, work.light, v.mask, work.known, work.units, size, span,
                           gamma, v.sizes, v.narrow, work.gain, work.ranks)  # fmt: skip
        narrowly = bool(np.isfinite(plain))
    if not narrowly:
        plain, same = meet(v.values, rows, work.x, v.mask, work.known, work.units, size, span,
                           gamma, v.sizes, v.inverse, work.exact, work.ranks)  # fmt: skip
    for c in range(now.size):
        if c > 0 and narrowly:
            plain = product(v.rounded, c, rows, work.light, size, span, work.gain)
        elif c > 0:
            plain = product(v.values, c, rows, work.x, size, span, work.exact)
        now[c] = said[c] = clock[SCALE] * plain
        if averaged:
            past = product(v.passed, c, rows, work.x, size, span, work.exact)
            # Of v_1 … v_T, and not of the one that stands now, which has met no event yet.
            said[c] = (clock[SCALE_SUM] * plain - past - now[c]) / max(v.counts[STEPS], 1)
    return same
