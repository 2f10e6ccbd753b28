"""From what the judge saw to the tracker of the regret."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.theory import DEFAULT_REGULARITY
from streamkarma.errors import ModelFileError, UsageError
from streamkarma.estimators.classifier import KARMAClassifier
from streamkarma.estimators.common import Weights
from streamkarma.estimators.judged import Judged
from streamkarma.estimators.learners import Model
from streamkarma.estimators.settings import AUTO, DEFAULT_RHO
from streamkarma.parameters import RUNNING
from streamkarma.regret.losses import comparable, suffered
from streamkarma.regret.memory import Arrays
from streamkarma.regret.oracle import LIPSCHITZ, Learner
from streamkarma.regret.tracker import Tracker, chosen
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.task import Tasked

Full = Sequence[dict[str, float] | None]


class Comparing:
    """A tracker, and what it is told of each batch.

    Parameters
    ----------
    tasked
        The model and its task.
    tracker
        Who compares.
    """

    def __init__(self, tasked: Tasked, tracker: Tracker) -> None:
        self.tracker = tracker
        self._tasked = tasked

    @property
    def task(self) -> str:
        """The task as it stands; two classes until a third is seen."""
        return "binary" if self._tasked.name == "auto" else self._tasked.name

    @property
    def loss(self) -> str:
        """The loss in which is compared."""
        return comparable(self.task, self._tasked.model.loss)

    def classes(self, judged: Judged, predicted: NDArray[np.int64], weights: Weights, full: Full) -> None:
        """Take what a classifier said and suffered."""
        weighed = np.array(weights, np.float64)
        rows = np.flatnonzero((judged.targets >= 0) & (weighed > 0.0))
        targets = judged.targets[rows].astype(np.float64)
        losses = judged.losses[rows]
        if self.loss != self._tasked.model.loss:
            losses = suffered(self.loss, judged.scores[rows], targets)
        self._take(rows, targets, losses, predicted[rows] != judged.targets[rows], weighed, full)

    def numbers(self, predictions: NDArray[np.float64], labels: Sequence[float | None], weights: Weights,
                full: Full) -> None:  # fmt: skip
        """Take what a regression said."""
        weighed = np.array(weights, np.float64)
        wanted = np.array([np.nan if label is None else label for label in labels], np.float64)
        rows = np.flatnonzero(~np.isnan(wanted) & (weighed > 0.0))
        losses = suffered(self.loss, predictions[rows, np.newaxis], wanted[rows])
        self._take(rows, wanted[rows], losses, np.abs(predictions - wanted)[rows], weighed, full)

    def _take(self, rows: NDArray[np.intp], targets: NDArray[np.float64], losses: NDArray[np.float64],
              errors: NDArray[Any], weights: NDArray[np.float64], full: Full) -> None:  # fmt: skip
        if len(rows):
            facts = np.column_stack([targets, weights[rows], weights[rows] * losses, errors])
            vectors = [full[row] for row in rows] if full else None
            if full:
                entries = enumerate(self._tasked.model.vocabulary.entries(), 1)
                self.tracker.memory.places = {
                    name: at for at, (name, category) in entries if category is None
                }
            self.tracker.learner = _of_bound(self._tasked.model, self.tracker.memory.events + len(rows))
            self.tracker.take(self._tasked.model.encoded, rows, facts, self.task, self.loss, vectors)

    def finish(self) -> None:
        """Compare once more."""
        self.tracker.finish(self.task, self.loss)

    def summary(self) -> dict[str, dict[str, Any]]:
        """The last row of each baseline."""
        return self.tracker.latest()

    def bound(self) -> dict[str, Any] | None:
        """The bound on the regret against f_{w,Q*}, or what of it is known.

        None for losses that the theorem does not speak of, and without events.
        """
        events = self.tracker.memory.events
        learner = _of_bound(self._tasked.model, events)
        if learner is None or self.task != "binary" or self.loss not in LIPSCHITZ or not events:
            return None
        row = self.tracker.latest().get("projection-full", {})
        if "bound" in row:
            return {**row["bound"], "regret": row["regret"]}
        epochs = learner.epochs(events)
        known = {"L": 1.0, "rho": epochs[-1].rho, "gamma": epochs[-1].gamma, "T": events,
                 "epochs": len(epochs), "reach": 1.0 if learner.normalize else None}  # fmt: skip
        unknown = "B, λ, ‖w‖ and the subspace need complete vectors (--full NAME)"
        return {**known, "unknown": unknown, "strays": learner.strays}


def _of_bound(model: Model, events: int) -> Learner | None:
    """What the bound has to know, once so many events were compared; None if it speaks of others."""
    if not isinstance(model, KARMAClassifier):
        return None
    strays = [
        what
        for what, is_so in (
            ("no --rho: steps are not 1/(ρt)", model.rho is None or model.eta is not None),
            ("a --budget: support vectors are pruned", model.budget is not None),
            ("--forget", model.forget is not None),
            ("predictions by the average of all iterates", model.average),
            ("the model had learned before", model.steps != events),
        )
        if is_so
    ]
    if model.rho == AUTO:
        gamma = None if model.gamma == AUTO else int(model.gamma)
        lam = model.regularity or DEFAULT_REGULARITY
        return Learner(gamma, None, model.normalize, "; ".join(strays), lam, model.horizon)
    rho = DEFAULT_RHO if model.rho is None else float(model.rho)
    return Learner(int(model.gamma), rho, model.normalize, "; ".join(strays))


def opened(plan: Plan, tasked: Tasked, full: bool, state: Any, arrays: Arrays,
           path: str | None) -> Comparing | None:  # fmt: skip
    """The tracker a plan asks for: a new one, or the one that was kept beside the model.

    Raises
    ------
    UsageError
        For a name that is not known, or another memory than it was begun with.
    ModelFileError
        If what was kept contradicts itself.
    """
    names = chosen(plan.regret, full)
    if not names or not plan.learn:
        return None
    if state is None:
        memory = plan.regret_memory or RUNNING["regret_memory"].default
        return Comparing(tasked, Tracker(names, memory, plan.regret_seconds))
    try:
        tracker = Tracker.restored(state, arrays)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ModelFileError(f"{path} holds no sample for the regret: {error!r:.200}") from error
    if plan.regret_memory not in (None, tracker.memory.limit):
        raise UsageError(
            f"{path} keeps a sample of {tracker.memory.limit:,} events for the regret, not "
            f"{plan.regret_memory:,}; leave --regret-memory out or begin another model"
        )
    tracker.ask_for(names, plan.regret_seconds)
    return Comparing(tasked, tracker)
