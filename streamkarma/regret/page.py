"""A regret report as a page: its picture, and the last figures of every learner and baseline."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from streamkarma.regret import plot_data

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{heading}</title>
<style>
body {{ font: 15px/1.4 sans-serif; margin: 2em auto; max-width: 64em; padding: 0 1em }}
svg {{ display: block; width: 100%; max-width: 34em; height: auto }}
table {{ border-collapse: collapse; font-size: 80% }}
th, td {{ border-bottom: 1px solid #ddd; padding: .15em .6em; text-align: right; vertical-align: bottom }}
th:first-child, td:first-child, td:last-child {{ text-align: left; overflow-wrap: anywhere }}
</style>
</head>
<body>
<h1>{heading}</h1>
<p>{caption}</p>
{svg}
<table>
{table}
</table>
</body>
</html>
"""
_COLUMNS = (
    "",
    "events",
    "loss per event",
    "error",
    "regret",
    "standard error",
    "regret per event",
    "held-out loss per event",
    "held-out error",
    "seconds",
    "",
)


def page(report: dict[str, Any], svg: str) -> str:
    """One page with the picture, and the last figures of every learner and baseline."""
    table: list[Sequence[str]] = [_COLUMNS]
    for learner, each in report["learners"].items():
        table.append(_learner_cells(learner, each["curve"]))
        table += [_baseline_cells(name, rows) for name, rows in each["regret"].items()]
    caption = (
        f"{' and '.join(report['learners'])} against offline baselines in hindsight on the same"
        f" {report['events']:,} events: {report['task']}, {report['loss']} loss."
    )
    return _PAGE.format(
        heading=html.escape(plot_data.clean(f"Regret on {report['input']}")),
        caption=html.escape(plot_data.clean(caption)),
        # An XML declaration and a document type have no place inside of a page.
        svg=svg[svg.index("<svg") :],
        table="\n".join(_row(cells) for cells in table),
    )


def _row(cells: Sequence[str]) -> str:
    tag = "th" if cells is _COLUMNS else "td"
    return f"<tr>{''.join(f'<{tag}>{html.escape(plot_data.clean(cell))}</{tag}>' for cell in cells)}</tr>"


def _learner_cells(name: str, curve: dict[str, Any]) -> Sequence[str]:
    if not curve["events"]:
        return [name, *["–"] * 9, ""]
    figures = [plot_data.number(curve[column][-1], 4) for column in ("mean_loss", "error")]
    return [name, f"{curve['events'][-1]:,}", *figures, *[""] * 7]


def _baseline_cells(name: str, rows: list[dict[str, Any]]) -> Sequence[str]:
    """The last figures of a baseline, and its problem if it ended with one."""
    last = rows[-1] if rows else {}
    problem = f"at {last['events']:,} events: {last['problem']}" if "problem" in last else ""
    if not (good := plot_data.sound(rows)):
        return [name, *["–"] * 9, problem]
    row = good[-1]
    figures = [
        plot_data.per_event(row, "baseline_loss"),
        *(row[column] for column in ("error", "regret", "standard_error", "regret_per_event")),
        plot_data.per_event(row, "held_out_loss"),
        *(row.get(column) for column in ("held_out_error", "seconds")),
    ]
    return [name, f"{row['events']:,}", *(plot_data.number(value, 4) for value in figures), problem]
