"""One run of ``streamkarma profile``: from a source to a table, JSON and a page."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from streamkarma.connectors.base import Source
from streamkarma.errors import UsageError
from streamkarma.printable import printable
from streamkarma.profile import advice, table
from streamkarma.profile.page import page
from streamkarma.profile.profiler import Profiler
from streamkarma.profile.reading import Look
from streamkarma.replacing import write_result
from streamkarma.runtime.destinations import check_files
from streamkarma.runtime.progress import write_object


class Request(NamedTuple):
    """What to profile, and where to write the result.

    Attributes
    ----------
    name
        Name of the input.
    target
        The label.
    left_out
        Attributes that are not profiled.
    missing_words
        The words that stand for a missing value; None for the usual ones.
    most
        Maximum number of attributes.
    entity
        The attribute that identifies the entity of an event, or None.
    json, html
        Paths, or None; ``-`` for standard output.
    quiet
        Whether to print nothing on stderr.
    learn_from
        The input of the recommended command.
    """

    name: str
    target: str
    left_out: tuple[str, ...]
    missing_words: tuple[str, ...] | None
    most: int
    entity: str | None
    json: str | None
    html: str | None
    quiet: bool
    learn_from: advice.LearnCommand


class ProfileRun:
    """A run of ``streamkarma profile``.

    Parameters
    ----------
    request
        What to profile and write.
    source
        What to read.

    Raises
    ------
    UsageError, OutputError
        If two paths are the same file, or one cannot be written.
    """

    def __init__(self, request: Request, source: Source) -> None:
        if request.json == request.html == "-":
            raise UsageError("--json and --html cannot both go to standard output; give one a path")
        check_files({"INPUT": source.path}, {"--json": request.json, "--html": request.html})
        self._request, self._source = request, source

    def execute(self) -> int:
        """Write the profile of the source or, after a signal, of what was read. Returns the exit code.

        Raises
        ------
        StreamkarmaError
            If the source cannot be read or the result cannot be written.
        """
        request = self._request
        say: Callable[[str], None] = (lambda line: None) if request.quiet else _say
        look = Look(request.missing_words, request.target, say)
        profiler = Profiler(request.target, request.left_out, request.most, request.entity)
        for rows in look.rows(self._source):
            profiler.add(rows)
        profile = {"input": request.name, **profiler.profile(), "rejected": look.rejected}
        profile["first_rejected"] = look.first_rejected
        if look.first_rejected and not profile["events"]:
            profile["first_rejected"] += look.remedy
        profile |= advice.advice(profile, request.learn_from)
        if look.first_rejected:
            say(f"first rejected: {look.first_rejected}")
        self._write(profile)
        return 0 if look.stop.number is None else 128 + look.stop.number

    def _write(self, profile: dict[str, Any]) -> None:
        request = self._request
        taken = "-" in (request.json, request.html)
        if not (request.quiet and taken):
            text = "\n".join(table.lines(profile))
            print(text, file=sys.stderr if taken else sys.stdout, flush=True)
        write_object(request.json, profile)
        if request.html == "-":
            print(page(profile), flush=True)
        elif request.html is not None:
            write_result(request.html, page(profile).encode())


def _say(line: str) -> None:
    print(printable(line), file=sys.stderr, flush=True)
