"""One run of the program over a stream, from opening to summary."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from streamkarma._engine import use_threads
from streamkarma.connectors.jsonlines.inputs import Input, check_there
from streamkarma.connectors.jsonlines.lines import BLOCK, Lines, read_lines
from streamkarma.connectors.jsonlines.position import START, position_from, skip
from streamkarma.connectors.jsonlines.prefetch import Ahead
from streamkarma.connectors.jsonlines.sink import JsonLinesSink, check_writable
from streamkarma.errors import OutputError, RunError, UsageError
from streamkarma.estimators.learners import learner_of
from streamkarma.estimators.store import load_with_run
from streamkarma.lock import ModelLock
from streamkarma.runtime import report
from streamkarma.runtime.destinations import Destinations, check_distinct
from streamkarma.runtime.fields import NOW
from streamkarma.runtime.live import Live
from streamkarma.runtime.loop import Loop
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.session import Session, pending_of, resumed
from streamkarma.runtime.signals import StopSignal
from streamkarma.sources.records import Records

Block = tuple[Lines, Records]


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
        check_distinct({"INPUT": plan.input, "--model": plan.model, "--predictions": plan.predictions,
                        "--dead-letters": plan.dead_letters, "--summary": plan.summary})  # fmt: skip
        check_there(plan.input)
        check_writable(plan.summary)
        self._plan = plan
        self._progress = Progress(plan)
        self._lock = ModelLock(plan.model) if plan.learn and plan.model is not None else None
        use_threads(plan.workers)
        #: The model and what goes with it.
        self.session = Session(plan, plan.model, self._progress.say)
        check_time(self.session)
        self._progress.begin(self.session)
        self._stop = StopSignal()
        self._next_checkpoint = plan.checkpoint_every
        self._position = START

    def execute(self) -> int:
        """Run to the end of the input, a signal, or a reader that has gone.

        Returns
        -------
        The exit code: 0, or 130 or 143 after a signal.

        Raises
        ------
        StreamkarmaError
            If the run cannot go on. What was learned before is saved, unless it is the model or an
            output that cannot be written: then the model stays as it was saved last.
        """
        plan, session = self._plan, self.session
        with ExitStack() as stack:
            if self._lock is not None:
                stack.callback(self._lock.release)
            stack.enter_context(self._stop.installed())
            session.wait_until(self._stop.has_come)
            stack.callback(session.leave)
            failure = None
            with suppress(InterruptedError):
                lines = self._find_place(stack.enter_context(Input(plan.input)))
                failure = self._learn(stack, lines)
            session.leave()
            self._progress.close(session, stack)
        if failure is not None:
            raise failure
        if self._stop.number is not None:
            return 128 + self._stop.number
        self._progress.check_use()
        return 0

    def _learn(self, stack: ExitStack, lines: Iterator[Lines]) -> RunError | None:
        """Learn the lines and save; returns what was wrong with them, if they ended with that."""
        session, failure = self.session, None
        destinations = Destinations(self._plan, stack)
        session.go_on_with(destinations, self._plan.resume_input, self._progress.say)
        loop = session.new_loop(destinations.output())
        try:
            self._read_all(self._blocks(stack, loop, lines), loop)
        except OutputError:
            raise
        except RunError as error:
            failure = error
        self._save()
        if failure is None:
            self._progress.over()
        if session.comparing is not None:
            if failure is None:
                session.compare()
            session.leave()
            self._save()
        return failure

    def _find_place(self, file: Input) -> Iterator[Lines]:
        """The lines to learn: all of a file, unless it is to be gone on with; a pipe always goes on."""
        plan, read = self._plan, file.read
        if plan.workers == 1:
            read = self._stop.unless(read, file.waits_for)
        taken = position_from(self.session.kept.get("input"), str(plan.model)) if plan.learn else None
        block, first = min(BLOCK, plan.checkpoint_every, plan.report_every or BLOCK), 1
        if plan.resume_input and self.session.resumed:
            if taken is None:
                raise UsageError(f"{plan.model} does not say how much of an input it has taken; leave out "
                                 "--resume-input to learn all of this one")  # fmt: skip
            self._position = skip(file, self._stop.unless(file.read), taken, str(plan.model))
            first = self._position.lines + 1
        elif taken is not None and not file.is_file:
            self._position = taken
        return read_lines(read, plan.max_record_bytes, block, self._position, first)

    def _read_all(self, next_block: Callable[[], Block | None], loop: Loop) -> None:
        with suppress(InterruptedError):
            while (block := next_block()) is not None:
                lines, records = block
                at = 0
                while at < len(records):
                    # Where a line was cut, only the end of the block is known in bytes of the input.
                    at = loop.feed(records, at, sys.maxsize if lines.overlong else self._room(loop))
                    self._position = lines.position(at)
                    if loop.failure is not None:
                        raise RunError(loop.failure)
                    if self.session.destinations is not None and self.session.destinations.unread:
                        return
                    self._after_block(loop)

    def _blocks(self, stack: ExitStack, loop: Loop, lines: Iterator[Lines]) -> Callable[[], Block | None]:
        """What gives one block of records after another, and None at the end of the input."""
        if self._plan.workers == 1:
            blocks = ((each, each.records()) for each in lines)
            return lambda: next(blocks, None)
        ahead = Ahead(((each, loop.scan_ahead(each.records())) for each in lines), self._stop.has_come)
        stack.callback(ahead.close)
        return ahead.next

    def _room(self, loop: Loop) -> int:
        """Events until the next checkpoint or report, which come when they were asked for."""
        events = loop.counters.events
        return min(self._next_checkpoint - events, self._progress.room(events))

    def _after_block(self, loop: Loop) -> None:
        if loop.counters.events >= self._next_checkpoint:
            self._next_checkpoint = loop.counters.events + self._plan.checkpoint_every
            self._save()
        self._progress.tell(loop)

    def _save(self) -> None:
        self.session.save(input=self._position._asdict())


class Progress:
    """What a person is told of a run: lines while it goes on, a table and a file at its end.

    Parameters
    ----------
    plan
        How much of that is wanted.
    rejected_kept
        What is said of the records set aside: where they are, or what would keep them.
    """

    def __init__(self, plan: Plan, rejected_kept: str = "--dead-letters keeps them all") -> None:
        self._plan = plan
        self._rejected_kept = rejected_kept
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
            self.say(f"first rejected: {loop.first_rejected} ({self._rejected_kept})")
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
        result["topic_ids"] = kept.get("topic_ids", {})
    if (taken := position_from(kept.get("input"), path)) is not None:
        result["input"] = {"lines": taken.lines, "bytes": taken.bytes}
    if "pending" in kept:
        result["pending"] = pending_of(path, model, kept["pending"]).sizes()
    if "classes" in learned:
        result["classes"] = learned["classes"]
    return result


def open_sink(path: str | None, stack: ExitStack) -> JsonLinesSink | None:
    """A file for JSON lines, open until the stack is closed; None for None."""
    if path is None:
        return None
    sink = JsonLinesSink(path)
    stack.callback(sink.close)
    sink.restart()
    return sink
