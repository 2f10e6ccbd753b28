"""Predictions for a whole input, on many machines."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import accumulate

import orjson

from streamkarma.errors import RunError, UsageError
from streamkarma.runtime.destinations import Destinations, check_files
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.progress import Progress
from streamkarma.runtime.session import Session
from streamkarma.spark.files import absolute, is_new, remove_leftovers, written
from streamkarma.spark.inputs import Inputs
from streamkarma.spark.states import State, summed, unpacked_counts
from streamkarma.spark.tasks import collected, over_parts, write_letters
from streamkarma.spark.watch import watched
from streamkarma.spark.work import Count, Score


class Scoring:
    """Scores an input with a model, and writes the rows of ``streamkarma predict`` to one file per part.

    Parameters
    ----------
    plan
        The plan, with the model and the destinations of results other than predictions.
    folder
        The folder for predictions.

    Raises
    ------
    StreamkarmaError
        If the plan is invalid, its model cannot be used, or the folder is in use.
    """

    def __init__(self, plan: Plan, folder: str) -> None:
        if not is_new(folder):
            raise UsageError(f"{folder} exists already; name a new folder for the predictions")
        check_files(
            {"--predict": plan.model}, {"--dead-letters": plan.dead_letters, "--summary": plan.summary}
        )
        self._plan, self._folder = plan, absolute(folder)
        self._progress = Progress(plan, "--dead-letters keeps them all")
        self._session = Session(plan, plan.model, self._progress.say)

    def run(self, inputs: Inputs) -> None:
        """Score all parts.

        Raises
        ------
        RunError
            If a part cannot be read, or predictions cannot be written.
        """
        session, plan = self._session, self._plan
        model = State.of(session.task_model.model, session.described()).to_bytes()
        with ExitStack() as stack:
            destinations = Destinations(plan, stack)
            destinations.restart()
            inputs, firsts = self._counted(inputs, model)
            letters = plan.dead_letters is not None
            with watched(inputs.frame.sparkSession.sparkContext, "scoring", self._progress.say):
                scored = over_parts(inputs.frame, inputs.reader, Score(model, firsts, self._folder, letters))
                rows = write_letters(scored, letters, destinations, collected)
            remove_leftovers(self._folder)
            with written(f"{self._folder}/_SUCCESS"):
                pass
            self._progress.over()
            counted = summed([unpacked_counts(row.data, f"part {row.part}") for row in rows])
            session.loop.resume_totals(counted)
            self._progress.close(session)
        if plan.fail and counted.first_rejected is not None:
            raise RunError(counted.first_rejected)
        self._progress.check_use()

    def _counted(self, inputs: Inputs, model: bytes) -> tuple[Inputs, list[int]]:
        """The input with its lines numbered, and the number of the first event of each part."""
        with watched(inputs.frame.sparkSession.sparkContext, "counting", self._progress.say):
            rows = collected(over_parts(inputs.frame, inputs.reader, Count(model)))
        counted = [orjson.loads(row.data) for row in rows]
        lines = dict(enumerate(lines for _, lines in counted))
        return inputs.numbered(lines), list(accumulate((events for events, _ in counted), initial=1))
