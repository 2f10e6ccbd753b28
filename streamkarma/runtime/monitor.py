"""Metrics over the latest events of a run, and drift."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamkarma._engine import Encoded
from streamkarma.estimators.learners import Model
from streamkarma.runtime.drift import APART, Drift, ErrorDrift, ObservedDrift
from streamkarma.runtime.evaluator import Evaluation
from streamkarma.runtime.recent import Recent
from streamkarma.runtime.task import TaskModel

#: Shown instead of a name.
EVICTED = "an evicted attribute"


class Monitor:
    """Monitors the events of a run.

    Parameters
    ----------
    recent
        Number of latest labelled events for means; 0 for none.
    drift
        Whether to detect changes.
    awaits
        Whether events may wait for their labels.
    """

    def __init__(self, recent: int, drift: bool, awaits: bool) -> None:
        self._awaits = awaits
        self.recent = Recent(recent)
        self._errors = ErrorDrift() if drift else None
        self._observed = ObservedDrift() if drift else None
        #: The changes found so far.
        self.drifts: list[Drift] = []
        self._announced = 0
        self._last_observed = -APART

    def add(self, events: Encoded, evaluation: Evaluation, first: int) -> None:
        """Add events in order; ``first`` is the number of the first of them."""
        labelled = ~np.isnan(evaluation.errors)
        errors = evaluation.errors[labelled]
        self.recent.add(evaluation.losses[labelled], errors)
        if self._errors is None or self._observed is None:
            return
        if evaluation.classes is None:
            # Relative to the standard deviation of the target, and mapped to between 0 and 1.
            errors = errors / (errors + evaluation.scores[labelled, 1])
        found = self._errors.add(errors, first + np.flatnonzero(labelled))
        found += self._observed.add(events, first)
        self.drifts += sorted(found, key=lambda drift: drift.event)

    def forget_attributes(self) -> None:
        """Restart the monitoring of attributes, whose indices have changed."""
        if self._observed is not None:
            self._observed = ObservedDrift()

    def announce(self, task_model: TaskModel) -> None:
        """Announce the changes found since the last call.

        If several attributes change together, only the first is named.
        """
        self._drop_names(task_model.model)
        new, self._announced = self.drifts[self._announced :], len(self.drifts)
        for drift in new:
            if drift.attribute is not None and drift.event - self._last_observed < APART:
                continue
            if drift.attribute is not None:
                self._last_observed = drift.event
            task_model.announce(in_words(drift, task_model.model.vocabulary.attribute_names))

    def _drop_names(self, model: Model) -> None:
        """Drop new changes of ``_names``; not in ``add``, where the encoder may be reading ahead."""
        if new := self.drifts[self._announced :]:
            left_out = self._names(model)
            self.drifts[self._announced :] = [drift for drift in new if drift.attribute not in left_out]

    def observed_shares(self, most: int, model: Model) -> dict[int, float]:
        """For each attribute up to ``most``, the fraction of events since its last change that observe it."""
        if self._observed is None:
            return {}
        left_out, shares = self._names(model), self._observed.shares(most)
        return {attribute: share for attribute, share in shares.items() if attribute not in left_out}

    def _names(self, model: Model) -> set[int]:
        """The attributes that records have and encoded events lack.

        These are identifiers and, where events may wait, the names of entities that have had no label yet.
        """
        encoder = model.vocabulary
        found = {attribute for attribute, kind in encoder.kinds().items() if kind == "identifier"}
        names = encoder.attribute_names.items() if self._awaits else ()
        return found.union(attribute for attribute, name in names if name == model.entity)

    def result(self, task_model: TaskModel) -> dict[str, Any]:
        """Means over the latest events, and the events at which changes were detected, as JSON."""
        result: dict[str, Any] = {}
        if (means := self.recent.means()) is not None:
            error = "mae" if task_model.predicts_numbers else "error_rate"
            result["recent"] = dict(zip(("events", "loss", error), means, strict=True))
        if self._errors is None:
            return result
        # A run that failed has not announced its last changes.
        self._drop_names(task_model.model)
        names = task_model.model.vocabulary.attribute_names
        observed: dict[str, list[int]] = {}
        for drift in self.drifts:
            if drift.attribute is not None:
                observed.setdefault(str(names.get(drift.attribute, EVICTED)), []).append(drift.event)
        errors = [drift.event for drift in self.drifts if drift.attribute is None]
        return {**result, "drift": {"errors": errors, "observed": observed}}


def in_words(drift: Drift, names: dict[int, object]) -> str:
    """A line for the user."""
    if drift.attribute is None:
        risen = f"errors have risen from {drift.before:.4f} to {drift.after:.4f}"
        return f"drift: {risen}, seen at event {drift.event:,}"
    name = names.get(drift.attribute, EVICTED)
    return (
        f"drift: {name} was in {drift.before:.0%} of the events and now is in {drift.after:.0%}, "
        f"seen at event {drift.event:,}; further changes within {APART:,} events are in the summary"
    )
