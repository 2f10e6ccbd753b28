"""What every source yields: some records in a row, unread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

#: Where a record stands, by the names that a dead letter shows: ``{"line": 17}``.
Place = dict[str, Any]


class Records(NamedTuple):
    """Some records in a row.

    Attributes
    ----------
    values
        The records, one JSON object each.
    place
        Where the record with this index stands.
    refused
        Records that cannot be used, whatever is in them: index to reason.
    beside
        Attributes that came beside each value, or None for none.
    labels_only
        Whether these are labels of events that came before, and no events.
    time
        When the record with this index happened, in seconds since 1970.
    """

    values: list[bytes]
    place: Callable[[int], Place]
    refused: Mapping[int, str]
    beside: Sequence[Mapping[str, Any]] | None = None
    labels_only: bool = False
    time: Callable[[int], float] | None = None


def said(place: Place) -> str:
    """A place in words.

    Examples
    --------
    >>> said({"topic": "clicks", "partition": 0, "offset": 17})
    'topic clicks, partition 0, offset 17'
    """
    return ", ".join(f"{name} {value}" for name, value in place.items())
