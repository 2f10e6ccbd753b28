"""The data in the pictures of a regret report: bars, curves, their styles, and axis limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median_high
from typing import Any, NamedTuple

from streamkarma.regret.rows import Row, is_finite, is_linear, per_event, rows_of, sound
from streamkarma.regret.verdict import STANDARD_ERRORS, best_offline

Style = dict[str, Any]

# Okabe and Ito's colours without yellow, which is too light for a line; two are repeated, dashed.
_STYLES: list[Style] = [
    {"color": "#0072B2", "marker": "o"},
    {"color": "#E69F00", "marker": "s"},
    {"color": "#009E73", "marker": "^"},
    {"color": "#CC79A7", "marker": "D"},
    {"color": "#56B4E9", "marker": "v"},
    {"color": "#0072B2", "marker": "P", "linestyle": "--"},
    {"color": "#E69F00", "marker": "X", "linestyle": "--"},
]
GREY: Style = {"color": "#B0B0B0", "linewidth": 0.8, "zorder": 1.5}
BOUND: Style = {"color": "black", "linestyle": (0, (4, 2))}
RIVAL: Style = {"color": "#0072B2", "linestyle": (0, (4, 2)), "marker": "D", "markersize": 3.5}
LEARNERS = ("#D55E00", "black")
#: The maximum number of bars that leave room below them.
_FEW = 7
#: The initial fraction of the stream whose mean losses are not drawn, because they cover few events, and the
#: fraction whose high losses do not affect the scale.
_FEW_EVENTS, _BEGINNING = 0.01, 0.05


class Curve(NamedTuple):
    """A line over the events; ``errors`` has a standard error for each point, or is empty."""

    label: str
    style: Style
    xs: list[int]
    ys: list[float]
    errors: list[float]


class Bar(NamedTuple):
    """The latest results of a learner or a baseline.

    Attributes
    ----------
    label, style
        Its name and its style.
    kind
        ``"learner"``, ``"linear"``, or ``"memorises"`` for baselines that are not linear.
    loss, error
        Mean loss and error on the same events: progressive for a learner, held out for a baseline.
    margin
        Two standard errors of the difference from the loss of the first learner.
    hindsight
        Mean loss in hindsight.
    """

    label: str
    style: Style
    kind: str
    loss: float | None
    error: float | None
    margin: float = 0.0
    hindsight: float | None = None


def bars(report: dict[str, Any], labels: Mapping[str, str]) -> list[Bar]:
    """The latest results of each learner and baseline, with the smallest loss first."""
    found = []
    for index, (name, learner) in enumerate(report["learners"].items()):
        style = {"color": LEARNERS[index % len(LEARNERS)]}
        loss, error = _of_learner(learner)
        found.append(Bar(labels[name], style, "learner", loss if is_finite(loss) else None, error))
    for name, rows in rows_of(report).items():
        for row in sound(rows)[-1:]:
            kind = "linear" if is_linear(name) else "memorises"
            style = {"color": "#0072B2" if is_linear(name) else "#8A8A8A"}
            loss, margin = (per_event(row, f"held_out_{what}") for what in ("loss", "standard_error"))
            hindsight = per_event(row, "baseline_loss")
            margin = STANDARD_ERRORS * (margin or 0.0)
            found.append(Bar(labels[name], style, kind, loss, row["held_out_error"], margin, hindsight))
    return sorted(found, key=lambda bar: (bar.loss is None, bar.loss or bar.hindsight or 0.0))


def _of_learner(learner: dict[str, Any]) -> tuple[float | None, float | None]:
    """Mean loss and error on the events of the best offline model, as in the verdict: they may be a sample.

    Without such a model they are those of all events.
    """
    curve = learner["curve"]
    if not curve["events"]:
        return None, None
    last = {name: some[-1] for name, rows in learner["regret"].items() if (some := sound(rows))}
    if (rival := best_offline(last)) is not None and rival.row["events"] == curve["events"][-1]:
        return per_event(rival.row, "learner_loss"), rival.row["learner_error"]
    return curve["mean_loss"][-1], curve["error"][-1]


def are_few(bars: Sequence[Bar]) -> bool:
    """Whether bars leave room below them."""
    return len(bars) <= _FEW


def longest(bars: Sequence[Bar]) -> float:
    """The loss at which bars are cut off, so that outliers do not squash the others."""
    losses = [bar.loss for bar in bars if bar.loss is not None]
    usual = median_high(losses or [0.0])
    learners = [bar.loss for bar in bars if bar.kind == "learner" and bar.loss is not None]
    most = max([4 * usual, *(loss for loss in learners if loss <= 20 * usual)])
    seen = [*(bar.loss + bar.margin for bar in bars if bar.loss is not None), *losses]
    seen += [bar.hindsight for bar in bars if bar.hindsight is not None]
    return 1.04 * max((value for value in seen if value <= most), default=0.0) or 1.0


def regret_curves(report: dict[str, Any], labels: Mapping[str, str]) -> list[Curve]:
    """The regret against each linear baseline, and its bound; others memorise, so theirs means little."""
    linear = {name: rows for name, rows in rows_of(report).items() if is_linear(name)}
    good = {name: rows for name, some in linear.items() if (rows := sound(some))}
    curves = []
    for name, style in _styles(good).items():
        errors = [0.0 if row["exact"] else row["standard_error"] for row in good[name]]
        events, regrets = ([row[column] for row in good[name]] for column in ("events", "regret"))
        curves.append(Curve(labels[name], style, events, regrets, errors))
    if "bound" in report:
        curves.append(_curve("bound", BOUND, report["bound"]["events"], report["bound"]["regret_bound"]))
    return [curve for curve in curves if curve.xs]


def loss_curves(report: dict[str, Any], labels: Mapping[str, str]) -> list[Curve]:
    """Mean losses: of learners so far, of the first one recently, and of the best offline model held out."""
    curves = []
    for index, (name, learner) in enumerate(report["learners"].items()):
        color, label, curve = LEARNERS[index % len(LEARNERS)], labels[name], learner["curve"]
        if "recent" in learner and not index:
            recent, style = learner["recent"], {"color": color, "linewidth": 0.8, "alpha": 0.7}
            of_late = f"{label}, last {recent['window']:,}"
            curves.append(_curve(of_late, style, recent["events"], recent["mean_loss"]))
        style = {"color": color, "linewidth": 2.2, "zorder": 3}
        begin = _FEW_EVENTS * report["events"]
        points = [
            point for point in zip(curve["events"], curve["mean_loss"], strict=True) if point[0] >= begin
        ]
        curves.append(_curve(f"{label}, all so far", style, [x for x, _ in points], [y for _, y in points]))
    rows = rows_of(report)
    rival = best_offline({name: some[-1] for name, each in rows.items() if (some := sound(each))})
    if rival is not None and rival.held_out:
        held = [
            (row["events"], loss)
            for row in sound(rows[rival.name])
            if (loss := per_event(row, "held_out_loss")) is not None
        ]
        curves.append(_curve(f"{labels[rival.name]}, held out", RIVAL, *map(list, zip(*held, strict=True))))
    return [curve for curve in curves if curve.xs]


def regret_limits(curves: Sequence[Curve]) -> tuple[float, float]:
    """The limits of the regret axis, so that outliers do not squash the others."""
    shown, solid = [0.0], [curve for curve in curves if curve.style is not BOUND]
    usual = median_high([max(map(abs, curve.ys)) for curve in solid] or [0.0])
    for curve in solid:
        if max(map(abs, curve.ys)) <= 5 * usual:
            shown += [y + side * margin for y, margin in banded(curve) for side in (-1, 1)]
    low, high = min(shown), max(shown)
    bound = max((y for curve in curves if curve.style is BOUND for y in curve.ys), default=high)
    return _with_margin(low, max(high, bound) if bound - high <= high - low else high)


def loss_limits(curves: Sequence[Curve]) -> tuple[float, float]:
    """The limits of the loss axis; losses are often high at first."""
    begin = _BEGINNING * max((curve.xs[-1] for curve in curves), default=0)
    later = [y for curve in curves for x, y in zip(curve.xs, curve.ys, strict=True) if x >= begin]
    usual = median_high([curve.ys[-1] for curve in curves] or [0.0])
    shown = [y for y in later if y <= 20 * usual] or [0.0]
    return _with_margin(min(shown), max(shown))


def banded(curve: Curve) -> list[tuple[float, float]]:
    """The points of a curve, each with two standard errors."""
    errors = curve.errors or [0.0] * len(curve.ys)
    return [(y, STANDARD_ERRORS * error) for y, error in zip(curve.ys, errors, strict=True)]


def _with_margin(low: float, high: float) -> tuple[float, float]:
    margin = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    return low - margin, high + margin


def _styles(good: Mapping[str, Sequence[Row]]) -> dict[str, Style]:
    """The style of each baseline, best first; if there are many, only some are coloured."""
    order = sorted(good, key=lambda name: -float(good[name][-1]["regret_per_event"]))
    coloured = order
    if len(order) > len(_STYLES):
        coloured = [name for name in order if name in (*order[:3], *order[-3:], "full")]
    return {name: _STYLES[coloured.index(name)] if name in coloured else GREY for name in order}


def _curve(label: str, style: Style, xs: Sequence[int], ys: Sequence[float]) -> Curve:
    points = [(x, y) for x, y in zip(xs, ys, strict=True) if is_finite(y)]
    return Curve(label, style, [x for x, _ in points], [y for _, y in points], [])
