"""What the examples read. An error is one line that names the file and the line."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import click


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    """A text file; one whose name ends in ``.gz`` is decompressed. ClickException if it cannot be read."""
    how: dict[str, Any] = {"mode": "rt", "encoding": "utf-8-sig", "newline": ""}
    try:
        with gzip.open(path, **how) if path.suffix == ".gz" else path.open(**how) as file:
            yield file
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise click.ClickException(f"cannot read {path}: {reason}") from error


def table_rows(path: Path) -> Iterator[list[str]]:
    """The rows of a CSV table, first the names; ClickException if one is longer or shorter than they are."""
    with opened(path) as file:
        rows = csv.reader(file)
        names = next(rows, None)
        if not names:
            raise click.ClickException(f"{path}: the first row must have the names of the columns")
        yield names
        for row in filter(None, rows):
            if len(row) != len(names):
                what = f"expected {len(names)} cells, not {len(row)}"
                raise click.ClickException(f"{path}, line {rows.line_num}: {what}")
            yield row


def json_records(lines: Iterable[bytes], parse: Callable[[bytes], Any]) -> Iterator[dict[str, Any]]:
    """The records of JSON lines; ClickException if one is not a JSON object."""
    for number, line in enumerate(lines, 1):
        try:
            record = parse(line)
        except ValueError as error:
            raise click.ClickException(f"line {number} is not JSON: {error}") from error
        if not isinstance(record, dict):
            raise click.ClickException(f"line {number} is not a JSON object")
        yield record
