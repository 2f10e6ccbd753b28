"""Permanent indices in place of the encoder's, which are reused after eviction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.checkpoint import natural
from streamkarma.events.block import Block

#: Beyond every index of an encoder.
_FIRST = 1 << 30
_MOST = 1 << 31


class LastingIndices:
    """Maps the indices of an encoder to indices that are never reused.

    Events kept for a comparison may have names that the encoder has since evicted. An index is unchanged
    until it is evicted; whenever the encoder reuses it, it is mapped to a new one.

    Examples
    --------
    >>> indices = LastingIndices()
    >>> first = Block(np.array([0, 1]), np.int32([1]), np.int32([1]), np.ones(1))
    >>> second = first._replace(evicted=[(0, [1], [1])])
    >>> [indices.block(each).coordinates.tolist() for each in (first, second, first)]
    [[1], [1073741825], [1073741825]]
    """

    def __init__(self) -> None:
        self._next = _FIRST
        self._attributes: dict[int, int] = {}
        self._coordinates: dict[int, int] = {}

    def block(self, block: Block) -> Block:
        """The events of a block with lasting indices; blocks must come in the order of the stream."""
        if not self._coordinates and not block.evicted:
            return block
        attributes, coordinates = block.attributes.copy(), block.coordinates.copy()
        begin = 0
        for t, evicted_attributes, evicted_coordinates in [*block.evicted, (len(block.starts) - 1, (), ())]:
            part = slice(begin, int(block.starts[t]))
            attributes[part] = _translated(attributes[part], self._attributes)
            coordinates[part] = _translated(coordinates[part], self._coordinates)
            self._drop(self._attributes, evicted_attributes)
            self._drop(self._coordinates, evicted_coordinates)
            begin = part.stop
        return block._replace(attributes=attributes, coordinates=coordinates, evicted=())

    def coordinate(self, index: int) -> int:
        """The lasting index of a coordinate."""
        return self._coordinates.get(index, index)

    def _drop(self, indices: dict[int, int], evicted: Sequence[int]) -> None:
        for index in evicted:
            indices[index] = self._next
            self._next += 1

    def state(self) -> dict[str, Any]:
        """The state, as JSON."""
        lists = {"attributes": self._attributes, "coordinates": self._coordinates}
        return {"next": self._next, **{name: list(map(list, each.items())) for name, each in lists.items()}}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> LastingIndices:
        """Restore a ``state``; ValueError if it is invalid."""
        indices = cls()
        indices._next = natural(state["next"])
        for name, each in (("attributes", indices._attributes), ("coordinates", indices._coordinates)):
            each.update({natural(index): natural(lasting) for index, lasting in state[name]})
        lasting = [*indices._attributes.values(), *indices._coordinates.values()]
        if not all(_FIRST <= each < indices._next <= _MOST for each in lasting):
            raise ValueError("the indices kept for the regret contradict each other")
        return indices


def _translated(indices: NDArray[np.int32], lasting: dict[int, int]) -> NDArray[np.int32]:
    return np.array([lasting.get(index, index) for index in indices.tolist()], np.int32)
