"""One model from past events, learned in parts on many machines."""

from __future__ import annotations

from contextlib import ExitStack

from streamkarma._engine import use_threads
from streamkarma.errors import RunError
from streamkarma.lock import ModelLock
from streamkarma.runtime.destinations import Destinations, check_files
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.progress import Progress
from streamkarma.runtime.session import Session
from streamkarma.spark.inputs import Inputs
from streamkarma.spark.reading import Chunk
from streamkarma.spark.settling import settle
from streamkarma.spark.states import State, summed
from streamkarma.spark.tasks import over_parts, rows_in_order, write_letters
from streamkarma.spark.tree import merged_parts
from streamkarma.spark.watch import watched
from streamkarma.spark.windows import Window, split_windows
from streamkarma.spark.work import Copy, Learn, Survey


class Backfill:
    """Learns an input in two passes.

    The first pass collects names, classes and moments from all records. Starting from these, each part learns
    separately in the second pass, and the models of the parts are merged.

    Parameters
    ----------
    plan
        The plan.
    warm, tail
        Number of records learned on the driver, in order, before and after the parts.

    Raises
    ------
    StreamkarmaError
        If the plan is invalid, or its model cannot be used.
    """

    def __init__(self, plan: Plan, warm: int = 0, tail: int = 0) -> None:
        check_files({"--model": plan.model}, {"--dead-letters": plan.dead_letters, "--summary": plan.summary})
        self._plan, self._warm, self._tail = plan, warm, tail
        self._lock = ModelLock(plan.model) if plan.model is not None else None
        use_threads(plan.workers)
        self._progress = Progress(plan, "--dead-letters keeps them all")
        self.session = Session(plan, plan.model, self._progress.say)

    def run(self, inputs: Inputs) -> None:
        """Learn all parts, write the model, and report the results.

        Raises
        ------
        StreamkarmaError
            If it fails; the model is then unchanged.
        """
        with ExitStack() as stack:
            if self._lock is not None:
                stack.callback(self._lock.release)
            self._progress.begin(self.session)
            destinations = Destinations(self._plan, stack)
            destinations.restart()
            self._learn(inputs, destinations)
            self._progress.over()
            self.session.save()
            self._progress.close(self.session)
        self._progress.check_use()

    def _learn(self, inputs: Inputs, destinations: Destinations) -> None:
        session = self.session
        surveyed = self._survey(inputs)
        lines = {int(part): counts for part, counts in surveyed.lines.items()}
        inputs, sizes = inputs.numbered(lines), {part: sum(counts) for part, counts in lines.items()}
        first, middle, last = split_windows(sizes, self._warm, self._tail)
        output = destinations.output()
        session.take_over(surveyed.model, surveyed.kept, session.loop.totals(), output)
        # The counts of the first pass must not be added again.
        session.task_model.model.freeze()
        self._learn_here(inputs, first)
        if middle:
            base = State.of(session.task_model.model, session.described())
            parts = self._learn_parts(inputs, base, middle, destinations)
            totals = summed([session.loop.totals(), parts.totals])
            session.take_over(parts.model, parts.kept, totals, output)
            if self._plan.fail and totals.first_rejected is not None:
                raise RunError(totals.first_rejected)
            session.task_model.model.freeze()
        self._learn_here(inputs, last)
        session.task_model.model.freeze(False)

    def _survey(self, inputs: Inputs) -> State:
        """The first pass."""
        session = self.session
        say = self._progress.say
        settle(session, inputs)
        base = State.of(session.task_model.model, session.described()).to_bytes()
        with watched(inputs.frame.sparkSession.sparkContext, "first pass", say):
            parts = over_parts(inputs.frame, inputs.reader, Survey(base))
            surveyed = merged_parts(parts, base, inputs.names)
        surveyed.model.end_survey()
        surveyed.model.merged_from = []
        return surveyed

    def _learn_parts(
        self, inputs: Inputs, base: State, windows: dict[int, Window], destinations: Destinations
    ) -> State:
        """The second pass."""
        letters = self._plan.dead_letters is not None
        data = base.to_bytes()
        every = {part: windows.get(part, (0, 0)) for part in range(inputs.size)}
        with watched(inputs.frame.sparkSession.sparkContext, "second pass", self._progress.say):
            parts = over_parts(inputs.frame, inputs.reader, Learn(data, every, letters))
            return write_letters(
                parts, letters, destinations, lambda states: merged_parts(states, data, inputs.names)
            )

    def _learn_here(self, inputs: Inputs, windows: dict[int, Window]) -> None:
        """Learn some records in order, in this process."""
        if not windows:
            return
        loop = self.session.loop
        for row in rows_in_order(over_parts(inputs.some(list(windows)), inputs.reader, Copy(windows))):
            loop.feed(Chunk.unpacked(row.data).records())
            if loop.failure is not None:
                raise RunError(loop.failure)
