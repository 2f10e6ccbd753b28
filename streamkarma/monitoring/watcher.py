"""Watches a run, and provides its figures for requests."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from streamkarma.connectors.base import DeadLetter, Reader
from streamkarma.connectors.histogram import Histogram
from streamkarma.connectors.rows import Rows
from streamkarma.monitoring.figures import (
    Checkpoint,
    Figures,
    drift_counts,
    late_labels,
    latest_drifts,
    missing_shares,
)
from streamkarma.monitoring.highest import Highest
from streamkarma.monitoring.history import History
from streamkarma.monitoring.reasons import Reasons
from streamkarma.runtime.observer import Observer
from streamkarma.runtime.output import Output
from streamkarma.runtime.prediction_rows import rows_at
from streamkarma.runtime.report import summarise
from streamkarma.runtime.session import Session

#: Seconds between updates of the figures, and the maximum share of time for updates, if they are slow.
_PAUSE, _SHARE = 0.5, 0.02
#: Number of latest predictions shown.
_ROWS = 12
#: Seconds between rows that are made only for the page, and the size of a block whose rows are always made,
#: so that the last ones before a pause are shown.
_ROWS_PAUSE, _FEW = 0.1, 512
#: A loop without progress for this many seconds is stuck.
_STUCK_SECONDS = 60.0


class Watcher(Observer):
    """Updates the figures of a run at intervals, in the run's own thread, so that nothing changes meanwhile.

    Parameters
    ----------
    address
        The address where they are served, for the user.

    Attributes
    ----------
    figures
        The latest figures; None before the first. They are never modified, only replaced.
    history
        Some of the figures over time.
    checkpoints
        The durations of writing the model.
    highest
        The highest values of counters so far.
    """

    def __init__(self, address: str) -> None:
        self.figures: Figures | None = None
        self.history = History(2 * _PAUSE)
        self.checkpoints = Histogram()
        self.highest = Highest()
        self._address = address
        self._started = time.time()
        self._progressed = self._begun = time.monotonic()
        self._due = float("-inf")
        self._works = False
        self._reasons = Reasons()
        self._rows: deque[Rows] = deque()
        self._rows_due = float("-inf")
        self._checkpoint: Checkpoint | None = None
        self._restarts = 0

    def begin(self, say: Callable[[str], None]) -> None:
        """The run begins."""
        say(f"metrics and a live page: {self._address}")

    def watch(self, output: Output) -> Output:
        """The output of a loop, wrapped to keep the latest rows and the reasons of dead letters."""

        def predictions(rows: Rows, at: Sequence[int]) -> None:
            self._keep(rows)
            if output.predictions is not None:
                output.predictions(rows, at)

        def dead_letters(letter: DeadLetter) -> None:
            self._reasons.add(letter.error)
            if output.dead_letters is not None:
                output.dead_letters(letter)

        if output.predictions is not None:
            return Output(predictions, dead_letters)
        return Output(predictions, dead_letters, self._wants_rows)

    def progressed(self, session: Session, reader: Reader) -> None:
        """A part of the stream was learned, or there is currently no input."""
        self._progressed, self._works = time.monotonic(), True
        if self._progressed >= self._due:
            self._take(session, reader)
            now = time.monotonic()
            self._due = now + max(_PAUSE, (now - self._progressed) / _SHARE)

    def saved(self, path: str | None, seconds: float) -> None:
        """The model was written."""
        self.checkpoints.add(seconds)
        self._checkpoint = Checkpoint(time.time(), None)
        if path is not None:
            with suppress(OSError):
                self._checkpoint = self._checkpoint._replace(bytes=os.path.getsize(path))

    def failed(self) -> None:
        """An attempt to read the source has failed."""
        self._restarts += 1
        self._works = False

    @property
    def stuck_for(self) -> float | None:
        """Seconds since the last progress of the loop if it is stuck, else None."""
        seconds = time.monotonic() - self._progressed
        return seconds if seconds >= _STUCK_SECONDS else None

    @property
    def unready(self) -> str | None:
        """Why events cannot be predicted at the moment; None if they can."""
        figures = self.figures
        if figures is None or not self._works:
            return "the model is not loaded, or the source is not open"
        reader = figures.reader
        return reader.problem or (None if reader.assigned else "no partition is assigned")

    def _take(self, session: Session, reader: Reader) -> None:
        loop = session.loop
        self.figures = Figures(
            self._started,
            time.time(),
            summarise(loop, session.ignored_before, self._progressed - self._begun),
            dict(self._reasons.counts),
            missing_shares(loop),
            latest_drifts(loop),
            drift_counts(loop),
            self._last_rows(),
            self._checkpoint,
            reader.figures(),
            self._restarts,
            late_labels(loop),
        )
        self.history.add(self.figures.point())

    def _wants_rows(self, events: int) -> bool:
        """Whether to make rows only for the page; of large blocks at intervals, since that takes time."""
        is_due = time.monotonic() >= self._rows_due or sum(map(len, self._rows)) < _ROWS
        return is_due or events <= _FEW

    def _keep(self, rows: Rows) -> None:
        """Keep the blocks with the latest rows, as many as are shown."""
        self._rows_due = time.monotonic() + _ROWS_PAUSE
        self._rows.append(rows)
        while sum(map(len, self._rows)) - len(self._rows[0]) >= _ROWS:
            self._rows.popleft()

    def _last_rows(self) -> list[dict[str, Any]]:
        found = [
            row
            for rows in self._rows
            for row in rows_at(rows.columns, range(max(0, len(rows) - _ROWS), len(rows)))
        ]
        return found[-_ROWS:]
