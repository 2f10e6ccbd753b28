"""Passes the results of a run on to the regret tracker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Arrays
from streamkarma.core.theory import DEFAULT_REGULARITY
from streamkarma.errors import ModelFileError, UsageError
from streamkarma.estimators.classifier import KARMAClassifier
from streamkarma.estimators.common import Weights
from streamkarma.estimators.learners import Model, learner_of
from streamkarma.estimators.results import ClassificationResult
from streamkarma.events.reservoir import WEIGHT
from streamkarma.parameters.learning import DEFAULT_RHO
from streamkarma.parameters.running import RUNNING
from streamkarma.parameters.words import AUTO
from streamkarma.regret.competitor import LIPSCHITZ, LearnerProfile
from streamkarma.regret.losses import comparable, pointwise_loss
from streamkarma.regret.tracker import Tracker, parse_baselines
from streamkarma.regret.verdict import verdict
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.task import TaskModel

Full = Sequence[dict[str, float] | None]


class RegretAdapter:
    """Feeds a tracker with each batch of results.

    Parameters
    ----------
    task_model
        The model and its task.
    tracker
        The tracker.
    """

    def __init__(self, task_model: TaskModel, tracker: Tracker) -> None:
        self.tracker = tracker
        self._task_model = task_model

    @property
    def task(self) -> str:
        """The current task; binary until a third class is seen."""
        return "binary" if self._task_model.name == "auto" else self._task_model.name

    @property
    def loss(self) -> str:
        """The loss to compare by."""
        return comparable(self.task, self._task_model.model.loss)

    def classes(
        self, result: ClassificationResult, predicted: NDArray[np.int64], weights: Weights, full: Full
    ) -> None:
        """Add the results of a classifier."""
        weighed = np.array(weights, np.float64)
        rows = np.flatnonzero((result.targets >= 0) & (weighed > 0.0))
        targets = result.targets[rows].astype(np.float64)
        losses = result.losses[rows]
        if self.loss != self._task_model.model.loss:
            losses = pointwise_loss(self.loss, result.scores[rows], targets)
        self._take(rows, targets, losses, predicted[rows] != result.targets[rows], weighed, full)

    def numbers(
        self, predictions: NDArray[np.float64], labels: Sequence[float | None], weights: Weights, full: Full
    ) -> None:
        """Add the predictions of a regressor."""
        weighed = np.array(weights, np.float64)
        wanted = np.array([np.nan if label is None else label for label in labels], np.float64)
        rows = np.flatnonzero(~np.isnan(wanted) & (weighed > 0.0))
        losses = pointwise_loss(self.loss, predictions[rows, np.newaxis], wanted[rows])
        self._take(rows, wanted[rows], losses, np.abs(predictions - wanted)[rows], weighed, full)

    def _take(
        self,
        rows: NDArray[np.intp],
        targets: NDArray[np.float64],
        losses: NDArray[np.float64],
        errors: NDArray[Any],
        weights: NDArray[np.float64],
        full: Full,
    ) -> None:
        block = self.tracker.indices.block(self._task_model.model.encoded)
        if len(rows):
            facts = np.column_stack([targets, weights[rows], weights[rows] * losses, errors])
            vectors = [full[row] for row in rows] if full else None
            if full:
                entries = enumerate(self._task_model.model.vocabulary.entries(), 1)
                self.tracker.reservoir.name_coordinates = {
                    entry[0]: self.tracker.indices.coordinate(at)
                    for at, entry in entries
                    if entry is not None and entry[1] is None
                }
            self.tracker.learner = _of_bound(
                self._task_model.model, self.tracker.reservoir.events + len(rows)
            )
            self.tracker.add(block, rows, facts, self.task, self.loss, vectors)

    def finish(self) -> None:
        """Compare one last time, on all events."""
        self.tracker.finish(self.task, self.loss)

    def summary(self) -> dict[str, dict[str, Any]]:
        """The last result of each baseline."""
        return self.tracker.latest()

    def verdict(self) -> str:
        """The learner compared with the best offline linear model, in a sentence."""
        curve = self.tracker.curve
        _, mean, _ = [(0, 0.0, 0.0), *curve.to_now()][-1]
        name = learner_of(self._task_model.model)
        return verdict(name, self.loss, self.summary(), curve.events, mean)

    def bound(self) -> dict[str, Any] | None:
        """The bound on the regret against f_{w,Q*}, or its known terms.

        None without events, and for losses that the theorem does not cover.
        """
        events = self.tracker.reservoir.events
        learner = _of_bound(self._task_model.model, events)
        if learner is None or self.task != "binary" or self.loss not in LIPSCHITZ or not events:
            return None
        row = self.tracker.latest().get("projection-full", {})
        if "bound" in row:
            return {**row["bound"], "regret": row["regret"]}
        epochs = learner.epochs(events)
        sample = self.tracker.reservoir.snapshot()
        known = {
            "L": float(sample.facts[:, WEIGHT].max()) if sample.exact else None,
            "rho": epochs[-1].rho,
            "gamma": epochs[-1].gamma,
            "T": events,
            "epochs": len(epochs),
            "squared_radius": 1.0 if learner.normalize else None,
        }
        unknown = "B, λ, ‖w‖ and the subspace need complete vectors (--full NAME)"
        return {**known, "unknown": unknown, "deviations": learner.deviations}


def _of_bound(model: Model, events: int) -> LearnerProfile | None:
    """The learner's quantities in the bound after this many compared events; None if it does not apply."""
    if not isinstance(model, KARMAClassifier):
        return None
    deviations = [
        what
        for what, is_so in (
            ("no --rho: steps are not 1/(ρt)", model.rho is None or model.eta is not None),
            (
                "support vectors were pruned (--budget)",
                model.budget is not None and _pruned(model.summary()) > 0,
            ),
            ("--forget", model.forget is not None),
            ("--loss squared_hinge: its slope has no bound", model.loss not in LIPSCHITZ),
            ("--class-weight: it learns from other losses than are compared", model.class_weight is not None),
            ("predictions by the average of all iterates", model.average),
            ("the model had learned before", model.steps != events),
        )
        if is_so
    ]
    if model.rho == AUTO:
        gamma = None if model.gamma == AUTO else int(model.gamma)
        lam = model.regularity or DEFAULT_REGULARITY
        return LearnerProfile(gamma, None, model.normalize, "; ".join(deviations), lam, model.horizon)
    rho = DEFAULT_RHO if model.rho is None else float(model.rho)
    return LearnerProfile(int(model.gamma), rho, model.normalize, "; ".join(deviations))


