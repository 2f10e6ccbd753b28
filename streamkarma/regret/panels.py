"""The panels of the picture of a regret report, drawn by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch
from matplotlib.ticker import MaxNLocator

from streamkarma.regret import plot_data, plot_texts
from streamkarma.regret.plot_data import Bar, Curve

#: Inches: left, right, bottom and top.
Box = tuple[float, float, float, float]

# Points: the height of a line of text, and the ends of the legend's line samples, from a panel's right edge.
_PITCH, _SAMPLE = 11.5, (8.0, 24.0)
# Inches: the maximum height of a bar, the distances from the right edge to the columns of losses and errors,
# the height of their heads, of the title of a panel, and of the axis below bars.
_BAR, _COLUMNS, _HEAD, _TITLE, _FOOT = 0.42, (0.95, 0.02), 0.16, 0.26, 0.75
#: Minimum number of points between labelled marks, and the maximum number of marks that do not hide the
#: curves.
_APART, _MANY = 26.0, 12


def height_of_bars(count: int) -> float:
    """Height in inches of a panel with this many bars."""
    return _TITLE + _HEAD + count * _BAR + _FOOT


def draw_bars(sheet: Figure, box: Box, report: dict[str, Any], bars: Sequence[Bar]) -> None:
    """Draw mean losses: bars with numbers and marks for hindsight; outliers are cut off."""
    left, right, bottom, top = box
    top = _title(sheet, box, f"Mean {report['loss']} loss, baselines held out") - _HEAD
    pitch = min(_BAR, (top - bottom) / max(len(bars), 1))
    size = min(11.0, 50 * pitch)
    names = left + _widest(sheet, [bar.label for bar in bars], size, weight="bold")
    axes = _axes(sheet, (names, right - _COLUMNS[0] - 0.8, top - pitch * max(len(bars), 1), top))
    high = plot_data.longest(bars)
    for place, bar in enumerate(bars):
        _draw_bar(axes, place, bar, high)
        style: dict[str, Any] = {"size": size, "va": "center_baseline"}
        style |= {"weight": "bold"} if bar.kind == "learner" else {}
        cut = "→" if bar.loss is not None and bar.loss > high else ""
        figures = cut + plot_texts.loss_text(bar.loss), plot_texts.error_text(report, bar.error)
        for text, column in zip(figures, _COLUMNS, strict=True):
            _beside(axes, right - column, place, text, style)
        axes.text(
            -6 / (axes.bbox.width * 72 / sheet.dpi),
            place,
            bar.label,
            ha="right",
            transform=axes.get_yaxis_transform(),
            **style,
        )
    error = "MAE" if report["task"] == "regression" else "error rate"
    for text, column in zip(("loss", error), _COLUMNS, strict=True):
        _beside(axes, right - column, -0.5 - 0.13 / pitch, text, {"size": 8.5, "color": "0.35"})
    axes.set(xlim=(0, high), ylim=(len(bars) - 0.4, -0.6), yticks=[])
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(lambda value, _: plot_texts.number(value, 6))
    axes.set_xlabel(plot_texts.key(bars), size=8.5, color="0.35", labelpad=5)


def draw_losses(sheet: Figure, box: Box, report: dict[str, Any], curves: Sequence[Curve]) -> None:
    """Draw the mean losses of learners over the stream, and where the errors of the first have risen."""
    top = _title(sheet, box, f"Mean {report['loss']} loss over the stream")
    axes = _draw_curves(sheet, (*box[:3], top), curves, plot_data.loss_limits(curves))
    labelled, marks = -_APART, plot_texts.marks(report)
    for events, _ in marks:
        faint = min(1.0, _MANY / len(marks))
        axes.axvline(events, color="#B3261E", linewidth=0.8, linestyle=(0, (3, 3)), alpha=faint, zorder=1)
        at = axes.transData.transform((events, 0))[0] * 72 / sheet.dpi
        if at - labelled >= _APART:
            labelled = at
            style: dict[str, Any] = {
                "size": 7.5,
                "color": "#B3261E",
                "rotation": 90,
                "ha": "left",
                "va": "top",
            }
            axes.text(events, 0.99, f" {events:,}", transform=axes.get_xaxis_transform(), **style)


def draw_regret(sheet: Figure, box: Box, learner: str, curves: Sequence[Curve]) -> None:
    """Draw the cumulative regret of the first learner."""
    top = _title(
        sheet, box, f"Cumulative regret of {learner} in hindsight", "above 0, the offline method did better"
    )
    axes = _draw_curves(sheet, (*box[:3], top), curves, plot_data.regret_limits(curves))
    axes.axhline(0, color="black", linewidth=0.6, zorder=1)


def _title(sheet: Figure, box: Box, text: str, note: str = "") -> float:
    """Write the title of a panel; returns the position below it."""
    width, height = sheet.get_size_inches()
    left, _, _, top = box
    place = (top - 0.14) / height
    sheet.text(left / width, place, text, weight="bold", size=10)
    if note:
        begin = left + _widest(sheet, [text], 10, weight="bold")
        sheet.text(begin / width, place, note, size=8.5, color="0.35")
    return top - _TITLE


def _axes(sheet: Figure, box: Box) -> Axes:
    width, height = sheet.get_size_inches()
    left, right, bottom, top = box
    return sheet.add_axes(
        (left / width, bottom / height, max(right - left, 0.5) / width, max(top - bottom, 0.2) / height)
    )


def _widest(sheet: Figure, texts: Sequence[str], size: float, **style: Any) -> float:
    """Width in inches of the widest of the texts, with a margin."""
    widths = [0.0]
    for text in texts:
        artist = sheet.text(0, 0, text, size=size, **style)
        widths.append(artist.get_window_extent().width / sheet.dpi)
        artist.remove()
    return max(widths) + 0.12


def _draw_bar(axes: Axes, place: int, bar: Bar, high: float) -> None:
    if bar.loss is not None:
        axes.barh(place, min(bar.loss, high), 0.66, color=bar.style["color"], alpha=0.9)
        if bar.margin and bar.loss <= high:
            axes.plot(
                [bar.loss - bar.margin, bar.loss + bar.margin], [place] * 2, color="black", linewidth=0.8
            )
    if bar.hindsight is not None:
        style: dict[str, Any] = {
            "color": "black",
            "markeredgewidth": 0.8,
            "clip_on": False,
            "markersize": 4.5,
        }
        if bar.kind == "memorises":
            style |= {"markerfacecolor": "white"}
        axes.plot(min(bar.hindsight, high), place, "D" if bar.kind == "linear" else "o", **style)


def _beside(axes: Axes, right: float, place: float, text: str, style: dict[str, Any]) -> None:
    """Write a text in the row of a bar, ending ``right`` inches from the left edge of the sheet."""
    edge = axes.bbox.x1 / axes.figure.dpi
    width = axes.bbox.width / axes.figure.dpi
    transform = axes.get_yaxis_transform()
    axes.text(1 + (right - edge) / width, place, text, ha="right", transform=transform, **style)


def _draw_curves(sheet: Figure, box: Box, curves: Sequence[Curve], limits: tuple[float, float]) -> Axes:
    """Curves over the events, with labels beside them."""
    left, right, bottom, top = box
    ends = _ends(curves, limits)
    locator = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10])
    ticks = [float(tick) for tick in locator.tick_values(*limits) if limits[0] <= tick <= limits[1]]
    left += _widest(sheet, [plot_texts.number(tick, 6) for tick in ticks], 9)
    right -= _widest(sheet, [end.label for end in ends], 9) + _SAMPLE[1] / 72
    axes = _axes(sheet, (left, right, bottom, top))
    for curve in curves:
        # A single point has neither a line nor a band with a width.
        single = len(curve.xs) == 1
        style: plot_data.Style = {"marker": "."} if single else {}
        axes.plot(curve.xs, curve.ys, **style | curve.style)
        if any(curve.errors):
            low, high = ([y + side * error for y, error in plot_data.banded(curve)] for side in (-1, 1))
            width = 0.8 if single else 0
            axes.fill_between(curve.xs, low, high, color=curve.style["color"], alpha=0.15, linewidth=width)
    if not curves:
        axes.text(0.5, 0.6, "nothing to show", ha="center", transform=axes.transAxes)
    last = max((curve.xs[-1] for curve in curves), default=1)
    axes.set(xlim=(0, 1.01 * last), ylim=limits, xlabel="events", yticks=ticks)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10], integer=True))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: plot_texts.number(value, 6))
    _name(axes, ends)
    return axes


def _ends(curves: Sequence[Curve], limits: tuple[float, float]) -> list[Curve]:
    """The last point of each curve, from bottom to top, with its label; the grey curves share one."""
    grey = sorted(
        (curve for curve in curves if curve.style is plot_data.GREY), key=lambda curve: curve.ys[-1]
    )
    middle = [curve._replace(label=f"{len(grey)} more, grey") for curve in grey[len(grey) // 2 :][:1]]
    ends = []
    for curve in [*(curve for curve in curves if curve.style is not plot_data.GREY), *middle]:
        low, y, high = limits[0], curve.ys[-1], limits[1]
        beyond = "" if low <= y <= high else f" {'↑' if y > high else '↓'}{plot_texts.number(y)}"
        y = min(max(y, low), high)
        ends.append(curve._replace(label=curve.label + beyond, xs=curve.xs[-1:], ys=[y]))
    return sorted(ends, key=lambda end: end.ys[0])


def _apart(wanted: Sequence[float], height: float) -> list[float]:
    """Positions as close as possible to those wanted, which are ascending, and a line of text apart."""
    blocks: list[list[float]] = []
    for number, place in enumerate(wanted):
        blocks.append([place - number * _PITCH])
        while len(blocks) > 1 and fmean(blocks[-2]) > fmean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    room = max(height - (len(wanted) - 1) * _PITCH, 0.0)
    level = [min(max(fmean(block), 0.0), room) for block in blocks for _ in block]
    return [place + number * _PITCH for number, place in enumerate(level)]


def _name(axes: Axes, ends: Sequence[Curve]) -> None:
    """Write a legend beside the panel, with a sample of each curve."""
    width, height = (72 * side / axes.figure.dpi for side in (axes.bbox.width, axes.bbox.height))
    low, high = axes.get_ylim()
    places = _apart([(end.ys[0] - low) / (high - low) * height for end in ends], height)
    start, stop = (1 + point / width for point in _SAMPLE)
    beside: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False}
    for end, place in zip(ends, places, strict=True):
        y = place / height
        axes.plot([start, (start + stop) / 2, stop], [y, y, y], markevery=[1], **beside, **end.style)
        axes.text(stop + 4 / width, y, end.label, verticalalignment="center_baseline", **beside)
        leader = ConnectionPatch(
            (end.xs[0], end.ys[0]),
            (start, y),
            coordsA=axes.transData,
            coordsB=axes.transAxes,
            color=end.style["color"],
            linewidth=0.5,
            linestyle=":",
            clip_on=False,
        )
        axes.add_artist(leader)
