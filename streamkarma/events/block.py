"""Events as arrays: what learners take."""

from __future__ import annotations

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
    """

    starts: NDArray[np.int64]
    attributes: NDArray[np.int32]
    coordinates: NDArray[np.int32]
    values: NDArray[np.float64]
