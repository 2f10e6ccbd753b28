"""Compares learners with baselines on a finite stream, and writes a report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from streamkarma.connectors.base import Source
from streamkarma.estimators.learners import learner_of
from streamkarma.printable import printable
from streamkarma.regret.loss_curves import Point, RecentLosses
from streamkarma.runtime import mistakes
from streamkarma.runtime.destinations import check_files
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.progress import write_object
from streamkarma.runtime.regret_adapter import RegretAdapter
from streamkarma.runtime.regret_table import bound_lines, regret_table
from streamkarma.runtime.run import Run


class RegretRun:
    """One run of ``streamkarma regret``.

    Parameters
    ----------
    plan
        What to run; its ``regret`` names the baselines.
    source
        The input; for several learners it must be readable more than once.
    learners
        Names of the learners, one run each; if empty, the learner of the plan.
    json, plot
        Paths of the report and the plot, or None.

    Raises
    ------
    StreamkarmaError
        If the plan is invalid, or the plot's format is not supported.
    """

    def __init__(
        self, plan: Plan, source: Source, learners: Sequence[str], json: str | None, plot: str | None
    ) -> None:
        self._plan, self._input, self._json, self._plot = plan, source.path, json, plot
        check_files({"INPUT": source.path}, {"--json": json, "--plot": plot})
        if plot is not None:
            from streamkarma.regret.plot import check_ending

            check_ending(plot)
        # The run's own table would repeat the report.
        names: list[str | None] = [*learners] or [None]
        runs = [Run(plan._replace(quiet=True, learner=name), source) for name in names]
        self._runs = {learner_of(run.session.task_model.model): run for run in runs}
        for run in self._runs.values():
            # What a run finds in the stream is said all the same: the task, what is ignored, drift.
            run.session.task_model.announce = self._say
            tracker = _adapter_of(run).tracker
            tracker.patient = True
            if plan.recent:
                tracker.recent = RecentLosses(plan.recent)
            tracker.say = self._say

    def execute(self) -> int:
        """Run, print the tables, and write the report and the plot; returns the exit code.

        Raises
        ------
        StreamkarmaError
            If a run cannot continue.
        """
        code = 0
        for name, run in self._runs.items():
            if code == 0:
                self._say(f"learner {name}")
                code = run.execute()
                self._say_mistakes(run)
                adapter = _adapter_of(run)
                lines = [*regret_table(adapter.summary(), adapter.verdict()), *bound_lines(adapter.bound())]
                self._show("\n".join([f"learner: {name}", *lines]))
        report = self.report()
        write_object(self._json, report)
        if self._plot is not None:
            from streamkarma.regret.plot import draw

            draw(report, self._plot)
            self._say(f"plot written to {self._plot}")
        return code

    def _say_mistakes(self, run: Run) -> None:
        """Report records that are not in the comparison, as the run's own table would have done."""
        loop = run.session.loop
        useless = mistakes.useless(loop, run.session.fields.target, whole=True)
        if loop.first_rejected:
            self._say(f"rejected: {loop.counters.rejected:,}, first: {loop.first_rejected}")
        if useless is not None:
            self._say(f"warning: {useless}")

    def _show(self, table: str) -> None:
        """Print a table, on standard error if the report goes to standard output."""
        if self._json == "-":
            self._say(table)
        else:
            print(table, flush=True)

    def _say(self, line: str) -> None:
        if not self._plan.quiet:
            print(printable(line, keep="\n"), file=sys.stderr, flush=True)

    def report(self) -> dict[str, Any]:
        """All results, as JSON."""
        run = next(iter(self._runs.values()))
        first = _adapter_of(run)
        rows = [row for row in first.tracker.rows.get("projection-full", []) if "bound" in row]
        bound = {
            "events": [row["events"] for row in rows],
            "regret_bound": [_regret_bound(row) for row in rows],
        }
        return {
            "input": self._input,
            "task": first.task,
            "loss": first.loss,
            "events": first.tracker.reservoir.events,
            "rejected": run.session.loop.counters.rejected,
            "verdict": first.verdict(),
            "learners": {name: self._learner_report(run) for name, run in self._runs.items()},
            **({"bound": bound} if rows else {}),
        }

    def _learner_report(self, run: Run) -> dict[str, Any]:
        """One learner's loss over time, where its errors rose, and the comparison with each baseline."""
        tracker = _adapter_of(run).tracker
        report: dict[str, Any] = {"curve": _columns(tracker.curve.to_now())}
        if tracker.recent is not None:
            report["recent"] = {"window": tracker.recent.window, **_columns(tracker.recent.to_now())}
        if self._plan.drift:
            report["drift"] = [
                {"events": drift.label, "before": drift.before, "after": drift.after}
                for drift in run.session.loop.monitor.drifts
                if drift.attribute is None
            ]
        return {**report, "regret": tracker.rows}


def _adapter_of(run: Run) -> RegretAdapter:
    adapter = run.session.regret_adapter
    assert adapter is not None
    return adapter


def _columns(points: Sequence[Point]) -> dict[str, list[Any]]:
    names = ("events", "mean_loss", "error")
    return {name: [point[number] for point in points] for number, name in enumerate(names)}


def _regret_bound(row: dict[str, Any]) -> float:
    """The tighter of the theorem's two bounds on the regret against ``f_{w,Q*}``."""
    bound = row["bound"]
    highest = np.inf if bound["ceiling"] is None else bound["ceiling"]
    return float(min(bound["total"], highest - row["baseline_loss"]))
