"""The first pass, which collects names, classes and moments."""

from __future__ import annotations

from streamkarma.events.labels import labelled
from streamkarma.runtime.event_buffer import EventBatch
from streamkarma.runtime.loop import Loop


class SurveyLoop(Loop):
    """A loop that learns only names, classes and moments."""

    def _run(self, batch: EventBatch) -> None:
        if self.learns:
            self.task_model.model.register_labels(batch.labels, batch.weights)
        events = len(batch.labels)
        self._next += events
        self.counters = self.counters._replace(
            events=self.counters.events + events,
            unlabelled=self.counters.unlabelled + events - int(labelled(batch.labels).sum()),
        )
        self._gatherer.begin(self._next)
