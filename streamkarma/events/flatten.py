"""Nested JSON objects as flat events."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Any

from streamkarma.errors import RecordError
from streamkarma.printable import shown

#: Deeper records are refused: real events are flat or nearly so, and a hostile record could cause deep
#: recursion.
MAX_DEPTH = 32
#: Maximum number of characters of all joined names of a record: a long name of a long array is repeated for
#: each of its elements.
MAX_NAMES = 1 << 26


#: Types of values that contain other values.
COLLECTIONS = (dict, list, tuple, set, frozenset)


def is_flat(record: Mapping[Any, Any]) -> bool:
    """Whether no value is an object or an array."""
    return not any(isinstance(value, COLLECTIONS) for value in record.values())


def flatten(
    record: Mapping[Any, Any], ignored: Collection[str] = (), whole: Collection[str] = ()
) -> dict[Any, Any]:
    """Join nested names with dots, and number the elements of arrays; other names are unchanged.

    Strings in an array are tags, which stay together under its name.

    Parameters
    ----------
    record
        Values by name, which may be nested.
    ignored
        Names of objects and arrays, joined by dots, that are left out.
    whole
        Names of objects and arrays, joined by dots, that stay as they are.

    Raises
    ------
    RecordError
        If two values get the same name, or the record is nested deeper than MAX_DEPTH, or its names
        have more than MAX_NAMES characters.

    Examples
    --------
    >>> flatten({"gps": {"lat": 1.5, "fix": [True, None]}, "id": 7})
    {'gps.lat': 1.5, 'gps.fix.0': True, 'gps.fix.1': None, 'id': 7}
    >>> flatten({"tags": ["new", "red"]})
    {'tags': ['new', 'red']}
    >>> flatten({"gps": {"lat": 1.5, "raw": {"x": 7}}, "log": [1, 2]}, ignored=["gps.raw", "log"])
    {'gps.lat': 1.5}
    >>> flatten({"gps": {"lat": 1.5, "raw": {"x": 7}}}, whole=["gps.raw"])
    {'gps.lat': 1.5, 'gps.raw': {'x': 7}}
    """
    flat: dict[Hashable, Any] = {}
    _flatten_into(flat, "", dict(record), 1, MAX_NAMES, ignored, whole)
    return flat


def _flatten_into(
    flat: dict[Hashable, Any],
    prefix: str,
    value: Any,
    depth: int,
    left: int,
    ignored: Collection[str],
    whole: Collection[str],
) -> int:
    """Add the contents of an object or an array; returns the number of characters left for names."""
    if depth > MAX_DEPTH:
        raise RecordError(f"nested deeper than {MAX_DEPTH} levels")
    items = value.items() if isinstance(value, dict) else enumerate(value)
    tags = []
    for key, inner in items:
        if isinstance(inner, str) and not isinstance(value, dict):
            tags.append(inner)
            continue
        name = f"{prefix}{key}" if prefix else key
        left -= len(name) if isinstance(name, str) else 0
        if left < 0:
            raise RecordError("nested names are too long once they are joined by dots")
        if isinstance(inner, COLLECTIONS) and not _is_odd(inner) and name not in whole:
            if name not in ignored:
                left = _flatten_into(flat, f"{name}.", inner, depth + 1, left, ignored, whole)
        else:
            _add(flat, name, inner)
    if tags:
        _add(flat, prefix.removesuffix("."), tags)
    return left


def _is_odd(value: Any) -> bool:
    """Whether it is a set that is not all strings: its elements have no order for numbering."""
    return isinstance(value, set | frozenset) and not all(isinstance(each, str) for each in value)


def _add(flat: dict[Hashable, Any], name: Hashable, value: Any) -> None:
    if name in flat:
        raise RecordError(f"two nested names become {shown(name)} when joined by dots")
    flat[name] = value
