"""The live page: a single HTML document with its own style and script, which requests only the figures."""

from __future__ import annotations

from streamkarma.pages import assemble


def page() -> bytes:
    """The complete page."""
    return assemble("streamkarma.monitoring").encode()
