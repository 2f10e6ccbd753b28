"""The picture of a regret report: the verdict, all losses, and their development, on one screen."""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamkarma.errors import UsageError
from streamkarma.pages import clean
from streamkarma.regret import plot_data, plot_texts
from streamkarma.regret.page import page
from streamkarma.replacing import write_result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Keep text as text in SVG, give equal files for equal reports, and do not parse a dollar sign as a formula.
_SETTINGS: dict[Any, Any] = {
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.labelpad": 2,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.size": 3,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "ytick.major.size": 3,
    "lines.markersize": 3.2,
    "lines.linewidth": 1.1,
    "text.usetex": False,
    "text.parse_math": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "streamkarma",
}
# Inches: the sheet, its margin, the right end of the left half, the gap to the right half, and the vertical
# gap between a panel, with its title, and the one above.
_WIDTH, _HEIGHT, _MARGIN, _MIDDLE, _GAP, _BETWEEN = 12.8, 7.2, 0.25, 6.0, 0.5, 0.5
# The font size in points, the characters per line, and the line height in inches of the verdict, the subtitle
# and the notes.
_VERDICT, _SUBTITLE, _NOTES = (15.0, 94, 0.27), (10.0, 160, 0.2), (8.5, 185, 0.165)
_DPI = 150


def draw(report: dict[str, Any], path: str) -> None:
    """Draw a comparison of learners with offline baselines on the same stream.

    Parameters
    ----------
    report
        The report of ``streamkarma regret``. Only the baselines of the first learner are drawn.
    path
        The file, which is overwritten. Its extension determines the format: ``.png``, ``.svg``, or ``.html``
        for an interactive page with all numbers as a table.

    Raises
    ------
    UsageError
        If the path has another extension.
    OutputError
        If the file cannot be written.
    """
    check_ending(path)
    ending = Path(path).suffix.lower()
    content = page(report).encode() if ending == ".html" else _rendered(report, ending[1:])
    write_result(path, content)


def check_ending(path: str) -> None:
    """Check in advance that the format is supported.

    Raises
    ------
    UsageError
        If ``draw`` does not support the extension of the path.
    """
    if Path(path).suffix.lower() not in (".png", ".svg", ".html"):
        raise UsageError(f"{path}: the name of a picture ends in .png, .svg or .html")


def figure(report: dict[str, Any]) -> Figure:
    """The picture as a matplotlib figure: panels of final losses, losses over the stream, and regret.

    Without a linear baseline there is no panel of regret.

    Parameters
    ----------
    report
        The report of ``streamkarma regret``.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from streamkarma.regret import panels

    labels = plot_texts.labels(report)
    with _settings():
        sheet = Figure(figsize=(_WIDTH, _HEIGHT), dpi=_DPI)
        FigureCanvasAgg(sheet)
        top, bottom = _write(sheet, report, labels)
        bars = plot_data.bars(report, labels)
        regrets = plot_data.regret_curves(report, labels)
        left, right = (_MARGIN, _MIDDLE), (_MIDDLE + _GAP, _WIDTH - _MARGIN)
        # Few bars leave room for the regret below them; otherwise it goes below the losses over the stream.
        few = bool(regrets) and plot_data.are_few(bars)
        cut = max((top + bottom) / 2, top - panels.height_of_bars(len(bars)) if few else 0.0)
        upper, lower = (cut + _BETWEEN / 2, top), (bottom, cut - _BETWEEN / 2)
        panels.draw_bars(sheet, (*left, *(upper if few else (bottom, top))), report, bars)
        over_time = upper if regrets and not few else (bottom, top)
        panels.draw_losses(sheet, (*right, *over_time), report, plot_data.loss_curves(report, labels))
        if regrets:
            place = left if few else right
            panels.draw_regret(sheet, (*place, *lower), next(iter(labels.values())), regrets)
    return sheet


def _write(sheet: Figure, report: dict[str, Any], labels: dict[str, str]) -> tuple[float, float]:
    """Write the text above and below the panels; returns the range left for the panels."""
    top = _HEIGHT - _MARGIN / 2
    styles: list[dict[str, Any]] = [{"weight": "bold"}, {"color": "0.35"}]
    texts = report["verdict"], plot_texts.subtitle(report)
    for text, style, (size, width, pitch) in zip(texts, styles, (_VERDICT, _SUBTITLE), strict=True):
        # Keep a number on one line with its error and its unit.
        whole = clean(text).replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")
        for line in textwrap.wrap(whole.replace(" %", "\N{NO-BREAK SPACE}%"), width):
            top -= pitch
            sheet.text(_MARGIN / _WIDTH, top / _HEIGHT, line, size=size, **style)
    size, width, pitch = _NOTES
    notes = plot_texts.notes(report, labels)
    lines = [part for line in notes for part in textwrap.wrap(line, width, break_on_hyphens=False)]
    for number, line in enumerate(lines, 1):
        place = _MARGIN / 2 + (len(lines) - number) * pitch
        sheet.text(_MARGIN / _WIDTH, place / _HEIGHT, line, size=size, color="0.35")
    return top - 0.15, _MARGIN / 2 + len(lines) * pitch + 0.5


@contextmanager
def _settings() -> Iterator[None]:
    """Apply our matplotlib settings and restore the previous ones."""
    import matplotlib

    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        # Characters that the font lacks are drawn as boxes; this needs no warning.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from")
        yield


def _rendered(report: dict[str, Any], kind: str) -> bytes:
    drawn = io.BytesIO()
    with _settings():
        figure(report).savefig(drawn, format=kind, metadata={"Date": None} if kind == "svg" else None)
    return drawn.getvalue()
