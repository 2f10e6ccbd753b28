"""What to do with one support vector too many."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from streamkarma.core.jit import borrowing
from streamkarma.core.kernel import growth
from streamkarma.core.passes import (
    Bytes,
    Indices,
    keeper,
    raise_gains,
    rank,
    share_out,
    whole_tiles,
)
from streamkarma.core.vectors import (
    LONGEST,
    MERGED_CLOSEST,
    REMOVED,
    USED,
    Cube,
    Table,
    Vectors,
    Workspace,
    claim,
    round_off,
)

MERGE, REMOVE, OLDEST = range(3)
PRUNING = {"merge": MERGE, "remove": REMOVE, "oldest": OLDEST}


@borrowing
def free_slot(v: Vectors, slot: int, pruning: int, gamma: int, work: Workspace) -> None:
    """Empty a slot of a full model; with MERGE its content goes into the closest pattern."""
    coordinates, mask = v.coordinates[slot, : v.lengths[slot]], v.mask
    host = -1
    if pruning == MERGE:
        host = _host(v, slot, gamma, work)
    if host >= 0:
        ratio = work.exact[host] * v.inverse[host]
        length = _fold(v.values, v.coordinates, v.lengths, mask, v.owners, slot, host, ratio)
        if v.passed.size:
            _fold(v.passed, v.coordinates, v.lengths, mask, v.owners, slot, host, ratio)
        v.lengths[host] = length
        v.counts[LONGEST] = max(v.counts[LONGEST], length)
        square = round_off(v.values, v.rounded, v.coordinates, v.lengths, host)
        v.squares[host] = square / v.inverse[host]
        v.counts[MERGED_CLOSEST] += 1
    else:
        v.counts[REMOVED] += 1
    _wipe(v.values, coordinates, slot)
    _wipe(v.rounded, coordinates, slot)
    if v.passed.size:
        _wipe(v.passed, coordinates, slot)
    for j in range(v.sizes[slot]):
        mask[v.attributes[slot, j], slot] = 0


@borrowing
def _host(v: Vectors, slot: int, gamma: int, work: Workspace) -> int:
    """The slot to fold this one into, or -1 if no other keeps anything of it."""
    values, used = v.values, v.counts[USED]
    length = v.lengths[slot]
    for j in range(length):
        k = v.coordinates[slot, j]
        work.owners[j] = v.owners[k]
        square = 0.0
        for c in range(values.shape[1]):
            square += values[k, c, slot] * values[k, c, slot]
        work.amounts[j] = square
    observed = v.attributes[slot, : v.sizes[slot]]
    # A slot cannot host itself: for the while of the search it has no attribute.
    for a in observed:
        v.mask[a, slot] = 0
    span = whole_tiles(used)
    raise_gains(v.mask, observed, observed.size, span, gamma, work.exact)
    share_out(work.amounts, length, work.units)
    most = growth(float(observed.size), gamma)
    rank(v.mask, work.owners, work.units, length, span, most, v.inverse, work.exact, work.ranks)
    host = keeper(work.ranks, span)
    for a in observed:
        v.mask[a, slot] = 1
    return host


@borrowing
def _fold(values: Cube, coordinates: Table, lengths: Indices, mask: Bytes, owners: Indices,
          slot: int, host: int, ratio: float) -> int:  # fmt: skip
    """Add the projection of a slot onto the host's pattern to the host (Fact 2).

    Returns how many coordinates the host has then.
    """
    length = int(lengths[host])
    for j in range(lengths[slot]):
        k = coordinates[slot, j]
        if mask[owners[k], host]:
            length = claim(coordinates, host, length, k, j)
            for c in range(values.shape[1]):
                values[k, c, host] += ratio * values[k, c, slot]
    return length


@borrowing
def _wipe(values: NDArray[Any], coordinates: Indices, slot: int) -> None:
    for k in coordinates:
        for c in range(values.shape[1]):
            values[k, c, slot] = 0.0
