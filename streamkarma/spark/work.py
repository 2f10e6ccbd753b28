"""The tasks for a part: survey its records, learn them, score them, or return them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from streamkarma.connectors.base import DeadLetter
from streamkarma.connectors.rows import Rows
from streamkarma.runtime import report
from streamkarma.runtime.loop import Loop
from streamkarma.runtime.output import Output
from streamkarma.spark.files import written
from streamkarma.spark.reading import Chunk
from streamkarma.spark.states import NOTHING, State, packed_counts
from streamkarma.spark.survey import SurveyLoop
from streamkarma.spark.tasks import LETTERS
from streamkarma.spark.tree import STATE
from streamkarma.spark.windows import Window

#: The kinds of rows.
COUNTS, TEXT = "counts", "text"
#: Approximate size of a row of dead letters, in bytes.
_SIZE = 1 << 20


@dataclass(frozen=True)
class Survey:
    """Collects names, classes and moments from all records of a part, without learning them.

    Attributes
    ----------
    base
        Bytes of a ``State``.
    """

    base: bytes

    def __call__(self, part: int, chunks: Iterator[Chunk]) -> Iterator[tuple[str, bytes]]:
        state = State.from_bytes(self.base, "the base")
        state.model.begin_survey()
        loop = state.loop(Output(), kind=SurveyLoop)
        lines, seen = read_by(loop, chunks), state.after(loop)
        # No event counts as learned yet.
        kept = {**seen.kept, "events": state.kept["events"]}
        yield STATE, State(seen.model, kept, NOTHING, {str(part): lines}).to_bytes()


@dataclass(frozen=True)
class Learn:
    """Learns a part from a base.

    Attributes
    ----------
    base
        Bytes of a ``State``.
    windows
        By part, the records to learn; all of them if empty.
    letters
        Whether to return the records that could not be used.
    """

    base: bytes
    windows: Mapping[int, Window]
    letters: bool

    def __call__(self, part: int, chunks: Iterator[Chunk]) -> Iterator[tuple[str, bytes]]:
        letters = Letters(self.letters)
        state = State.from_bytes(self.base, "the base")
        state.model.freeze()
        loop = state.loop(Output(None, letters.write))
        for chunk in windowed(chunks, self.windows.get(part)):
            loop.feed(chunk.records())
            yield from letters.rows(_SIZE)
        yield from letters.rows()
        yield STATE, state.after(loop).to_bytes()


@dataclass(frozen=True)
class Count:
    """Counts the events of a part (records that the model can read), and the records of its pieces.

    Attributes
    ----------
    model
        Bytes of a ``State``.
    """

    model: bytes

    def __call__(self, part: int, chunks: Iterator[Chunk]) -> Iterator[tuple[str, bytes]]:
        loop = State.from_bytes(self.model, "the model").loop(Output(), learn=False, kind=SurveyLoop)
        lines = read_by(loop, chunks)
        yield COUNTS, orjson.dumps([loop.counters.events, lines])


@dataclass(frozen=True)
class Score:
    """Scores a part with a model, and writes the predictions to the part's own file.

    Attributes
    ----------
    model
        Bytes of a ``State``.
    firsts
        By part, the number of its first event.
    folder
        The folder of the files.
    letters
        Whether to return the records that could not be used.
    """

    model: bytes
    firsts: Sequence[int]
    folder: str
    letters: bool

    def __call__(self, part: int, chunks: Iterator[Chunk]) -> Iterator[tuple[str, bytes]]:
        letters = Letters(self.letters)
        with written(f"{self.folder}/part-{part:05}.jsonl") as write:

            def write_rows(rows: Rows, _: Sequence[int]) -> None:
                write(rows.text())

            state = State.from_bytes(self.model, "the model")
            loop = state.loop(Output(write_rows, letters.write), learn=False, first=self.firsts[part])
            for chunk in chunks:
                loop.feed(chunk.records())
                yield from letters.rows(_SIZE)
        yield from letters.rows()
        yield COUNTS, packed_counts(loop.totals())


@dataclass(frozen=True)
class Copy:
    """Returns the records of some parts unchanged, as packed chunks."""

    windows: Mapping[int, Window]

    def __call__(self, part: int, chunks: Iterator[Chunk]) -> Iterator[tuple[str, bytes]]:
        for chunk in windowed(chunks, self.windows.get(part, (0, 0))):
            yield TEXT, chunk.packed()


def read_by(loop: Loop, chunks: Iterator[Chunk]) -> list[int]:
    """Feed all records of a part to a loop; returns the number of records in each piece."""
    lines = Counter[int]()
    for chunk in chunks:
        loop.feed(chunk.records())
        lines[chunk.piece] += chunk.lines.size
    return [lines[piece] for piece in range(max(lines, default=-1) + 1)]


def windowed(chunks: Iterator[Chunk], window: Window | None) -> Iterator[Chunk]:
    """The records of a part that are in a window; those after it are not read."""
    if window is None:
        yield from chunks
        return
    begin, end = window
    for chunk in chunks if begin < end else ():
        own = chunk.cut(begin, end)
        if own.lines.size:
            yield own
        if chunk.lines.first + chunk.lines.size >= end:
            return


class Letters:
    """A buffer of the records of a part that could not be used, as JSON lines.

    Parameters
    ----------
    wanted
        Whether to keep them.
    """

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._lines: list[bytes] = []
        self._size = 0

    def write(self, letter: DeadLetter) -> None:
        """Add a dead letter."""
        if self._wanted:
            line = orjson.dumps(report.dead_letter(letter), option=orjson.OPT_APPEND_NEWLINE)
            self._lines.append(line)
            self._size += len(line)

    def rows(self, least: int = 1) -> Iterator[tuple[str, bytes]]:
        """Yield the buffered letters once they have at least ``least`` bytes."""
        if self._size >= least:
            yield LETTERS, b"".join(self._lines)
            self._lines, self._size = [], 0
