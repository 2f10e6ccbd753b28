"""Events that are predicted before their labels arrive."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma import _engine
from streamkarma._engine import Encoded
from streamkarma.arrays import Arrays
from streamkarma.events.block import Block


class LateLabels(NamedTuple):
    """Which of T events still lack their label, and which received it late.

    Attributes
    ----------
    tickets
        Shape (T,): a number for each event, the same when it is predicted and when its label arrives; 0 where
        the label was present from the start.
    observed
        Shape (T,): whether the event was already learned without its label. It then teaches only what needs
        the label.
    shared
        Shape (T,): whether the event shares its label with others, its weight being its share. Correlation
        between labels then need not be estimated.
    """

    tickets: NDArray[np.uint64]
    observed: NDArray[np.bool_]
    shared: NDArray[np.bool_]

    @classmethod
    def none(cls, events: int) -> LateLabels:
        """No late labels, for this many events."""
        no = np.zeros(events, np.bool_)
        return cls(np.zeros(events, np.uint64), no, no)

    def part(self, events: slice) -> LateLabels:
        """Those of a part of the events."""
        return LateLabels(self.tickets[events], self.observed[events], self.shared[events])


class TicketRegistry:
    """Predicted events whose labels are outstanding, recognised by their content."""

    def __init__(self) -> None:
        self.engine = _engine.TicketRegistry()

    def __getstate__(self) -> dict[str, Any]:
        return self.arrays()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.engine = _engine.TicketRegistry()
        self.restore(dict(state))

    def tickets(
        self, events: Block | Encoded, labelled: NDArray[np.bool_], awaiting: NDArray[np.bool_]
    ) -> NDArray[np.uint64]:
        """Record events by their values before encoding, and return their tickets.

        Parameters
        ----------
        events
            T events; a block must hold the values from before encoding.
        labelled
            Shape (T,): whether the event has its label, whatever its weight.
        awaiting
            Shape (T,): whether it awaits its label.

        Returns
        -------
        Shape (T,): the number of an event, the same when it is predicted and when its label arrives; 0 for
        others.
        """
        return self.engine.tickets(events, labelled, awaiting)

    def arrays(self) -> Arrays:
        """The state: what ``restore`` takes."""
        return self.engine.arrays()

    def restore(self, arrays: Arrays) -> None:
        """Restore the state, removing its parts from ``arrays``; ValueError if they are inconsistent."""
        self.engine.restore(arrays)
