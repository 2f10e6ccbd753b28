"""The pictures of a profile: what is observed, which missingness is correlated, and trends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from streamkarma.profile.svg import line, picture, shape, shortened, text
from streamkarma.profile.table import share

_WIDTH = 1000.0
#: Maximum numbers of attributes in the matrix, and of trends.
_COLUMNS, _TRENDS = 60, 12
#: Room for names beside the heat map.
_NAMES = 130.0
_MATRIX = 260.0
#: Maximum sides of the cells of the heat map: of all together, and of one.
_ALL_CELLS, _CELL = 520.0, 34.0
#: Height per character of a rotated name.
_RISE = 4.6
_SPARK, _MARGIN = 70.0, 50.0


def matrix(profile: Mapping[str, Any]) -> str:
    """Events from top to bottom, in the order of the stream; observed values are dark."""
    observed, events = profile["matrix"]["observed"], profile["matrix"]["events"]
    names = _varied(profile, _COLUMNS)
    if not events or not names:
        return ""
    step = (_WIDTH - _MARGIN - _SPARK - 20) / max(len(names), 8)
    height, wide, head = _MATRIX / len(events), 0.9 * step, _head(names)
    pieces = []
    for number, name in enumerate(names):
        x = _MARGIN + number * step
        path = "".join(
            f"M{x:.1f} {head + begin * height:.1f}h{wide:.1f}v{(end - begin) * height:.2f}h{-wide:.1f}z"
            for begin, end in _runs(observed[name])
        )
        title = f"{name}: observed in {share(profile['attributes'][name]['share'])}"
        pieces.append(shape("rect", title, x=x, y=head, width=wide, height=_MATRIX, class_="gap"))
        pieces.append(shape("path", title, d=path, class_="there"))
        pieces.append(text(x + step / 2, head - 6, name, turned=True))
    pieces += _completeness(observed, (head, height))
    for at in (0, len(events) - 1):
        pieces.append(text(_MARGIN - 6, head + at * height + 9 * (at == 0), f"{events[at]:,}", "end"))
    return picture(_WIDTH, head + _MATRIX + 8, pieces, "which events have which attributes")


def _completeness(observed: Mapping[str, str], place: tuple[float, float]) -> Iterator[str]:
    """The number of attributes in each event, as a line to the right of the matrix."""
    head, height = place
    counts = [sum(map(int, bits)) for bits in zip(*observed.values(), strict=True)]
    left, most = _WIDTH - _SPARK, max(len(observed), 1)
    points = [(left + _SPARK * count / most, head + (at + 0.5) * height) for at, count in enumerate(counts)]
    title = f"attributes in an event: {min(counts)} to {max(counts)}"
    yield shape("path", title, d=line(points), class_="line")
    yield text(left, head - 6, f"{min(counts)}–{max(counts)} of {most}")


def heat_map(profile: Mapping[str, Any]) -> str:
    """Correlations of missingness, for the attributes with the strongest ones."""
    names, correlations = profile["heat_map"]["attributes"], profile["heat_map"]["correlations"]
    if len(names) < 2:
        return ""
    side, head = min(_CELL, _ALL_CELLS / len(names)), _head(names)
    pieces = []
    for row, name in enumerate(names):
        y = head + (row - 1) * side
        if row:
            pieces.append(text(_NAMES - 6, y + 0.5 * side + 4, name, "end"))
        for column, other in enumerate(names[:row]):
            x = _NAMES + column * side
            pieces += _cell((x, y, 0.95 * side), correlations[row][column], f"{other}, {name}")
        if row + 1 < len(names):
            pieces.append(text(_NAMES + (row + 0.5) * side, y + side - 6, name, turned=True))
    return picture(_WIDTH, head + (len(names) - 1) * side + 8, pieces, "correlations of missingness")


def _cell(square: tuple[float, float, float], correlation: float, title: str) -> Iterator[str]:
    x, y, size = square
    title = f"{title}: {correlation:+.2f}"
    kind = "plus" if correlation > 0 else "minus"
    place = {"x": x, "y": y, "width": size, "height": size}
    yield shape("rect", title, **place, class_="gap")
    yield shape("rect", title, **place, class_=kind, opacity=f"{abs(correlation):.2f}")


def _head(names: Sequence[str]) -> float:
    """Height of rotated names."""
    return 24 + _RISE * max(len(shortened(name)) for name in names)


def trends(profile: Mapping[str, Any]) -> str:
    """The fraction observed over the stream, with its changes, for the attributes where it varies most."""
    trend = profile["trend"]
    names = sorted(trend["observed"], key=lambda name: -_range(trend["observed"][name]))[:_TRENDS]
    names = [name for name in names if _range(trend["observed"][name]) > 0.0]
    if not names or len(trend["events"]) < 2:
        return ""
    width, height = 230.0, 84.0
    pieces: list[str] = []
    for number, name in enumerate(names):
        x, y = (number % 4) * (width + 20) + 10, (number // 4) * (height + 44) + 24
        pieces += _trend(profile, name, (x, y), (width, height))
    rows = -(-len(names) // 4)
    return picture(_WIDTH, rows * (height + 44) + 6, pieces, "what share is observed, over the stream")


def _trend(
    profile: Mapping[str, Any], name: str, corner: tuple[float, float], size: tuple[float, float]
) -> Iterator[str]:
    (x, y), (width, height), ends = corner, size, profile["trend"]["events"]
    shares, last = profile["trend"]["observed"][name], ends[-1]
    yield text(x, y - 6, name)
    yield shape("rect", x=x, y=y, width=width, height=height, class_="frame")
    points = [
        (x + width * (end + begin) / 2 / last, y + height * (1 - value))
        for begin, end, value in zip([0, *ends], ends, shares, strict=False)
    ]
    title = f"{name}: observed in {share(min(shares))} to {share(max(shares))} of a part of the stream"
    yield shape("path", title, d=line(points), class_="line")
    for change in profile["changes"]:
        if change["attribute"] == name and change["what"] == "observed":
            at = x + width * change["event"] / last
            tooltip = f"from event {change['event']:,}: {share(change['before'])} → {share(change['after'])}"
            yield shape("path", tooltip, d=line([(at, y), (at, y + height)]), class_="mark")
    yield text(x, y + height + 13, "1")
    yield text(x + width, y + height + 13, f"{last:,}", "end")


def _runs(bits: str) -> Iterator[tuple[int, int]]:
    """Where runs of ones begin and end.

    Examples
    --------
    >>> list(_runs("0110"))
    [(1, 3)]
    """
    at = 0
    for bit, group in groupby(bits):
        length = len(list(group))
        if bit == "1":
            yield at, at + length
        at += length


def _varied(profile: Mapping[str, Any], most: int) -> list[str]:
    """Up to ``most`` attributes, those observed closest to half of the time, in their order."""
    every = profile["attributes"]
    chosen = set(sorted(every, key=lambda name: abs(every[name]["share"] - 0.5))[:most])
    return [name for name in every if name in chosen]


def _range(values: Sequence[float]) -> float:
    return max(values) - min(values) if values else 0.0
