"""Gather records into one block for the compiled loops."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from streamkarma.errors import RecordError
from streamkarma.events.block import Block
from streamkarma.events.flatten import flatten, is_flat
from streamkarma.events.values import Record
from streamkarma.events.vocabulary import PASSING, Vocabulary

_PYTHON = frozenset({float, int, bool})
#: Types whose values give themselves as a float, without a warning and without running code of anyone's.
PLAIN = _PYTHON | {np.float64, np.float32, np.int64, np.int32, np.bool_}


class Batch:
    """Events one after another, encoded by name only: no statistics yet.

    Parameters
    ----------
    vocabulary
        What indices names have; learns the names of the events that will be learned.
    scale
        Whether numbers will be standardised.
    """

    def __init__(self, vocabulary: Vocabulary, scale: bool) -> None:
        self._vocabulary = vocabulary
        self._scale = scale
        self._coordinates: list[int] = []
        self._values = array("d")
        self._sizes: list[int] = []
        #: Attributes of items that are not what their coordinate says, by position.
        self._passing: dict[int, int] = {}
        self._given: Block | None = None

    def __len__(self) -> int:
        return len(self._sizes) if self._given is None else len(self._given.starts) - 1

    @property
    def has_passing(self) -> bool:
        """Whether some event has names that were not stored, since it will not be learned."""
        return bool(self._passing)

    def append(self, record: Record, learned: bool) -> None:
        """Add an event; see ``Vocabulary.add`` and, if it is not ``learned``, ``peek``.

        What is nested in it is flattened first.

        Raises
        ------
        RecordError
            If the record is not an event. The batch is then as it was.
        """
        if not self.extend_plain([record]):
            self._append_any(record, learned)

    def extend(self, records: Sequence[Record], learned: Sequence[bool]) -> int:
        """Add events up to the first that is not one, and return how many were added."""
        for i, record in enumerate(records):
            try:
                self._append_any(record, learned[i])
            except RecordError:
                return i
        return len(records)

    def extend_plain(self, records: Sequence[Record]) -> bool:
        """Add events if all hold nothing but finite numbers of ``PLAIN`` under known names, else none.

        Without a loop of its own: these are nearly all events, and this is where a fast
        stream spends its time.
        """
        begin = len(self._coordinates)
        known = self._vocabulary.numeric.__getitem__
        try:
            numbers = list(chain.from_iterable([record.values() for record in records]))
            kinds = set(map(type, numbers))
            if not kinds <= PLAIN:
                return False
            values = array("d", numbers)
            # numpy's own numbers would warn of a sum that they cannot hold.
            if not isfinite(sum(numbers if kinds <= _PYTHON else values)):
                return False
            self._coordinates.extend(map(known, chain.from_iterable(records)))
        except (TypeError, KeyError, OverflowError):
            del self._coordinates[begin:]
            return False
        self._values.extend(values)
        self._sizes.extend(map(len, records))
        return True

    def _append_any(self, record: Record, learned: bool) -> None:
        try:
            self._append_flat(record, learned)
        except RecordError:
            # Most events are flat, and to look first would cost them.
            if is_flat(record):
                raise
            self._append_flat(flatten(record), learned)

    def _append_flat(self, record: Record, learned: bool) -> None:
        before = len(self._coordinates)
        if learned:
            for coordinate, value in self._vocabulary.add(record):
                self._coordinates.append(coordinate)
                self._values.append(value)
        else:
            for attribute, coordinate, value in self._vocabulary.peek(record, self._scale):
                if coordinate >= PASSING:
                    self._passing[len(self._coordinates)] = attribute
                self._coordinates.append(coordinate)
                self._values.append(value)
        self._sizes.append(len(self._coordinates) - before)

    def fill(self, starts: NDArray[np.int64], coordinates: NDArray[np.int32],
             values: NDArray[np.float64]) -> None:  # fmt: skip
        """Make an empty batch one of events that were encoded elsewhere."""
        self._given = Block(starts, self._vocabulary.owners_of(coordinates), coordinates, values)

    def sizes(self) -> NDArray[np.int64]:
        """How many attributes each event has, the constant apart."""
        return np.diff(self._given.starts) if self._given is not None else np.array(self._sizes, np.int64)

    def block(self) -> Block:
        """The events as arrays."""
        if self._given is not None:
            return self._given
        coordinates = np.array(self._coordinates, np.int32)
        if self._passing:
            attributes = self._vocabulary.owners_of(np.where(coordinates < PASSING, coordinates, 0))
            for position, attribute in self._passing.items():
                attributes[position] = attribute
        else:
            attributes = self._vocabulary.owners_of(coordinates)
        starts: NDArray[np.int64] = np.zeros(len(self) + 1, np.int64)
        np.cumsum(self._sizes, out=starts[1:])
        values = np.frombuffer(self._values, np.float64) if self._values else np.zeros(0)
        return Block(starts, attributes, coordinates, values)
