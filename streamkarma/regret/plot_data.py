"""What the picture of a regret report shows: curves, their looks and names, and the notes below."""

from __future__ import annotations

import math
import textwrap
from statistics import median_high
from typing import Any, NamedTuple

# Okabe and Ito's colours without yellow, which is too light for a line. Two come again, dashed.
_LOOKS: list[dict[str, Any]] = [
    {"color": "#0072B2", "marker": "o"},
    {"color": "#E69F00", "marker": "s"},
    {"color": "#009E73", "marker": "^"},
    {"color": "#CC79A7", "marker": "D"},
    {"color": "#56B4E9", "marker": "v"},
    {"color": "#0072B2", "marker": "P", "linestyle": "--"},
    {"color": "#E69F00", "marker": "X", "linestyle": "--"},
]
GREY: dict[str, Any] = {"color": "#B0B0B0", "linewidth": 0.6, "zorder": 1.5}
BOUND: dict[str, Any] = {"color": "black", "linestyle": (0, (4, 2))}
LEARNERS: list[dict[str, Any]] = [{"color": c, "linewidth": 2.0, "zorder": 3} for c in ("#D55E00", "black")]


class Curve(NamedTuple):
    label: str
    look: dict[str, Any]
    xs: list[float]
    ys: list[float]
    band: list[float]  # what is drawn to either side of it
    whisker: float = 0.0  # and of its last point, as a bar
    held_out: float | None = None


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def sound(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if "problem" not in row and _finite(row["regret"])]


def _regret(report: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each baseline of the first learner."""
    regret: dict[str, list[dict[str, Any]]] = next(iter(report["learners"].values()))["regret"]
    return regret


def per_event(row: dict[str, Any], name: str) -> float | None:
    return float(row[name]) / float(row["events"]) if _finite(row[name]) else None


def number(value: float | None, digits: int = 3) -> str:
    if value is None or not math.isfinite(value):
        return "–"
    # What would be rounded up to the next unit has that unit.
    least = 1 - 0.5 * 10**-digits
    units = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
    size, unit = next((each for each in units if abs(value) >= least * each[0]), (1.0, ""))
    return f"{value / size:.{digits}g}{unit}".replace("-", "−")


def clean(text: str) -> str:
    """The text without what neither an SVG nor UTF-8 can hold."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _short(name: str) -> str:
    """The name, with its middle left out if it is long."""
    name = clean(name)
    return name if len(name) <= 20 else f"{name[:11]}…{name[-8:]}"


def labels(report: dict[str, Any]) -> dict[str, str]:
    """What stands for each name in the picture, the first learner's first; no two are the same."""
    labels: dict[str, str] = {}
    for name in dict.fromkeys([*report["learners"], *_regret(report)]):
        label = _short(name)
        labels[name] = label if label not in labels.values() else f"{label[:12]} {len(labels)}"
    return labels


def _looks(good: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """How each baseline is drawn, the best first; of many only some are coloured."""
    order = sorted(good, key=lambda name: -float(good[name][-1]["regret_per_event"]))
    coloured = order
    if len(order) > len(_LOOKS):
        coloured = [name for name in order if name in (*order[:3], *order[-3:], "full")]
    return {name: _LOOKS[coloured.index(name)] if name in coloured else GREY for name in order}


def curves(report: dict[str, Any], labels: dict[str, str]) -> tuple[list[Curve], list[Curve]]:
    """The curves of (a) and those of (b); the last points of the latter are the bars of (c)."""
    regrets, means = [], []
    good = {name: rows for name, some in _regret(report).items() if (rows := sound(some))}
    for name, look in _looks(good).items():
        rows, label = good[name], labels[name]
        events = [row["events"] for row in rows]
        errors = [0.0 if row["exact"] else row["standard_error"] for row in rows]
        band = [2 * error for error in errors]
        regrets.append(Curve(label, look, events, [row["regret"] for row in rows], band))
        losses = [row["baseline_loss"] / row["events"] for row in rows]
        held_out = per_event(rows[-1], "held_out_loss")
        means.append(Curve(label, look, events, losses, [], errors[-1] / events[-1], held_out))
    if "bound" in report:
        regrets.append(_curve("bound", BOUND, report["bound"]["events"], report["bound"]["total"]))
    # What a learner did long before the first comparison would take the room of all that follows.
    first = min((curve.xs[0] for curve in means), default=0.0)
    for number, (name, learner) in enumerate(report["learners"].items()):
        look, curve = LEARNERS[number % len(LEARNERS)], learner["curve"]
        means.append(_curve(labels[name], look, curve["events"], curve["mean_loss"], first / 2))
    return [curve for curve in regrets if curve.xs], [curve for curve in means if curve.xs]


def _curve(label: str, look: dict[str, Any], xs: list[float], ys: list[float], least: float = 0.0) -> Curve:
    points = [(x, y) for x, y in zip(xs, ys, strict=True) if x >= least and _finite(y)]
    return Curve(label, look, [x for x, _ in points], [y for _, y in points], [])


def notes(report: dict[str, Any], labels: dict[str, str]) -> list[str]:
    """What a reader has to know beside the panels, in lines."""
    good = {labels[name]: sound(rows) for name, rows in _regret(report).items()}
    last = {label: rows[-1]["events"] for label, rows in good.items() if rows}
    early = [f"{label} at {events:,}" for label, events in last.items() if events < max(last.values())]
    parts = [f"{report['input']}: {report['events']:,} events, {report['task']}."]
    if last:
        parts.append("Regret above 0: the baseline did better, in hindsight.")
    if not all(row["exact"] for rows in good.values() for row in rows):
        parts.append("Bands: ±2 standard errors; whiskers: ±1.")
    if early:
        parts.append(f"Ended early: {', '.join(early)} events.")
    if len(last) < len(good):
        parts.append(f"No result: {', '.join(label for label in good if label not in last)}.")
    lines = [" ".join(parts), *(f"{label} is {name}" for name, label in labels.items() if label != name)]
    return [part for line in lines for part in textwrap.wrap(clean(line), 58, break_on_hyphens=False)]


def span(curves: list[Curve]) -> tuple[float, float]:
    """The first and the last number of events."""
    events = [x for curve in curves for x in curve.xs] or [1.0]
    return min(events), max(events)


def limits(curves: list[Curve], anchors: list[float]) -> tuple[float, float]:
    """From where to where values are shown: what is far beyond most does not squash the others."""
    shown, solid = list(anchors), [curve for curve in curves if curve.look is not BOUND]
    usual = median_high([max(map(abs, curve.ys)) for curve in solid] or [0.0])
    for curve in solid:
        if curve.look in LEARNERS:
            # It may begin far off, and be worse than baselines are; it is what the picture is about.
            shown += [y for y in curve.ys if abs(y) <= 5 * usual]
            shown += [y for y in curve.ys[-1:] if abs(y) <= 20 * usual]
        elif max(map(abs, curve.ys)) <= 5 * usual:
            shown += [y + side * error for y, error in banded(curve) for side in (-1, 1)]
    low, high = min(shown, default=0.0), max(shown, default=0.0)
    bound = max((y for curve in curves if curve.look is BOUND for y in curve.ys), default=high)
    high = max(high, bound) if bound - high <= high - low else high
    margin = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    return low - margin, high + margin


def banded(curve: Curve) -> list[tuple[float, float]]:
    return list(zip(curve.ys, curve.band or [0.0] * len(curve.ys), strict=True))
