"""Draw the first picture of the README from the tables of docs/figures.md.

    python examples/overview_picture.py examples/pictures/overview.png

One panel for each synthetic stream: the errors of the mixture, of the best other tool, and of a linear
classifier on the complete vectors. The numbers are stored in the picture's metadata, so that a test can
detect that it is older than the tables.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import click
from arguments import Example, picture
from matplotlib.figure import Figure

FIGURES = Path(__file__).parents[1] / "docs" / "figures.md"

#: The characteristic of each stream.
TITLES = {
    "lowrank": "missing at random",
    "blocks": "whole blocks missing",
    "mnar": "missingness depends\non value and label",
}
#: From a palette for the colour-blind, in the order of ``Errors``.
COLOURS = ("#0072b2", "0.65", "0.85")
LABELS = ("streamkarma, auto", "best of nine other\nonline tools", "linear classifier of\nthe complete data")


class Errors(NamedTuple):
    """Errors on one stream, in per cent."""

    auto: float
    best_other: float
    complete: float


def rows(text: str, first_cell: str) -> list[dict[str, str]]:
    """Rows of the Markdown table whose header begins with ``first_cell``, by column."""
    lines = text[text.index(f"| {first_cell} |") :].split("\n\n", 1)[0].splitlines()
    header, _, *body = ([cell.strip(" *") for cell in line.strip("| ").split("|")] for line in lines)
    return [dict(zip(header, cells, strict=True)) for cells in body]


def errors(text: str) -> dict[str, Errors]:
    """The errors to draw: those of streams with known complete vectors."""
    complete = {row["stream"]: float(row["complete vectors"]) for row in rows(text, "stream")}
    measured = {row["stream (events)"].split()[0]: row for row in rows(text, "stream (events)")}
    return {
        stream: Errors(
            float(measured[stream]["auto"]),
            float(measured[stream]["best other: error, log loss"].split()[0]),
            least,
        )
        for stream, least in complete.items()
    }


def events(text: str, stream: str) -> str:
    """The number of events of a stream, as written in the table."""
    found = re.search(rf"^\| {stream} \(([\d,]+)\)", text, re.MULTILINE)
    assert found is not None
    return found[1]


def figure(text: str) -> Figure:
    """The picture of the tables."""
    table = errors(text)
    sheet = Figure(figsize=(7.6, 2.3), dpi=160, layout="constrained")
    panels = sheet.subplots(1, len(table), sharex=True, sharey=True)
    for axes, (stream, values) in zip(panels, table.items(), strict=True):
        bars = axes.barh(LABELS, values, color=COLOURS, height=0.72)
        axes.bar_label(bars, [f"{value:.1f} %" for value in values], padding=3, fontsize=9)
        axes.set_title(TITLES[stream], fontsize=9, loc="left")
        axes.set_xlabel(f"{stream}, {events(text, stream)} events", fontsize=8)
        axes.set_xticks([])
        axes.tick_params(axis="y", length=0, labelsize=9)
        axes.spines[["top", "right", "bottom"]].set_visible(False)
    panels[0].invert_yaxis()
    panels[0].set_xlim(0, 1.3 * max(max(values) for values in table.values()))
    return sheet


@click.command(cls=Example, help=__doc__.splitlines()[0])
@click.argument("path", metavar="PICTURE", callback=picture)
def main(path: str) -> None:
    text = FIGURES.read_text(encoding="utf-8")
    figure(text).savefig(path, metadata={"Description": json.dumps(errors(text))})


if __name__ == "__main__":
    main()
