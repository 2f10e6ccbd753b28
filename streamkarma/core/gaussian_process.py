"""A sparse Gaussian process; the engine has it in ``learners/gaussian_process``."""

from __future__ import annotations

from streamkarma import _engine
from streamkarma.core.learner import Learner

#: Maximum number of events that it is fitted to.
WINDOW = 4096


class GaussianProcess(Learner):
    """A sparse Gaussian process on the latest events of a regression, updated by each event between fits.

    The target is a linear function of the event's values plus one that is smooth in each of them; the
    evidence determines how much of each. See ``learners/gaussian_process`` in the engine.

    Parameters
    ----------
    half_life
        Half-life in events, 1 or more; 0 for never.

    Examples
    --------
    A wave in one number, and another that is irrelevant:

    >>> import numpy as np
    >>> from streamkarma.events.block import Block
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> targets = np.sin(5 * X[:, 0])
    >>> starts = np.arange(501) * 3
    >>> coordinates = np.tile(np.arange(3, dtype=np.int32), 500)
    >>> values = np.hstack([np.ones((500, 1)), X]).ravel()
    >>> model = GaussianProcess()
    >>> scores, _ = model.run(Block(starts, coordinates, coordinates, values), targets, np.ones(500))
    >>> float(np.mean(np.abs(scores[:, 0] - targets)[-100:])) < 0.01
    True
    """

    def __init__(self, half_life: float = 0.0) -> None:
        self.half_life = half_life

    def create(self) -> _engine.Learner:
        return _engine.gaussian_process(WINDOW, self.half_life)
