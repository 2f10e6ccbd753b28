"""A small table on a terminal that shows the progress of a run, redrawn in place."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, TextIO

_BLOCKS = "▁▂▃▄▅▆▇█"
_HUGE = 1e300  # values are clipped to it before drawing, so that their differences stay finite
_PAUSE = 0.2  # seconds between two redraws
_WINDOW = 5.0  # seconds over which the rate is measured
_POINTS = 240  # maximum length of a history; even, since points are merged in pairs
#: Label of the experts' weights.
MEAN_WEIGHTS = "mean weight of the last 1,000 events"

_MARGIN = 30  # width of a line's name, value and gaps, without its sparkline and note


class RunStatus(NamedTuple):
    """The status of a run.

    Loss and errors are means so far, ``experts`` has the mean weights of a mixture over the last 1,000 events
    (empty for other learners), and the regret is per event, by baseline. ``recent`` has the number of latest
    labelled events, their mean loss and their mean error.
    """

    events: int
    seconds: float
    loss: float | None
    loss_name: str
    errors: tuple[str, float] | None
    support_vectors: int | None
    budget: int | None
    experts: dict[str, float]
    regret: dict[str, float]
    recent: tuple[int, float, float] | None = None


def sparkline(values: Sequence[float], width: int) -> str:
    """Draw values as blocks of eight heights, from the lowest value to the highest.

    Parameters
    ----------
    values
        The values to draw. If all are equal, they are drawn low.
    width
        Maximum number of characters; more values than that are averaged.
    """
    clipped = [max(-_HUGE, min(_HUGE, value)) for value in values]
    n, bins = len(clipped), min(len(clipped), max(width, 0))
    means = [_mean(clipped[i * n // bins : (i + 1) * n // bins]) for i in range(bins)]
    low, high = min(means, default=0.0), max(means, default=0.0)
    if low == high:
        return _BLOCKS[0] * bins
    return "".join(_BLOCKS[min(7, int((mean - low) / (high - low) * 8))] for mean in means)


class Live:
    """A table on a terminal, which must be cleared before anything else is printed.

    It is drawn just above the cursor. Once a write to the terminal has failed, nothing more is drawn.

    Parameters
    ----------
    stream
        The terminal.
    columns
        Returns its current width.
    """

    def __init__(self, stream: TextIO, columns: Callable[[], int]) -> None:
        self._stream = stream
        self._columns = columns
        # Blocks written as escapes would make the line too long.
        self._has_blocks = b"?" not in _BLOCKS.encode(stream.encoding or "utf-8", "replace")
        self._open = True
        self._height = 0  # lines of the table on the screen
        self._drawn = 0.0
        self._postponed: tuple[RunStatus, float] | None = None  # the latest, if too early to be drawn
        self._marks: deque[tuple[float, int]] = deque()
        self._loss, self._errors, self._recent = _History(), _History(), _History()

    @classmethod
    def of(cls, stream: TextIO | None, columns: Callable[[], int] | None = None) -> Live | None:
        """Create a table for a stream; None unless it is a terminal that can move its cursor."""
        with suppress(OSError, ValueError):
            if stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb":
                return cls(stream, columns or (lambda: _columns_of(stream)))
        return None

    def due(self, now: float) -> bool:
        """Whether `show` would draw now; if not, its argument need not be computed."""
        return self._open and (not self._height or now - self._drawn >= _PAUSE)

    def show(self, status: RunStatus, now: float) -> None:
        """Redraw the table, unless that was done less than a fifth of a second before ``now``."""
        if self.due(now):
            self._draw(status, now)
        elif self._open:
            self._postponed = status, now

    def clear(self) -> None:
        """Remove the table from the screen. The next `show` draws it again."""
        if self._open and self._height:
            self._write("\r" + "\x1b[A" * self._height + "\x1b[J")
            self._height, self._postponed = 0, None

    def close(self) -> None:
        """Leave the table in place with the latest status, and stop drawing."""
        if self._open and self._postponed is not None:
            self._draw(*self._postponed)
        self._open = False

    def _draw(self, status: RunStatus, now: float) -> None:
        self._postponed, self._drawn = None, now
        if status.loss is not None:
            self._loss.add(status.loss)
        if status.errors is not None:
            self._errors.add(status.errors[1])
        if status.recent is not None:
            self._recent.add(status.recent[2])
        # Some terminals wrap a line as soon as its last column is filled.
        width = max(self._columns() - 1, 0)
        lines = [line[:width].rstrip() for line in self._lines(status, self._rate(status, now), width)]
        # The old table is erased line by line, because erasing all of it first would flicker.
        self._write("\r" + "\x1b[A" * self._height + "\x1b[K\n".join(lines) + "\x1b[J\n")
        self._height = len(lines)

    def _lines(self, status: RunStatus, rate: float, width: int) -> list[str]:
        note = f"{status.loss_name}, mean so far"
        room = max(8, min(40, width - _MARGIN - len(note))) if self._has_blocks else 0
        rows = [("events", f"{status.events:,}", f"{rate:,.0f}/s")]
        if status.loss is not None:
            drawn = sparkline(self._loss.points, room)
            rows.append(("loss", _number(status.loss), f"{drawn:<{room}}   {note}"))
        if status.errors is not None:
            name, error = status.errors
            rows.append((name, _number(error), sparkline(self._errors.points, room)))
        if status.recent is not None:
            events, loss, error = status.recent
            drawn = sparkline(self._recent.points, room)
            rows.append((f"last {events:,}", _number(error), f"{drawn:<{room}}   loss {_number(loss)}"))
        limit = f" of {status.budget:,}" if status.budget else ""
        if status.support_vectors is not None:
            rows.append(("vectors", f"{status.support_vectors:,}{limit}", ""))
        lines = [f"{name:<10}  {value:>12}   {more}" for name, value, more in rows]
        if status.experts:
            lines.append(f"{'experts':<10}  {heaviest(status.experts)}   ({MEAN_WEIGHTS})")
        if status.regret:
            lines.append(f"{'regret':<10}  {_regret(status.regret)}")
        return lines

    def _rate(self, status: RunStatus, now: float) -> float:
        # Every drawing leaves a mark. The rate is measured since the newest mark that is at least _WINDOW
        # seconds old, or else since the first one; at the first one, since the start.
        self._marks.append((now, status.events))
        while len(self._marks) > 1 and self._marks[1][0] <= now - _WINDOW:
            self._marks.popleft()
        then, events = self._marks[0]
        if now > then:
            return (status.events - events) / (now - then)
        return status.events / max(status.seconds, 1e-9)

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._open = False  # the run must not fail because of its display


class _History:
    """Values over time. When there are too many points, pairs are replaced by their mean."""

    def __init__(self) -> None:
        self.points: list[float] = []
        self._stride = 1  # values per point
        self._count, self._mean = 0, 0.0  # of the next point

    def add(self, value: float) -> None:
        self._count += 1
        self._mean += (value - self._mean) / self._count
        if self._count == self._stride:
            self.points.append(self._mean)
            self._count, self._mean = 0, 0.0
        if len(self.points) == _POINTS:
            self.points = [_mean(self.points[i : i + 2]) for i in range(0, _POINTS, 2)]
            self._stride *= 2


def _mean(values: Sequence[float]) -> float:
    # The mean of equal values is exact; a rounded sum would show as noise on a flat line.
    mean = 0.0
    for n, value in enumerate(values, 1):
        mean += (value - mean) / n
    return mean


def _number(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 1e6 else f"{value:.4g}"


def heaviest(experts: dict[str, float], most: int = 3) -> str:
    """The experts of a mixture with the largest weights, if at least 0.01.

    Examples
    --------
    >>> heaviest({"karma": 0.003, "blend": 0.9, "subspace": 0.097})
    'blend 0.90, subspace 0.10'
    """
    order = sorted(experts.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {weight:.2f}" for name, weight in order[:most] if weight >= 0.01)


def _regret(regret: dict[str, float]) -> str:
    names = sorted(regret, key=lambda name: -regret[name])
    texts = [f"{_number(regret[name])} against {name}" for name in names]
    ends = [f"best {texts[0]}", f"worst {texts[-1]}"] if len(texts) > 1 else texts
    return "   ".join([*ends, "(per event)"])


def _columns_of(stream: TextIO) -> int:
    # shutil's function would query standard output, which may be a file.
    with suppress(OSError, ValueError):
        return os.get_terminal_size(stream.fileno()).columns or 80
    return 80
