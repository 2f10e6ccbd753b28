"""One run of the program over a stream, from opening to summary."""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from streamkarma._engine import use_threads
from streamkarma.connectors.base import Reader, RecordBlock, RetriableError, Source
from streamkarma.errors import OutputError, RunError, UsageError
from streamkarma.lock import ModelLock
from streamkarma.runtime.context import RunContext
from streamkarma.runtime.destinations import Destinations, check_files
from streamkarma.runtime.following_session import FollowingSession
from streamkarma.runtime.observer import Observer
from streamkarma.runtime.output import Totals, both
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.progress import Progress
from streamkarma.runtime.session import Session
from streamkarma.runtime.shared_session import SharedSession, check_shareable
from streamkarma.runtime.signals import StopSignal
from streamkarma.system import keep_freed_memory

#: After a signal, a run on a shared source ends within this time even if the source does not respond; the
#: files are consistent at any moment.
GRACE_SECONDS = 8.0
#: Number of consecutive failures without a commit after which to give up.
MOST_FAILURES = 6


class Run:
    """A run of a plan over a source.

    Parameters
    ----------
    plan
        The plan.
    source
        The source to read.
    observer
        The observer.

    Raises
    ------
    StreamkarmaError
        If the plan is invalid, or its model cannot be used.
    """

    def __init__(self, plan: Plan, source: Source, observer: Observer | None = None) -> None:
        check_files(
            {"INPUT": source.path, "--model" if plan.learn else "MODEL": plan.model},
            {
                "--predictions": plan.predictions,
                "--dead-letters": plan.dead_letters,
                "--summary": plan.summary,
            },
        )
        self._plan, self._source = plan, source
        self._progress = Progress(plan, source.dead_letter_hint)
        self._observer = observer or Observer()
        self._lock: ModelLock | None = None
        if plan.learn and plan.model is not None:
            self._lock = ModelLock(plan.model, source.shared, source.sharers)
        use_threads(plan.workers)
        keep_freed_memory()
        session = self._load(plan.base or plan.model)
        if not source.timestamped:
            _check_time(session)
        if plan.base is not None:
            check_shareable(plan.base, session.task_model.model)
        self._progress.begin(session)
        self._observer.begin(self._progress.say)
        self._ignored_before = session.ignored_before
        self._stop = StopSignal(GRACE_SECONDS if source.shared else None)
        saves = source.shared or (plan.learn and plan.model is not None)
        #: The totals of a loop that was fed nothing.
        self._nothing: Totals | None = None
        self._context = RunContext(plan, session, self._stop, self._observer, self._progress.say, saves)

    @property
    def session(self) -> Session:
        """The model and its loop."""
        return self._context.session

    def execute(self) -> int:
        """Run until the source ends, a signal arrives, or the reader of the output is gone.

        Returns
        -------
        The exit code: 0, or 130 or 143 after a signal.

        Raises
        ------
        StreamkarmaError
            If the run cannot continue. What was learned so far is saved, unless the model or an output cannot
            be written; the model then stays as it was last saved.
        """
        failure: RunError | None = None
        with ExitStack() as stack:
            if self._lock is not None:
                stack.callback(self._lock.release)
            stack.enter_context(self._stop.installed())
            stack.callback(lambda: self.session.close())
            if self._source.shared and not self._source.keeps_models and self._context.path is None:
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                self._context.path = str(Path(folder) / "model.karma")
            try:
                self._attempt_until_done(stack)
                self._compare()
            except InterruptedError:
                pass
            except OutputError:
                raise
            except RunError as error:
                failure = error
            if failure is None or self._context.destinations is not None:
                self.session.close()
                failed = {}
                if failure is not None:
                    failed = {"failed": str(failure)}
                    self._forget_uncommitted()
                self._progress.close(self.session, **self._source.summary(), **failed)
        if failure is not None:
            raise failure
        if self._stop.number is not None:
            return 128 + self._stop.number
        self._progress.check_use()
        return 0

    def _forget_uncommitted(self) -> None:
        """Count only what is committed: with a failure, a shared source discards the rest.

        If a bad record has stopped the run, everything before it is committed.
        """
        totals, loop = self._context.totals or self._nothing, self.session.loop
        if self._source.shared and totals is not None and loop.failure is None:
            loop.resume_totals(totals)

    def _attempt_until_done(self, stack: ExitStack) -> None:
        """Read the source to its end; after each failure, resume from the last commit."""
        while True:
            try:
                self._attempt(stack)
                return
            except RetriableError as error:
                self._context.failures += 1
                self._observer.failed()
                if self._context.failures > MOST_FAILURES:
                    raise RunError(f"{self._context.failures} attempts in a row failed: {error}") from error
                self._progress.say(f"{error}; retrying from the last commit")
                self._pause(0.25 * 2**self._context.failures)

    def _attempt(self, stack: ExitStack) -> None:
        context = self._context
        with self._source.open(context) as reader:
            context.reader = reader
            if self._source.shared:
                # Until now an older process may have written the model; from now on it cannot.
                self.session.close()
                context.session = self._new_session(reader)
                if self._plan.learn:
                    self.session.ignored_before = self._ignored_before
            session = self.session
            session.wait_until(context.stopped)
            reader.resume(session.kept if session.resumed and self._plan.learn else None)
            if context.destinations is None:
                context.destinations = Destinations(self._plan, stack, self._stop)
            destinations = context.destinations
            if self._source.shared and not self._plan.learn:
                # The files contain the rows of records that the group has already consumed.
                destinations.extend()
            else:
                session.resume_outputs(destinations, self._source.rewinds, context.say)
            # Files may lack committed rows, which are written again; bad records do not stop this.
            session.new_loop(destinations.output(), fail=False)
            for block in reader.replay():
                self._replay(block)
            output = both(reader.sink, destinations.output(self._has_failed), self._has_failed)
            loop = session.new_loop(self._observer.watch(output))
            self._nothing = loop.totals()
            if context.totals is not None:
                loop.resume_totals(context.totals)
                if not self._plan.learn:
                    loop.number_from(context.events + 1)
            context.postpone_checkpoint()
            self._consume(reader)

    def _new_session(self, reader: Reader) -> Session:
        if reader.store is None:
            return self._load(self._context.path)
        return SharedSession(self._plan, reader.store, self._progress.say)

    def _load(self, path: str | None) -> Session:
        if self._plan.follow and path is not None:
            return FollowingSession(self._plan, path, self._progress.say)
        return Session(self._plan, path, self._progress.say)

    def _replay(self, block: RecordBlock) -> None:
        block.learned(self.session.loop.feed(block.records))

    def _consume(self, reader: Reader) -> None:
        """Process the stream."""
        with suppress(InterruptedError):
            for block in reader.blocks():
                self.session.refresh()
                if block is None:
                    reader.maybe_commit()
                    self._report(reader)
                else:
                    self._learn(block, reader)
                if self._is_over():
                    break
        reader.commit()

    def _learn(self, block: RecordBlock, reader: Reader) -> None:
        """Predict and learn a block, in parts that end where a checkpoint or a report is due."""
        loop, at = self.session.loop, 0
        while at < len(block.records) and not self._is_over():
            most = self._room() if block.divisible else sys.maxsize
            at = self.session.feed(block, at, most, self._may_continue)
            if self._has_lost_rows():
                return
            block.learned(at)
            if loop.failure is None:
                reader.maybe_commit()
            self._report(reader)

    def _may_continue(self) -> bool:
        """Whether to continue with a partly learned block."""
        self._progress.update(self.session.loop)
        return not self._is_over()

    def _report(self, reader: Reader) -> None:
        self._progress.update(self.session.loop)
        self._observer.progressed(self.session, reader)

    def _is_over(self) -> bool:
        """Whether to stop although the source may have more."""
        context, limit = self._context, self._plan.max_events
        unread = context.destinations is not None and context.destinations.unread
        enough = limit is not None and context.events >= limit
        return context.stopped() or unread or self._has_failed() or enough

    def _has_lost_rows(self) -> bool:
        """Whether rows had no reader and no other destination: scored records are then unanswered."""
        sink, destinations = self._context.reader.sink, self._context.destinations
        unread = destinations is not None and destinations.unread
        return unread and not self._plan.learn and not (sink is not None and sink.takes_predictions)

    def _has_failed(self) -> bool:
        return self.session.loop.failure is not None

    def _room(self) -> int:
        """Number of events until the end or the next checkpoint or report, so that it is on time."""
        events, limit = self._context.events, self._plan.max_events
        room = min(self._progress.room(events), sys.maxsize if limit is None else limit - events)
        # A commit that is overdue does not hold up the stream.
        due = self._context.next_checkpoint - events
        return min(room, due) if due > 0 else room

    def _compare(self) -> None:
        """Compare with the baselines one last time, unless a bad record stopped the run."""
        session = self.session
        if session.loop.failure is None:
            # Input that the model has already read, or a topic without new records, is not an empty input.
            self._progress.over(whole=not (self._source.rewinds or self._is_over()))
            session.compare()
        session.close()
        if session.regret_adapter is not None and not self._source.shared:
            self._context.checkpoint()
        if session.loop.failure is not None:
            raise RunError(session.loop.failure)

    def _pause(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self._context.stopped():
                raise InterruptedError
            time.sleep(0.05)


def _check_time(session: Session) -> None:
    """Check that records have a time if the wait for labels is limited."""
    pending = session.pending
    if pending is not None and pending.seconds is not None and session.fields.time is None:
        raise UsageError(
            "--pending-seconds needs --time NAME, the attribute with the time of an event "
            "(or --time now, for this machine's clock)"
        )
