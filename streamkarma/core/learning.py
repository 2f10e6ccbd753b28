"""What every core learner can do: the estimators ask for no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.passes import Floats
from streamkarma.events.block import Block

if TYPE_CHECKING:
    from streamkarma.core.single import Event, Stage

Arrays = dict[str, NDArray[Any]]


def begun(block: Block, labels: Floats, weights: Floats, classes: int) -> tuple[NDArray[np.float64], Floats]:
    """Scores of 0, shape (T, classes), and losses of NaN, shape (T,), for T events.

    Raises
    ------
    ValueError
        If there are not as many labels and weights: the compiled loop would read past their end.
    """
    events = len(labels)
    if len(weights) != events or len(block.starts) != events + 1:
        raise ValueError(f"{len(block.starts) - 1} events, {events} labels, {len(weights)} weights")
    return np.zeros((events, classes)), np.full(events, np.nan)


def capacity(now: int, needed: int) -> int:
    """``now`` if that is enough, else the next power of two, 8 or more.

    Examples
    --------
    >>> capacity(8, 5), capacity(8, 9)
    (8, 16)
    """
    return now if needed <= now else max(8, 1 << (needed - 1).bit_length())


class Core(Protocol):
    """A learner over arrays: blocks of encoded events in, scores out."""

    @property
    def classes(self) -> int:
        """Columns of the scores: 1 for two classes and for regression, else one per class."""

    @property
    def steps(self) -> int:
        """Events learned."""

    def reserve(self, attributes: int = 0, coordinates: int = 0) -> None:
        """Make room for at least that many of each; what is there stays."""

    def widen(self, classes: int) -> None:
        """Go to ``classes`` classes; from w of two classes to -w/2 and w/2."""

    def run(self, block: Block, labels: Floats, weights: Floats) -> tuple[NDArray[np.float64], Floats]:
        """Predict, then learn, each event.

        Parameters
        ----------
        block
            Encoded events; those to be learned have only what there is room for.
        labels
            Shape (T,): +1 or -1, a class number, or the target; NaN is predicted only.
        weights
            Shape (T,): 0 or more; events of weight 0 leave the model as it is.

        Returns
        -------
        Scores of shape (T, C), each from before its event was learned, and the losses suffered,
        shape (T,), NaN where there is no label.
        """

    def scores(self, block: Block) -> NDArray[np.float64]:
        """Scores of every event, shape (T, C), without learning."""

    def single(self, event: Event) -> list[Stage] | None:
        """A way for single events that is shorter than ``run``; None if there is none.

        Parameters
        ----------
        event
            To be replaced by the next in its place.

        Returns
        -------
        Stages through which it goes in turn, as they are for the arrays that the learner has now; the
        last one's scores are the learner's.
        """

    def restart(self, steps: int) -> None:
        """Forget everything, and go on as after ``steps`` steps."""

    def summary(self) -> dict[str, Any]:
        """Sizes of the model, ``bytes`` among them, and what became of the examples."""

    def arrays(self) -> Arrays:
        """The state, without spare room: what ``restore`` takes."""

    def restore(self, arrays: Arrays, attributes: int, coordinates: int) -> None:
        """Take over a state; ValueError if the arrays contradict each other or point outside."""
