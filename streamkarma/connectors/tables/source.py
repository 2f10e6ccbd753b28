"""A file of events in any format as a source."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import IO, Any, cast

from streamkarma import files
from streamkarma._engine import MissingWords
from streamkarma.connectors.base import Context
from streamkarma.connectors.jsonlines.inputs import Input, LineInput
from streamkarma.connectors.jsonlines.source import JsonLinesSource
from streamkarma.connectors.tables.arrow import ArrowTable
from streamkarma.connectors.tables.columns import TYPES
from streamkarma.connectors.tables.delimited import DelimitedTable
from streamkarma.connectors.tables.formats import PACKED, format_of
from streamkarma.connectors.tables.input import TableInput
from streamkarma.errors import ModelFileError, RunError, UsageError

#: Text formats with their delimiters; None to detect it.
_TEXTS = {"csv": None, "tsv": "\t"}


def source_of(path: str, format: str | None = None, **how: Any) -> JsonLinesSource:
    """The source of a file.

    Parameters
    ----------
    path
        A path, or ``-`` for standard input.
    format
        One of FORMATS; None to go by the path's ending.
    how
        As `JsonLinesSource` takes it.
    """
    format = format or format_of(path)
    return JsonLinesSource(path, **how) if format == "json" else TableSource(path, format, **how)


class TableSource(JsonLinesSource):
    """A table. Its rows are converted to lines of JSON, which the position in a model file refers to.

    Parameters
    ----------
    path
        A path, or ``-``.
    format
        One of FORMATS, but not ``json``.
    how
        As `JsonLinesSource` takes it.
    """

    def __init__(self, path: str, format: str, **how: Any) -> None:
        if format not in _TEXTS and path.lower().endswith(PACKED):
            raise UsageError(f"{path}: decompress it first; {format} files are compressed internally")
        super().__init__(path, **how)
        self.format = format

    def _input(self, context: Context) -> LineInput:
        with ExitStack() as stack:
            return self._text(context, stack) if self.format in _TEXTS else self._arrow(context, stack)
        raise AssertionError("a stack lets every exception through")

    def _arrow(self, context: Context, stack: ExitStack) -> TableInput:
        file = stack.enter_context(context.interruptible(_opened)(self.path))
        name = "standard input" if self.path == "-" else self.path
        table = ArrowTable(name, file, self.format == "parquet")
        return TableInput(self.path, table.pieces(), file.seekable(), {}, stack.pop_all())

    def _text(self, context: Context, stack: ExitStack) -> TableInput:
        file = stack.enter_context(context.interruptible(Input)(self.path))
        known = _known_types(context)
        table = DelimitedTable(
            file.name,
            context.interruptible(file.read, file.waits_for),
            _TEXTS[self.format],
            MissingWords(context.missing_words),
            known,
            self.max_record_bytes,
            context.text_label,
        )
        for line in (table.describe(), *table.hints):
            context.say(line)
        if self.prefetch:
            # From now on it is read in a thread, which receives no signals.
            table.read = file.read
        types = {**known, **table.types}
        return TableInput(self.path, table.pieces(), file.is_file, types, stack.pop_all())


def _opened(path: str) -> AbstractContextManager[IO[bytes]]:
    """A file, or standard input, which stays open."""
    if path == "-":
        return nullcontext(cast(IO[bytes], sys.stdin.buffer))
    try:
        return Path(path).open("rb")
    except InterruptedError:
        raise
    except OSError as error:
        raise RunError(f"cannot read {path}: {files.reason(error)}") from error


def _known_types(context: Context) -> Mapping[str, str]:
    """The column types in the model file."""
    types = context.kept.get("columns", {})
    if not isinstance(types, dict) or not all(kind in TYPES for kind in types.values()):
        raise ModelFileError(f"{context.model_path} does not record the column types of its tables")
    return types
