"""A forest of incremental trees."""

from __future__ import annotations

from streamkarma import _engine
from streamkarma.core.learner import Learner


class Forest(Learner):
    """Histogram-based trees for incomplete events, each on random coordinates and resampled events.

    At each split, missing values go to the side where they fit better, and a tree may also split by whether a
    value is present. See ``learners/forest`` in the engine.

    Parameters
    ----------
    regression
        Whether labels are targets, else classes.
    trees
        Number of trees, 1 to 1,000.
    half_life
        Half-life in events, 1 or more; 0 for never.

    Examples
    --------
    Classes that no line separates, from two numbers, each missing in a fifth of the events:

    >>> import numpy as np
    >>> from streamkarma.events.block import Block
    >>> random = np.random.default_rng(0)
    >>> X = random.uniform(-1, 1, (4000, 2))
    >>> labels, there = np.sign(X.prod(axis=1)), random.random((4000, 2)) < 0.8
    >>> rows = [(0, 1.0), (1, 2.0)]
    >>> sizes = 1 + there.sum(axis=1)
    >>> starts = np.concatenate([[0], np.cumsum(sizes)])
    >>> coordinates = np.concatenate([np.flatnonzero([True, *row]) for row in there]).astype(np.int32)
    >>> values = np.concatenate([np.array([1.0, *x])[[True, *row]] for x, row in zip(X, there)])
    >>> model = Forest()
    >>> scores, _ = model.run(Block(starts, coordinates, coordinates, values), labels, np.ones(4000))
    >>> complete = there.all(axis=1)
    >>> float(np.mean(scores[complete, 0][-1000:] * labels[complete][-1000:] > 0)) > 0.9
    True
    """

    def __init__(self, regression: bool = False, trees: int = 10, half_life: float = 0.0) -> None:
        self.regression, self.trees, self.half_life = regression, trees, half_life

    def create(self) -> _engine.Learner:
        return _engine.forest(self.regression, self.trees, self.half_life)
