"""A linear model on completed events, for data close to a subspace.

This is the class of hypotheses that [H] competes with: f_{w,Q}(x_o) = w_o' Q_oo^+ x_o [H, Def. 2] completes
the event from its observed values and applies a linear model. The completion comes from the pairwise moments
of the coordinates for which it is worthwhile or, on request, from a low-rank factor.

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma import _engine
from streamkarma._engine import Encoded
from streamkarma.arrays import Arrays
from streamkarma.core.learner import ANY, Learner
from streamkarma.events.block import Block


class SubspaceSettings(NamedTuple):
    """Settings of the learner.

    Attributes
    ----------
    regression
        Squared loss on targets, else the hinge loss on classes.
    r
        Variance of the noise in AROW, above 0.
    indicators
        Also learn weights for which attributes are observed, for streams where that is informative.
    shrink
        Number of uncorrelated events that each pair starts with, 0 or more.
    half_life
        Half-life in events, above 0; 0 for never.
    weights_half_life
        Half-life of the weights if they are to forget faster than the subspace; else 0.
    max_pairwise_coordinates
        Maximum number of coordinates with pairwise moments, 1 or more; with 1 a factor replaces them.
    rank
        Rank of that factor, 1 or more.
    """

    regression: bool = False
    r: float = 10.0
    indicators: bool = False
    shrink: float = 5.0
    half_life: float = 0.0
    weights_half_life: float = 0.0
    max_pairwise_coordinates: int = 64
    rank: int = 16


class Subspace(Learner):
    """A linear model on observed values, and on the expected values of missing ones.

    Parameters
    ----------
    settings
        Settings of the learner.

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
        return _engine.subspace(self.settings)


class Completion:
    """The subspace without the linear model: completes events.

    Parameters
    ----------
    settings
        As in ``Subspace``; those of the linear model have no effect.

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
        self.engine = _engine.Subspace(settings)

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

        Observed values are kept; missing ones become their conditional mean, 0 for coordinates never learned.
        """
        found = self.engine.completed(events)[:, :coordinates]
        result = np.zeros((len(found), coordinates))
        result[:, : found.shape[1]] = found
        return result

    def arrays(self) -> Arrays:
        """The state."""
        return self.engine.arrays()
