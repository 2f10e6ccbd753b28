"""The picture of a regret report: three panels for a paper's column."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, median_high
from typing import TYPE_CHECKING, Any

from streamkarma.errors import RunError, UsageError
from streamkarma.regret import plot_data
from streamkarma.regret.page import page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Text stays text in an SVG, equal reports give equal files, and a dollar in a name begins no formula.
_SETTINGS: dict[Any, Any] = {
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 7,
    "axes.labelpad": 2,
    "axes.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.size": 2.5,
    "xtick.major.width": 0.5,
    "xtick.minor.width": 0.3,
    "ytick.major.width": 0.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 1.5,
    "lines.markersize": 2.6,
    "lines.linewidth": 0.9,
    "text.usetex": False,
    "text.parse_math": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "streamkarma",
}
# Inches: the figure's width, the height of (a) and (b), what is between panels, a bar.
_WIDTH, _HEIGHT, _BETWEEN, _BAR = 3.4, 1.65, 0.62, 0.13
# Points: the height of a line of text, and where, from a panel's right edge, the samples of its lines
# begin and end.
_PITCH, _SAMPLE = 9.3, (7.0, 19.0)
_DPI = 300


def draw(report: dict[str, Any], path: str) -> None:
    """Draw how learners fare against offline baselines on the same stream.

    Parameters
    ----------
    report
        What ``streamkarma regret`` reports. The baselines drawn are those of the first learner.
    path
        Where to; it is overwritten. Its ending says what: ``.png``, ``.svg``, or ``.html`` for one page
        with the picture and its figures.

    Raises
    ------
    UsageError
        If the path has another ending.
    RunError
        If it cannot be written.
    """
    check_ending(path)
    ending = Path(path).suffix.lower()
    content = _rendered(report, "png" if ending == ".png" else "svg")
    if ending == ".html":
        content = page(report, content.decode()).encode()
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}") from error


def check_ending(path: str) -> None:
    """Say before anything is computed that no such picture can be drawn.

    Raises
    ------
    UsageError
        If the path has another ending than ``draw`` knows.
    """
    if Path(path).suffix.lower() not in (".png", ".svg", ".html"):
        raise UsageError(f"{path}: the name of a picture ends in .png, .svg or .html")


def figure(report: dict[str, Any]) -> Figure:
    """The picture in matplotlib's hands: panels (a) regret, (b) mean losses so far, (c) final losses.

    Parameters
    ----------
    report
        What ``streamkarma regret`` reports.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    labels, loss = plot_data.labels(report), f"mean {report['loss']} loss"
    regrets, means = plot_data.curves(report, labels)
    panels = (
        (
            f"(a) cumulative regret of {next(iter(labels.values()))}",
            regrets,
            plot_data.limits(regrets, [0.0]),
        ),
        (f"(b) {loss} so far", means, plot_data.limits(means, [])),
    )
    ends = [_ends(curves, limits) for _, curves, limits in panels]
    notes, span = plot_data.notes(report, labels), plot_data.span(regrets + means)
    bars, foot = _BAR * len(means) + 0.06, 0.42 + len(notes) * _PITCH / 72
    with _settings():
        sheet = Figure(figsize=(_WIDTH, 0.25 + 2 * (_HEIGHT + _BETWEEN) + bars + foot), dpi=_DPI)
        FigureCanvasAgg(sheet)
        left = _widest(
            sheet, [plot_data.number(tick, 6) for _, _, limits in panels for tick in _ticks(*limits)]
        )
        right = _WIDTH - _widest(sheet, [end.label for each in ends for end in each]) - _SAMPLE[1] / 72
        top = sheet.get_figheight() - 0.25
        for (title, curves, limits), each in zip(panels, ends, strict=True):
            axes = _axes(sheet, title, (left, right), (top - _HEIGHT, top))
            _plot(axes, curves, span, limits)
            _name(axes, each)
            top -= _HEIGHT + _BETWEEN
        sheet.axes[0].axhline(0, color="black", linewidth=0.5, zorder=1)
        left = _widest(sheet, [curve.label for curve in means])
        right = _WIDTH - _widest(sheet, [f"→{plot_data.number(curve.ys[-1])}" for curve in means])
        _stack(_axes(sheet, f"(c) {loss} at the end", (left, right), (top - bars, top)), means)
        sheet.text(0.01, 0.04 / sheet.get_figheight(), "\n".join(notes))
    return sheet


