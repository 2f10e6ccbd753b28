"""What HTML pages share: a style, interactive charts, and how a page is assembled."""

from __future__ import annotations

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
