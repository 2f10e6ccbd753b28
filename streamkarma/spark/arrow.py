"""Arrow columns as JSON lines: with one way into the engine, a table and its lines give the same model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamkarma.connectors.rows import Column, Json, Named, Rows
from streamkarma.connectors.tables.arrow import json_of, python_values

if TYPE_CHECKING:
    import pyarrow as pa


def lines_of(batch: pa.RecordBatch) -> bytes:
    """The rows of a batch as one object each; null and NaN are missing.

    Examples
    --------
    >>> import pyarrow as pa
    >>> lines_of(pa.RecordBatch.from_pydict({"t": [31.5, None], "on": [True, None], "site": ["a", "b"]}))
    b'{"t":31.5,"on":true,"site":"a"}\\n{"on":null,"site":"b"}\\n'
    """
    if not batch.num_columns:
        return b"{}\n" * int(batch.num_rows)
    columns = {name: _column(batch.column(i)) for i, name in enumerate(batch.schema.names)}
    return Rows(columns).text()


def _column(values: pa.Array) -> Column:
    """A column, converted at once if NumPy has its type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_dictionary(kind):
        return _column(values.dictionary_decode())
    if pa.types.is_floating(kind):
        floats = np.asarray(values.cast("float64").fill_null(np.nan))
        if not np.isinf(floats).any():
            return floats
    if pa.types.is_integer(kind) and not values.null_count and kind != "uint64":
        return np.asarray(values.cast("int64"))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind):
        encoded = values.dictionary_encode()
        indices = np.asarray(pc.fill_null(encoded.indices, len(encoded.dictionary)), np.int64)
        return Named(indices, [*encoded.dictionary.to_pylist(), None])
    return Json([json_of(value).encode() for value in python_values(values)])
