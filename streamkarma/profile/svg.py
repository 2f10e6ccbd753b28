"""SVG elements, written by hand; their titles appear as tooltips."""

from __future__ import annotations

from collections.abc import Sequence

from streamkarma.pages import escaped

#: Maximum length of a name in a picture.
_LONGEST = 22


def text(x: float, y: float, content: str, anchor: str = "start", turned: bool = False) -> str:
    """A text, rising to the right if it is turned."""
    turn = f' transform="rotate(-50 {x:.1f} {y:.1f})"' if turned else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turn}>{escaped(shortened(content))}</text>'


def shape(kind: str, title: str = "", **attributes: str | float) -> str:
    """A shape; ``class_`` is its class, and underscores within names become hyphens."""
    written = " ".join(
        f'{name.strip("_").replace("_", "-")}="{value if isinstance(value, str) else f"{value:.1f}"}"'
        for name, value in attributes.items()
    )
    inside = f"<title>{escaped(title)}</title>" if title else ""
    return f"<{kind} {written}>{inside}</{kind}>"


def picture(width: float, height: float, pieces: Sequence[str], label: str) -> str:
    """A picture that fills the available width."""
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escaped(label)}">'
        f"{''.join(pieces)}</svg>"
    )


def line(points: Sequence[tuple[float, float]]) -> str:
    """The path of a line through points."""
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def shortened(content: str) -> str:
    """A name, shortened to fit in a picture.

    Examples
    --------
    >>> shortened("a" * 30)
    'aaaaaaaaaaaaaaaaaaaaa…'
    """
    return content if len(content) <= _LONGEST else content[: _LONGEST - 1] + "…"
