"""The input of a job: files or a frame, divided into parts for tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from streamkarma.errors import UsageError
from streamkarma.spark.files import File
from streamkarma.spark.pieces import parts_of
from streamkarma.spark.reading import FrameReader, PartReader, PieceReader, is_text
from streamkarma.spark.session import translated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Inputs(NamedTuple):
    """The parts of an input.

    Attributes
    ----------
    frame
        A frame with one partition per task.
    reader
        Reads the parts of a task from its partition.
    size
        The number of parts, which are numbered from 0.
    """

    frame: DataFrame
    reader: PartReader
    size: int

    @classmethod
    def of_files(cls, spark: SparkSession, files: list[File], partitions: int | None, longest: int) -> Inputs:
        """Files in order; tasks read them themselves.

        Raises
        ------
        RunError
            If a file is damaged.
        """
        with translated():
            parts = tuple(parts_of(files, partitions, spark.sparkContext.defaultParallelism))
            frame = spark.range(0, len(parts), 1, max(1, len(parts)))
        return cls(frame.toDF("part"), PieceReader(parts, longest), len(parts))

    @classmethod
    def of_frame(cls, frame: DataFrame, partitions: int | None, longest: int) -> Inputs:
        """A frame of columns, or of JSON lines as returned by ``spark.read.text``.

        Raises
        ------
        UsageError
            If ``partitions`` exceeds its number of partitions.
        """
        with translated():
            own = frame.rdd.getNumPartitions()
            if partitions is not None and partitions > own:
                raise UsageError(
                    f"the frame has {own} partitions, not {partitions}; see its repartition method"
                )
            reader = FrameReader(is_text(frame), longest)
            parted = frame if partitions is None else frame.coalesce(partitions)
        return cls(parted, reader, min(own, partitions or own))

    @property
    def names(self) -> list[str]:
        """The names of the parts."""
        return [f"part {part}" for part in range(self.size)]

    def numbered(self, lines: Mapping[int, Sequence[int]]) -> Inputs:
        """The same, with lines numbered as in their files.

        ``lines`` has, for each part, the number of lines in each of its pieces.
        """
        if not isinstance(self.reader, PieceReader):
            return self
        seen: dict[str, int] = {}
        befores = []
        for number, part in enumerate(self.reader.parts):
            counts = lines.get(number, ())
            own = []
            for i, piece in enumerate(part):
                own.append(seen.get(piece.path, 0))
                seen[piece.path] = own[-1] + (counts[i] if i < len(counts) else 0)
            befores.append(tuple(own))
        return self._replace(reader=self.reader._replace(befores=tuple(befores)))

    def some(self, parts: Sequence[int]) -> DataFrame:
        """The input of only these parts, as far as it can be restricted."""
        if not isinstance(self.reader, PieceReader) or not parts:
            return self.frame
        first, last = min(parts), max(parts) + 1
        return self.frame.sparkSession.range(first, last, 1, last - first).toDF("part")
