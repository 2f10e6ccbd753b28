"""How far a slow fit is, and about how long it will still take."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

#: Seconds between two lines.
PAUSE = 1.0


class Progress:
    """Says how many of a known number of steps are done; at most one line a second.

    Parameters
    ----------
    say
        Is given each line.
    total
        How many steps there will be, at most.
    what
        The plural of a step, with what happens to it.

    Examples
    --------
    >>> progress = Progress(print, 3, "kernels computed")
    >>> progress.line(30.0)
    '0 of 3 kernels computed'
    >>> progress.done = 1
    >>> progress.line(30.0)
    '1 of 3 kernels computed, about 60 s left'
    """

    def __init__(self, say: Callable[[str], None], total: int, what: str) -> None:
        self.say, self.total, self.what = say, total, what
        self.done = 0
        self._began = self._said = monotonic()

    def step(self, detail: str = "") -> None:
        """One step more is done; ``detail`` is added to the line."""
        self.reach(self.done + 1, detail)

    def reach(self, done: int, detail: str = "") -> None:
        """So many steps are done by now, or need no longer be."""
        self.done = done
        now = monotonic()
        if now - self._said >= PAUSE:
            self._said = now
            self.say(self.line(now - self._began) + (f"; {detail}" if detail else ""))

    def line(self, seconds: float) -> str:
        """What to say after so many seconds: the steps to come take as long as those done."""
        text = f"{self.done} of {self.total} {self.what}"
        if not 0 < self.done < self.total:
            return text
        return f"{text}, about {seconds * (self.total - self.done) / self.done:.0f} s left"
