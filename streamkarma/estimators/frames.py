"""Columns of data frames: labels as values, and predictions as columns of the same kind of frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.events.frames import wrapped


def values_of(column: Any) -> list[Any]:
    """The values of a column, or of a list."""
    if isinstance(column, (list, tuple)):
        return list(column)
    if hasattr(column, "tolist"):
        return list(column.tolist())
    import narwhals.stable.v2 as nw

    return list(nw.from_native(column, series_only=True).to_list())


def column_like(frame: Any, values: Sequence[Any] | NDArray[Any]) -> Any:
    """One value per row, as a column of the frame's kind."""
    from river.utils import dataframe

    return dataframe.to_native_series(values, name=None, like=wrapped(frame))


def frame_like(frame: Any, values: NDArray[np.float64], names: Sequence[Any]) -> Any:
    """A column for each name, in a frame of the same kind; only pandas accepts names that are not strings."""
    known = wrapped(frame)
    if known.implementation.is_pandas_like():
        # river's own helper does not accept booleans here.
        return known.__native_namespace__().DataFrame(values, index=frame.index, columns=names)
    from river.utils import dataframe

    return dataframe.to_native_frame(values, like=known, columns=names)
