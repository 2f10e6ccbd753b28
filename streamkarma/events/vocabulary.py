"""Names of attributes and categories, as indices.

An **attribute** is what can be observed or missing; a **coordinate** is where a value sits.
A numeric attribute has one coordinate, a categorical one has one per category seen; an
attribute that is a number in one event and a string in another has both kinds. Attribute 0
and coordinate 0 are the constant.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.events.values import LONGEST_NAME, Record, fits, is_missing, length, observed_in

#: Indices from here on stand for names that were seen while predicting and are not stored.
PASSING = 1 << 30

#: Names and categories are together no longer: of each coordinate the attribute's name and the category.
MOST_NAME_BYTES = 16 << 20
#: So many attributes of which something is ignored are named to the user, cut to so many characters.
_MOST_NAMED, _SHOWN = 5, 60

#: What names can be that were saved.
_NAMES = (str, int, float, bool, type(None))


class Vocabulary:
    """What index a name or a category has.

    Parameters
    ----------
    max_attributes, max_coordinates
        Most attributes and coordinates that are given an index. Values past either bound
        are ignored, as if they were missing, and counted in ``ignored``.
    max_name_bytes
        Longest name of an attribute, and longest category. Longer ones are ignored alike, and so is
        what is new once all names and categories have MOST_NAME_BYTES.

    Examples
    --------
    >>> vocabulary = Vocabulary(max_attributes=100, max_coordinates=100)
    >>> vocabulary.add({"temp": 20.5, "wind": "NW", "rain": None})
    [(1, 20.5), (2, 1.0)]
    >>> vocabulary.add({"wind": "S", "temp": 18})
    [(1, 18.0), (3, 1.0)]
    >>> vocabulary.describe(3)
    ('wind', 'S')
    """

    def __init__(self, max_attributes: int, max_coordinates: int,
                 max_name_bytes: int = LONGEST_NAME) -> None:  # fmt: skip
        self.max_attributes = max_attributes
        self.max_coordinates = max_coordinates
        self.max_name_bytes = max_name_bytes
        self.ignored = 0
        #: What nobody was told yet about values that are ignored, a line each.
        self._news: list[str] = []
        self._named: set[str] = set()
        self._bytes = 0
        self.attributes: dict[Hashable, int] = {}
        #: Coordinate of the numeric values of an attribute, by its name.
        self.numeric: dict[Hashable, int] = {}
        self._categories: dict[tuple[Hashable, str], int] = {}
        self._names: list[Hashable] = []
        self._coordinates: list[tuple[Hashable, str | None]] = [(None, None)]
        self._owners = np.zeros(16, np.int32)
        self._numbers = np.zeros(16, np.bool_)

    @property
    def attribute_count(self) -> int:
        """Attributes with an index, the constant included."""
        return len(self.attributes) + 1

    @property
    def coordinate_count(self) -> int:
        """Coordinates with an index, the constant's included."""
        return len(self._coordinates)

    @property
    def numbers(self) -> NDArray[np.bool_]:
        """Shape (coordinates,): whether the coordinate holds numbers to be standardised."""
        return self._numbers[: self.coordinate_count]

    @property
    def owners(self) -> NDArray[np.int32]:
        """Shape (coordinates,): the attribute that each coordinate belongs to."""
        return self._owners[: self.coordinate_count]

    def owners_of(self, coordinates: NDArray[np.int32]) -> NDArray[np.int32]:
        """The attribute that each coordinate belongs to."""
        return self._owners[coordinates]

    def describe(self, coordinate: int) -> tuple[Hashable, str | None]:
        """Name of the attribute and, for a categorical coordinate, the category."""
        return self._coordinates[coordinate]

    def entries(self) -> list[tuple[Hashable, str | None]]:
        """``describe`` of every coordinate but the constant's, in order."""
        return self._coordinates[1:]

    def add(self, record: Record) -> list[tuple[int, float]]:
        """Coordinates and values of an event that is to be learned; new names get indices.

        Names that are new in the same event are numbered in the order of their text, so
        that the order of an event's keys never shows.

        Raises
        ------
        RecordError
            If a value is infinite or neither a number nor a string. Nothing is stored then.
        """
        items: list[tuple[int, float]] = []
        new: list[tuple[Hashable, str | None, float]] = []
        for name, category, value in observed_in(record):
            coordinate = self._find(name, category)
            if coordinate is None:
                new.append((name, category, value))
            else:
                items.append((coordinate, value))
        for name, category, value in sorted(new, key=_by_text):
            coordinate = self._enter(name, category)
            if coordinate is None:
                self._ignore(name, category)
            else:
                items.append((coordinate, value))
        return items

    def peek(self, record: Record, scale: bool) -> list[tuple[int, int, float]]:
        """Attributes, coordinates and values of an event that leaves no trace.

        A number at a name never learned is what standardising the first one makes of it,
        0, so that the event looks as it will look when it is learned. ``ignored`` counts
        nothing here.
        """
        items: list[tuple[int, int, float]] = []
        new: list[tuple[Hashable, str | None, float]] = []
        for name, category, value in observed_in(record):
            coordinate = self._find(name, category)
            if coordinate is None:
                new.append((name, category, value))
            else:
                items.append((int(self._owners[coordinate]), coordinate, value))
        passing_attributes, passing_coordinates, passing_bytes = 0, 0, 0
        for name, category, value in sorted(new, key=_by_text):
            attribute = self.attributes.get(name)
            if self._lack(name, category, passing_attributes, passing_coordinates, passing_bytes) is not None:
                continue
            if attribute is None:
                attribute = PASSING + passing_attributes
                passing_attributes += 1
            coordinate = PASSING + passing_coordinates
            passing_coordinates += 1
            passing_bytes += _size(name, category)
            items.append((attribute, coordinate, 0.0 if scale and category is None else value))
        return items

    def _find(self, name: Hashable, category: str | None) -> int | None:
        if category is None:
            return self.numeric.get(name)
        return self._categories.get((name, category))

    def _lack(self, name: Hashable, category: str | None, attributes: int = 0, coordinates: int = 0,
              size: int = 0) -> str | None:  # fmt: skip
        """Why a new coordinate cannot have an index, as the text of a line; None if it can.

        ``attributes``, ``coordinates`` and ``size`` are what others are to have before it.
        """
        known = name in self.attributes
        if not fits(name, self.max_name_bytes):
            return (f"attribute {{name}} is ignored: its name is longer than {self.max_name_bytes:,} bytes "
                    "(--max-name-bytes)")  # fmt: skip
        if not fits(category, self.max_name_bytes):
            return (f"attribute {{name}}: categories longer than {self.max_name_bytes:,} bytes are ignored "
                    "(--max-name-bytes)")  # fmt: skip
        what = "attribute {name}: new categories are" if known else "attribute {name} is"
        if self.coordinate_count + coordinates >= self.max_coordinates:
            return (f"{what} ignored: {self.max_coordinates:,} numbers and categories have a place "
                    "(--max-coordinates)")  # fmt: skip
        if not known and self.attribute_count + attributes >= self.max_attributes:
            return f"{what} ignored: {self.max_attributes:,} attributes have a place (--max-attributes)"
        if self._bytes + size + _size(name, category) > MOST_NAME_BYTES:
            return f"{what} ignored: names and categories have {MOST_NAME_BYTES:,} bytes already"
        return None

    def _ignore(self, name: Hashable, category: str | None) -> None:
        """Count a value that is ignored, and have the first ones of an attribute named."""
        self.ignored += 1
        if len(self._named) > _MOST_NAMED:
            return
        lack, shown = self._lack(name, category), _shown(name)
        if lack is None or shown in self._named:
            return
        if len(self._named) == _MOST_NAMED:
            self._news.append("values of more attributes are ignored; they are counted, and not named here")
        else:
            self._news.append(lack.format(name=shown))
        self._named.add(shown)

    def kept(self, record: dict[str, Any]) -> dict[str, Any]:
        """What of a flat record is worth keeping until it is learned.

        That is not what is missing, and not what is too long, which is counted here.
        """
        kept = {}
        for name, value in record.items():
            if is_missing(value):
                continue
            if fits(name, self.max_name_bytes) and fits(value, self.max_name_bytes):
                kept[name] = value
            else:
                self._ignore(name, value if isinstance(value, str) else None)
        return kept

    def news(self) -> list[str]:
        """Lines on attributes of which a value was ignored for the first time, each given out once."""
        news, self._news = self._news, []
        return news

    def _enter(self, name: Hashable, category: str | None) -> int | None:
        """Give a name, and its category if it is one, an index; None past the bounds."""
        if self._lack(name, category) is not None:
            return None
        attribute = self.attributes.get(name)
        if attribute is None:
            attribute = self.attributes[name] = self.attribute_count
            self._names.append(name)
        # One and the same object, however many categories it has.
        name = self._names[attribute - 1]
        self._bytes += _size(name, category)
        coordinate = self.coordinate_count
        self._coordinates.append((name, category))
        if category is None:
            self.numeric[name] = coordinate
        else:
            self._categories[name, category] = coordinate
        if coordinate == self._owners.size:
            self._owners = np.concatenate([self._owners, np.zeros_like(self._owners)])
            self._numbers = np.concatenate([self._numbers, np.zeros_like(self._numbers)])
        self._owners[coordinate] = attribute
        self._numbers[coordinate] = category is None
        return coordinate

    def restore(self, entries: list[tuple[Hashable, str | None]], ignored: int) -> None:
        """Take over the ``entries`` of another vocabulary.

        Raises
        ------
        ValueError
            If an entry occurs twice, is none, or does not fit the bounds.
        """
        if type(ignored) is not int or ignored < 0:
            raise ValueError("values ignored are not counted")
        for name, category in entries:
            if not isinstance(name, _NAMES) or not isinstance(category, (str, type(None))):
                raise ValueError("a name or a category is none")
            if self._find(name, category) is not None or self._enter(name, category) is None:
                raise ValueError(f"the vocabulary cannot hold {_shown(name)!r}")
        self.ignored = ignored


def _size(name: Hashable, category: str | None) -> int:
    """What a coordinate has of MOST_NAME_BYTES."""
    return length(name) + length(category)


def _shown(name: Hashable) -> str:
    """A name as it can stand in a line."""
    text = str(name)
    cut = text[:_SHOWN] + "…" * (len(text) > _SHOWN)
    return "".join(c if c.isprintable() else "�" for c in cut)


def _by_text(item: tuple[Hashable, str | None, float]) -> tuple[str, str, str]:
    name, category, _ = item
    return str(name), category or "", type(name).__name__