@contextmanager
def _settings() -> Iterator[None]:
    """Our settings of matplotlib, and after it again those that were."""
    import matplotlib

    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        # A name in a script that the font does not have is drawn as boxes, and no reason to speak.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from")
        yield


def _rendered(report: dict[str, Any], kind: str) -> bytes:
    drawn = io.BytesIO()
    with _settings():
        figure(report).savefig(drawn, format=kind, metadata={"Date": None} if kind == "svg" else None)
    return drawn.getvalue()


def _ends(curves: list[plot_data.Curve], limits: tuple[float, float]) -> list[plot_data.Curve]:
    """The last point of each curve, upwards, with what is written beside it; the grey ones share one."""
    grey = sorted((curve for curve in curves if curve.look is plot_data.GREY), key=lambda curve: curve.ys[-1])
    middle = [curve._replace(label=f"{len(grey)} more, grey") for curve in grey[len(grey) // 2 :][:1]]
    ends = []
    for curve in [*(curve for curve in curves if curve.look is not plot_data.GREY), *middle]:
        low, y, high = limits[0], curve.ys[-1], limits[1]
        beyond = "" if low <= y <= high else f" {'↑' if y > high else '↓'}{plot_data.number(y)}"
        y = min(max(y, low), high)
        ends.append(curve._replace(label=curve.label + beyond, xs=curve.xs[-1:], ys=[y]))
    return sorted(ends, key=lambda end: end.ys[0])


def _apart(wanted: list[float], height: float) -> list[float]:
    """Places as near as can be to those wanted, which ascend, and a line of text apart."""
    blocks: list[list[float]] = []
    for number, place in enumerate(wanted):
        blocks.append([place - number * _PITCH])
        while len(blocks) > 1 and fmean(blocks[-2]) > fmean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    room = max(height - (len(wanted) - 1) * _PITCH, 0.0)
    level = [min(max(fmean(block), 0.0), room) for block in blocks for _ in block]
    return [place + number * _PITCH for number, place in enumerate(level)]


def _ticks(low: float, high: float) -> list[float]:
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [float(tick) for tick in ticks if low <= tick <= high]


def _widest(sheet: Figure, texts: list[str]) -> float:
    """Inches that the widest of the texts takes, with a margin."""
    widths = [0.0]
    for text in texts:
        artist = sheet.text(0, 0, text)
        widths.append(artist.get_window_extent().width / _DPI)
        artist.remove()
    return max(widths) + 0.12


def _axes(sheet: Figure, title: str, across: tuple[float, float], up: tuple[float, float]) -> Axes:
    """A panel that reaches from where to where, in inches."""
    (left, right), (bottom, top), height = across, up, sheet.get_figheight()
    sheet.text(0.01, (top + 0.08) / height, title, weight="bold")
    return sheet.add_axes((left / _WIDTH, bottom / height, (right - left) / _WIDTH, (top - bottom) / height))


def _plot(
    axes: Axes, curves: list[plot_data.Curve], span: tuple[float, float], limits: tuple[float, float]
) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

    for curve in curves:
        # A single point is no line, and its band none that has a width.
        single = len(curve.xs) == 1
        axes.plot(curve.xs, curve.ys, **({"marker": "."} if single else {}) | curve.look)
        if any(curve.band):
            low, high = ([y + side * error for y, error in plot_data.banded(curve)] for side in (-1, 1))
            width = 0.8 if single else 0
            axes.fill_between(curve.xs, low, high, color=curve.look["color"], alpha=0.15, linewidth=width)
    if not curves:
        axes.text(0.5, 0.6, "nothing to show", ha="center", transform=axes.transAxes)
    first, last = span
    margin = (last / first) ** 0.04 if last > first else 2.0
    axes.set(xscale="log", xlim=(first / margin, last * margin), ylim=limits, xlabel="events")
    if last < 5 * first:
        axes.set_xticks(sorted({*span}))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        subs = (1, 2, 5) if last < 20 * first else (1, 3) if last < 150 * first else (1,)
        axes.xaxis.set_major_locator(LogLocator(subs=subs))
    axes.set_yticks(_ticks(*limits))
    axes.xaxis.set_minor_formatter(NullFormatter())
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: plot_data.number(value, 6))


def _name(axes: Axes, ends: list[plot_data.Curve]) -> None:
    """Write beside the panel what its curves are, each with a sample of it."""
    from matplotlib.patches import ConnectionPatch

    width, height = (72 * side / _DPI for side in (axes.bbox.width, axes.bbox.height))
    low, high = axes.get_ylim()
    places = _apart([(end.ys[0] - low) / (high - low) * height for end in ends], height)
    start, stop = (1 + point / width for point in _SAMPLE)
    beside: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False}
    for end, place in zip(ends, places, strict=True):
        y = place / height
        axes.plot([start, (start + stop) / 2, stop], [y, y, y], markevery=[1], **beside, **end.look)
        axes.text(stop + 3 / width, y, end.label, verticalalignment="center_baseline", **beside)
        leader = ConnectionPatch(
            (end.xs[0], end.ys[0]),
            (start, y),
            coordsA=axes.transData,
            coordsB=axes.transAxes,
            color=end.look["color"],
            linewidth=0.5,
            linestyle=":",
            clip_on=False,
        )
        axes.add_artist(leader)


