"""One event out of a Python dict, read and encoded in one compiled call."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from streamkarma.core import reading
from streamkarma.core.held import Held, Object, borrowed, entry, pointer
from streamkarma.core.jit import locked
from streamkarma.core.learning import Floats
from streamkarma.core.moments import encode_into
from streamkarma.events.block import Block


class Way:
    """From a dict to an encoded event, in arrays that stay where they are.

    Parameters
    ----------
    names
        Coordinates by name.
    owners
        Shape (K,): the attribute of each coordinate; what is in ``names`` and not here is not known.
    numeric, moments, scale, longest
        As of ``moments.encode``.

    Attributes
    ----------
    raw, block
        The event that was read last, and the same encoded.
    """

    def __init__(self, names: dict[Any, int], owners: NDArray[np.int32], numeric: NDArray[np.bool_],
                 moments: Floats, scale: bool, longest: float) -> None:  # fmt: skip
        self.raw, self.block = _block_of_one(len(owners)), _block_of_one(len(owners))
        cursor, self._kept = np.zeros(3, np.int64), names
        source = id(names), reading.kinds(), cursor, cursor.ctypes.data, owners, self.raw
        encoding = numeric, moments, np.zeros(1, np.bool_), scale, longest
        self._held = Held((source, encoding, self.block))
        self.address = self._held.address
        #: Takes the address, a dict and the label; returns as ``_run`` does.
        self.run = entry(_run, self._held.kind, Object(), numba.types.float64)


def _block_of_one(room: int) -> Block:
    """A block for one event of up to ``room`` items."""
    return Block(np.zeros(2, np.int64), np.zeros(room, np.int32), np.zeros(room, np.int32), np.zeros(room))


@locked
def _run(lent: Any, record: int, label: float) -> float:
    """Read an event, and encode it; without a label it leaves no trace.

    Returns
    -------
    How many items it has, or why it was not read, see ``reading``.
    """
    source, encoding, block = borrowed(lent)
    size = reading.read(pointer(record), *source)
    if size >= 0:
        numeric, moments, is_learned, scale, longest = encoding
        is_learned[0] = not np.isnan(label)
        encode_into(block, source[-1], numeric, moments, is_learned, scale, True, longest)
    return float(size)
