"""What was suffered, what baselines would have suffered, and when to ask them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.baselines.registry import REGISTRY
from streamkarma.checkpoint import finite, natural
from streamkarma.errors import UsageError
from streamkarma.events.block import Block
from streamkarma.regret.memory import ERROR, LOSS, Arrays, Memory
from streamkarma.regret.oracle import Learner
from streamkarma.regret.refit import Refit
from streamkarma.regret.statistics import NAMES, Sums

Floats = NDArray[np.float64]

#: Baselines are asked at FIRST, 2 FIRST, 4 FIRST … events.
FIRST = 256

#: Those whose work grows with the events, and with no more than the square of the columns: a second
#: or less for 1,000 events of 20 attributes.
FAST = ("zero", "mean", "median", "complete-case", "feature-deletion", "gmm")

#: Those that need complete vectors, and are asked where a stream has them.
ORACLES = ("full", "projection-full")


def chosen(said: str, full: bool = False) -> list[str]:
    """Names of baselines, from what a user wrote: names with commas, ``all``, ``fast``, ``none``.

    With ``full``, the stream has complete vectors: the oracles come along.

    Raises
    ------
    UsageError
        For a name that is not known.

    Examples
    --------
    >>> chosen("mean, karma-batch"), chosen("none")
    (['mean', 'karma-batch'], [])
    """
    names: list[str] = []
    for word in (part.strip() for part in said.split(",")):
        if word == "all":
            names += [name for name in REGISTRY if name not in ORACLES]
        elif word == "fast":
            names += FAST
        elif word in REGISTRY:
            names.append(word)
        elif word not in ("none", ""):
            raise UsageError(f"--regret {word}: no such baseline; there are all, fast, none, "
                             f"{', '.join(REGISTRY)}")  # fmt: skip
    if names and full:
        names += ORACLES
    return list(dict.fromkeys(names))


class Tracker:
    """Keeps what the learner suffered, and compares it with baselines as the stream grows.

    Parameters
    ----------
    names
        Of the baselines.
    memory
        Most events kept; past it they are a uniform sample, and the figures estimates.
    seconds
        What one baseline may take for one comparison.
    seed
        Of the sample.
    patient
        Wait for every comparison, instead of leaving out those that begin while another one
        is on its way: for a stream that is at rest.

    Attributes
    ----------
    learner
        What the bound has to know of it; None for no bound.
    stopped
        Says whether there is no more time to wait for anything.
    say
        Takes a line on what is going on.
    course
        What the learner had suffered, again and again: events, sum of losses, sum of errors.
    rows
        By baseline: the rows so far, see ``hindsight.judged``, or ``{"events": …, "problem": …}``.
    """

    def __init__(self, names: Sequence[str], memory: int = 20_000, seconds: float = 60.0,
                 seed: int = 0, patient: bool = False) -> None:  # fmt: skip
        self.names = list(names)
        self.patient = patient
        self.learner: Learner | None = None
        self.stopped: Callable[[], bool] = lambda: False
        self.say: Callable[[str], None] = lambda line: None
        self.course: list[tuple[int, float, float]] = []
        self._totals = np.zeros(2)
        self.memory = Memory(memory, seed)
        self.seconds = seconds
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in self.names}
        self._sums: Sums | None = None
        self._numbers = False
        self._running: Refit | None = None
        self._next = FIRST
        self._asked = 0

    def take(self, block: Block, rows: NDArray[np.intp], facts: Floats, task: str, loss: str,
             full: list[dict[str, float] | None] | None = None) -> None:  # fmt: skip
        """Add labelled events, in the order in which they were learned.

        Parameters
        ----------
        block, rows, facts, full
            As of ``Memory.take``.
        task, loss
            As of ``hindsight.judged``; what the learner suffered is in this loss.
        """
        if (task == "regression") != self._numbers:
            # The labels turned out to be numbers: what they were taken for before is no target.
            self._numbers = not self._numbers
            self.close()
            self.memory.forget()
            self.course, self._totals, self._next, self._asked = [], np.zeros(2), FIRST, 0
        self._follow(facts)
        if loss == "squared" and not self.memory.events and not set(NAMES).isdisjoint(self.names):
            # From the first event or not at all: what was missed could not be told from the sums.
            self._sums = Sums()
        begin = 0
        while begin < len(rows):
            # A comparison comes after exactly so many events, however they were cut.
            end = min(len(rows), begin + self._next - self.memory.events)
            part = slice(begin, end)
            self.memory.take(block, rows[part], facts[part], full[part] if full else None)
            if self._sums is not None:
                self._sums.take(block, rows[part], facts[part])
            begin = end
            if self.memory.events == self._next:
                self._next *= 2
                self._ask(task, loss)
        self._listen()

    def _follow(self, facts: Floats) -> None:
        """Note where the learner stands, sixteen times while the events grow tenfold or so."""
        before = self.memory.events
        # One after another from where they stood, so that blocks never show.
        sums = np.cumsum(np.vstack([self._totals, facts[:, [LOSS, ERROR]]]), axis=0)[1:]
        while (at := self._point()) <= before + len(facts):
            loss, error = sums[at - before - 1].tolist()
            self.course.append((at, loss, error))
        self._totals = sums[-1]

    def standing(self) -> list[tuple[int, float, float]]:
        """The course up to the last event."""
        now = (self.memory.events, float(self._totals[0]), float(self._totals[1]))
        return self.course if not now[0] or self.course[-1:] == [now] else [*self.course, now]

    def _point(self) -> int:
        last = self.course[-1][0] if self.course else 0
        return max(last + 1, int(last * 1.15))

    def ask_for(self, names: Sequence[str], seconds: float) -> None:
        """Compare with these baselines from now on."""
        self.names, self.seconds = list(names), seconds
        self.rows = {name: [] for name in self.names}

    def finish(self, task: str, loss: str) -> None:
        """Compare once more, with all events, and wait for it."""
        if self._asked != self.memory.events:
            self.close()
            if not self.stopped():
                self._ask(task, loss)
        while self._running is not None and not self.stopped():
            time.sleep(0.01)
            self._listen()
        self.close()

    def close(self) -> None:
        """Leave what is on its way."""
        if self._running is not None:
            self._running.close()
            self._running = None

    def latest(self) -> dict[str, dict[str, Any]]:
        """The last row of each baseline that has one, problems only where there is nothing else."""
        last = {}
        for name, rows in self.rows.items():
            good = [row for row in rows if "problem" not in row]
            if rows:
                last[name] = (good or rows)[-1]
        return last

    def _ask(self, task: str, loss: str) -> None:
        """Begin a comparison; not while another one is on its way."""
        self._listen()
        if self._running is not None:
            return
        self._asked = self.memory.events
        wanted = [name for name in self.names if task in REGISTRY[name].tasks]
        for name in set(self.names) - set(wanted):
            if not self.rows[name]:
                self._note([(name, {"events": self.memory.events, "problem": f"is not for {task}"})])
        snapshot = self.memory.snapshot()
        if self._sums is not None and not self._sums.closed and not snapshot.exact:
            # Beyond the memory the sums still know, to the last event.
            for name in NAMES:
                if name in wanted:
                    wanted.remove(name)
                    self._note([(name, self._sums.row(name))])
        if wanted:
            self._running = Refit(snapshot, wanted, task, loss, self.seconds, self.learner)
        self.say(f"{self.memory.events:,} events: comparing with {', '.join(wanted)}")
        while self.patient and self._running is not None and not self.stopped():
            time.sleep(0.01)
            self._listen()

    def _listen(self) -> None:
        if self._running is not None:
            self._note(self._running.poll())
            if self._running.done:
                self._running.close()
                self._running = None

    def _note(self, found: list[tuple[str, dict[str, Any]]]) -> None:
        for name, row in found:
            self.rows[name].append(row)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """What was seen, as JSON and arrays; what baselines answered is theirs to say again."""
        kept, arrays = self.memory.state()
        header = {"memory": kept, "numbers": self._numbers, "next": self._next, "sums": None,
                  "course": self.course, "totals": self._totals.tolist()}  # fmt: skip
        if self._sums is not None:
            header["sums"], more = self._sums.state()
            arrays = {**arrays, **more}
        return header, arrays

    @classmethod
    def restored(cls, header: dict[str, Any], arrays: Arrays) -> Tracker:
        """From a ``state``; ``ask_for`` says with what to compare.

        Raises
        ------
        ValueError, KeyError, TypeError
            If its parts contradict each other.
        """
        tracker = cls([])
        tracker.memory = Memory.restored(header["memory"], arrays)
        tracker._numbers = bool(header["numbers"])
        tracker._next = natural(header["next"])
        tracker.course = [(natural(at), finite(loss), finite(error)) for at, loss, error in header["course"]]
        loss, error = header["totals"]
        tracker._totals = np.array([finite(loss), finite(error)])
        if tracker._next <= tracker.memory.events:
            raise ValueError("the next comparison is due before the events that were seen")
        last = tracker.course[-1][0] if tracker.course else 0
        if not last <= tracker.memory.events < tracker._point():
            raise ValueError("the course of the regret is not that of the events that were seen")
        if header["sums"] is not None:
            tracker._sums = Sums.restored(header["sums"], arrays)
        return tracker
