"""Draw the table of examples/bench.py: the speed and error rate of each tool.

    python examples/bench.py --json bench.json
    python examples/bench_picture.py bench.json bench.png

Speeds are those of whole processes; hollow points used more than one core.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from bench_peers import ALL, ONE, OURS, RIVER
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter
from matplotlib.transforms import Bbox

#: From a palette for the colour-blind.
OURS_COLOUR, PEERS_COLOUR = "#d55e00", "#0072b2"
#: Offsets of a label beside, below or above its point, in typographic points.
NEAR = [(7, -3, "left"), (-7, -3, "right"), (0, -13, "center"), (0, 7, "center")]


def spots() -> Iterator[tuple[int, int, str]]:
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


def write_labels(axes: Axes, rows: list[dict[str, Any]], dots: list[Bbox]) -> None:
    """Write each label at the first position where it covers no point and no other label."""
    taken, frame = list(dots), axes.get_window_extent().padded(-10)
    for row in rows:
        point = (row["events_per_second"], row["error"])
        for right, up, side in spots():
            text = axes.annotate(row["label"], point, (right, up), textcoords="offset points", ha=side,
                                 fontsize=7, color=colour(row))  # fmt: skip
            box = text.get_window_extent()
            if frame.x0 < box.x0 and box.x1 < frame.x1 and not any(map(box.overlaps, taken)):
                break
            text.remove()
        taken.append(box)
        if (right, up, side) not in NEAR:
            line = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
            axes.annotate("", point, (right, up + 3), textcoords="offset points", arrowprops=line)


def colour(row: dict[str, Any]) -> str:
    """The colour of streamkarma, or of other tools."""
    return OURS_COLOUR if row["tool"] in OURS else PEERS_COLOUR


def figure(table: list[dict[str, Any]]) -> Figure:
    """The picture of a table."""
    rows = points(table)
    sheet = Figure(figsize=(6.3, 4.2), dpi=200, layout="constrained")
    axes = sheet.subplots()
    for row in rows:
        axes.plot(row["events_per_second"], row["error"], "o", color=colour(row), markersize=5,
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
    centres = axes.transData.transform([(row["events_per_second"], row["error"]) for row in rows])
    # Nothing drawn from now on may move the rest.
    sheet.set_layout_engine("none")
    write_labels(axes, rows, [Bbox.from_bounds(x - 10, y - 10, 20, 20) for x, y in centres])
    return sheet


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figures", type=argparse.FileType(), help="JSON file to draw")
    parser.add_argument("picture", help="file to write, .png or .svg")
    given = parser.parse_args()
    figure(json.load(given.figures)).savefig(given.picture)
