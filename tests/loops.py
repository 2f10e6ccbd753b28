"""A loop whose rows and dead letters are kept in lists."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from streamkarma.connectors.jsonlines.lines import Lines
from streamkarma.runtime.fields import Fields
from streamkarma.runtime.loop import Loop
from streamkarma.runtime.output import Output
from streamkarma.runtime.pending import Pending
from streamkarma.runtime.report import dead_letter
from streamkarma.runtime.task import Tasked
from streamkarma.sources.records import Records


class Kept(NamedTuple):
    """A loop, and what it has put out."""

    loop: Loop
    rows: list[dict[str, Any]]
    dead: list[dict[str, Any]]

    def feed(self, lines: list[bytes], first: int = 1) -> None:
        """Feed lines, the first with this number."""
        self.loop.feed(records_of(lines, first))


def records_of(lines: list[bytes], first: int = 1) -> Records:
    """Lines as they come from a file, the first with this number."""
    return Lines(first, len(lines), b"".join(line + b"\n" for line in lines)).records()


def kept(
    tasked: Tasked, printed: bool = True, fields: Fields | None = None, pending: Pending | None = None
) -> Kept:
    """A learning loop from event 1."""
    rows: list[dict[str, Any]] = []
    dead: list[dict[str, Any]] = []
    output = Output(
        (lambda each, at: rows.extend(map(orjson.loads, each.lines()))) if printed else None,
        lambda letter: dead.append(dead_letter(letter)),
    )
    return Kept(Loop(tasked, fields or Fields(), True, output, False, 1, pending), rows, dead)
