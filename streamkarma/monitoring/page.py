"""The live page: one HTML text with its own style and script, which asks for nothing but the figures."""

from __future__ import annotations

from importlib.resources import files


def page() -> bytes:
    """The page, whole."""
    folder = files("streamkarma.monitoring")
    text = folder.joinpath("page.html").read_text("utf-8")
    for name in ("page.css", "chart.js", "page.js"):
        text = text.replace(f"/* {name} */", folder.joinpath(name).read_text("utf-8"))
    return text.encode()
