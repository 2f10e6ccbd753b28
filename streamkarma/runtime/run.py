"""One run of the program over a stream, from opening to summary."""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from streamkarma.errors import RunError, UsageError
from streamkarma.estimators.learners import learner_of
from streamkarma.estimators.store import load_with_run
from streamkarma.runtime import report
from streamkarma.runtime.fields import NOW
from streamkarma.runtime.live import Live
from streamkarma.runtime.loop import Loop
from streamkarma.runtime.output import Output
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.session import Session, resumed
from streamkarma.runtime.signals import StopSignal
from streamkarma.sinks.jsonlines import JsonLinesSink, leave_stdout
from streamkarma.sources.ahead import Ahead
from streamkarma.sources.jsonlines import BLOCK, open_input, read_lines, reader
from streamkarma.sources.records import Records


class Run:
    """A run of a plan over JSON lines.

    Parameters
    ----------
    plan
        What to run.

    Raises
    ------
    StreamkarmaError
        If the plan makes no sense, or its model cannot be used.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._progress = Progress(plan)
        #: The model and what goes with it.
        self.session = Session(plan, plan.model, self._progress.say)
        check_time(self.session)
        self._progress.begin(self.session)
        self._stop = StopSignal()
        self._next_checkpoint = plan.checkpoint_every

    def execute(self) -> int:
        """Run to the end of the input, a signal, or a reader that has gone.

        Returns
        -------
        The exit code: 0, or 130 or 143 after a signal.

        Raises
        ------
        StreamkarmaError
            If the run cannot go on. What was learned is saved first.
        """
        plan, session = self._plan, self.session
        with ExitStack() as stack:
            loop = session.new_loop(open_output(plan, stack))
            stack.enter_context(self._stop.installed())
            session.wait_until(self._stop.has_come)
            try:
                self._read_all(stack, loop)
                session.save()
                self._progress.over()
                session.compare()
            except BrokenPipeError:
                leave_stdout()
            except UsageError:
                session.refused = True
                raise
            finally:
                session.leave()
                session.save()
                self._progress.close(session, stack)
        if self._stop.number is not None:
            return 128 + self._stop.number
        self._progress.check_use()
        return 0

    def _read_all(self, stack: ExitStack, loop: Loop) -> None:
        plan = self._plan
        next_block = self._blocks(stack, loop)
        try:
            while (records := next_block()) is not None:
                at = 0
                while at < len(records):
                    at = loop.feed(records, at, self._room(loop))
                    if loop.failure is not None:
                        raise RunError(loop.failure)
                    self._after_block(loop)
        except InterruptedError:
            return
        except (EOFError, zlib.error) as error:
            raise RunError(f"{plan.input} is damaged: {error}") from error
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            raise RunError(f"cannot read {plan.input}: {error.strerror or error}") from error

    def _blocks(self, stack: ExitStack, loop: Loop) -> Callable[[], Records | None]:
        """What gives one block of records after another, and None at the end of the input."""
        plan = self._plan
        file = open_input(plan.input)
        if plan.input != "-":
            stack.callback(file.close)
        read = reader(file)
        block = min(BLOCK, plan.checkpoint_every, plan.report_every or BLOCK)
        if plan.workers == 1:
            lines = read_lines(self._stop.unless(read), plan.max_record_bytes, block)
            blocks = (each.records() for each in lines)
            return lambda: next(blocks, None)
        lines = read_lines(read, plan.max_record_bytes, block)
        ahead = Ahead((loop.scan_ahead(each.records()) for each in lines), self._stop.has_come)
        stack.callback(ahead.close)
        return ahead.next

    def _room(self, loop: Loop) -> int:
        """Events until the next checkpoint or report, which come when they were asked for."""
        events = loop.counters.events
        return min(self._next_checkpoint - events, self._progress.room(events))

    def _after_block(self, loop: Loop) -> None:
        if loop.counters.events >= self._next_checkpoint:
            self._next_checkpoint = loop.counters.events + self._plan.checkpoint_every
            self.session.save()
        self._progress.tell(loop)


class Progress:
    """What a person is told of a run: lines while it goes on, a table and a file at its end.

    Parameters
    ----------
    plan
        How much of that is wanted.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
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
                self._live.show(report.standing(loop, now - self._begin), now)
            return
        events = loop.counters.events
        if self._plan.report_every and events >= self._next_report:
            self._next_report = events + self._plan.report_every
            self.say(report.progress(report.standing(loop, now - self._begin)))

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
            self.say(f"first rejected: {loop.first_rejected} (--dead-letters keeps them all)")
        self._useless = report.useless(loop, session.fields.target)
        if self._useless is not None and not self._plan.strict:
            self.say(f"warning: {self._useless}")


def check_time(session: Session) -> None:
    """See that there is a time to wait by, if waiting is bounded in time.

    Raises
    ------
    UsageError
        If there is none.
    """
    pending = session.pending
    if pending is not None and pending.seconds is not None and session.fields.time is None:
        raise UsageError(
            "--pending-seconds needs --time NAME, the attribute that says when an event happened "
            "(or --time now, by this machine's clock)"
        )


def describe(path: str) -> dict[str, Any]:
    """What is in a model file, as JSON.

    Raises
    ------
    ModelFileError
        If it is not a model.
    """
    model, kept, _ = load_with_run(path)
    learned, _ = model.state()
    result = {
        "path": path,
        "file_bytes": Path(path).stat().st_size,
        "kind": type(model).__name__,
        "learner": learner_of(model),
        "task": resumed(path, model, kept, lambda _: None).name,
        "events": kept.get("events"),
        "learned": model.steps,
        "parameters": model._get_params(),
        "fields": kept.get("fields"),
        "model": model.summary(),
        "attributes": sorted({str(name) for name, _ in learned["entries"]}),
    }
    if "kafka" in kept:
        result["offsets"] = kept["kafka"]
    if "pending" in kept:
        result["pending"] = {name: len(kept["pending"][name]) for name in ("events", "labels")}
    if "classes" in learned:
        result["classes"] = learned["classes"]
    return result


def open_output(plan: Plan, stack: ExitStack) -> Output:
    """The files a plan writes predictions and dead letters to, open until the stack is closed."""
    predictions, dead_letters = open_sink(plan.predictions, stack), open_sink(plan.dead_letters, stack)
    return Output(
        (lambda rows, at: predictions.write_text(rows.text())) if predictions else None,
        (lambda letter: dead_letters.write([report.dead_letter(letter)])) if dead_letters else None,
    )


def open_sink(path: str | None, stack: ExitStack) -> JsonLinesSink | None:
    """A file for JSON lines, open until the stack is closed; None for None."""
    if path is None:
        return None
    sink = JsonLinesSink(path)
    stack.callback(sink.close)
    return sink
