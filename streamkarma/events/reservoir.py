"""The labelled events, all of them or a uniform sample, with the learner's loss on each."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Arrays, Floats, Ints
from streamkarma.checkpoint import checked_float, natural
from streamkarma.events.block import Block

#: Columns of the facts kept of each event besides its items.
TARGET, WEIGHT, LOSS, ERROR = range(4)

#: Types of the arrays kept: starts, facts, attributes, coordinates, values.
_TYPES = [np.int64, np.float64, np.int32, np.int32, np.float64]

#: Bytes per event kept besides its values: its facts, with room for as many again, and three arrays.
_EVENT_BYTES = 64 + 3 * 112

#: Maximum size of a dense table, 400 MB; a larger one is refused.
MOST_CELLS = 50_000_000


class ReservoirSnapshot(NamedTuple):
    """The data for one comparison.

    Attributes
    ----------
    events
        Number of events seen; those kept are all of them or a sample.
    starts, attributes, coordinates, values
        As in a ``Block``: the items of the events kept, without the constant.
    facts
        Shape (kept, 4): target, weight, the learner's loss and its error.
    full
        Shape (kept, names): complete vectors, NaN if an event had none; no columns if none of them has one.
    name_coordinates
        Shape (names,): the coordinate of each name, -1 if it has none.
    """

    events: int
    starts: Ints
    attributes: NDArray[np.int32]
    coordinates: NDArray[np.int32]
    values: Floats
    facts: Floats
    full: Floats
    name_coordinates: Ints

    @property
    def exact(self) -> bool:
        """Whether every event was kept."""
        return len(self.facts) == self.events

    def table(self) -> tuple[Floats, Ints, Ints]:
        """The events as rows with NaN for missing values; attribute and coordinate of each column.

        An observed category is 1 in its column and 0 in those of its siblings. Columns are
        the coordinates that occur.

        Raises
        ------
        ValueError
            If the table would be larger than ``MOST_CELLS``.
        """
        names, column = np.unique(self.coordinates, return_inverse=True)
        n = len(self.facts)
        if n * len(names) > MOST_CELLS:
            raise ValueError(f"a table of {n:,} rows and {len(names):,} columns is too large")
        owners = np.zeros(len(names), np.int64)
        owners[column] = self.attributes
        groups, group = np.unique(owners, return_inverse=True)
        rows = np.repeat(np.arange(n), np.diff(self.starts))
        observed = np.zeros((n, len(groups)), np.bool_)
        observed[rows, group[column]] = True
        X = np.where(observed[:, group], 0.0, np.nan)
        X[rows, column] = self.values
        return X, owners, names.astype(np.int64)


class Reservoir:
    """The labelled events so far: all of them up to a limit, then a uniform sample.

    Whether event t replaces another, and which one, depends on t and the seed alone (Vitter's Algorithm R
    with a hash as the random source), so the sample does not depend on the blocks, and no generator state
    has to be saved.

    Parameters
    ----------
    limit
        Maximum number of events kept, 1 or more.
    seed
        Seed of the sample.
    """

    def __init__(self, limit: int, seed: int = 0) -> None:
        self.limit = limit
        self.seed = seed
        #: Events so far.
        self.events = 0
        self._items: list[tuple[NDArray[np.int32], NDArray[np.int32], Floats]] = []
        self._facts = np.zeros((0, 4))
        self._full: list[dict[str, float] | None] = []
        self._values = 0
        #: The coordinate of each numeric attribute, needed if events have complete vectors.
        self.name_coordinates: Mapping[Hashable, int] = {}

    def add(
        self,
        block: Block,
        rows: NDArray[np.intp],
        facts: Floats,
        full: list[dict[str, float] | None] | None = None,
    ) -> None:
        """Add events.

        Parameters
        ----------
        block
            Encoded events, with or without the constant (attribute 0).
        rows
            Indices of those with a label.
        facts
            Shape (rows, 4), see ``ReservoirSnapshot``.
        full
            Complete vectors of these rows, if there are any.
        """
        slots = self._slots(len(rows))
        self.events += len(rows)
        wanted = np.flatnonzero(slots < self.limit)
        room = int(slots[wanted].max(initial=-1)) + 1
        if room > len(self._facts):
            # Doubled, so that a stream of single events does not copy every time.
            size = min(self.limit, max(room, 2 * len(self._facts)))
            self._facts = np.concatenate([self._facts, np.zeros((size - len(self._facts), 4))])
        for i in wanted.tolist():
            first, last = block.starts[rows[i]], block.starts[rows[i] + 1]
            if first < last and block.attributes[first] == 0:
                first += 1
            items = (
                block.attributes[first:last].copy(),
                block.coordinates[first:last].copy(),
                block.values[first:last].copy(),
            )
            slot = int(slots[i])
            self._values += int(last - first)
            vector = full[i] if full is not None else None
            if slot == len(self._items):
                self._items.append(items)
                self._full.append(vector)
            else:
                self._values -= len(self._items[slot][2])
                self._items[slot], self._full[slot] = items, vector
            self._facts[slot] = facts[i]

    def clear(self) -> None:
        """Discard all events."""
        self.events = 0
        self._items, self._facts, self._full = [], np.zeros((0, 4)), []
        self._values = 0

    @property
    def bytes(self) -> int:
        """Memory of the events kept: 16 bytes for each value, and those of each event's facts and arrays."""
        return self._values * 16 + len(self._items) * _EVENT_BYTES

    def _slots(self, count: int) -> Ints:
        """Slots of the next events; one beyond the limit is not kept."""
        t = np.arange(self.events, self.events + count, dtype=np.int64)
        drawn = (uniform(t, self.seed) * (t + 1)).astype(np.int64)
        return np.where(t < self.limit, t, drawn)

    def snapshot(self) -> ReservoirSnapshot:
        """A copy of the events kept."""
        sizes = [len(values) for _, _, values in self._items]
        starts = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes, out=starts[1:])
        attributes, coordinates, values = (
            np.concatenate([items[part] for items in self._items]) if self._items else np.zeros(0, kind)
            for part, kind in enumerate((np.int32, np.int32, np.float64))
        )
        facts = self._facts[: len(self._items)].copy()
        names = sorted({name for vector in self._full if vector for name in vector})
        name_coordinates = np.array([self.name_coordinates.get(name, -1) for name in names], np.int64)
        full = self._full_table(names)
        return ReservoirSnapshot(
            self.events, starts, attributes, coordinates, values, facts, full, name_coordinates
        )

    def _full_table(self, names: list[str]) -> Floats:
        rows = [
            [vector.get(name, np.nan) for name in names] if vector else [np.nan] * len(names)
            for vector in self._full
        ]
        return np.array(rows, np.float64).reshape(len(self._full), len(names))

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """The state, as JSON and arrays."""
        s = self.snapshot()
        header = {
            "limit": self.limit,
            "seed": self.seed,
            "events": self.events,
            "full": self._full if any(self._full) else None,
        }
        return header, {
            "starts": s.starts,
            "attributes": s.attributes,
            "coordinates": s.coordinates,
            "values": s.values,
            "facts": s.facts,
        }

    @classmethod
    def restored(cls, header: dict[str, Any], arrays: Arrays) -> Reservoir:
        """Restore a ``state``.

        Raises
        ------
        ValueError
            If its parts are inconsistent.
        """
        reservoir = cls(natural(header["limit"]), natural(header["seed"], 2**31))
        reservoir.events = natural(header["events"])
        starts, facts = arrays["starts"], arrays["facts"]
        kept = min(reservoir.limit, reservoir.events)
        items = (arrays["attributes"], arrays["coordinates"], arrays["values"])
        fits = (
            reservoir.limit >= 1
            and [array.dtype for array in (starts, facts, *items)] == _TYPES
            and all(bool(np.isfinite(array).all()) for array in (facts, *items))
            and all(bool((array >= 0).all()) for array in items[:2])
            and facts.shape == (kept, 4)
            and starts.shape == (kept + 1,)
            and starts[0] == 0
            and bool((np.diff(starts) >= 0).all())
            and all(array.shape == (starts[-1],) for array in items)
        )
        full = [_vector(each) for each in header["full"] or [None] * kept]
        if not fits or len(full) != kept:
            raise ValueError("the events kept for the regret contradict each other")
        pairs = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        reservoir._items = [
            (items[0][a:b].copy(), items[1][a:b].copy(), items[2][a:b].copy()) for a, b in pairs
        ]
        reservoir._facts = np.array(facts)
        reservoir._values = len(items[2])
        reservoir._full = full
        return reservoir


def _vector(kept: Any) -> dict[str, float] | None:
    """A complete vector from a saved state; ValueError if it is invalid."""
    if kept is None:
        return None
    return {name: checked_float(value) for name, value in dict(kept).items()}


def uniform(t: Ints, seed: int) -> Floats:
    """A pseudorandom number in [0, 1) for each t (SplitMix64, Steele et al. 2014).

    Examples
    --------
    >>> uniform(np.arange(3), 0).round(3).tolist() == uniform(np.arange(3), 0).round(3).tolist()
    True
    """
    with np.errstate(over="ignore"):
        z = (t.astype(np.uint64) + np.uint64(1 + 2 * seed)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53
