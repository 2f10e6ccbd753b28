"""What a loop puts out, and what it counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from streamkarma.runtime.judge import Counted
from streamkarma.sinks.rows import Rows
from streamkarma.sources.records import Place


class Counters(NamedTuple):
    """What became of the records of a run; events of weight 0 have a label that is not learned."""

    events: int = 0
    learned: int = 0
    unlabelled: int = 0
    zero_weight: int = 0
    rejected: int = 0


class Tally(NamedTuple):
    """All that a loop counts, and the model does not depend on."""

    counters: Counters
    counted: Counted
    waits: tuple[int, int, int]
    first_rejected: str | None


class Letter(NamedTuple):
    """A record that was set aside: its index among those it came with, place, reason, value."""

    at: int
    place: Place
    error: str
    value: bytes


class Output(NamedTuple):
    """Who takes what a loop puts out.

    Attributes
    ----------
    predictions
        Takes rows, and the index of the record of each among those fed; None for nobody.
    dead_letters
        Takes each record that was set aside; None for nobody.
    """

    predictions: Callable[[Rows, Sequence[int]], None] | None = None
    dead_letters: Callable[[Letter], None] | None = None
