"""The progress of a slow fit, with an estimate of the remaining time."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

#: Seconds between two lines.
PAUSE = 1.0


class Progress:
    """Reports how many of a known number of steps are done, with at most one line per second.

    Parameters
    ----------
    say
        Called with each line.
    total
        Maximum number of steps.
    what
        What is counted, in the plural, such as "kernels computed".

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
        self._began = self._printed_at = monotonic()

    def step(self, detail: str = "") -> None:
        """Count one more step; ``detail`` is added to the line."""
        self.reach(self.done + 1, detail)

    def reach(self, done: int, detail: str = "") -> None:
        """Set the number of steps that are done or no longer needed."""
        self.done = done
        now = monotonic()
        if now - self._printed_at >= PAUSE:
            self._printed_at = now
            self.say(self.line(now - self._began) + (f"; {detail}" if detail else ""))

    def line(self, seconds: float) -> str:
        """The line after ``seconds``, assuming that the remaining steps take as long as those done."""
        text = f"{self.done} of {self.total} {self.what}"
        if not 0 < self.done < self.total:
            return text
        return f"{text}, about {seconds * (self.total - self.done) / self.done:.0f} s left"
