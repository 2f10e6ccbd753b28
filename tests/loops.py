"""A loop that collects rows and dead letters in lists, and runs over files."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from streamkarma.connectors.jsonlines.lines import MAX_RECORD_BYTES, Lines
from streamkarma.connectors.jsonlines.source import JsonLinesSource
from streamkarma.connectors.records import Records
from streamkarma.runtime.fields import Fields
from streamkarma.runtime.loop import Loop
from streamkarma.runtime.output import Output
from streamkarma.runtime.pending import Pending
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.report import dead_letter
from streamkarma.runtime.run import Run
from streamkarma.runtime.task import TaskModel


class Kept(NamedTuple):
    """A loop, and its output."""

    loop: Loop
    rows: list[dict[str, Any]]
    dead: list[dict[str, Any]]

    def feed(self, lines: list[bytes], first: int = 1) -> None:
        """Feed lines, numbered from ``first``."""
        self.loop.feed(records_of(lines, first))


def records_of(lines: list[bytes], first: int = 1) -> Records:
    """Lines as read from a file, numbered from ``first``."""
    return Lines(first, len(lines), b"".join(line + b"\n" for line in lines)).records()


def kept(
    task_model: TaskModel,
    printed: bool = True,
    fields: Fields | None = None,
    pending: Pending | None = None,
    unlabelled: bool = True,
) -> Kept:
    """A learning loop from event 1."""
    rows: list[dict[str, Any]] = []
    dead: list[dict[str, Any]] = []
    output = Output(
        (lambda each, at: rows.extend(map(orjson.loads, each.lines()))) if printed else None,
        lambda letter: dead.append(dead_letter(letter)),
    )
    loop = Loop(task_model, fields or Fields(), True, output, False, 1, pending, unlabelled=unlabelled)
    return Kept(loop, rows, dead)


def run_of(
    input: str = "-", *, resume: bool = False, max_record_bytes: int = MAX_RECORD_BYTES, **plan: Any
) -> Run:
    """A run over JSON lines, as made by the command line."""
    prefetch = plan.get("workers", 1) > 1
    source = JsonLinesSource(input, resume=resume, max_record_bytes=max_record_bytes, prefetch=prefetch)
    return Run(Plan(**plan), source)
