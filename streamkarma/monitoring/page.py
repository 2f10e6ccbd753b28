"""The live page: one HTML text with its own style and script, which asks for nothing but the figures."""

from __future__ import annotations

from streamkarma.pages import assemble


def page() -> bytes:
    """The page, whole."""
    return assemble("streamkarma.monitoring").encode()
