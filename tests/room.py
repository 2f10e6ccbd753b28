"""The eviction of names, in a few lines: the reference for tests of the encoder."""

from __future__ import annotations

import math

Entry = tuple[str, str | None]


class Reference:
    """Coordinates of numbers and a few categories, at most ``most``; all events are learned.

    Attributes
    ----------
    places
        The name and category of each coordinate; None if it is free.
    gone
        The coordinates evicted for the last event.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.places: list[Entry | None] = [("", None)]
        self.uses: dict[Entry, tuple[int, int]] = {}
        self.now = 0
        self.gone: list[int] = []
        self.evicted = 0

    def learn(self, event: dict[str, float | str]) -> set[int]:
        """The coordinates of an event."""
        self.now += 1
        self.gone = []
        entries = sorted((name, x if isinstance(x, str) else None) for name, x in event.items())
        kept = [entry for entry in entries if entry in self.places]
        for entry in (entry for entry in entries if entry not in self.places):
            if self._used() == self.most:
                self._give_up(kept)
            if self._used() < self.most:
                free = self.places.index(None) if None in self.places else len(self.places)
                self.places[free : free + 1] = [entry]
                kept.append(entry)
        for entry in kept:
            self.uses[entry] = (self.now, self.uses.get(entry, (0, 0))[1] + 1)
        return {0, *(self.places.index(entry) for entry in kept)}

    def _used(self) -> int:
        return sum(place is not None for place in self.places)

    def _give_up(self, kept: list[Entry]) -> None:
        """Evict the sixteenth with the largest age in events, divided by the root of the number of uses."""

        def order(at: int) -> tuple[float, int]:
            last, count = self.uses[self.places[at]]
            return -(self.now - last) / math.sqrt(count), at

        others = [at for at, entry in enumerate(self.places) if at and entry and entry not in kept]
        for at in sorted(others, key=order)[: max(1, self.most // 16)]:
            del self.uses[self.places[at]]
            self.places[at] = None
            self.gone.append(at)
            self.evicted += 1
