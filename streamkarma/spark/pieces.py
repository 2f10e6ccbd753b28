"""Divides an input into parts: contiguous ranges, in order, regardless of the machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from streamkarma.connectors.tables.formats import PACKED, format_of
from streamkarma.errors import RunError, UsageError
from streamkarma.spark.files import File, file_system_of

#: Minimum size of a part, unless the number of parts is given: small parts learn too little.
LEAST_BYTES = 16 << 20


class Piece(NamedTuple):
    """A range of a file that one part reads.

    Attributes
    ----------
    path
        The file.
    begin, end
        For plain JSON lines, the range of bytes in which its lines begin; for Parquet, row groups. A
        compressed file is read as a whole.
    size
        Size in bytes, for distributing the work.
    """

    path: str
    begin: int
    end: int
    size: int

    @property
    def is_table(self) -> bool:
        """Whether it is Parquet."""
        return format_of(self.path) == "parquet"

    @property
    def is_packed(self) -> bool:
        """Whether it is a compressed file, which can only be read from the beginning."""
        return self.path.endswith(PACKED)


Part = tuple[Piece, ...]


def parts_of(files: list[File], parts: int | None, cores: int) -> list[Part]:
    """Distribute files over parts.

    Parameters
    ----------
    files
        The files, in order.
    parts
        Maximum number of parts; None for the number of cores, if there is enough work.
    cores
        The number of tasks that run at a time.

    Raises
    ------
    UsageError
        If a file is neither JSON lines nor Parquet.
    RunError
        If a Parquet file is invalid.
    """
    pieces = [piece for file in files for piece in _pieces_of(file)]
    total = sum(piece.size for piece in pieces)
    count = parts or max(1, min(cores, total // LEAST_BYTES))
    shared: list[list[Piece]] = [[] for _ in range(count)]
    at = 0
    for piece in pieces:
        for part, own in _distributed(piece, at, total, count):
            shared[part].append(own)
        at += piece.size
    return [tuple(each) for each in shared if each]


def _pieces_of(file: File) -> Iterator[Piece]:
    """The indivisible pieces of a file; a file of plain lines is returned whole, and divided later."""
    if format_of(file.path) not in ("json", "parquet"):
        raise UsageError(
            f"{file.path} is neither JSON lines nor Parquet; for other formats, use "
            "spark.read and streamkarma.spark.backfill"
        )
    piece = Piece(file.path, 0, file.size, file.size)
    if not piece.is_table:
        if file.size:
            yield piece
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    system, inner, _ = file_system_of(file.path)
    try:
        groups = pq.read_metadata(inner, filesystem=system)
    except (pa.ArrowInvalid, OSError) as error:
        raise RunError(f"{file.path} is damaged: {error}") from error
    for i in range(groups.num_row_groups):
        yield Piece(file.path, i, i + 1, groups.row_group(i).total_byte_size)


def _distributed(piece: Piece, at: int, total: int, count: int) -> Iterator[tuple[int, Piece]]:
    """The parts that share a piece, with their ranges; it begins at byte ``at`` of the whole input."""
    if piece.is_table or piece.is_packed:
        # It goes where its middle is, so that no part has more than half a piece too many.
        yield min((2 * at + piece.size) * count // (2 * max(total, 1)), count - 1), piece
        return
    for part in range(at * count // total, count):
        begin, end = part * total // count, (part + 1) * total // count
        first, last = max(begin - at, 0), min(end - at, piece.size)
        if first >= piece.size:
            return
        if first < last:
            yield part, Piece(piece.path, first, last, last - first)
