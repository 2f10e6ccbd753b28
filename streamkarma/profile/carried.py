"""What would be known of an event if its entity's earlier values were remembered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.profile.summaries import Distinct

#: Maximum number of entities remembered, as by default in ``learn``: those seen last.
MOST_ENTITIES = 100_000


class Carried:
    """Counts the missing values that the same entity had in an earlier event.

    Of each entity it remembers, as the bits of a number, which attributes it ever had.

    Parameters
    ----------
    attributes, entities
        Maximum numbers of attributes, and of entities remembered.

    Attributes
    ----------
    events
        Number of events with an entity.
    distinct
        The number of different entities.

    Examples
    --------
    >>> carried = Carried(attributes=2)
    >>> carried.add(["a", "b", "a"], np.array([[True, False], [False, True], [False, True]]))
    >>> carried.counts(2).tolist(), carried.events, carried.distinct.count()
    ([1, 0], 3, 2)
    """

    def __init__(self, attributes: int, entities: int = MOST_ENTITIES) -> None:
        self.events = 0
        self.distinct = Distinct()
        self._bytes = -(-attributes // 8)
        self._counts = np.zeros(8 * self._bytes, np.int64)
        self._most = entities
        #: Those seen last come last.
        self._had: dict[str, int] = {}

    def add(self, entities: Sequence[Any], observed: NDArray[np.bool_]) -> None:
        """Add events.

        Parameters
        ----------
        entities
            The entity of each event, or None.
        observed
            Which attributes each event has, shape (events, attributes so far).
        """
        names = [None if each is None else str(each) for each in entities]
        whole = np.zeros((len(names), len(self._counts)), np.bool_)
        whole[:, : observed.shape[1]] = observed
        filled = [
            self._fill(name, int.from_bytes(row.tobytes(), "little"))
            for name, row in zip(names, np.packbits(whole, axis=1, bitorder="little"), strict=True)
            if name is not None
        ]
        known = [name for name in names if name is not None]
        self.events += len(known)
        self.distinct.add(known)
        bits = np.frombuffer(b"".join(filled), np.uint8).reshape(-1, self._bytes)
        self._counts += np.unpackbits(bits, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)

    def _fill(self, name: str, has: int) -> bytes:
        """The bits of the attributes that an event lacks, and its entity had."""
        had = self._had.pop(name, 0)
        self._had[name] = had | has
        if len(self._had) > self._most:
            del self._had[next(iter(self._had))]
        return (had & ~has).to_bytes(self._bytes, "little")

    def counts(self, attributes: int) -> NDArray[np.int64]:
        """In how many events each of the first attributes was missing, but known from an earlier event."""
        return self._counts[:attributes]
