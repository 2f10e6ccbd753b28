"""The output of a loop, and its counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from streamkarma.connectors.base import DeadLetter, Sink
from streamkarma.connectors.rows import Rows
from streamkarma.runtime.evaluator import RunningMetrics
from streamkarma.runtime.monitor import Monitor


class Counters(NamedTuple):
    """Counts of the records of a run; events of weight 0 have a label that is not learned.

    ``unlabelled_learned`` counts events without a label that were still partly learned.
    """

    events: int = 0
    learned: int = 0
    unlabelled: int = 0
    unlabelled_learned: int = 0
    zero_weight: int = 0
    rejected: int = 0


class Totals(NamedTuple):
    """All counts of a loop; the model does not depend on them."""

    counters: Counters
    metrics: RunningMetrics
    monitor: Monitor
    waits: tuple[int, int, int]
    first_rejected: str | None


class Output(NamedTuple):
    """Receivers of a loop's output.

    Attributes
    ----------
    predictions
        Called with rows, and the index of each row's record among those fed; None for none.
    dead_letters
        Called with each rejected record; None for none.
    wants_rows
        Whether the rows of the given number of next events are wanted; otherwise they are not built.
    """

    predictions: Callable[[Rows, Sequence[int]], None] | None = None
    dead_letters: Callable[[DeadLetter], None] | None = None
    wants_rows: Callable[[int], bool] = lambda events: True


def both(sink: Sink | None, files: Output, failed: Callable[[], bool]) -> Output:
    """Writes to a connector's sink and to files; to the sink first, because the reader of a file may be gone.

    ``failed`` returns whether the last rejected record stops the run. It will then be read again, so it is
    not yet a dead letter for a sink that commits offsets.
    """
    if sink is None:
        return files

    def write_predictions(rows: Rows, at: Sequence[int]) -> None:
        if sink.takes_predictions:
            sink.write_predictions(rows, at)
        if files.predictions is not None:
            files.predictions(rows, at)

    def write_dead_letter(letter: DeadLetter) -> None:
        if sink.takes_dead_letters and not failed():
            sink.write_dead_letter(letter)
        if files.dead_letters is not None:
            files.dead_letters(letter)

    wanted = sink.takes_predictions or files.predictions is not None
    return Output(write_predictions if wanted else None, write_dead_letter)
