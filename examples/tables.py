"""CSV tables as rows of numbers with NaN, for the examples that compare offline methods."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamkarma.baselines import EventCoder


def read(path: Path) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Rows and labels of a table with a header; the last column is the label.

    An empty cell is missing. A column with anything other than numbers has categories, with an indicator
    column each.
    """
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    columns = [_column(cells) for cells in zip(*rows, strict=True)]
    events = [dict(zip(header[:-1], row, strict=False)) for row in zip(*columns, strict=True)]
    return EventCoder().fit(events).transform(events), np.array([row[-1] for row in rows])


def _column(cells: tuple[str, ...]) -> list[float | str | None]:
    try:
        return [float(cell) if cell else None for cell in cells]
    except ValueError:
        return [cell or None for cell in cells]
