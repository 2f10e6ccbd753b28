"""CSV tables as rows of numbers with NaN, for the examples that compare offline methods."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
from inputs import table_rows
from numpy.typing import NDArray

from streamkarma.baselines import EventCoder


def read(path: Path) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Rows and labels of a table with a header; the last column is the label.

    An empty cell is missing. A column with anything other than numbers has categories, with an indicator
    column each.
    """
    header, *rows = table_rows(path)
    if not rows or len(header) < 2:
        raise click.ClickException(f"{path} must have rows, and a column besides the label, its last one")
    columns = [_column(cells) for cells in zip(*rows, strict=True)]
    events = [dict(zip(header[:-1], row, strict=False)) for row in zip(*columns, strict=True)]
    return EventCoder().fit(events).transform(events), np.array([row[-1] for row in rows])


def _column(cells: tuple[str, ...]) -> list[float | str | None]:
    try:
        return [float(cell) if cell else None for cell in cells]
    except ValueError:
        return [cell or None for cell in cells]
