"""JSON lines as a source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from streamkarma.connectors.base import Context, Position, Reader, RecordBlock, Source
from streamkarma.connectors.jsonlines.inputs import READ_SIZE, Input, LineInput, check_readable
from streamkarma.connectors.jsonlines.lines import BLOCK, MAX_RECORD_BYTES, Lines, read_lines
from streamkarma.connectors.jsonlines.position import START, position_from, skip
from streamkarma.connectors.jsonlines.prefetch import Prefetch
from streamkarma.connectors.records import Records
from streamkarma.errors import OutputError, RunError, UsageError

#: With a separate reading thread, blocks are larger by this factor: one of two cores is idle while the first
#: part of a block is parsed, and while the last one is learned.
_LARGER = 4


class JsonLinesSource(Source):
    """A file, compressed or not, or standard input.

    Parameters
    ----------
    path
        A path, or ``-``.
    resume
        Whether this is the input that the model has partly read, to be resumed after that part.
    max_record_bytes
        Maximum length of a line.
    prefetch
        Whether to read in a separate thread.

    Raises
    ------
    RunError
        If it does not exist, or cannot be read.
    """

    def __init__(
        self,
        path: str = "-",
        *,
        resume: bool = False,
        max_record_bytes: int = MAX_RECORD_BYTES,
        prefetch: bool = False,
    ) -> None:
        check_readable(path)
        self.path: str = path
        self.rewinds = resume
        self.max_record_bytes = max_record_bytes
        self.prefetch = prefetch

    @contextmanager
    def open(self, context: Context) -> Iterator[Reader]:
        """Open the file."""
        with ExitStack() as stack:
            reader = LineReader(self, stack.enter_context(self._input(context)), context, stack)
            try:
                yield reader
            except OutputError:
                raise
            except RunError:
                reader.keep()
                raise

    def _input(self, context: Context) -> LineInput:
        """The input to read, at its beginning."""
        return context.interruptible(Input)(self.path)


class LineReader(Reader):
    """Reads the lines of an open input.

    Parameters
    ----------
    source
        How to read.
    file
        The input, at its beginning.
    context
        The run.
    stack
        Ends the reading thread.
    """

    def __init__(self, source: JsonLinesSource, file: LineInput, context: Context, stack: ExitStack) -> None:
        self._source, self._file, self._context, self._stack = source, file, context, stack
        self._position = START
        self._first = 1
        self._begun = False

    def resume(self, kept: Position | None) -> None:
        """Start after the part that was read, if this is to be resumed; a pipe always continues."""
        if kept is None:
            return
        file, model = self._file, self._context.model_path
        taken = position_from(kept.get("input"), model)
        if self._source.rewinds:
            if taken is None:
                raise UsageError(
                    f"{model} does not record how much of an input it has read; leave out "
                    "--resume-input to learn all of this one"
                )
            self._position = skip(file, self._context.interruptible(file.read), taken, model)
            self._first = self._position.lines + 1
        elif taken is not None and not file.is_file:
            self._position = taken

    def blocks(self) -> Iterator[RecordBlock | None]:
        """Yield the lines to the end of the input."""
        context, prefetch = self._context, self._source.prefetch
        self._begun = True
        read = self._file.read if prefetch else context.interruptible(self._file.read, self._file.waits_for)
        larger = _LARGER if prefetch else 1
        most = min(larger * BLOCK, context.interval)
        longest, at_once = self._source.max_record_bytes, larger * READ_SIZE
        lines = read_lines(read, longest, most, self._position, self._first, at_once)
        if not prefetch:
            for each in lines:
                yield self._block(each, self._records(each))
            return
        ahead = Prefetch(((each, self._records(each)) for each in lines), context.stopped)
        self._stack.callback(ahead.close)
        for item in ahead.items():
            yield None if item is None else self._block(*item)

    def maybe_commit(self) -> None:
        """Write the model if it is due."""
        if self._context.checkpoint_due:
            self.commit()

    def commit(self) -> None:
        """Write the model."""
        self._context.checkpoint()

    def keep(self) -> None:
        """Keep what was learned before a failure."""
        if self._begun:
            self.commit()

    def snapshot(self) -> Position:
        """How much of the input was learned."""
        return {"input": self._position._asdict(), **self._file.kept()}

    def _records(self, lines: Lines) -> Records:
        return lines.records(self._file.unit, self._file.refused)

    def _block(self, lines: Lines, records: Records) -> RecordBlock:
        def learned(count: int) -> None:
            self._position = lines.position(count, records)

        # Where a line was cut, only the end of the block is known in bytes of the input.
        return RecordBlock(records, learned, divisible=not lines.overlong)
