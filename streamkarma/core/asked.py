"""Which events were predicted before their label came."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma import _engine
from streamkarma._engine import Encoded
from streamkarma.core.learner import Arrays
from streamkarma.events.block import Block


class LateLabels(NamedTuple):
    """Which of T events wait for their label, and which have got theirs late.

    Attributes
    ----------
    tickets
        Shape (T,): the number of an event, the same when it is predicted and when its label has come; 0 where
        the label was there at once.
    observed
        Shape (T,): whether the event was learned before, without its label; it then teaches only what needs
        the label.
    shared
        Shape (T,): whether the event shares its label with others, and its weight is its part; labels that go
        together then need not be found out.
    """

    tickets: NDArray[np.uint64]
    observed: NDArray[np.bool_]
    shared: NDArray[np.bool_]

    @classmethod
    def none(cls, events: int) -> LateLabels:
        """Of so many events none."""
        no = np.zeros(events, np.bool_)
        return cls(np.zeros(events, np.uint64), no, no)


class Asked:
    """Events that were predicted and wait for their label, recognised by their content."""

    def __init__(self) -> None:
        self.engine = _engine.Asked()

    def __getstate__(self) -> dict[str, Any]:
        return self.arrays()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.engine = _engine.Asked()
        self.restore(dict(state))

    def tickets(
        self, events: Block | Encoded, learned: NDArray[np.bool_], asked: NDArray[np.bool_]
    ) -> NDArray[np.uint64]:
        """Record events as they were before encoding, and return their tickets.

        Parameters
        ----------
        events
            T events; in a block, with the values from before encoding.
        learned
            Shape (T,): whether the event has a label and is learned.
        asked
            Shape (T,): whether it has no label yet. An event with a label and weight 0 is neither.

        Returns
        -------
        Shape (T,): the same number for an event that is asked about and when it is learned; 0 for others.
        """
        return self.engine.tickets(events, learned, asked)

    def arrays(self) -> Arrays:
        """The state: what ``restore`` takes."""
        return self.engine.arrays()

    def restore(self, arrays: Arrays) -> None:
        """Restore the state from ``arrays``, removing its parts; ValueError if they are inconsistent."""
        self.engine.restore(arrays)
