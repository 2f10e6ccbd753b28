"""Events as arrays: the input of learners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Block(NamedTuple):
    """Consecutive events, with their items concatenated.

    Attributes
    ----------
    starts
        Shape (T + 1,): event t has the items ``starts[t]`` to ``starts[t + 1] - 1``.
    attributes
        Shape (items,): the attribute observed, ascending within an event once encoded. An index beyond those
        that a learner has counts as observed, but is shared with nothing.
    coordinates
        Shape (items,): the position of the value. One per observed attribute, several for one with tags.
    values
        Shape (items,): the value; NaN if missing, before encoding only.
    evicted
        Attributes and coordinates evicted before an event, whose indices are then reused: the index of the
        event, and both in ascending order.
    """

    starts: NDArray[np.int64]
    attributes: NDArray[np.int32]
    coordinates: NDArray[np.int32]
    values: NDArray[np.float64]
    evicted: Sequence[tuple[int, Sequence[int], Sequence[int]]] = ()
