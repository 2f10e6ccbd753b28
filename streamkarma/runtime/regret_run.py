"""A stream at rest against the baselines: the learner's run, a ladder of comparisons, a report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from streamkarma.connectors.base import Source
from streamkarma.connectors.jsonlines.sink import check_writable
from streamkarma.errors import OutputError
from streamkarma.estimators.learners import learner_of
from streamkarma.files import reason
from streamkarma.regret.tracker import Tracker
from streamkarma.runtime.destinations import check_distinct
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.progress import open_sink
from streamkarma.runtime.regret_adapter import RegretAdapter
from streamkarma.runtime.report import bound_lines, regret_table
from streamkarma.runtime.run import Run


class RegretRun:
    """One run of ``streamkarma regret``.

    Parameters
    ----------
    plan
        What to run; its ``regret`` names the baselines.
    source
        What to read: for several learners, something that can be read again.
    learners
        Names of the learners, one run each; none for the one that the plan means.
    json, plot
        Where the report and the picture go, or None.

    Raises
    ------
    StreamkarmaError
        If the plan makes no sense, or a picture of that kind cannot be made.
    """

    def __init__(
        self, plan: Plan, source: Source, learners: Sequence[str], json: str | None, plot: str | None
    ) -> None:
        self._plan, self._input, self._json, self._plot = plan, source.path, json, plot
        check_distinct({"INPUT": source.path, "--json": json, "--plot": plot})
        check_writable(json)
        check_writable(plot)
        if plot is not None:
            from streamkarma.regret.plot import check_ending

            check_ending(plot)
        # Its own table says nothing that the report does not.
        names: list[str | None] = [*learners] or [None]
        runs = [Run(plan._replace(quiet=True, learner=name), source) for name in names]
        self._runs = {learner_of(run.session.task_model.model): run for run in runs}
        for run in self._runs.values():
            tracker = _adapter_of(run).tracker
            tracker.patient = True
            tracker.say = self._say

    def execute(self) -> int:
        """Run, print the tables, write and draw what was asked for; returns the exit code.

        Raises
        ------
        StreamkarmaError
            If a run cannot go on.
        """
        code = 0
        for name, run in self._runs.items():
            if code == 0:
                self._say(f"learner {name}")
                code = run.execute()
                adapter = _adapter_of(run)
                lines = [*regret_table(adapter.summary()), *bound_lines(adapter.bound())]
                table = "\n".join([f"learner: {name}", *lines])
                print(table, file=sys.stderr if self._json == "-" else sys.stdout, flush=True)
        report = self.report()
        with ExitStack() as stack:
            if sink := open_sink(self._json, stack):
                sink.write([report])
        if self._plot is not None:
            from streamkarma.regret.plot import draw

            try:
                draw(report, self._plot)
            except OSError as error:
                raise OutputError(f"cannot write {self._plot}: {reason(error)}") from error
            self._say(f"drawn: {self._plot}")
        return code

    def _say(self, line: str) -> None:
        if not self._plan.quiet:
            print(line, file=sys.stderr, flush=True)

    def report(self) -> dict[str, Any]:
        """Everything that was found, as JSON."""
        found = {name: _adapter_of(run) for name, run in self._runs.items()}
        first = next(iter(found.values()))
        rows = [row for row in first.tracker.rows.get("projection-full", []) if "bound" in row]
        bound = {"events": [row["events"] for row in rows], "total": [_least(row) for row in rows]}
        return {
            "input": self._input,
            "task": first.task,
            "loss": first.loss,
            "events": first.tracker.reservoir.events,
            "learners": {name: _learner_report(adapter.tracker) for name, adapter in found.items()},
            **({"bound": bound} if rows else {}),
        }


def _adapter_of(run: Run) -> RegretAdapter:
    adapter = run.session.regret_adapter
    assert adapter is not None
    return adapter


def _learner_report(tracker: Tracker) -> dict[str, Any]:
    """How one learner fared, and what the baselines would have suffered."""
    points = tracker.curve_to_now()
    curve = {
        "events": [at for at, _, _ in points],
        "mean_loss": [loss / at for at, loss, _ in points],
        "error": [error / at for at, _, error in points],
    }
    return {"curve": curve, "regret": tracker.rows}


def _least(row: dict[str, Any]) -> float:
    """The least that the theorem says of the regret against ``f_{w,Q*}``."""
    bound = row["bound"]
    highest = np.inf if bound["ceiling"] is None else bound["ceiling"]
    return float(min(bound["total"], highest - row["baseline_loss"]))
