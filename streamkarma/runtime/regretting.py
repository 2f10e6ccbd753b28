"""A stream at rest against the baselines: the learner's run, a ladder of comparisons, a report."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Any

import numpy as np

from streamkarma.runtime.plan import Plan
from streamkarma.runtime.report import bound_lines, regret_table
from streamkarma.runtime.run import Run, open_sink


class Regretting:
    """One run of ``streamkarma regret``.

    Parameters
    ----------
    plan
        What to run; its ``regret`` names the baselines.
    json, plot
        Where the report and the picture go, or None.

    Raises
    ------
    StreamkarmaError
        If the plan makes no sense, or a picture of that kind cannot be made.
    """

    def __init__(self, plan: Plan, json: str | None, plot: str | None) -> None:
        self._plan, self._json, self._plot = plan, json, plot
        if plot is not None:
            from streamkarma.regret.picture import check_ending

            check_ending(plot)
        # Its own table says nothing that the report does not.
        self._run = Run(plan._replace(quiet=True))
        comparing = self._run.session.comparing
        assert comparing is not None
        comparing.tracker.patient = True
        comparing.tracker.say = self._say
        self._comparing = comparing

    def execute(self) -> int:
        """Run, print the table, write and draw what was asked for; returns the exit code.

        Raises
        ------
        StreamkarmaError
            If the run cannot go on.
        """
        code = self._run.execute()
        report = self.report()
        lines = [*regret_table(self._comparing.summary()), *bound_lines(self._comparing.bound())]
        table = "\n".join(lines).lstrip("\n")
        print(table, file=sys.stderr if self._json == "-" else sys.stdout, flush=True)
        with ExitStack() as stack:
            if sink := open_sink(self._json, stack):
                sink.write([report])
        if self._plot is not None:
            from streamkarma.regret.picture import draw

            draw(report, self._plot)
            self._say(f"drawn: {self._plot}")
        return code

    def _say(self, line: str) -> None:
        if not self._plan.quiet:
            print(line, file=sys.stderr, flush=True)

    def report(self) -> dict[str, Any]:
        """Everything that was found, as JSON."""
        comparing, tracker = self._comparing, self._comparing.tracker
        points = tracker.standing()
        course = {
            "events": [at for at, _, _ in points],
            "mean_loss": [loss / at for at, loss, _ in points],
            "error": [error / at for at, _, error in points],
        }
        rows = [row for row in tracker.rows.get("projection-full", []) if "bound" in row]
        bound = {"events": [row["events"] for row in rows], "total": [_least(row) for row in rows]}
        return {
            "input": self._plan.input,
            "task": comparing.task,
            "loss": comparing.loss,
            "events": tracker.memory.events,
            "learners": {"karma": {"curve": course, "regret": tracker.rows}},
            **({"bound": bound} if rows else {}),
        }


def _least(row: dict[str, Any]) -> float:
    """The least that the theorem says of the regret against ``f_{w,Q*}``."""
    bound = row["bound"]
    highest = np.inf if bound["ceiling"] is None else bound["ceiling"]
    return float(min(bound["total"], highest - row["baseline_loss"]))
