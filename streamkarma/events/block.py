"""Events as arrays: what learners take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Block(NamedTuple):
    """Events in a row, their items one after another.

    Attributes
    ----------
    starts
        Shape (T + 1,): event t has the items ``starts[t]`` to ``starts[t + 1] - 1``.
    attributes
        Shape (items,): which attribute was observed, ascending within an event once encoded.
        A number beyond what a learner knows is observed but shared with nothing.
    coordinates
        Shape (items,): where the value sits. One coordinate per observed attribute.
    values
        Shape (items,): the value; NaN, before encoding only, is missing.
    gone
        Attributes and coordinates that were given up before an event, to be used again for others: the
        position of the event, and both in ascending order.
    """

    starts: NDArray[np.int64]
    attributes: NDArray[np.int32]
    coordinates: NDArray[np.int32]
    values: NDArray[np.float64]
    gone: Sequence[tuple[int, Sequence[int], Sequence[int]]] = ()
