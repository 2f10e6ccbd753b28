"""What HTML pages share: a style, interactive charts, how a page is assembled, and how text is escaped."""

from __future__ import annotations

import html
import re
from importlib.resources import files


def assemble(package: str) -> str:
    """The ``page.html`` of a package, with the files that its comments name inserted.

    A comment that is only a name, such as ``/* chart.js */``, is replaced by that file, from the package
    itself or from this one.
    """
    folders = files(package), files(__name__)

    def read(name: str) -> str:
        return (
            next(folder for folder in folders if folder.joinpath(name).is_file())
            .joinpath(name)
            .read_text("utf-8")
        )

    return re.sub(r"/\* (\w+\.\w+) \*/", lambda found: read(found[1]), read("page.html"))


def clean(text: str) -> str:
    """The text with a blank for each character that SVG or UTF-8 cannot represent."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def escaped(text: str) -> str:
    """The text for HTML and SVG.

    Examples
    --------
    >>> escaped("a<b\\x00")
    'a&lt;b '
    """
    return html.escape(clean(text))
