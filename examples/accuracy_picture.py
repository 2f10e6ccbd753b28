"""Draw the table of examples/accuracy.py: the error rate of each learner on each stream.

    python examples/accuracy.py --json table.json
    python examples/accuracy_picture.py table.json learners.png

One row per stream, one mark per streamkarma learner. The bar is the best of the other learners that processed
the whole stream, chosen in hindsight for each stream.
"""

from __future__ import annotations

from typing import Any

import click
from arguments import Example, picture, rows_of
from matplotlib.figure import Figure

#: From a palette for the colour-blind.
LOOKS = {
    "karma": ("s", "#d55e00"),
    "explicit": ("^", "#e69f00"),
    "subspace": ("v", "#0072b2"),
    "auto": ("o", "#000000"),
}


def best_of_others(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The row of the other learner with the lowest error rate."""
    others = [
        row
        for row in rows
        if row["learner"] not in LOOKS
        and not row["learner"].startswith(("expert ", "complete"))
        and row["events"] == row["of"]
    ]
    return min(others, key=lambda row: row["error"])


def figure(table: list[dict[str, Any]]) -> Figure:
    """The picture of a table."""
    streams = list(dict.fromkeys(row["stream"] for row in table))
    sheet = Figure(figsize=(6.3, 0.27 * len(streams) + 1.1), dpi=200, layout="constrained")
    axes = sheet.subplots()
    for place, stream in enumerate(streams):
        rows = [row for row in table if row["stream"] == stream]
        best = best_of_others(rows)
        label = "best of the others" if place == 0 else None
        axes.plot([best["error"]] * 2, [place - 0.38, place + 0.38], color="0.45", linewidth=2, label=label)
        for row in rows:
            if row["learner"] in LOOKS:
                marker, colour = LOOKS[row["learner"]]
                hollow = "none" if row["learner"] != "auto" else colour
                axes.plot(row["error"], place, marker, color=colour, markerfacecolor=hollow, markersize=6,
                          label=row["learner"] if place == 0 else None)  # fmt: skip
    axes.set_yticks(range(len(streams)), [stream.removesuffix("_events") for stream in streams])
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="error rate, each event predicted before it is learned")
    axes.set_xticks([0.05, 0.1, 0.2, 0.3], ["5 %", "10 %", "20 %", "30 %"])
    axes.minorticks_off()
    axes.grid(axis="x", color="0.9")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    sheet.legend(loc="outside upper center", ncols=5, frameon=False, handletextpad=0.3, columnspacing=1.2)
    return sheet


@click.command(cls=Example, help=__doc__.splitlines()[0])
@click.argument(
    "figures",
    type=click.File(),
    callback=rows_of("accuracy.py", "stream", "learner", "events", "of", "error"),
)
@click.argument("path", metavar="PICTURE", callback=picture)
def main(figures: list[dict[str, Any]], path: str) -> None:
    figure(figures).savefig(path)


if __name__ == "__main__":
    main()