def _pruned(summary: dict[str, Any]) -> int:
    """How many support vectors changed the score as the budget was kept; merging equal patterns does not."""
    return int(summary["merged_closest"] + summary["removed"])


def open_regret(
    plan: Plan, task_model: TaskModel, full: bool, state: Any, arrays: Arrays, path: str | None
) -> RegretAdapter | None:
    """The tracker of a plan: a new one, or the one saved with the model.

    Raises
    ------
    UsageError
        For an unknown name, or if --regret-memory differs from the saved one.
    ModelFileError
        If the saved state is inconsistent.
    """
    names = parse_baselines(plan.regret, full)
    if not names or not plan.learn:
        return None
    if state is None:
        memory = plan.regret_memory or RUNNING["regret_memory"].default
        return RegretAdapter(task_model, Tracker(names, memory, plan.regret_seconds))
    try:
        tracker = Tracker.restored(state, arrays)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ModelFileError(f"{path} has no valid sample for the regret: {error!r:.200}") from error
    if plan.regret_memory not in (None, tracker.reservoir.limit):
        raise UsageError(
            f"{path} keeps a sample of {tracker.reservoir.limit:,} events for the regret, not "
            f"{plan.regret_memory:,}; leave --regret-memory out or start another model"
        )
    tracker.compare_with(names, plan.regret_seconds)
    return RegretAdapter(task_model, tracker)
