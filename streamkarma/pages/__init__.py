"""What pages in a browser share: a style, charts that answer to the pointer, and how one is put together."""

from __future__ import annotations

import re
from importlib.resources import files


def assemble(package: str) -> str:
    """The ``page.html`` of a package with the files that its comments name in their place, as one text.

    A comment that is nothing but a name, such as ``/* chart.js */``, stands for that file, of the package
    itself or of this one.
    """
    folders = files(package), files(__name__)

    def read(name: str) -> str:
        return (
            next(folder for folder in folders if folder.joinpath(name).is_file())
            .joinpath(name)
            .read_text("utf-8")
        )

    return re.sub(r"/\* (\w+\.\w+) \*/", lambda found: read(found[1]), read("page.html"))
