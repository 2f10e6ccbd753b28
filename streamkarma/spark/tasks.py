"""Work on the parts of an input, as pure functions, so that a repeated task gives the same result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from streamkarma._engine import use_threads
from streamkarma.errors import RunError, StreamkarmaError
from streamkarma.runtime.destinations import Destinations
from streamkarma.spark.reading import Chunk, PartReader
from streamkarma.spark.session import translated

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: The columns of the result rows of a part.
ROW_SCHEMA = "part bigint, kind string, data binary"
#: The kind of a row with a one-line error message, in place of results.
PROBLEM = "problem"
#: The kind of a row with dead letters, as JSON lines.
LETTERS = "letters"

Result = TypeVar("Result")

#: Yields the kind and the content of each row.
Work = Callable[[int, Iterator[Chunk]], Iterator[tuple[str, bytes]]]


class Row(NamedTuple):
    """A row of the results of a part."""

    part: int
    kind: str
    data: bytes


def over_parts(frame: DataFrame, reader: PartReader, work: Work) -> DataFrame:
    """The results of every part of a frame."""
    return frame.mapInArrow(partial(_run, reader, work), ROW_SCHEMA)


def collected(frame: DataFrame) -> list[Row]:
    """The rows of a frame, by part.

    Raises
    ------
    RunError
        If a part could not be processed, or Spark failed.
    """
    with translated():
        rows = sorted(Row(part, kind, bytes(data)) for part, kind, data in frame.collect())
    for row in rows:
        check(row)
    return rows


def rows_in_order(frame: DataFrame) -> Iterator[Row]:
    """The rows of a frame, one partition at a time; partitions are processed only on demand.

    Raises
    ------
    RunError
        As in ``collected``.
    """
    with translated():
        for part, kind, data in frame.toLocalIterator():
            row = Row(part, kind, bytes(data))
            check(row)
            yield row


def write_letters(
    parts: DataFrame, wanted: bool, destinations: Destinations, rest: Callable[[DataFrame], Result]
) -> Result:
    """Write the dead letters of parts to their file, in order, and pass the other rows on."""
    if not wanted:
        return rest(parts)
    # Otherwise the parts would be processed twice.
    kept = parts.persist()
    result = rest(kept.where(f"kind != '{LETTERS}'"))
    for row in rows_in_order(kept.where(f"kind = '{LETTERS}'")):
        destinations.write("dead_letters", row.data)
    kept.unpersist()
    return result


def check(row: Row) -> None:
    """Raise RunError if a part could not be processed."""
    if row.kind == PROBLEM:
        raise RunError(row.data.decode())


def _run(reader: PartReader, work: Work, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Process the parts of a task. Errors that the user must fix are returned instead of retried by Spark."""
    use_threads(1)
    for part, chunks in reader.read(batches):
        try:
            for kind, data in work(part, chunks):
                yield batch_of([Row(part, kind, data)])
        except StreamkarmaError as error:
            yield batch_of([Row(part, PROBLEM, str(error).encode())])


def batch_of(rows: list[Row]) -> pa.RecordBatch:
    """Rows as an Arrow batch."""
    import pyarrow as pa

    schema = pa.schema([("part", pa.int64()), ("kind", pa.string()), ("data", pa.binary())])
    return pa.RecordBatch.from_pylist([row._asdict() for row in rows], schema)
