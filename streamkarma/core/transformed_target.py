"""A learner for targets with heavy tails, such as prices and durations."""

from __future__ import annotations

from streamkarma import _engine
from streamkarma.core.learner import Learner


class TransformedTarget(Learner):
    """A regression on targets transformed to a Gaussian; predictions are transformed back.

    The curve is ``z = gamma + delta asinh((y - xi) / lambda)``, Johnson's S_U, through four quantiles of the
    targets so far: a line where they are Gaussian, a logarithm where they are log-normal. Where all targets
    are above 0, y is their logarithm instead if that is more like a Gaussian.

    Parameters
    ----------
    learner
        A regression learner; a new one with the same settings is used.
    median
        Whether to predict the median of the target instead of its mean.

    References
    ----------
    Slifker, Shapiro: The Johnson system: selection and parameter estimation, Technometrics 22, 1980.

    Examples
    --------
    A price that doubles with each unit of x, with noise of about a factor of two:

    >>> import numpy as np
    >>> from streamkarma.core.explicit import AROW, Explicit, Step
    >>> from streamkarma.core.loss import SQUARED
    >>> from streamkarma.events.block import Block
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=2000)
    >>> items = np.arange(4000, dtype=np.int32) % 2
    >>> events = Block(np.arange(0, 4001, 2), items, items, np.column_stack([np.ones(2000), x]).ravel())
    >>> price = 2.0 ** (x + rng.normal(size=2000))
    >>> inner = Explicit(1, False, Step(AROW, SQUARED, 1.0, 0.0, 0.0, 0.0, 0.0))
    >>> scores, _ = TransformedTarget(inner, median=True).run(events, price, np.ones(2000))
    >>> bool(np.median(abs(np.log2(scores[1000:, 0]) - x[1000:])) < 0.1)
    True
    """

    def __init__(self, learner: Learner, median: bool) -> None:
        self.learner, self.median = learner, median

    def create(self) -> _engine.Learner:
        return _engine.transformed_target(self.learner.create(), self.median)
