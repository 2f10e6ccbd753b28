"""Trees that are refitted as the stream goes on."""

from __future__ import annotations

from streamkarma import _engine
from streamkarma.core.learner import Learner

#: Maximum number of events that boosted trees are fitted to, by default. With half as many, `auto` makes 4 %
#: more errors on 15 streams of 13,000 to 50,000 events, and with twice as many .8 % fewer.
WINDOW = 16384
#: The same number for randomised trees, which have a leaf for each event.
WINDOW_OF_RANDOMISED = 4096


class BoostedTrees(Learner):
    """Gradient-boosted trees on the latest events, with leaves updated by every event between fits.

    At each split, missing values go to the side where they fit better. See ``learners/refitted_trees`` in the
    engine.

    Parameters
    ----------
    regression
        Whether labels are targets, else classes.
    window
        Maximum number of events that trees are fitted to, 1 to 1,048,576.
    half_life
        Half-life in events, 1 or more; 0 for never.

    Examples
    --------
    Classes that no line separates, from two numbers, each missing in a fifth of the events:

    >>> import numpy as np
    >>> from streamkarma.events.block import Block
    >>> random = np.random.default_rng(0)
    >>> X = random.uniform(-1, 1, (2000, 2))
    >>> labels, there = np.sign(X.prod(axis=1)), random.random((2000, 2)) < 0.8
    >>> sizes = 1 + there.sum(axis=1)
    >>> starts = np.concatenate([[0], np.cumsum(sizes)])
    >>> coordinates = np.concatenate([np.flatnonzero([True, *row]) for row in there]).astype(np.int32)
    >>> values = np.concatenate([np.array([1.0, *x])[[True, *row]] for x, row in zip(X, there)])
    >>> model = BoostedTrees()
    >>> scores, _ = model.run(Block(starts, coordinates, coordinates, values), labels, np.ones(2000))
    >>> complete = there.all(axis=1)
    >>> float(np.mean(scores[complete, 0][-500:] * labels[complete][-500:] > 0)) > 0.95
    True
    """

    def __init__(self, regression: bool = False, window: int = WINDOW, half_life: float = 0.0) -> None:
        self.regression, self.window, self.half_life = regression, window, half_life

    def create(self) -> _engine.Learner:
        return _engine.boosted_trees(self.regression, self.window, self.half_life)


class RandomisedTrees(Learner):
    """Extremely randomised trees on the latest events of a regression, with leaves updated between fits.

    Each tree is grown independently, until every leaf has one event; the prediction is the mean of the trees.
    At each split, missing values go to the side where they fit better. See ``learners/refitted_trees`` in the
    engine.

    Parameters
    ----------
    half_life
        Half-life in events, 1 or more; 0 for never.

    Examples
    --------
    A product of two numbers, each missing in a fifth of the events:

    >>> import numpy as np
    >>> from streamkarma.events.block import Block
    >>> random = np.random.default_rng(0)
    >>> X = random.uniform(-1, 1, (2000, 2))
    >>> targets, there = X.prod(axis=1), random.random((2000, 2)) < 0.8
    >>> sizes = 1 + there.sum(axis=1)
    >>> starts = np.concatenate([[0], np.cumsum(sizes)])
    >>> coordinates = np.concatenate([np.flatnonzero([True, *row]) for row in there]).astype(np.int32)
    >>> values = np.concatenate([np.array([1.0, *x])[[True, *row]] for x, row in zip(X, there)])
    >>> model = RandomisedTrees()
    >>> scores, _ = model.run(Block(starts, coordinates, coordinates, values), targets, np.ones(2000))
    >>> complete = there.all(axis=1)
    >>> float(np.mean(np.abs(scores[complete, 0] - targets[complete])[-500:])) < 0.06
    True
    """

    def __init__(self, half_life: float = 0.0) -> None:
        self.half_life = half_life

    def create(self) -> _engine.Learner:
        return _engine.randomised_trees(WINDOW_OF_RANDOMISED, self.half_life)
