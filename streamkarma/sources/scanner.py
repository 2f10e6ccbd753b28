"""The common line of JSON, read without making Python objects of it.

A flat object of plain numbers (or true, false, null) under known names becomes coordinates
and values directly. Whatever is unusual, however slightly, is left to the general reader:
escapes, strings, nesting, unknown or repeated names, and numbers of more digits than can be
rounded in one step. Both give the same events to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import compiled, inlined

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Indices = NDArray[np.int32]
Floats = NDArray[np.float64]

#: What a label was; in place of a coordinate, the label's name and no name.
NO_LABEL, NUMBER, BOOLEAN, INTEGER = range(4)
#: Integers up to here are the same as floats.
_EXACT = 2.0**53
TARGET, UNKNOWN = -1, -2

#: Integers up to this, and powers of ten up to the 22nd, are exact as floats: one product or
#: quotient of two such is rounded once, and so correctly.
_EXACT = 1 << 53
_POWERS = np.array([float(10**i) for i in range(23)])


class NameTable(NamedTuple):
    """Names by hash, with open addressing.

    Attributes
    ----------
    text
        All names one after another.
    begins
        Shape (names + 1,): where each begins.
    coordinates
        Shape (names,): the coordinate of each, or TARGET.
    slots
        A power of two of them: a name, or -1.
    """

    text: Bytes
    begins: Ints
    coordinates: Indices
    slots: Indices


class Scanned(NamedTuple):
    """What was read of some lines.

    Attributes
    ----------
    lines
        Lines read; the next one, if any, is unusual.
    starts, coordinates, values
        As in a Block. ``values`` has no NaN.
    labels, kinds
        Shape (lines,): the label's value, and NO_LABEL, NUMBER, BOOLEAN, or INTEGER for a
        number without a point or an exponent.
    """

    lines: int
    starts: Ints
    coordinates: Indices
    values: Floats
    labels: Floats
    kinds: Indices

    def given(self) -> list[bool | int | float | None]:
        """The labels as they stand in the lines."""
        for kind, form in ((INTEGER, np.int64), (BOOLEAN, np.bool_), (NUMBER, np.float64)):
            if (self.kinds == kind).all():
                plain: list[bool | int | float | None] = self.labels.astype(form).tolist()
                return plain
        forms = {NUMBER: float, BOOLEAN: bool, INTEGER: int}
        pairs = zip(self.kinds.tolist(), self.labels.tolist(), strict=True)
        return [None if kind == NO_LABEL else forms[kind](label) for kind, label in pairs]


def name_table(names: Iterable[tuple[str, int]], target: str) -> NameTable:
    """A table of names with their coordinates, and of the label's name."""
    every = [*names, (target, TARGET)]
    encoded = [name.encode(errors="surrogatepass") for name, _ in every]
    begins = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(name) for name in encoded], out=begins[1:])
    size = 1 << (2 * len(encoded)).bit_length()
    table = NameTable(
        np.frombuffer(b"".join(encoded) + b"\0", np.uint8),
        begins,
        np.array([coordinate for _, coordinate in every], np.int32),
        np.full(size, -1, np.int32),
    )
    _fill(table)
    return table


def scan(lines: list[bytes], table: NameTable, coordinates: int) -> Scanned:
    """Read lines up to the first that is unusual.

    Parameters
    ----------
    lines
        Each without its end.
    table
        From ``name_table``.
    coordinates
        Above every coordinate in the table.
    """
    joined = np.frombuffer(b"\n".join(lines) + b"\n", np.uint8)
    # A name and its value take five bytes at the least: "":1,
    most = len(joined) // 5 + 1
    result = Scanned(
        0,
        np.zeros(len(lines) + 1, np.int64),
        np.empty(most, np.int32),
        np.empty(most, np.float64),
        np.empty(len(lines), np.float64),
        np.empty(len(lines), np.int32),
    )
    count = _scan(joined, table, np.full(coordinates, -1, np.int64), *result[1:])
    items = int(result.starts[count])
    return Scanned(count, result.starts[: count + 1], result.coordinates[:items],
                   result.values[:items], result.labels[:count], result.kinds[:count])  # fmt: skip


@inlined
def _hash(text: Bytes, begin: int, end: int) -> np.uint64:
    """FNV-1a."""
    value = np.uint64(14695981039346656037)
    for i in range(begin, end):
        value = (value ^ np.uint64(text[i])) * np.uint64(1099511628211)
    return value ^ (value >> np.uint64(29))


@compiled
def _fill(table: NameTable) -> None:
    text, begins, _, slots = table
    mask = np.uint64(slots.size - 1)
    for name in range(begins.size - 1):
        place = _hash(text, begins[name], begins[name + 1]) & mask
        while slots[place] >= 0:
            place = (place + np.uint64(1)) & mask
        slots[place] = name


