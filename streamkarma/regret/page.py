"""A regret report as a self-contained page: bars, interactive curves, and all numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from streamkarma.pages import assemble, escaped
from streamkarma.regret import plot_data, plot_texts
from streamkarma.regret.plot_data import Bar, Curve
from streamkarma.regret.rows import Row, per_event, sound

#: The CSS variables for the colours of the picture, which differ in dark mode.
_COLOURS = {
    "#0072B2": "--c0",
    "#D55E00": "--c1",
    "#009E73": "--c2",
    "#CC79A7": "--c3",
    "#56B4E9": "--c4",
    "#E69F00": "--c6",
    "#8A8A8A": "--faint",
    "#B0B0B0": "--line",
    "black": "--text",
}
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


def page(report: dict[str, Any]) -> str:
    """The page."""
    labels = plot_texts.labels(report)
    bars = plot_data.bars(report, labels)
    charts = _charts(report, labels)
    few = plot_data.are_few(bars) and "regret" in charts
    texts = {
        "title": escaped(f"Regret on {report['input']}"),
        "verdict": escaped(report["verdict"]),
        "subtitle": escaped(plot_texts.subtitle(report)),
        "layout": "few" if few else "many",
        "heading": escaped(f"Mean {report['loss']} loss, baselines held out"),
        "bars": _bars(report, bars),
        "key": plot_texts.key(bars),
        "notes": "\n".join(
            f'<p class="note">{escaped(line)}</p>' for line in plot_texts.notes(report, labels)
        ),
        "table": _table(report),
        "figures": json.dumps({"charts": charts, "few": few}, allow_nan=False).replace("<", "\\u003c"),
    }
    return re.sub(r"{{(\w+)}}", lambda found: texts[found[1]], assemble("streamkarma.regret"))


def _charts(report: dict[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """The data that the script draws, by the id of its element."""
    losses, regrets = plot_data.loss_curves(report, labels), plot_data.regret_curves(report, labels)
    marks = [
        {"event": events, "text": f"event {events:,}: {mark}"} for events, mark in plot_texts.marks(report)
    ]
    charts = {
        "losses": {
            "title": f"Mean {report['loss']} loss over the stream",
            "lines": [_line(curve) for curve in losses],
            "limits": plot_data.loss_limits(losses),
            "marks": marks,
        }
    }
    if regrets:
        learner = next(iter(labels.values()))
        charts["regret"] = {
            "title": f"Regret of {learner} in hindsight: above 0, the offline method did better",
            "lines": [_line(curve) for curve in regrets],
            "limits": plot_data.regret_limits(regrets),
        }
    return charts


def _line(curve: Curve) -> dict[str, Any]:
    style = curve.style
    width = style.get("linewidth", 1.0)
    classes = ["thin"] * (width < 1) + ["thick"] * (width > 2) + ["dashed"] * ("linestyle" in style)
    return {
        "name": curve.label,
        "events": curve.xs,
        "values": curve.ys,
        "errors": curve.errors,
        "colour": _COLOURS[style["color"]],
        "style": " ".join(classes),
    }


def _bars(report: dict[str, Any], bars: Sequence[Bar]) -> str:
    """Bars as rows of a table: a name, the bar with a mark for hindsight, and the numbers."""
    high = plot_data.longest(bars)
    error = "MAE" if report["task"] == "regression" else "error rate"
    rows = [f"<thead><tr><th></th><th></th><th>loss</th><th>{error}</th></tr></thead>"]
    for bar in bars:
        pieces = []
        if bar.loss is not None:
            pieces.append(_piece("bar", 0.0, bar.loss, high))
            if bar.margin and bar.loss <= high:
                pieces.append(_piece("whisker", bar.loss - bar.margin, bar.loss + bar.margin, high))
        if bar.hindsight is not None:
            pieces.append(_piece("hindsight", bar.hindsight, None, high))
        figures = plot_texts.loss_text(bar.loss), plot_texts.error_text(report, bar.error)
        cut = "→ " if bar.loss is not None and bar.loss > high else ""
        colour = _COLOURS[bar.style["color"]]
        rows.append(
            f'<tr class="{bar.kind}" style="--bar: var({colour})" title="{escaped(_tooltip(bar))}">'
            f'<th>{escaped(bar.label)}</th><td><div class="track">{"".join(pieces)}</div></td>'
            f"<td>{cut}{figures[0]}</td><td>{figures[1]}</td></tr>"
        )
    return "\n".join(rows)


def _piece(kind: str, begin: float, end: float | None, high: float) -> str:
    """A part of a bar, with its ends as fractions of the highest visible loss."""
    left, right = (100 * min(max(each, 0.0), high) / high for each in (begin, begin if end is None else end))
    width = "" if end is None else f";width:{right - left:.2f}%"
    return f'<i class="{kind}" style="left:{left:.2f}%{width}"></i>'


def _tooltip(bar: Bar) -> str:
    """The tooltip of a bar."""
    if bar.kind == "learner":
        return f"{bar.label}: {plot_texts.loss_text(bar.loss)}"
    held = "no held-out figure" if bar.loss is None else f"{plot_texts.loss_text(bar.loss)} held out"
    margin = f" ± {plot_texts.number(bar.margin, 2)}" if bar.margin else ""
    memorises = ", memorises" if bar.kind == "memorises" else ""
    return f"{bar.label}: {held}{margin}; {plot_texts.loss_text(bar.hindsight)} in hindsight{memorises}"


def _table(report: dict[str, Any]) -> str:
    """The last results of every learner and baseline."""
    table: list[Sequence[str]] = [_COLUMNS]
    for learner, each in report["learners"].items():
        table.append(_learner_cells(learner, each["curve"]))
        table += [_baseline_cells(name, rows) for name, rows in each["regret"].items()]
    return "\n".join(_row(cells) for cells in table)


def _row(cells: Sequence[str]) -> str:
    tag = "th" if cells is _COLUMNS else "td"
    return f"<tr>{''.join(f'<{tag}>{escaped(cell)}</{tag}>' for cell in cells)}</tr>"


def _learner_cells(name: str, curve: dict[str, Any]) -> Sequence[str]:
    if not curve["events"]:
        return [name, *["–"] * 9, ""]
    figures = [plot_texts.number(curve[column][-1], 4) for column in ("mean_loss", "error")]
    return [name, f"{curve['events'][-1]:,}", *figures, *[""] * 7]


def _baseline_cells(name: str, rows: list[Row]) -> Sequence[str]:
    """The last results of a baseline, and its problem if it ended with one."""
    last = rows[-1] if rows else {}
    reason = last.get("problem") or last.get("held_out_problem")
    problem = f"at {last['events']:,} events: {reason}" if reason else ""
    if not (good := sound(rows)):
        return [name, *["–"] * 9, problem]
    row = good[-1]
    figures = [
        per_event(row, "baseline_loss"),
        *(row[column] for column in ("error", "regret", "standard_error", "regret_per_event")),
        per_event(row, "held_out_loss"),
        *(row.get(column) for column in ("held_out_error", "seconds")),
    ]
    return [name, f"{row['events']:,}", *(plot_texts.number(value, 4) for value in figures), problem]
