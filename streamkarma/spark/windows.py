"""Divides the records of parts into the first ones, the last ones, and those between."""

from __future__ import annotations

from collections.abc import Mapping

#: A half-open range of records of a part.
Window = tuple[int, int]


def split_windows(sizes: Mapping[int, int], warm: int, tail: int) -> list[dict[int, Window]]:
    """The windows, by part, of the first records, those between, and the last.

    Parameters
    ----------
    sizes
        The number of records in each part.
    warm, tail
        The number of first and last records; if they overlap, there are fewer last ones.

    Examples
    --------
    >>> split_windows({0: 5, 1: 5}, 2, 6)
    [{0: (0, 2)}, {0: (2, 4)}, {0: (4, 5), 1: (0, 5)}]
    """
    total = sum(sizes.values())
    ends = [0, min(warm, total), max(total - tail, min(warm, total)), total]
    windows: list[dict[int, Window]] = [{}, {}, {}]
    at = 0
    for part in sorted(sizes):
        for own, begin, end in zip(windows, ends, ends[1:], strict=False):
            first, last = max(begin - at, 0), min(end - at, sizes[part])
            if first < last:
                own[part] = (first, last)
        at += sizes[part]
    return windows
