"""Parquet and Arrow files as lines of JSON, with the types in the file."""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import orjson

from streamkarma._engine import write_rows
from streamkarma.connectors.tables.delimited import Piece
from streamkarma.errors import RunError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

#: Number of rows of a Parquet file that are read at once.
_ROWS = 4096
_MAGIC = b"ARROW1"


class ArrowTable:
    """Reads a Parquet or an Arrow file.

    Parameters
    ----------
    name
        Its name in messages.
    file
        The open file. An Arrow stream may come through a pipe; anything else must be seekable.
    parquet
        Whether it is Parquet.

    Raises
    ------
    UsageError
        If pyarrow is not installed.
    RunError
        If it is not a valid file of that format.
    """

    def __init__(self, name: str, file: IO[bytes], parquet: bool) -> None:
        self._name = name
        try:
            import pyarrow as pa
        except ImportError as error:
            raise UsageError(f"{name} needs pyarrow: pip install 'streamkarma[tables]'") from error
        self._problems = (pa.ArrowException, OSError, ValueError)
        try:
            self._batches = _parquet(file) if parquet else _arrow(file)
        except self._problems as error:
            raise self._damaged(error) from error

    def pieces(self) -> Iterator[Piece]:
        """All rows in order."""
        try:
            for batch in self._batches:
                if batch.num_rows:
                    yield Piece(lines_of(batch).decode().split("\n")[:-1], {})
        except self._problems as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> RunError:
        return RunError(f"{self._name} cannot be read: {' '.join(str(error).split()):.200}")


def _parquet(file: IO[bytes]) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    if not file.seekable():
        raise ValueError("the index of a Parquet file is at its end, so it cannot come through a pipe")
    batches: Iterator[pa.RecordBatch] = pq.ParquetFile(file).iter_batches(_ROWS)
    return batches


def _arrow(file: IO[bytes]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    if file.seekable():
        magic = file.read(len(_MAGIC))
        file.seek(0)
        if magic == _MAGIC:
            found = pa.ipc.open_file(file)
            return (found.get_batch(i) for i in range(found.num_record_batches))
    return iter(pa.ipc.open_stream(file))


def lines_of(batch: pa.RecordBatch) -> bytes:
    """The rows of a batch as one object each, without values that are null or NaN.

    Examples
    --------
    >>> import pyarrow as pa
    >>> lines_of(pa.RecordBatch.from_pydict({"t": [31.5, None], "on": [True, None], "site": ["a", "b"]}))
    b'{"t":31.5,"on":true,"site":"a"}\\n{"site":"b"}\\n'
    """
    if not batch.num_columns:
        return b"{}\n" * int(batch.num_rows)
    return write_rows(list(map(orjson.dumps, batch.schema.names)), list(map(_column, batch.columns)))


def _column(column: pa.Array) -> Any:
    """A column in the form ``write_rows`` takes, converted as a whole if NumPy has its type."""
    import pyarrow as pa
    from pyarrow.types import is_boolean, is_dictionary, is_floating, is_integer, is_large_string, is_string

    kind = column.type
    if is_dictionary(kind):
        return _column(column.dictionary_decode())
    if is_floating(kind):
        numbers = np.asarray(column.cast("float64").fill_null(np.nan))
        if not np.isinf(numbers).any():
            return numbers
    if is_integer(kind) and kind != pa.uint64() and not column.null_count:
        return np.asarray(column.cast("int64"))
    if any(is_one(kind) for is_one in (is_integer, is_boolean, is_string, is_large_string)):
        encoded = column.dictionary_encode()
        texts = map(orjson.dumps, encoded.dictionary.to_pylist())
        # The last text stands for missing values.
        return np.asarray(encoded.indices.fill_null(-1), np.int64), [*texts, b""]
    return [_json_of(value).encode() for value in _python_values(column)]


def _python_values(column: pa.Array) -> list[Any]:
    """The values of a column; a time outside Python's years 1 to 9999 as a string."""
    plain = _without_nanoseconds(column)
    try:
        values: list[Any] = plain.to_pylist()
    except OverflowError:
        return [_python_value(scalar) for scalar in plain]
    return values


def _python_value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except OverflowError:
        return scalar.cast("string").as_py()


def _without_nanoseconds(column: pa.Array) -> pa.Array:
    """A column without the nanoseconds of timestamps, which Python cannot represent."""
    import pyarrow as pa

    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        return column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return column


def _json_of(value: Any) -> str:
    """A value as JSON; empty if it is missing."""
    if value is None:
        return ""
    if type(value) is float:
        # JSON has no infinity; the parser of the lines reports it.
        return repr(value) if math.isfinite(value) else "" if math.isnan(value) else "Infinity"
    if type(value) is int:
        return str(value)
    if type(value) is decimal.Decimal and value.is_finite() and value == int(value):
        return str(int(value))
    return orjson.dumps(value, default=_other).decode()


def _other(value: Any) -> Any:
    """A value of a type that JSON lacks, converted to one that it has."""
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if hasattr(value, "total_seconds"):
        return value.total_seconds()
    return str(value)
