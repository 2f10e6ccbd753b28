"""Running mean and deviation of a number, which a few wild values do not move.

One reading of 1e8, or a -9999 that stands for "no reading" in every twentieth event, would decide
a plain mean and variance for good. Here a value far out counts as one at the edge, CUT deviations
from the mean, so that the edge moves only if many lie beyond it: more than 1 in CUT² of them.

Two kinds of values would mislead that rule:

- *The first ones*, as long as no deviation is known. START of them are kept, and cut at a multiple
  of their median distance from their median.
- *A value that most events share*, such as the 0 of a counter that seldom counts. The deviation
  would shrink to 0, and every other value would look far out. So such a value is counted apart,
  and the edge is that of the others. (It is found by majority vote, after Boyer and Moore.)

Where the values move for good, as after a change of units, they are looked at anew: once RESTART more
of them lay beyond the edge than within. A value that repeats does not count there, since a sensor that
is stuck says nothing of the values to come.

Without values far out, mean and deviation are those of all values (of the last ``longest`` ones).

The numbers here were chosen on synthetic low-rank streams, clean and with outliers of every size in
one value of a thousand to one of twenty, and on tables of mostly zeros.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import borrowing, compiled, inlined

Floats = NDArray[np.float64]

#: Standardised values beyond this are cut: one broken sensor must not outweigh the others.
CLIP = 5.0
#: Raw values beyond this are cut, so that their squares stay finite.
LARGEST = 1e100

#: Values beyond so many deviations count as one at that edge.
CUT = 3.0
#: Values beyond so many deviations are no measurements, and say nothing: they count as the mean. Amounts
#: and other skewed numbers reach 20 deviations and more; units mixed up and codes for "none" lie beyond.
FAR = 50.0
#: So many values are kept before the rule above has a deviation to go by.
START = 16
#: They are cut at so many median distances, 12 deviations of a Gaussian.
_START_CUT = 12.0 * 1.4826
#: So many more equal values than others are needed to count one apart, and as many as half of all.
_LEAD = 8.0
#: So many more values beyond the edge than within it are a new beginning.
RESTART = 100.0

#: No sum of squares is larger.
_LARGEST_SUM = 1e250

#: What is kept of an attribute, a row of WIDTH numbers: count, mean and sum of squared deviations of
#: the ordinary values; the most common value, its count where it is counted apart, and its lead in votes;
#: how many more values lay beyond the edge than within; how many first values there are (START once they
#: are no longer looked at), and the first values, ascending.
COUNT, MEAN, SQUARES, MODE, MODE_COUNT, LEAD, BEYOND, KEPT, FIRST = range(9)
WIDTH = FIRST + START


def memory(half_life: float | None) -> float:
    """How many things to average over, so that what was seen ``half_life`` before counts half.

    Examples
    --------
    >>> round(memory(1000.0)), memory(None)
    (1443, inf)
    """
    return float("inf") if half_life is None else max(1.0, half_life / math.log(2.0))


@borrowing
def observe(row: Floats, value: float, store: bool, longest: float) -> tuple[float, float, bool]:
    """Mean and deviation of what was seen so far with ``value`` added, and whether it lies far out.

    Parameters
    ----------
    row
        Shape (WIDTH,): what is known of the attribute; it keeps the value if ``store``.
    value
        A finite number within ±LARGEST.
    store
        False to leave no trace.
    longest
        Once so many values have been seen, the older ones fade, each time by 1 / longest.
    """
    count, mean, squares = row[COUNT], row[MEAN], row[SQUARES]
    mode, mode_count, lead = row[MODE], row[MODE_COUNT], row[LEAD]
    beyond, kept = row[BEYOND], row[KEPT]
    if count + mode_count + 1.0 > longest:
        keep = (longest - 1.0) / (count + mode_count)
        count, squares, mode_count, lead = count * keep, squares * keep, mode_count * keep, lead * keep
        kept = float(START)
    repeats, is_mode = lead > 0.0 and value == mode, False
    if repeats:
        lead += 1.0
        is_mode = mode_count > 0.0 or (lead >= _LEAD and 2.0 * lead > count)
    elif lead > 0.0:
        lead = max(lead - 1.0, 0.0)
    else:
        if mode_count > 0.0:
            count, mean, squares = _joined(count, mean, squares, mode, mode_count)
            kept = float(START)
        mode, mode_count, lead = value, 0.0, 1.0
    if is_mode:
        mode_count += 1.0
    elif kept < START:
        count, mean, squares = _begun(row, int(kept), value, store)
        kept = count
    else:
        edge = CUT * np.sqrt(_unit(count, mean, squares, mode, mode_count))
        inside = min(max(value, mean - edge), mean + edge) if edge > 0.0 else value
        if not repeats:
            beyond = max(beyond + (1.0 if value != inside else -1.0), 0.0)
        count += 1.0
        away = inside - mean
        mean += away / count
        squares += away * (inside - mean)
    if beyond >= RESTART:
        count, mean, squares, beyond, kept = 1.0, value, 0.0, 0.0, 1.0
        mode, mode_count, lead = value, 0.0, 1.0
        if store:
            row[FIRST:] = 0.0
            row[FIRST] = value
    unit = _unit(count, mean, squares, mode, mode_count)
    is_far = abs(value - mean) > FAR * np.sqrt(unit)
    if store:
        row[COUNT], row[MEAN], row[SQUARES] = count, mean, squares
        row[MODE], row[MODE_COUNT], row[LEAD] = mode, mode_count, lead
        row[BEYOND], row[KEPT] = beyond, kept
    count, mean, squares = _joined(count, mean, squares, mode, mode_count)
    return mean, np.sqrt(squares / count), is_far


@inlined
def standardise(row: Floats, value: float, store: bool, longest: float) -> float:
    """``value`` in deviations from the running mean, within ±CLIP; 0 if all are equal, and if far out."""
    value = min(max(value, -LARGEST), LARGEST)
    mean, deviation, is_far = observe(row, value, store, longest)
    if deviation == 0.0 or is_far:
        return 0.0
    return min(max((value - mean) / deviation, -CLIP), CLIP)


@borrowing
def mean_and_deviation(row: Floats) -> tuple[float, float]:
    """Mean and standard deviation of what was seen so far; 0 and 0 of nothing."""
    count, mean, squares = _joined(row[COUNT], row[MEAN], row[SQUARES], row[MODE], row[MODE_COUNT])
    return mean, np.sqrt(squares / count) if count > 0.0 else 0.0


def nothing(attributes: int) -> Floats:
    """The rows of so many attributes of which nothing was seen."""
    return np.zeros((attributes, WIDTH))


def are_rows(rows: NDArray[Any]) -> bool:
    """Whether an array of a file, shape (attributes, WIDTH), has such rows as values leave."""
    if rows.dtype != np.float64 or rows.shape[1:] != (WIDTH,) or not (np.abs(rows) <= _LARGEST_SUM).all():
        return False
    kept = rows[:, KEPT]
    counts = rows[:, [COUNT, SQUARES, MODE_COUNT, LEAD, BEYOND, KEPT]]
    return bool((counts >= 0.0).all() and (kept <= START).all() and (kept == np.floor(kept)).all())


@compiled
def constant(value: float, count: int, longest: float) -> Floats:
    """The row of an attribute that was the same so many times."""
    row = np.zeros(WIDTH)
    for _ in range(count):
        observe(row, value, True, longest)
    return row


@borrowing
def _joined(count: float, mean: float, squares: float, mode: float,
            mode_count: float) -> tuple[float, float, float]:  # fmt: skip
    """Count, mean and squares of the ordinary values and the most common one together (Chan et al.)."""
    if mode_count == 0.0:
        return count, mean, squares
    total, gap = count + mode_count, mode - mean
    return total, mean + gap * mode_count / total, squares + gap * gap * count * mode_count / total


@borrowing
def _unit(count: float, mean: float, squares: float, mode: float, mode_count: float) -> float:
    """The squared unit in which ordinary values are far out or not."""
    if count == 0.0:
        return 0.0
    gap = mode - mean if mode_count > 0.0 else 0.0
    return squares / count + gap * gap


@borrowing
def _begun(row: Floats, size: int, value: float, store: bool) -> tuple[float, float, float]:
    """Count, mean and squares of the first values, ``size`` of them in the row, and one more."""
    first = row[FIRST:]
    place = size
    while place > 0 and first[place - 1] > value:
        first[place] = first[place - 1]
        place -= 1
    first[place] = value
    size += 1
    # Differences from the median, so that of equal values the mean is exact and the squares are 0.
    centre = 0.5 * first[(size - 1) // 2] + 0.5 * first[size // 2]
    edge = _START_CUT * _median_distance(first, size, centre)
    mean = squares = 0.0
    for i in range(size):
        mean += min(max(first[i] - centre, -edge), edge) / size
    for i in range(size):
        away = min(max(first[i] - centre, -edge), edge) - mean
        squares += away * away
    if not store:
        for i in range(place, size - 1):
            first[i] = first[i + 1]
        first[size - 1] = 0.0
    return float(size), centre + mean, squares


@borrowing
def _median_distance(first: Floats, size: int, centre: float) -> float:
    """The median distance from ``centre`` of those ascending values that differ from it; 0 if none does."""
    low, high = 0, size
    while high > 0 and first[high - 1] >= centre:
        high -= 1
    below = high  # values below the centre
    while high < size and first[high] == centre:
        high += 1
    differing = below + size - high
    low, distance = below, 0.0
    # Of an even number the greater of the two in the middle: the gap between two of four values may be tiny.
    for _ in range(differing // 2 + 1 if differing > 0 else 0):
        if high == size or (low > 0 and centre - first[low - 1] <= first[high] - centre):
            low -= 1
            distance = centre - first[low]
        else:
            distance = first[high] - centre
            high += 1
    return distance
