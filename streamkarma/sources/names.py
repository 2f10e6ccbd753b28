"""Names, categories and labels that are known, as the scanner looks them up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import borrowing, inlined
from streamkarma.events.labels import Label
from streamkarma.events.vocabulary import Vocabulary

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Indices = NDArray[np.int32]

#: What a name is for if it is no attribute, and the home of an attribute that never was a number.
TARGET, ID, WEIGHT, IGNORED, NO_NUMBERS = -1, -2, -3, -4, -5
#: Who owns the names themselves, and the labels. Attributes, which own categories, are 1 and up.
OF_NAMES, OF_LABELS = -1, -2


class NameTable(NamedTuple):
    """Texts by owner and hash, with open addressing.

    Attributes
    ----------
    text
        All of them one after another.
    begins
        Shape (entries + 1,): where each begins.
    owners
        Shape (entries,): OF_NAMES for a name, OF_LABELS for a label, for a category its attribute.
    homes
        Shape (entries,): of a name the coordinate of its numbers, or what it is for; of a category
        its coordinate; of a label its class.
    attributes
        Shape (entries,): of a name the attribute it means.
    slots
        A power of two of them: an entry, or -1.
    """

    text: Bytes
    begins: Ints
    owners: Indices
    homes: Indices
    attributes: Indices
    slots: Indices


class Names:
    """A table that follows the vocabulary and the classes of a model.

    A table stays right for ever, since names keep their places and others only come: another
    thread may go on with an older one.

    Parameters
    ----------
    roles
        What names that are no attributes are for.

    Examples
    --------
    >>> vocabulary = Vocabulary(max_attributes=9, max_coordinates=9)
    >>> _ = vocabulary.add({"temp": 1.5, "wind": "N"})
    >>> names = Names({"y": TARGET})
    >>> names.update(vocabulary, ["dry", "wet"])
    >>> bytes(names.table.text), names.table.homes.tolist()
    (b'ytempwindNdrywet', [-1, 1, -5, 2, 0, 1])
    """

    def __init__(self, roles: Mapping[str, int]) -> None:
        self._text, self._begins = _Growing(np.uint8), _Growing(np.int64)
        self._owners, self._homes, self._attributes = (_Growing(np.int32) for _ in range(3))
        self._begins.extend([0])
        self._places: dict[str, int] = {}
        self._roles = roles
        self._coordinates, self._classes = 1, 0
        for name, role in roles.items():
            self._add(name, OF_NAMES, role, 0)
        self.table: NameTable
        self._publish(np.full(8, -1, np.int32), 0)

    def update(self, vocabulary: Vocabulary, classes: Sequence[Label]) -> None:
        """Take in what has come since."""
        before = len(self._owners)
        for name, category in vocabulary.entries()[self._coordinates - 1 :]:
            if isinstance(name, str) and name not in self._roles:
                self._add_attribute(name, category, vocabulary.attributes[name])
            self._coordinates += 1
        for label in classes[self._classes :]:
            if isinstance(label, str):
                self._add(label, OF_LABELS, self._classes, 0)
            self._classes += 1
        if len(self._owners) > before:
            self._publish(self.table.slots, before)

    def _add_attribute(self, name: str, category: str | None, attribute: int) -> None:
        place = self._places.get(name)
        if place is None:
            self._places[name] = len(self._owners)
            self._add(name, OF_NAMES, NO_NUMBERS if category is not None else self._coordinates, attribute)
        elif category is None:
            self._homes.view()[place] = self._coordinates
        if category is not None:
            self._add(category, attribute, self._coordinates, 0)

    def _add(self, text: str, owner: int, home: int, attribute: int) -> None:
        self._text.extend(np.frombuffer(text.encode(errors="surrogatepass"), np.uint8))
        self._begins.extend([len(self._text)])
        self._owners.extend([owner])
        self._homes.extend([home])
        self._attributes.extend([attribute])

    def _publish(self, slots: Indices, first: int) -> None:
        """Give out a table whose slots have the entries before ``first``, and fill in the others."""
        size = 1 << (2 * len(self._owners)).bit_length()
        if size > len(slots):
            slots, first = np.full(size, -1, np.int32), 0
        self.table = NameTable(
            self._text.view(),
            self._begins.view(),
            self._owners.view(),
            self._homes.view(),
            self._attributes.view(),
            slots.copy(),
        )
        _fill(self.table, first)


class _Growing:
    """An array that is appended to; what was seen of it stays where it is."""

    def __init__(self, kind: type[np.generic]) -> None:
        self._array: NDArray[Any] = np.zeros(16, kind)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def extend(self, values: Sequence[int] | NDArray[Any]) -> None:
        end = self._size + len(values)
        if end > len(self._array):
            larger = np.zeros(2 * end, self._array.dtype)
            larger[: self._size] = self.view()
            self._array = larger
        self._array[self._size : end] = values
        self._size = end

    def view(self) -> NDArray[Any]:
        return self._array[: self._size]


@borrowing
def byte(text: Bytes, at: int) -> int:
    """The byte at a place of 0 or more. (A signed place would be looked at for being negative.)"""
    return int(text[np.uint64(at)])


@inlined
def _hash(owner: int, text: Bytes, begin: int, end: int) -> np.uint64:
    """FNV-1a."""
    value = np.uint64(14695981039346656037) ^ np.uint64(owner)
    for i in range(begin, end):
        value = (value ^ np.uint64(byte(text, i))) * np.uint64(1099511628211)
    return value ^ (value >> np.uint64(29))


@inlined
def find(table: NameTable, owner: int, text: Bytes, begin: int, end: int) -> int:
    """The entry of that owner with the text from ``begin`` to ``end``, or -1."""
    mask = np.uint64(table.slots.size - 1)
    place = _hash(owner, text, begin, end) & mask
    found = -1
    while table.slots[place] >= 0 and found < 0:
        entry = table.slots[place]
        first = table.begins[entry]
        if table.owners[entry] == owner and table.begins[entry + 1] - first == end - begin:
            i = 0
            while i < end - begin and byte(table.text, first + i) == byte(text, begin + i):
                i += 1
            if i == end - begin:
                found = entry
        place = (place + np.uint64(1)) & mask
    return found


@borrowing
def _fill(table: NameTable, first: int) -> None:
    """Enter all from ``first`` on into the slots."""
    mask = np.uint64(table.slots.size - 1)
    for entry in range(first, table.owners.size):
        begin, end = table.begins[entry], table.begins[entry + 1]
        place = _hash(table.owners[entry], table.text, begin, end) & mask
        while table.slots[place] >= 0:
            place = (place + np.uint64(1)) & mask
        table.slots[place] = entry
