"""Data frames as records.

Frames may be from pandas, polars, or another library supported by narwhals, as in river's own models.
"""

from __future__ import annotations

from collections.abc import Container, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.errors import UsageError
from streamkarma.events.values import EXACT, is_missing

if TYPE_CHECKING:
    import pandas as pd


def records_of(frame: Any) -> list[dict[Hashable, Any]]:
    """The rows as dicts, without missing values (null, NaN, None, NA, NaT)."""
    known = wrapped(frame)
    if known.implementation.is_pandas_like():
        return _of_pandas(frame)
    return [
        {name: value for name, value in row.items() if not is_missing(value)}
        for row in known.iter_rows(named=True)
    ]


def table_of(frame: Any, exact: Container[Any] = ()) -> tuple[list[Any], NDArray[np.float64]] | None:
    """Names of the columns, and their values with NaN where missing; None unless all are numbers.

    Also None if floats would lose digits of a column named in ``exact``.
    """
    import narwhals.stable.v2 as nw

    known = wrapped(frame)
    names = list(known.columns)
    if not names or len(set(names)) < len(names):
        return None
    if not all(kind.is_numeric() or kind == nw.Boolean for kind in known.schema.values()):
        return None
    # PyArrow refuses to cast integers that floats cannot represent.
    is_strict = known.implementation.is_pyarrow()
    if any((is_strict or name in exact) and not _is_exact(known.get_column(name)) for name in names):
        return None
    if known.implementation.is_pandas_like():
        # Arrow columns would otherwise have NA among their floats.
        return names, np.ascontiguousarray(frame.to_numpy(np.float64, na_value=np.nan))
    floats = known.select(nw.all().cast(nw.Float64))
    return names, np.ascontiguousarray(floats.to_numpy(), np.float64)


def _is_exact(column: Any) -> bool:
    """Whether floats represent a column of numbers without losing digits."""
    if column.dtype.is_decimal():
        return False
    ends = (column.min(), column.max()) if column.dtype.is_integer() else ()
    return all(is_missing(end) or abs(int(end)) < EXACT for end in ends)


def is_frame(thing: Any) -> bool:
    """Whether it is an eager data frame, not a lazy one."""
    import narwhals.stable.v2 as nw

    return isinstance(nw.from_native(thing, eager_only=True, pass_through=True), nw.DataFrame)


def wrapped(frame: Any) -> Any:
    """A frame wrapped by narwhals, or UsageError for anything else."""
    import narwhals.stable.v2 as nw

    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        hint = "; pandas.DataFrame(X) is one" if isinstance(frame, np.ndarray) else ""
        raise UsageError(f"X must be a data frame or a list of dicts, not {type_name(frame)}{hint}") from None


def type_name(thing: Any) -> str:
    """The type of an object with the name of its package.

    Examples
    --------
    >>> type_name(np.zeros(2)), type_name({})
    ('numpy.ndarray', 'dict')
    """
    kind = type(thing)
    package = kind.__module__.partition(".")[0]
    return kind.__name__ if package == "builtins" else f"{package}.{kind.__name__}"


def _of_pandas(frame: pd.DataFrame) -> list[dict[Hashable, Any]]:
    names = list(frame.columns)
    values = frame.astype(object).to_numpy()
    present = frame.notna().to_numpy()
    return [
        {names[j]: row[j] for j in np.flatnonzero(there)} for row, there in zip(values, present, strict=True)
    ]