def _stack(axes: Axes, curves: list[plot_data.Curve]) -> None:
    """The last points of the curves as bars, the lowest first; what is far beyond most is cut."""
    curves = sorted(curves, key=lambda curve: curve.ys[-1])
    values, places = [curve.ys[-1] for curve in curves], range(len(curves))
    held = [(curve.held_out, place) for place, curve in enumerate(curves) if curve.held_out is not None]
    usual = median_high(values or [0.0])
    learners = [curve.ys[-1] for curve in curves if curve.look in plot_data.LEARNERS]
    most = max([4 * usual, *(value for value in learners if value <= 20 * usual)])
    seen = [value for value in [*values, *(value for value, _ in held)] if value <= most]
    high = 1.04 * max(seen, default=0.0) or 1.0
    axes.barh(places, values, 0.7, color=[curve.look["color"] for curve in curves])
    for place, (curve, value) in enumerate(zip(curves, values, strict=True)):
        if curve.whisker:
            axes.plot(
                [value - curve.whisker, value + curve.whisker], [place] * 2, color="black", linewidth=0.6
            )
        text = f"{'→' if value > high else ''}{plot_data.number(value)}"
        axes.text(1.03, place, text, va="center_baseline", transform=axes.get_yaxis_transform())
    hollow: dict[str, Any] = {"color": "black", "markerfacecolor": "white", "markeredgewidth": 0.6}
    for value, place in held:
        axes.plot(min(value, high), place, "D" if value <= high else ">", clip_on=False, **hollow)
    axes.set(xlim=(0, high), ylim=(len(curves) - 0.4, -0.6))
    axes.set_xlabel("baselines in hindsight" + (", ◇ held out" if held else ""))
    axes.set_xticks(_ticks(0, high))
    axes.xaxis.set_major_formatter(lambda value, _: plot_data.number(value, 6))
    axes.set_yticks(places, [curve.label for curve in curves])
    axes.tick_params(axis="y", length=0)
