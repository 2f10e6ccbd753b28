"""The state of river's compiled ADWIN as numbers.

river exports and imports it as bytes, without validation. Here, the bytes are decoded into numbers, and
encoded again only from consistent numbers.
"""

from __future__ import annotations

import struct
from typing import Any

from river._river_rust.drift import AdaptiveWindowing

from streamkarma.checkpoint import checked_float, natural

#: delta, clock, maximum number of buckets in a row, shortest window, grace period; sums; counters; the number
#: of rows.
_HEAD = struct.Struct("<dIQdd4d4IQ")
#: The parameters, repeated at the end of the state.
_TAIL = struct.Struct("<dIQII")
_ROW, _LENGTH = struct.Struct("<QQQ"), struct.Struct("<Q")
#: With more rows, a window would be longer than any stream; a row has few buckets.
_MOST_ROWS, _MOST_BUCKETS = 60, 1000


def numbers_of(window: AdaptiveWindowing) -> list[Any] | None:
    """The state as numbers; None if its layout is not the expected one."""
    state = window.__getstate__()
    try:
        found = _taken_apart(state)
        return found if _put_together(found) == state else None
    except (ValueError, struct.error, OverflowError):
        return None


def window_of(given: Any) -> AdaptiveWindowing:
    """The window from the result of ``numbers_of``; ValueError if the numbers are inconsistent."""
    try:
        state = _put_together(given)
        parameters = _TAIL.unpack(state[-_TAIL.size :])
    except (TypeError, struct.error, OverflowError) as error:
        raise ValueError("the state of an ADWIN contradicts itself") from error
    window = AdaptiveWindowing(*parameters)
    window.__setstate__(state)
    return window


def _taken_apart(state: bytes) -> list[Any]:
    delta, clock, most, shortest, grace, *rest = _HEAD.unpack_from(state)
    sums, counters, count = rest[:4], rest[4:8], natural(rest[8], _MOST_ROWS)
    at, rows = _HEAD.size, []
    numbers = struct.Struct(f"<{natural(most, _MOST_BUCKETS) + 1}d")
    for _ in range(count):
        _, used, _ = _ROW.unpack_from(state, at)
        totals = numbers.unpack_from(state, at + _ROW.size)
        at += _ROW.size + numbers.size + _LENGTH.size
        rows.append([used, list(totals), list(numbers.unpack_from(state, at))])
        at += numbers.size
    return [delta, clock, most, shortest, grace, sums, counters, rows]


def _put_together(given: Any) -> bytes:
    delta, clock, most, shortest, grace, sums, counters, rows = given
    room = natural(most, _MOST_BUCKETS) + 1
    parts = []
    for used, *each in rows:
        parts.append(_ROW.pack(room - 1, natural(used, room - 1), room))
        totals, variances = ([checked_float(number) for number in numbers] for numbers in each)
        if len(totals) != room or len(variances) != room:
            raise ValueError("a row of an ADWIN has the wrong number of buckets")
        parts += [struct.pack(f"<{room}d", *totals), _LENGTH.pack(room), struct.pack(f"<{room}d", *variances)]
    width = sum(used << level for level, (used, *_) in enumerate(rows))
    # Dropping the oldest bucket requires one in the last row.
    if not 1 <= len(rows) <= _MOST_ROWS or sums[2] != width or (len(rows) > 1 and not rows[-1][0]):
        raise ValueError("the rows of an ADWIN contradict its width")
    plain = checked_float(delta), natural(clock), most, checked_float(shortest), checked_float(grace)
    numbers = *map(checked_float, sums), *map(natural, counters)
    tail = _TAIL.pack(*plain[:3], int(shortest), int(grace))
    return b"".join([_HEAD.pack(*plain, *numbers, len(rows)), *parts, tail])
