"""The first pass: what names, classes and numbers there are."""

from __future__ import annotations

from streamkarma.events.labels import labelled
from streamkarma.runtime.event_buffer import EventBatch
from streamkarma.runtime.loop import Loop


class SurveyLoop(Loop):
    """Reads records as a loop does, and learns from them only names, classes and moments, if anything."""

    def _run(self, batch: EventBatch) -> None:
        if self.learns:
            self.task_model.model.meet(batch.labels, batch.weights)
        events = len(batch.labels)
        self._next += events
        self.counters = self.counters._replace(
            events=self.counters.events + events,
            unlabelled=self.counters.unlabelled + events - int(labelled(batch.labels).sum()),
        )
        self._gatherer.begin(self._next)
