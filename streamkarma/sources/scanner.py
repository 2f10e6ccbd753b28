"""The common line of JSON, read without making Python objects of it.

A flat object of plain numbers, known texts, true, false or null under known names becomes
coordinates and values directly. Whatever is unusual, however slightly, is left to the general
reader: escapes, nesting, what is not known yet, repeated names, and numbers of more digits than
can be rounded in one step. Both give the same events to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import borrowing, inlined
from streamkarma.events.labels import BOOLEAN, INTEGER, NO_LABEL, NUMBER, TEXT
from streamkarma.sources.names import (
    ID,
    IGNORED,
    OF_LABELS,
    OF_NAMES,
    TARGET,
    WEIGHT,
    Bytes,
    Indices,
    Ints,
    NameTable,
    byte,
    find,
)

Floats = NDArray[np.float64]

#: Integers up to this, and powers of ten up to the 22nd, are exact as floats: one product or
#: quotient of two such is rounded once, and so correctly.
_EXACT = 1 << 53
#: As many digits cannot be too large for 64 bits.
_MOST_DIGITS = 18
_POWERS = np.array([float(10**i) for i in range(23)])
_QUOTE, _BACKSLASH, _MINUS, _ZERO, _BEYOND_ASCII = 34, 92, 45, 48, 128


class Scanned(NamedTuple):
    """What was read of T lines; the next one, if any, is unusual.

    Attributes
    ----------
    ends
        Shape (T,): where in the text the line after each begins.
    starts, coordinates, values
        As in a Block. ``values`` has no NaN.
    labels, kinds
        Shape (T,): as in a LabelColumn.
    weights
        Shape (T,): 1 where there is none.
    ids
        Shape (T, 2): where in the text the id begins and ends; both 0 where there is none.
    """

    ends: Ints
    starts: Ints
    coordinates: Indices
    values: Floats
    labels: Floats
    kinds: Indices
    weights: Floats
    ids: NDArray[np.int64]

    def head(self, lines: int) -> Scanned:
        """The first so many lines."""
        items = int(self.starts[lines])
        return Scanned(
            self.ends[:lines],
            self.starts[: lines + 1],
            self.coordinates[:items],
            self.values[:items],
            self.labels[:lines],
            self.kinds[:lines],
            self.weights[:lines],
            self.ids[:lines],
        )


def scan(text: bytes, begin: int, lines: int, table: NameTable) -> Scanned:
    """Read lines up to the first that is unusual.

    Parameters
    ----------
    text
        Lines, each ended by a newline.
    begin
        Where the first one to read begins.
    lines
        How many to read at most; there are as many.
    table
        What is known.
    """
    # A name and its value take five bytes at the least: "":1,
    most = (len(text) - begin) // 5 + 1
    room = Scanned(
        np.empty(lines, np.int64),
        np.zeros(lines + 1, np.int64),
        np.empty(most, np.int32),
        np.empty(most, np.float64),
        np.empty(lines, np.float64),
        np.empty(lines, np.int32),
        np.empty(lines, np.float64),
        np.zeros((lines, 2), np.int64),
    )
    seen = np.full(len(table.owners), -1, np.int64)
    return room.head(_scan(np.frombuffer(text, np.uint8), begin, table, seen, room))


@inlined
def _skip(text: Bytes, at: int) -> int:
    """The first place from ``at`` that is not a blank; lines end in a newline, which is none."""
    while byte(text, at) == 32 or byte(text, at) == 9 or byte(text, at) == 13:
        at += 1
    return at


@inlined
def _quote(text: Bytes, at: int) -> tuple[int, int]:
    """Where the text that begins at ``at`` ends, -1 if it is unusual; and its greatest byte."""
    greatest = 0
    while byte(text, at) != _QUOTE and byte(text, at) != _BACKSLASH and byte(text, at) >= 32:
        greatest = max(greatest, byte(text, at))
        at += 1
    return at if byte(text, at) == _QUOTE else -1, greatest


@inlined
def _word(text: Bytes, at: int) -> int:
    """Where true, false or null that begins at ``at`` ends, -1 if it is none of these."""
    end = -1
    if byte(text, at) == 116:
        if byte(text, at + 1) == 114 and byte(text, at + 2) == 117 and byte(text, at + 3) == 101:
            end = at + 4
    elif byte(text, at) == 110:
        if byte(text, at + 1) == 117 and byte(text, at + 2) == 108 and byte(text, at + 3) == 108:
            end = at + 4
    elif (
        byte(text, at) == 102 and byte(text, at + 1) == 97 and byte(text, at + 2) == 108
        and byte(text, at + 3) == 115 and byte(text, at + 4) == 101
    ):  # fmt: skip
        end = at + 5
    return end


@inlined
def _digits(text: Bytes, at: int, number: int) -> tuple[int, int]:
    """Where the digits that begin at ``at`` end, and ``number`` with them behind it."""
    digit = byte(text, at) - _ZERO
    while 0 <= digit <= 9:
        number = number * 10 + digit
        at += 1
        digit = byte(text, at) - _ZERO
    return at, number


@inlined
def _number(text: Bytes, at: int, powers: Floats) -> tuple[int, float, int]:
    """The number that begins at ``at``: where it ends, -1 if it is unusual or none, and its kind."""
    negative = byte(text, at) == _MINUS
    if negative:
        at += 1
    first = at
    at, whole = _digits(text, at, 0)
    digits, kind, exponent = at - first, INTEGER, 0
    good = digits > 0 and not (digits > 1 and byte(text, first) == _ZERO)
    if byte(text, at) == 46:
        point = at + 1
        at, whole = _digits(text, point, whole)
        kind, exponent = NUMBER, point - at
        digits -= exponent
        good = good and exponent < 0
    if byte(text, at) == 101 or byte(text, at) == 69:
        kind = NUMBER
        at += 1
        down = byte(text, at) == _MINUS
        if down or byte(text, at) == 43:
            at += 1
        first = at
        at, power = _digits(text, at, 0)
        good = good and 0 < at - first <= _MOST_DIGITS
        exponent += -power if down else power
    value = 0.0
    if good and digits <= _MOST_DIGITS and whole <= _EXACT and -22 <= exponent <= 22:
        value = float(whole)
        value = value / powers[-exponent] if exponent < 0 else value * powers[exponent]
    else:
        at = -1
    # An integer has no negative zero.
    return at, -value if negative and not (kind == INTEGER and whole == 0) else value, kind


@borrowing
def _value(text: Bytes, at: int, table: NameTable, home: int,
           attribute: int) -> tuple[int, int, float, int]:  # fmt: skip
    """Read the value that begins at ``at``, of a name with that home.

    Returns
    -------
    Where it ends, -1 if it is unusual; its kind, NO_LABEL for null; a number, for a text that is
    known 1; and the coordinate or class, if it is known.
    """
    if byte(text, at) == _QUOTE:
        begin = at + 1
        at, greatest = _quote(text, begin)
        known = -1
        if at >= 0 and (home >= 0 or home < IGNORED or home == TARGET):
            entry = find(table, OF_LABELS if home == TARGET else attribute, text, begin, at)
            known = table.homes[entry] if entry >= 0 else -1
            at = at if known >= 0 else -1
        elif home == WEIGHT or greatest >= _BEYOND_ASCII:
            at = -1
        return at + 1 if at >= 0 else -1, TEXT, 1.0, known
    if byte(text, at) == 116 or byte(text, at) == 102 or byte(text, at) == 110:
        first = byte(text, at)
        at = _word(text, at)
        if first != 110 and (home == WEIGHT or home < IGNORED):
            at = -1
        return at, NO_LABEL if first == 110 else BOOLEAN, 1.0 if first == 116 else 0.0, home
    negative_zero = byte(text, at) == _MINUS and byte(text, at + 1) == _ZERO
    at, value, kind = _number(text, at, _POWERS)
    # An id is given back as it stands, which must be how it would be written.
    odd_id = home == ID and (kind != INTEGER or negative_zero)
    if odd_id or (home == WEIGHT and value < 0.0) or home < IGNORED:
        at = -1
    return at, kind, value, home


@borrowing
def _scan(text: Bytes, at: int, table: NameTable, seen: Ints, room: Scanned) -> int:
    """Fill the arrays from the lines of ``text``; returns how many were read.

    Every loop stops at a newline, which nothing but the end of a line is.
    """
    ends, starts, coordinates, values, labels, kinds, weights, ids = room
    items = 0
    for t in range(labels.size):
        labels[t], kinds[t], weights[t] = np.nan, NO_LABEL, 1.0
        at = _skip(text, at)
        if byte(text, at) != 123:
            return t
        at = _skip(text, at + 1)
        more = byte(text, at) != 125
        while more:
            if byte(text, at) != _QUOTE:
                return t
            begin = at + 1
            at, _ = _quote(text, begin)
            if at < 0:
                return t
            entry = find(table, OF_NAMES, text, begin, at)
            if entry < 0 or seen[entry] == t:
                return t
            seen[entry] = t
            home = table.homes[entry]
            at = _skip(text, at + 1)
            if byte(text, at) != 58:
                return t
            begin = _skip(text, at + 1)
            at, kind, value, place = _value(text, begin, table, home, table.attributes[entry])
            if at < 0:
                return t
            if kind != NO_LABEL:
                if home == TARGET:
                    labels[t], kinds[t] = float(place) if kind == TEXT else value, kind
                elif home == WEIGHT:
                    weights[t] = value
                elif home == ID:
                    ids[t, 0], ids[t, 1] = begin, at
                elif home != IGNORED:
                    coordinates[items], values[items] = place, value
                    items += 1
            at = _skip(text, at)
            more = byte(text, at) == 44
            if more:
                at = _skip(text, at + 1)
        if byte(text, at) != 125:
            return t
        at = _skip(text, at + 1)
        if byte(text, at) != 10:
            return t
        at += 1
        ends[t], starts[t + 1] = at, items
    return int(labels.size)
