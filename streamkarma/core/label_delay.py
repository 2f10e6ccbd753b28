"""How late labels come: which events were predicted before they were learned, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma import _engine
from streamkarma._engine import Encoded
from streamkarma.core.learner import Arrays, Floats
from streamkarma.events.block import Block


class LabelDelay:
    """Events that were predicted and wait for their label, recognised by their content."""

    def __init__(self) -> None:
        self.engine = _engine.LabelDelay()

    def __getstate__(self) -> dict[str, Any]:
        return self.arrays()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.engine = _engine.LabelDelay()
        self.restore(dict(state))

    def delays(self, events: Block | Encoded, learned: NDArray[np.bool_], asked: NDArray[np.bool_]) -> Floats:
        """Record events as they were before encoding, and return how late their labels come.

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
        Shape (T,): how many other events were learned, or predicted for the first time, since a learned
        event was predicted; 0 if it was not predicted before.
        """
        return self.engine.delays(events, learned, asked)

    def arrays(self) -> Arrays:
        """The state: what ``restore`` takes."""
        return self.engine.arrays()

    def restore(self, arrays: Arrays) -> None:
        """Restore the state from ``arrays``, removing its parts; ValueError if they are inconsistent."""
        self.engine.restore(arrays)
