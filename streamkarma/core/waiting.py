"""How late labels come: which events were asked about before they were learned, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma import _engine
from streamkarma._engine import Encoded
from streamkarma.core.learning import Arrays, Floats
from streamkarma.events.block import Block


class Waiting:
    """Events that were asked about and wait for their label, known by what is in them."""

    def __init__(self) -> None:
        self.engine = _engine.LabelDelay()

    def __getstate__(self) -> dict[str, Any]:
        return self.arrays()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.engine = _engine.LabelDelay()
        self.restore(dict(state))

    def delays(self, events: Block | Encoded, learned: NDArray[np.bool_],
               asked: NDArray[np.bool_]) -> Floats:  # fmt: skip
        """Take note of events as they were before encoding, and say how late labels come.

        Parameters
        ----------
        events
            T events; of a block the values are those from before.
        learned
            Shape (T,): whether the event has its label and is learned.
        asked
            Shape (T,): whether it has none yet. What has one and weight 0 is neither.

        Returns
        -------
        Shape (T,): how many other events were learned, or asked about for the first time, since a
        learned event was asked about; 0 where it was not.
        """
        return self.engine.delays(events, learned, asked)

    def arrays(self) -> Arrays:
        """The state: what ``restore`` takes."""
        return self.engine.arrays()

    def restore(self, arrays: Arrays) -> None:
        """Take over the state in ``arrays``, whose parts are removed; ValueError if they make no sense."""
        self.engine.restore(arrays)
