"""A uniform sample of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np

Item = TypeVar("Item")


class Sample(Generic[Item]):
    """All items of a short stream; of a longer one, a uniform sample of bounded size.

    Parameters
    ----------
    most
        Maximum number of items.
    seed
        Random seed.

    Examples
    --------
    >>> sample = Sample(3)
    >>> sample.add(["a", "b"])
    >>> sample.items()
    [(0, 'a'), (1, 'b')]
    """

    def __init__(self, most: int, seed: int = 0) -> None:
        self._most = most
        self._rng = np.random.default_rng(seed)
        self._seen = 0
        self._kept: list[tuple[int, Item]] = []

    def add(self, items: Sequence[Item]) -> None:
        """Add items."""
        places = self._rng.integers(0, np.arange(self._seen, self._seen + len(items)) + 1).tolist()
        for at, (item, place) in enumerate(zip(items, places, strict=True), self._seen):
            if at < self._most:
                self._kept.append((at, item))
            elif place < self._most:
                self._kept[place] = (at, item)
        self._seen += len(items)

    def items(self) -> list[tuple[int, Item]]:
        """The sampled items with their indices from 0, in the order of the stream."""
        return sorted(self._kept, key=lambda pair: pair[0])
