"""Draw the table of examples/bench.py: the speed and error rate of each tool.

    python examples/bench.py --json bench.json
    python examples/bench_picture.py bench.json bench.png

Speeds are those of whole processes; hollow points used more than one core.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import click
from arguments import Example, picture, rows_of
from bench_peers import ALL, ONE, OURS, RIVER
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.text import Annotation
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter
from matplotlib.transforms import Bbox

#: What is used of the table.
COLUMNS = ("where", "tool", "events_per_second", "error")
#: From a palette for the colour-blind.
OURS_COLOUR, PEERS_COLOUR = "#d55e00", "#0072b2"
#: Offsets of a label beside, below or above its point, in typographic points.
Spot = tuple[int, int, str]
NEAR: list[Spot] = [(7, -3, "left"), (-7, -3, "right"), (0, -13, "center"), (0, 7, "center")]
#: Pixels between labels.
GAP = 4
#: How many times farther a label beside its point is from any other point.
FARTHER = 1.5
#: How far above or below its point, in typographic points, a label is at most moved for clarity.
REACH = 90


def spots() -> Iterator[Spot]:
    """Possible positions of a label, best first, at increasing distances without end."""
    yield from NEAR
    for away in count(14, 8):
        for up in (away, -away - 6):
            yield 10, up, "left"
            yield -10, up, "right"


def points(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows to draw: river uses a single core even in the table of all cores, and is drawn once."""
    shown = [row for row in rows if row["where"] == ONE or (row["where"] == ALL and row["tool"] != RIVER)]
    names = [row["tool"] for row in shown]
    return [
        {**row, "label": row["tool"] if names.count(row["tool"]) == 1 else f"{row['tool']}, {row['where']}"}
        for row in shown
    ]


class Labels:
    """Writes the label of each point where it covers nothing and cannot be taken for that of another point.

    Parameters
    ----------
    axes
        Where to write.
    centres
        The points, in pixels.
    """

    def __init__(self, axes: Axes, centres: Sequence[tuple[float, float]]) -> None:
        self._axes, self._centres = axes, centres
        self._frame = axes.get_window_extent().padded(-10)
        self._dots = [Bbox.from_bounds(x - 10, y - 10, 20, 20) for x, y in centres]
        self._boxes: list[Bbox] = []
        self._lines: list[Path] = []

    def write(self, row: dict[str, Any], at: int) -> None:
        """Write the label of a row, whose point is the one at this index."""
        spot = self._spot(row, at)
        self._boxes.append(self._text(row, spot).get_window_extent().padded(GAP))
        if spot not in NEAR:
            self._lines.append(self._line(spot, at))
            style = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
            self._axes.annotate("", place(row), (spot[0], spot[1] + 3), textcoords="offset points",
                                arrowprops=style)  # fmt: skip

    def _spot(self, row: dict[str, Any], at: int) -> Spot:
        """The best position that is clear; if there is none within reach, the best one that is free."""
        free = None
        for spot in spots():
            text = self._text(row, spot)
            box = text.get_window_extent().padded(GAP)
            text.remove()
            inside = self._frame.x0 < box.x0 and box.x1 < self._frame.x1
            if inside and not any(map(box.overlaps, [*self._dots, *self._boxes])):
                free = free or spot
                if self._is_clear(box, spot, at):
                    return spot
            if free is not None and abs(spot[1]) > REACH:
                return free
        raise AssertionError("positions never end")

    def _is_clear(self, box: Bbox, spot: Spot, at: int) -> bool:
        """Whether a free position crosses no line, and is closest to its own point or has a line to it."""
        if any(line.intersects_bbox(box, filled=False) for line in self._lines):
            return False
        if spot not in NEAR:
            line = self._line(spot, at)
            return not any(line.intersects_bbox(other, filled=False) for other in self._boxes)
        own = distance(box, self._centres[at])
        others = [*self._centres[:at], *self._centres[at + 1 :]]
        return all(distance(box, centre) >= FARTHER * own for centre in others)

    def _text(self, row: dict[str, Any], spot: Spot) -> Annotation:
        right, up, side = spot
        return self._axes.annotate(row["label"], place(row), (right, up), textcoords="offset points", ha=side,
                                   fontsize=7, color=colour(row))  # fmt: skip

    def _line(self, spot: Spot, at: int) -> Path:
        """The line from a label to its point, in pixels."""
        (x, y), scale = self._centres[at], self._axes.figure.dpi / 72
        return Path([(x, y), (x + scale * spot[0], y + scale * (spot[1] + 3))])


def distance(box: Bbox, point: tuple[float, float]) -> float:
    """The distance of a point from a box."""
    x, y = point
    return math.hypot(max(box.x0 - x, 0.0, x - box.x1), max(box.y0 - y, 0.0, y - box.y1))


def place(row: dict[str, Any]) -> tuple[float, float]:
    """The point of a row."""
    return row["events_per_second"], row["error"]


def colour(row: dict[str, Any]) -> str:
    """The colour of streamkarma, or of other tools."""
    return OURS_COLOUR if row["tool"] in OURS else PEERS_COLOUR


def figure(table: list[dict[str, Any]]) -> Figure:
    """The picture of a table."""
    rows = points(table)
    sheet = Figure(figsize=(6.3, 4.2), dpi=200, layout="constrained")
    axes = sheet.subplots()
    for row in rows:
        axes.plot(*place(row), "o", color=colour(row), markersize=5,
                  markerfacecolor="white" if row["where"] == ALL else colour(row))  # fmt: skip
    for name, ink in (("streamkarma", OURS_COLOUR), ("others", PEERS_COLOUR)):
        axes.plot([], [], "o", color=ink, markersize=5, label=name)
    axes.plot([], [], "o", color="0.3", markersize=5, markerfacecolor="white", label="with all cores")
    axes.set(xscale="log", yscale="log", xlabel="events per second, whole process",
             ylabel="error rate, each event predicted before it is learned")  # fmt: skip
    axes.margins(x=0.12, y=0.12)
    axes.xaxis.set_major_locator(FixedLocator([n * 10**power for power in range(1, 8) for n in (1, 2, 5)]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{rate:,.0f}"))
    axes.yaxis.set_major_locator(FixedLocator([n / 1000 for n in (1, 2, 5, 10, 20, 50, 100, 200, 500)]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda error, _: f"{100 * error:g} %"))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
    axes.grid(color="0.92")
    axes.spines[["top", "right"]].set_visible(False)
    sheet.legend(loc="outside upper center", ncols=3, frameon=False, handletextpad=0.2)
    sheet.draw_without_rendering()
    centres = [tuple(each) for each in axes.transData.transform([place(row) for row in rows])]
    # Nothing drawn from now on may move the rest.
    sheet.set_layout_engine("none")
    labels = Labels(axes, centres)
    for at, row in enumerate(rows):
        labels.write(row, at)
    return sheet


@click.command(cls=Example, help=__doc__.splitlines()[0])
@click.argument("figures", type=click.File(), callback=rows_of("bench.py", *COLUMNS))
@click.argument("path", metavar="PICTURE", callback=picture)
def main(figures: list[dict[str, Any]], path: str) -> None:
    figure(figures).savefig(path)


if __name__ == "__main__":
    main()
