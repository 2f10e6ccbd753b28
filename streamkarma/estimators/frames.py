"""Columns of data frames: labels as values, and predictions as columns of the same kind of frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.errors import UsageError
from streamkarma.events.frames import is_frame, type_name, wrapped


def row_count(frame: Any) -> int:
    """The number of rows of a frame, or of records in a list; UsageError for anything else."""
    return len(frame) if isinstance(frame, list) else len(wrapped(frame))


def values_of(name: str, column: Any) -> list[Any]:
    """The values of a column, or of a list.

    Raises
    ------
    UsageError
        If the argument of this name is neither.
    """
    if isinstance(column, (list, tuple)):
        return list(column)
    is_flat = getattr(column, "ndim", 1) == 1
    if is_flat and hasattr(column, "tolist"):
        return list(column.tolist())
    import narwhals.stable.v2 as nw

    try:
        return list(nw.from_native(column, series_only=True).to_list())
    except TypeError:
        hint = f"; frame[{name!r}] is a column" if is_frame(column) else ""
        what = type_name(column) if is_flat or hint else f"an array of {column.ndim} dimensions"
        raise UsageError(f"{name} must be a column or a list, not {what}{hint}") from None


def column_like(frame: Any, values: Sequence[Any] | NDArray[Any]) -> Any:
    """One value per row, as a column of the frame's kind, or a list for a list."""
    if isinstance(frame, list):
        return values.tolist() if isinstance(values, np.ndarray) else list(values)
    from river.utils import dataframe

    return dataframe.to_native_series(values, name=None, like=wrapped(frame))


def frame_like(frame: Any, values: NDArray[np.float64], names: Sequence[Any]) -> Any:
    """A column for each name, in a frame of the same kind; only pandas accepts names that are not strings.

    A dict for each row, in a list, for a list.
    """
    if isinstance(frame, list):
        return [dict(zip(names, row, strict=True)) for row in values.tolist()]
    known = wrapped(frame)
    if known.implementation.is_pandas_like():
        # river's own helper does not accept booleans here.
        return known.__native_namespace__().DataFrame(values, index=frame.index, columns=names)
    from river.utils import dataframe

    return dataframe.to_native_frame(values, like=known, columns=names)
