"""What a person is told of a run."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from typing import Any

from streamkarma.connectors.jsonlines.sink import JsonLinesSink
from streamkarma.errors import RunError
from streamkarma.runtime import report
from streamkarma.runtime.fields import NOW
from streamkarma.runtime.live import Live
from streamkarma.runtime.loop import Loop
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.session import Session


class Progress:
    """What a person is told of a run: lines while it goes on, a table and a file at its end.

    Parameters
    ----------
    plan
        How much of that is wanted.
    dead_letter_hint
        What is said of rejected records: where they are, or what would keep them.
    """

    def __init__(self, plan: Plan, dead_letter_hint: str) -> None:
        self._plan = plan
        self._dead_letter_hint = dead_letter_hint
        self._begin = time.perf_counter()
        self._end: float | None = None
        self._next_report = plan.report_every
        self._useless: str | None = None
        # Rows and a table on one terminal would write over each other.
        apart = plan.predictions != "-" or not sys.stdout.isatty()
        self._live = Live.of(sys.stderr) if apart and not plan.quiet else None

    def room(self, events: int) -> int:
        """How many events more, after so many, until it is time to say something."""
        return self._next_report - events if self._next_report else sys.maxsize

    def tell(self, loop: Loop) -> None:
        """Say how far the run is, if it is time to."""
        now = time.perf_counter()
        if self._live is not None:
            if self._live.due(now):
                self._live.show(report.run_status(loop, now - self._begin), now)
            return
        events = loop.counters.events
        if self._plan.report_every and events >= self._next_report:
            self._next_report = events + self._plan.report_every
            self.say(report.progress(report.run_status(loop, now - self._begin)))

    def say(self, line: str) -> None:
        """Say something else, without hurting the table."""
        if self._live is not None:
            self._live.clear()
        if not self._plan.quiet:
            print(line, file=sys.stderr, flush=True)

    def begin(self, session: Session) -> None:
        """Say what there is to know before the first event."""
        if session.resuming is not None:
            self.say(session.resuming)
        if session.pending is not None and session.fields.time == NOW:
            self.say("time: the clock of this machine, by which equal runs may differ")

    def over(self) -> None:
        """The stream has ended; what still comes is not counted in its time."""
        self._end = time.perf_counter()

    def check_use(self) -> None:
        """After ``close``: RunError if nothing came of the run, and that is to count as a failure."""
        if self._plan.strict and self._useless is not None:
            raise RunError(self._useless)

    def close(self, session: Session, stack: ExitStack, **more: Any) -> None:
        """Write the summary, and what stands in ``more`` beside it."""
        loop = session.loop
        if self._live is not None:
            self._live.clear()
            self._live.close()
        seconds = (self._end or time.perf_counter()) - self._begin
        summary = report.summarise(loop, session.ignored_before, seconds) | more
        if sink := open_sink(self._plan.summary, stack):
            sink.write([summary])
        self.say(report.table(summary))
        if loop.first_rejected and not loop.failure and self._plan.dead_letters is None:
            self.say(f"first rejected: {loop.first_rejected} ({self._dead_letter_hint})")
        self._useless = report.useless(loop, session.fields.target)
        if self._useless is not None and not self._plan.strict:
            self.say(f"warning: {self._useless}")


def open_sink(path: str | None, stack: ExitStack) -> JsonLinesSink | None:
    """A file for JSON lines, open until the stack is closed; None for None."""
    if path is None:
        return None
    sink = JsonLinesSink(path)
    stack.callback(sink.close)
    sink.restart()
    return sink
