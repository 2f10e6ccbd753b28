"""Progress and summary of a run."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

from streamkarma import log
from streamkarma.connectors.jsonlines.sink import JsonLinesSink
from streamkarma.errors import RunError
from streamkarma.estimators.learners import distinguishing, learner_of
from streamkarma.parameters.learning import LEARNING
from streamkarma.parameters.words import NOW
from streamkarma.plain_json import dumps
from streamkarma.replacing import write_result
from streamkarma.runtime import mistakes, report
from streamkarma.runtime.live import Live
from streamkarma.runtime.loop import Loop
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.session import Session
from streamkarma.runtime.summary_table import table


class Progress:
    """Reports progress of a run, and a table and a summary file at the end.

    Parameters
    ----------
    plan
        The plan.
    dead_letter_hint
        A hint for rejected records: where they are, or which option keeps them.
    """

    def __init__(self, plan: Plan, dead_letter_hint: str) -> None:
        self._plan = plan
        self._dead_letter_hint = dead_letter_hint
        self._begin = time.perf_counter()
        self._end: float | None = None
        self._whole = False
        self._useless: str | None = None
        # Rows and a live table on one terminal would overwrite each other.
        apart = plan.predictions != "-" or not sys.stdout.isatty()
        shown = apart and not plan.quiet and not log.is_json()
        self._live = Live.of(sys.stderr) if shown else None
        # The live table replaces progress lines.
        self._next_report = plan.report_every if self._live is None else 0

    def room(self, events: int) -> int:
        """Events until the next report, after ``events`` of them."""
        return self._next_report - events if self._next_report else sys.maxsize

    def update(self, loop: Loop) -> None:
        """Report the status of the run if it is due."""
        now = time.perf_counter()
        if self._live is not None:
            if self._live.due(now):
                self._live.show(report.run_status(loop, now - self._begin), now)
            return
        events = loop.counters.events
        if self._next_report and events >= self._next_report:
            self._next_report = events + self._plan.report_every
            self.say(report.progress(report.run_status(loop, now - self._begin)))

    def say(self, line: str, **more: Any) -> None:
        """Print another line without damaging the table; ``more`` holds fields for a JSON log."""
        if self._live is not None:
            self._live.clear()
        if not self._plan.quiet:
            log.write(line, **more)

    def begin(self, session: Session) -> None:
        """Print what the user should know before the first event."""
        if session.resuming is not None:
            self.say(session.resuming)
        learner = learner_of(session.task_model.model)
        if self._plan.learner is None and learner != "auto" and not session.resumed:
            options = " and ".join(
                f"--{LEARNING[name].option}" for name in distinguishing(self._plan.options)
            )
            self.say(f"learner: {learner}, since {options} {'were' if ' and ' in options else 'was'} given")
        if session.pending is not None and session.fields.time == NOW:
            self.say("time: this machine's clock, so equal runs may give different results")

    def over(self, whole: bool = True) -> None:
        """Stop the clock: the stream has ended; ``whole`` says whether it was read from beginning to end."""
        self._end = time.perf_counter()
        self._whole = whole

    def check_use(self) -> None:
        """After ``close``: raise RunError if the run was useless and that counts as a failure."""
        if self._plan.strict and self._useless is not None:
            raise RunError(self._useless)

    def close(self, session: Session, **more: Any) -> None:
        """Write the summary, with the sections in ``more`` added."""
        loop = session.loop
        if self._live is not None:
            self._live.clear()
            self._live.close()
        seconds = (self._end or time.perf_counter()) - self._begin
        summary = report.summarise(loop, session.ignored_before, seconds) | more
        write_object(self._plan.summary, summary)
        if log.is_json():
            self.say("summary", summary=summary)
        else:
            self.say(table(summary))
        if loop.first_rejected and not loop.failure and self._plan.dead_letters is None:
            self.say(f"first rejected: {loop.first_rejected} ({self._dead_letter_hint})")
        if unmatched := mistakes.unmatched(loop):
            self.say(f"warning: {unmatched}")
        self._useless = mistakes.useless(loop, session.fields.target, self._whole)
        if self._useless is not None and not self._plan.strict:
            self.say(f"warning: {self._useless}")


def write_object(path: str | None, content: Mapping[str, Any]) -> None:
    """Write an object as JSON to a file, or to standard output for ``-``; to none for None.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    if path == "-":
        JsonLinesSink(path).write([dict(content)])
    elif path is not None:
        write_result(path, dumps(content) + b"\n")
