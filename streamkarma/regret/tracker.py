"""Tracks the learner's loss, and refits the baselines as the stream grows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Arrays, Floats
from streamkarma.baselines.registry import REGISTRY
from streamkarma.checkpoint import natural
from streamkarma.errors import UsageError
from streamkarma.events.block import Block
from streamkarma.events.lasting_indices import LastingIndices
from streamkarma.events.reservoir import ERROR, LOSS, WEIGHT, Reservoir
from streamkarma.parameters.words import FAST_BASELINES
from streamkarma.printable import shown
from streamkarma.regret.background_fit import BackgroundFit, Worker
from streamkarma.regret.competitor import LearnerProfile
from streamkarma.regret.loss_curves import LossCurve, RecentLosses
from streamkarma.regret.sufficient_stats import NAMES, SufficientStats

#: Baselines are fitted after FIRST, 2 FIRST, 4 FIRST … events.
FIRST = 256

#: Baselines that need complete vectors; they are added if the stream has them.
ORACLES = ("full", "projection-full")


def parse_baselines(text: Any, full: bool = False, called: str = "--regret") -> list[str]:
    """Names of baselines from a comma-separated list, which may contain ``all``, ``fast`` and ``none``.

    A list of names is also accepted. With ``full``, the stream has complete vectors, and the oracles are
    added. ``called`` is the name of the list in messages.

    Raises
    ------
    UsageError
        For an unknown name, or an empty list.

    Examples
    --------
    >>> parse_baselines("mean, karma-batch"), parse_baselines("none")
    (['mean', 'karma-batch'], [])
    """
    names: list[str] = []
    listed = text.split(",") if isinstance(text, str) else list(text) if isinstance(text, Iterable) else []
    known = f"there are all, fast, none, {', '.join(REGISTRY)}"
    if not listed or not all(isinstance(part, str) for part in listed) or not any(map(str.strip, listed)):
        raise UsageError(f"{called} {shown(text)} names no baseline; {known}")
    words = [part.strip() for part in listed]
    for word in words:
        if word == "all":
            names += [name for name in REGISTRY if name not in ORACLES]
        elif word == "fast":
            names += FAST_BASELINES
        elif word in REGISTRY:
            names.append(word)
        elif word not in ("none", ""):
            raise UsageError(f"{called} {word}: no such baseline; {known}")
    if names and full:
        names += ORACLES
    return list(dict.fromkeys(names))


class Tracker:
    """Keeps the learner's loss and compares it with baselines as the stream grows.

    Parameters
    ----------
    names
        Names of the baselines.
    memory
        Maximum number of events kept. Beyond that, a uniform sample is kept and the results are estimates.
    seconds
        Time limit for each fit of a baseline.
    seed
        Seed of the sample.
    patient
        Wait for every comparison instead of skipping those that are due while another one is running; for
        input that can wait, such as a file.

    Attributes
    ----------
    learner
        The learner's profile for the bound; None for no bound.
    stopped
        Returns whether to stop waiting.
    say
        Called with a line of progress.
    curve
        The learner's loss so far.
    recent
        The loss of its latest events; None (the default) to keep none. It is not part of ``state``.
    rows
        The results so far, by baseline: as in ``hindsight.evaluate_baseline``, or
        ``{"events": …, "problem": …}``.
    """

    def __init__(
        self,
        names: Sequence[str],
        memory: int = 20_000,
        seconds: float = 60.0,
        seed: int = 0,
        patient: bool = False,
    ) -> None:
        self.names = list(names)
        self.patient = patient
        self.learner: LearnerProfile | None = None
        self.stopped: Callable[[], bool] = lambda: False
        self.say: Callable[[str], None] = lambda line: None
        self.curve = LossCurve()
        self.recent: RecentLosses | None = None
        self.reservoir = Reservoir(memory, seed)
        #: Converts blocks for ``add``; it must see every block, with or without labels.
        self.indices = LastingIndices()
        self.seconds = seconds
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in self.names}
        self._stats: SufficientStats | None = None
        self._numbers = False
        self._fit: BackgroundFit | None = None
        self._idle: Worker | None = None
        self._next = FIRST
        self._compared_at = 0

    def add(
        self,
        block: Block,
        rows: NDArray[np.intp],
        facts: Floats,
        task: str,
        loss: str,
        full: list[dict[str, float] | None] | None = None,
    ) -> None:
        """Add labelled events, in the order in which they were learned.

        Parameters
        ----------
        block, rows, facts, full
            As in ``Reservoir.add``; the block with lasting ``indices``.
        task, loss
            As in ``hindsight.evaluate_baseline``; the learner's loss is measured in this loss.
        """
        if (task == "regression") != self._numbers:
            # The task turned out to be regression: the class indices collected so far are not targets.
            self._numbers = not self._numbers
            self.close()
            self.reservoir.clear()
            self.curve, self._next, self._compared_at = LossCurve(), FIRST, 0
            self.rows = {name: [] for name in self.names}
            if self.recent is not None:
                self.recent.clear()
        losses = np.column_stack([facts[:, LOSS], facts[:, WEIGHT] * facts[:, ERROR], facts[:, WEIGHT]])
        self.curve.add(losses)
        if self.recent is not None:
            self.recent.add(losses)
        if loss == "squared" and not self.reservoir.events and not set(NAMES).isdisjoint(self.names):
            # From the first event or not at all, because missed events cannot be added later.
            self._stats = SufficientStats()
        begin = 0
        while begin < len(rows):
            # A comparison is due after an exact number of events, regardless of the blocks.
            end = min(len(rows), begin + self._next - self.reservoir.events)
            part = slice(begin, end)
            self.reservoir.add(block, rows[part], facts[part], full[part] if full else None)
            if self._stats is not None:
                self._stats.add(block, rows[part], facts[part])
            begin = end
            if self.reservoir.events == self._next:
                self._next *= 2
                self._compare(task, loss)
        self._poll()

    def compare_with(self, names: Sequence[str], seconds: float) -> None:
        """Compare with these baselines from now on."""
        self.names, self.seconds = list(names), seconds
        self.rows = {name: [] for name in self.names}

    def finish(self, task: str, loss: str) -> None:
        """Compare a last time, on all events, and wait for the results."""
        if self._compared_at != self.reservoir.events:
            self.close()
            if not self.stopped():
                self._compare(task, loss)
        while self._fit is not None and not self.stopped():
            time.sleep(0.01)
            self._poll()
        self.close()

    def close(self) -> None:
        """Cancel the running comparison, and end the idle process."""
        if self._fit is not None:
            self._fit.close()
            self._fit = None
        if self._idle is not None:
            self._idle.end()
            self._idle = None

    def latest(self) -> dict[str, dict[str, Any]]:
        """The last result of each baseline; a problem only if it has no result."""
        last = {}
        for name, rows in self.rows.items():
            good = [row for row in rows if "problem" not in row]
            if rows:
                last[name] = (good or rows)[-1]
        return last

    def _compare(self, task: str, loss: str) -> None:
        """Start a comparison unless one is running."""
        self._poll()
        if self._fit is not None:
            return
        self._compared_at = self.reservoir.events
        wanted = [name for name in self.names if task in REGISTRY[name].tasks]
        for name in set(self.names) - set(wanted):
            if not self.rows[name]:
                self._record([(name, {"events": self.reservoir.events, "problem": f"is not for {task}"})])
        snapshot = self.reservoir.snapshot()
        if self._stats is not None and not self._stats.closed and not snapshot.exact:
            # Once the reservoir is a sample, the statistics still cover every event.
            for name in NAMES:
                if name in wanted:
                    wanted.remove(name)
                    self._record([(name, self._stats.row(name))])
        if wanted:
            worker, self._idle = self._idle, None
            self._fit = BackgroundFit(snapshot, wanted, task, loss, self.seconds, self.learner, worker)
            self.say(f"{self.reservoir.events:,} events: comparing with {', '.join(wanted)}")
        while self.patient and self._fit is not None and not self.stopped():
            time.sleep(0.01)
            self._poll()

    def _poll(self) -> None:
        if self._fit is not None:
            self._record(self._fit.poll())
            if self._fit.done:
                worker, self._fit = self._fit.worker, None
                if self.patient and worker.is_alive:
                    # A patient tracker needs the process again soon.
                    self._idle = worker
                else:
                    worker.end()

    def _record(self, found: list[tuple[str, dict[str, Any]]]) -> None:
        for name, row in found:
            self.rows[name].append(row)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """The state, as JSON and arrays, without the results of baselines, which can be recomputed."""
        kept, arrays = self.reservoir.state()
        header = {
            "memory": kept,
            "indices": self.indices.state(),
            "numbers": self._numbers,
            "next": self._next,
            "sums": None,
            **self.curve.state(),
        }
        if self._stats is not None:
            header["sums"], more = self._stats.state()
            arrays = {**arrays, **more}
        return header, arrays

    @classmethod
    def restored(cls, header: dict[str, Any], arrays: Arrays) -> Tracker:
        """Restore a ``state``; call ``compare_with`` next.

        Raises
        ------
        ValueError, KeyError, TypeError
            If its parts are inconsistent.
        """
        tracker = cls([])
        tracker.reservoir = Reservoir.restored(header["memory"], arrays)
        tracker.indices = LastingIndices.restored(header["indices"])
        tracker._numbers = bool(header["numbers"])
        tracker._next = natural(header["next"])
        if tracker._next <= tracker.reservoir.events:
            raise ValueError("the next comparison is due before the events that were seen")
        tracker.curve = LossCurve.restored(header, tracker.reservoir.events)
        if header["sums"] is not None:
            tracker._stats = SufficientStats.restored(header["sums"], arrays)
        return tracker
