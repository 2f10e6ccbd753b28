"""Watches a run, and has its figures ready for requests."""

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

#: Figures are taken so often, and, where that takes long, for at most this share of the time.
_PAUSE, _SHARE = 0.5, 0.02
#: Latest predictions that are shown.
_ROWS = 12
#: Rows that nobody writes are made so often, and whenever they are so few: the last before a pause are shown.
_ROWS_PAUSE, _FEW = 0.1, 512
#: A loop without progress for this many seconds is stuck.
_STUCK_SECONDS = 60.0


class Watcher(Observer):
    """Takes the figures of a run now and then, in the run's own thread: nothing changes meanwhile.

    Parameters
    ----------
    address
        Where they are served, for the user.

    Attributes
    ----------
    figures
        The last ones; None before the first. They are never changed, only replaced.
    history
        Some of them over time.
    checkpoints
        The times taken to write the model.
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
        self._turned = self._begun = time.monotonic()
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
        """The output of a loop, of which the last rows and the reasons of dead letters are kept."""

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

    def turned(self, session: Session, reader: Reader) -> None:
        """A part of the stream was learned, or there is nothing at the moment."""
        self._turned, self._works = time.monotonic(), True
        if self._turned >= self._due:
            self._take(session, reader)
            now = time.monotonic()
            self._due = now + max(_PAUSE, (now - self._turned) / _SHARE)

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
        """Seconds since the last progress of the loop; None if that is not long ago."""
        seconds = time.monotonic() - self._turned
        return seconds if seconds >= _STUCK_SECONDS else None

    @property
    def unready(self) -> str | None:
        """Why no event can be answered at the moment; None if one can."""
        figures = self.figures
        if figures is None or not self._works:
            return "the model is not loaded, or the source is not open"
        return None if figures.reader.assigned else "no partition is assigned"

    def _take(self, session: Session, reader: Reader) -> None:
        loop = session.loop
        self.figures = Figures(
            self._started,
            time.time(),
            summarise(loop, session.ignored_before, self._turned - self._begun),
            dict(self._reasons.counts),
            missing_shares(loop),
            latest_drifts(loop),
            drift_counts(loop),
            self._last_rows(),
            self._checkpoint,
            reader.figures(),
            self._restarts,
        )
        self.history.add(self.figures.point())

    def _wants_rows(self, events: int) -> bool:
        """Whether to make rows that nobody writes: of many only now and then, since that takes time."""
        is_due = time.monotonic() >= self._rows_due or sum(map(len, self._rows)) < _ROWS
        return is_due or events <= _FEW

    def _keep(self, rows: Rows) -> None:
        """Keep as many of the latest rows as are shown, and what came with them."""
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