@inlined
def _skip(text: Bytes, at: int) -> int:
    """The first place from ``at`` that is not a blank; lines end in a newline, which is none."""
    while text[at] == 32 or text[at] == 9 or text[at] == 13:
        at += 1
    return at


@inlined
def _number(text: Bytes, at: int, powers: Floats) -> tuple[int, float]:
    """The number that begins at ``at``; where it ends, -1 if it is unusual or none."""
    negative = text[at] == 45
    if negative:
        at += 1
    first = at
    whole = 0
    exponent = 0
    while 48 <= text[at] <= 57 and whole < _EXACT:
        whole = whole * 10 + int(text[at] - 48)
        at += 1
    digits, integer = at - first, True
    good = digits > 0 and not (digits > 1 and text[first] == 48)
    if text[at] == 46:
        integer = False
        at += 1
        point = at
        while 48 <= text[at] <= 57 and whole < _EXACT:
            whole = whole * 10 + int(text[at] - 48)
            at += 1
        exponent = point - at
        good = good and exponent < 0
    if text[at] == 101 or text[at] == 69:
        integer = False
        at += 1
        down = text[at] == 45
        if down or text[at] == 43:
            at += 1
        power = 0
        first = at
        while 48 <= text[at] <= 57 and power < 1000:
            power = power * 10 + int(text[at] - 48)
            at += 1
        good = good and at > first
        exponent += -power if down else power
    value = 0.0
    if good and whole <= _EXACT and -22 <= exponent <= 22:
        value = float(whole)
        value = value / powers[-exponent] if exponent < 0 else value * powers[exponent]
    else:
        at = -1
    # An integer has no negative zero.
    return at, -value if negative and not (integer and whole == 0) else value


@compiled
def _is_integer(text: Bytes, begin: int, end: int) -> bool:
    """Whether a number has no point and no exponent."""
    plain = True
    for at in range(begin, end):
        plain = plain and text[at] not in (46, 69, 101)
    return plain


@compiled
def _scan(text: Bytes, table: NameTable, seen: Ints, starts: Ints, coordinates: Indices,
          values: Floats, labels: Floats, kinds: Indices) -> int:  # fmt: skip
    """Fill the arrays from the lines of ``text``; returns how many were read.

    Every loop stops at a newline, which nothing but the end of a line is.
    """
    names, begins, homes, slots = table
    mask = np.uint64(slots.size - 1)
    at, items = 0, 0
    for t in range(labels.size):
        labels[t], kinds[t] = np.nan, NO_LABEL
        at = _skip(text, at)
        if text[at] != 123:
            return t
        at = _skip(text, at + 1)
        more = text[at] != 125
        while more:
            if text[at] != 34:
                return t
            begin = at + 1
            at = begin
            while text[at] != 34:
                if text[at] == 92 or text[at] < 32:
                    return t
                at += 1
            size = at - begin
            place = _hash(text, begin, at) & mask
            home = UNKNOWN
            while slots[place] >= 0 and home == UNKNOWN:
                name = slots[place]
                start = begins[name]
                if begins[name + 1] - start == size:
                    i = 0
                    while i < size and names[start + i] == text[begin + i]:
                        i += 1
                    if i == size:
                        home = homes[name]
                place = (place + np.uint64(1)) & mask
            if home == UNKNOWN:
                return t
            at = _skip(text, at + 1)
            if text[at] != 58:
                return t
            at = _skip(text, at + 1)
            there, kind, value = True, NUMBER, 0.0
            if text[at] == 116 and text[at + 1] == 114 and text[at + 2] == 117 and text[at + 3] == 101:
                at, kind, value = at + 4, BOOLEAN, 1.0
            elif (
                text[at] == 102 and text[at + 1] == 97 and text[at + 2] == 108
                and text[at + 3] == 115 and text[at + 4] == 101
            ):  # fmt: skip
                at, kind = at + 5, BOOLEAN
            elif text[at] == 110 and text[at + 1] == 117 and text[at + 2] == 108 and text[at + 3] == 108:
                at, there = at + 4, False
            else:
                first = at
                at, value = _number(text, at, _POWERS)
                if at < 0:
                    return t
                if home == TARGET and _is_integer(text, first, at):
                    kind = INTEGER
                    if abs(value) > _EXACT:
                        return t
            if home == TARGET:
                if kinds[t] != NO_LABEL or not there:
                    return t
                labels[t], kinds[t] = value, kind
            else:
                if seen[home] == t:
                    return t
                seen[home] = t
                if there:
                    coordinates[items] = home
                    values[items] = value
                    items += 1
            at = _skip(text, at)
            more = text[at] == 44
            if more:
                at = _skip(text, at + 1)
        if text[at] != 125:
            return t
        at = _skip(text, at + 1)
        if text[at] != 10:
            return t
        at += 1
        starts[t + 1] = items
    return labels.size
