"""Gather records into one block for the compiled loops."""

from __future__ import annotations

import math
from array import array
from itertools import pairwise

import numpy as np

from streamkarma.events.block import Block
from streamkarma.events.vocabulary import PASSING, Record, Vocabulary


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
        self._values: list[float] = []
        self._starts = [0]
        #: Attributes of items that are not what their coordinate says, by position.
        self._passing: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._starts) - 1

    def observed(self) -> list[int]:
        """How many attributes each event has, the constant apart."""
        return [end - begin for begin, end in pairwise(self._starts)]

    def append(self, record: Record, learned: bool) -> None:
        """Add an event; see ``Vocabulary.add`` and, if it is not ``learned``, ``peek``.

        Raises
        ------
        RecordError
            If the record is not an event. The batch is then as it was.
        """
        coordinates, values = self._coordinates, self._values
        try:
            # The common event, finite numbers under known names, needs no look at its items.
            if not math.isfinite(sum(record.values())):
                raise TypeError
            coordinates += map(self._vocabulary.numeric.__getitem__, record)
            values += record.values()
        except (TypeError, KeyError, OverflowError):
            del coordinates[self._starts[-1] :]
            self._append_any(record, learned)
        self._starts.append(len(coordinates))

    def _append_any(self, record: Record, learned: bool) -> None:
        if learned:
            for coordinate, value in self._vocabulary.add(record):
                self._coordinates.append(coordinate)
                self._values.append(value)
            return
        for attribute, coordinate, value in self._vocabulary.peek(record, self._scale):
            if coordinate >= PASSING:
                self._passing[len(self._coordinates)] = attribute
            self._coordinates.append(coordinate)
            self._values.append(value)

    def block(self) -> Block:
        """The events as arrays."""
        coordinates = np.array(self._coordinates, np.int32)
        known = np.where(coordinates < PASSING, coordinates, 0)
        attributes = self._vocabulary.owners_of(known)
        for position, attribute in self._passing.items():
            attributes[position] = attribute
        return Block(
            starts=np.array(self._starts, np.int64),
            attributes=attributes,
            coordinates=coordinates,
            values=np.frombuffer(array("d", self._values), np.float64)
            if self._values
            else np.zeros(0),
        )
