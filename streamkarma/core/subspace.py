"""A linear model on completed events, for data close to a subspace.

This is what [H] competes with: f_{w,Q}(x_o) = w_o' Q_oo^+ x_o [H, Def. 2], which completes the
event from what it observes and weighs the result. The completion comes from the moments of pairs
of those coordinates that are worth it or, if asked for, from a factor.

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma import _engine
from streamkarma._engine import Encoded
from streamkarma.core.learner import ANY, Arrays, Learner
from streamkarma.events.block import Block


class SubspaceSettings(NamedTuple):
    """How the learner is made.

    Attributes
    ----------
    regression
        Squared loss on targets, else the hinge on classes.
    r
        Variance of the noise in AROW, above 0.
    indicators
        Weigh also which attributes are observed: for streams where that tells of the label.
    shrink
        How many events without any correlation each pair starts with, 0 or more.
    forget
        Half-life in events, above 0; 0 for never.
    moving
        The same of the weights, where they forget faster than the subspace; 0 for no faster.
    max_rank_dim
        Most coordinates of which all pairs are kept, 1 or more; with 1 a factor stands for pairs.
    rank
        Dimension of that factor, 1 or more.
    """

    regression: bool = False
    r: float = 10.0
    indicators: bool = False
    shrink: float = 5.0
    forget: float = 0.0
    moving: float = 0.0
    max_rank_dim: int = 64
    rank: int = 16


class Subspace(Learner):
    """A linear model on what is observed and, where it is missing, expected.

    Parameters
    ----------
    settings
        How it is made.

    Examples
    --------
    Two attributes, always equal; the label is their sign, and one of them may be missing:

    >>> model = Subspace(SubspaceSettings())
    >>> signs = np.tile([1.0, -1.0], 50)
    >>> both = np.tile(np.arange(3, dtype=np.int32), 100)
    >>> values = np.stack([np.ones(100), signs, signs], axis=1).ravel()
    >>> pairs = Block(np.arange(0, 301, 3), both, both, values)
    >>> scores, losses = model.run(pairs, signs, np.ones(100))
    >>> one = Block(np.array([0, 2]), np.int32([0, 2]), np.int32([0, 2]), np.array([1.0, -1.0]))
    >>> bool(model.scores(one)[0, 0] < -0.8)
    True
    """

    def __init__(self, settings: SubspaceSettings) -> None:
        self.settings = settings

    def create(self) -> _engine.Learner:
        return _engine.subspace(**self.settings._asdict())


class Completion:
    """The subspace alone: what completes events.

    Parameters
    ----------
    settings
        As of ``Subspace``; those of the linear model do not count.

    Examples
    --------
    >>> completion = Completion(SubspaceSettings())
    >>> both = np.tile(np.arange(3, dtype=np.int32), 100)
    >>> values = np.stack([np.ones(100), *[np.tile([1.0, -1.0], 50)] * 2], axis=1).ravel()
    >>> completion.observe(Block(np.arange(0, 301, 3), both, both, values))
    >>> one = Block(np.array([0, 2]), np.int32([0, 2]), np.int32([0, 2]), np.array([1.0, -1.0]))
    >>> completion.completed(one, 3).round(1).tolist()
    [[1.0, -0.9, -1.0]]
    """

    def __init__(self, settings: SubspaceSettings) -> None:
        self.settings = settings
        self.engine = _engine.Subspace(settings.shrink, settings.forget, settings.max_rank_dim, settings.rank)

    def __getstate__(self) -> dict[str, Any]:
        return {"settings": self.settings, "arrays": self.engine.arrays()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["settings"])  # type: ignore[misc]  # the settings are all there is
        self.engine.restore(state["arrays"], ANY, ANY)

    def observe(self, events: Block | Encoded) -> None:
        """Learn the subspace from events."""
        self.engine.observe(events)

    def completed(self, events: Block | Encoded, coordinates: int) -> NDArray[np.float64]:
        """The completed events, shape (T, coordinates), without learning.

        What is observed is kept; what is missing is its mean given that, 0 for what was never
        learned.
        """
        found = self.engine.completed(events)[:, :coordinates]
        result = np.zeros((len(found), coordinates))
        result[:, : found.shape[1]] = found
        return result

    def arrays(self) -> Arrays:
        """The state."""
        return self.engine.arrays()
