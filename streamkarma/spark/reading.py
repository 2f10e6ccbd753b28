"""The input of a task: its part as JSON lines, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import orjson

from streamkarma.connectors.jsonlines.inputs import READ_SIZE
from streamkarma.connectors.jsonlines.lines import BLOCK, Lines, read_lines
from streamkarma.connectors.records import Records, count_lines
from streamkarma.connectors.tables.arrow import lines_of
from streamkarma.errors import RunError
from streamkarma.spark.files import file_system_of
from streamkarma.spark.pieces import Part, Piece

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: The column of a frame of text, as ``spark.read.text`` names it.
TEXT = "value"


class Chunk(NamedTuple):
    """Consecutive records.

    Attributes
    ----------
    lines
        The records; ``first`` is the number of the first one in its part, from 0.
    place
        Where they are from, for positions in messages.
    unit
        What a record is called there, such as a line or a row.
    before
        The number of records in the same place before those of the part.
    piece
        The index of their piece in the part.
    """

    lines: Lines
    place: dict[str, Any]
    unit: str
    before: int = 0
    piece: int = 0

    def records(self) -> Records:
        """The records, with their positions."""
        first = self.lines.first + self.before + 1
        refused = self.lines.records().refused
        return Records(
            self.lines.text,
            self.lines.size,
            lambda i: {**self.place, self.unit: first + i},
            refused,
        )

    def packed(self) -> bytes:
        """The chunk as bytes, for ``unpacked``."""
        head = [self.lines.first, sorted(self.lines.overlong), self.place, self.unit, self.before]
        return orjson.dumps(head) + b"\n" + self.lines.text

    @classmethod
    def unpacked(cls, data: bytes) -> Chunk:
        """The chunk from the result of ``packed``."""
        head, _, text = data.partition(b"\n")
        first, overlong, place, unit, before = orjson.loads(head)
        return cls(Lines(first, count_lines(text), text, frozenset(overlong)), place, unit, before)

    def cut(self, begin: int, end: int) -> Chunk:
        """The records whose numbers in the part are in a range."""
        first, size = self.lines.first, self.lines.size
        low, high = min(max(begin - first, 0), size), max(min(end - first, size), 0)
        if (low, high) == (0, size):
            return self
        records, high = self.lines.records(), max(low, high)
        text = self.lines.text[records.begin(low) : records.begin(high)]
        overlong = self.lines.overlong.intersection(range(first + low, first + high))
        return self._replace(lines=Lines(first + low, high - low, text, overlong))


class PartReader(Protocol):
    """Reads the input of tasks."""

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Iterator[Chunk]]]:
        """The parts of a task, each with its number."""


class PieceReader(NamedTuple):
    """Reads parts of files, given their numbers.

    Attributes
    ----------
    parts
        All parts.
    longest
        Maximum length of a line.
    befores
        By part and piece: the number of lines before it in the same file, if known.
    """

    parts: tuple[Part, ...]
    longest: int
    befores: tuple[tuple[int, ...], ...] | None = None

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Iterator[Chunk]]]:
        """The parts whose numbers are in the only column."""
        for batch in batches:
            for part in batch.column(0).to_pylist():
                yield part, self._chunks(part)

    def _chunks(self, part: int) -> Iterator[Chunk]:
        at = 0
        for i, piece in enumerate(self.parts[part]):
            before = 0 if self.befores is None else self.befores[part][i]
            unit, begin = "row" if piece.is_table else "line", at
            for lines in self._lines_of(piece):
                yield Chunk(_numbered(lines, at), {"file": piece.path}, unit, before - begin, i)
                at += lines.size

    def _lines_of(self, piece: Piece) -> Iterator[Lines]:
        import pyarrow as pa

        try:
            if piece.is_table:
                yield from _lines(_rows_of(piece), self.longest, after=True)
            elif piece.is_packed:
                yield from _lines(_unpacked(piece), self.longest, after=False)
            else:
                yield from _lines(_range_of(piece), self.longest, after=piece.begin > 0)
        except pa.ArrowInvalid as error:
            raise RunError(f"{piece.path} is damaged: {error}") from error
        except OSError as error:
            raise RunError(f"cannot read {piece.path}: {error}") from error


class FrameReader(NamedTuple):
    """Reads the rows of a frame; the parts are its partitions.

    Attributes
    ----------
    is_text
        Whether the only column has JSON lines.
    longest
        Maximum length of a line.
    """

    is_text: bool
    longest: int

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Iterator[Chunk]]]:
        """The only part of a task."""
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        yield task.partitionId(), self._chunks(task.partitionId(), batches)

    def _chunks(self, part: int, batches: Iterable[pa.RecordBatch]) -> Iterator[Chunk]:
        at = 0
        texts = (text_of(batch.column(0)) if self.is_text else lines_of(batch) for batch in batches)
        for lines in _lines(texts, self.longest, after=True):
            yield Chunk(_numbered(lines, at), {"part": part}, "row")
            at += lines.size


def is_text(frame: DataFrame) -> bool:
    """Whether a frame consists of JSON lines."""
    return [(field.name, field.dataType.typeName()) for field in frame.schema] == [(TEXT, "string")]


def text_of(values: pa.Array) -> bytes:
    """Strings as lines; a newline within one, which has no meaning in JSON, becomes a space."""
    values = [value or b"" for value in values.cast("binary").to_pylist()]
    text = b"\n".join([*values, b""])
    if count_lines(text) > len(values):
        text = b"\n".join([*(value.replace(b"\n", b" ") for value in values), b""])
    return text


def _lines(chunks: Iterator[bytes], longest: int, after: bool) -> Iterator[Lines]:
    """Complete lines; with ``after``, these are not the first ones of a file."""
    there = filter(None, chunks)
    return read_lines(lambda _: next(there, b""), longest, BLOCK, first=2 if after else 1)


def _numbered(lines: Lines, first: int) -> Lines:
    """The same lines, numbered from ``first``."""
    return lines._replace(first=first, overlong=frozenset(n - lines.first + first for n in lines.overlong))


def _rows_of(piece: Piece) -> Iterator[bytes]:
    """The rows of Parquet row groups."""
    import pyarrow.parquet as pq

    system, inner, _ = file_system_of(piece.path)
    with pq.ParquetFile(inner, filesystem=system) as file:
        for batch in file.iter_batches(BLOCK, row_groups=list(range(piece.begin, piece.end))):
            yield lines_of(batch)


def _unpacked(piece: Piece) -> Iterator[bytes]:
    system, inner, _ = file_system_of(piece.path)
    with system.open_input_stream(inner, compression="detect") as file:
        while chunk := file.read(READ_SIZE):
            yield chunk


def _range_of(piece: Piece) -> Iterator[bytes]:
    """The lines that begin in a range of bytes of a file."""
    system, inner, _ = file_system_of(piece.path)
    with system.open_input_file(inner) as file:
        # The byte before the range shows whether a line begins with it.
        at = max(piece.begin - 1, 0)
        file.seek(at)
        inside = piece.begin > 0
        while chunk := file.read(READ_SIZE):
            if inside:
                skipped = chunk.find(b"\n") + 1
                inside = not skipped
                skipped = skipped or len(chunk)
                at, chunk = at + skipped, chunk[skipped:]
                if at >= piece.end:
                    return
            behind = chunk.find(b"\n", max(piece.end - 1 - at, 0)) + 1
            if behind:
                yield chunk[:behind]
                return
            at += len(chunk)
            if chunk:
                yield chunk
