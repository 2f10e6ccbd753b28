"""Data frames as records, and answers as columns of the same kind of frame.

Frames are pandas' or another library's that narwhals knows, polars among them, as in river's own models.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.events.values import is_missing

if TYPE_CHECKING:
    import pandas as pd


def records_of(frame: Any) -> list[dict[Hashable, Any]]:
    """The rows as dicts without what is missing (null, NaN, None, NA, NaT)."""
    wrapped = _wrapped(frame)
    if wrapped.implementation.is_pandas_like():
        return _of_pandas(frame)
    return [
        {name: value for name, value in row.items() if not is_missing(value)}
        for row in wrapped.iter_rows(named=True)
    ]


def values_of(column: Any) -> list[Any]:
    """A column's values."""
    if hasattr(column, "tolist"):
        return list(column.tolist())
    import narwhals.stable.v2 as nw

    return list(nw.from_native(column, series_only=True).to_list())


def column_like(frame: Any, values: Sequence[Any] | NDArray[Any]) -> Any:
    """One value per row, as a column of the frame's kind."""
    from river.utils import dataframe

    return dataframe.to_native_series(values, name=None, like=_wrapped(frame))


def frame_like(frame: Any, values: NDArray[np.float64], names: Sequence[Any]) -> Any:
    """A column for each name, as a frame of the frame's kind; only pandas takes names that are no text."""
    wrapped = _wrapped(frame)
    if wrapped.implementation.is_pandas_like():
        # river's own helper does not take booleans here.
        return wrapped.__native_namespace__().DataFrame(values, index=frame.index, columns=names)
    from river.utils import dataframe

    return dataframe.to_native_frame(values, like=wrapped, columns=names)


def _wrapped(frame: Any) -> Any:
    import narwhals.stable.v2 as nw

    return nw.from_native(frame, eager_only=True)


def _of_pandas(frame: pd.DataFrame) -> list[dict[Hashable, Any]]:
    names = list(frame.columns)
    values = frame.astype(object).to_numpy()
    present = frame.notna().to_numpy()
    return [
        {names[j]: row[j] for j in np.flatnonzero(there)} for row, there in zip(values, present, strict=True)
    ]
