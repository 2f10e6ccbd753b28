"""MeanFeat: a kernel machine on rows imputed by their class's mean in feature space [D]."""

from __future__ import annotations

from typing import Any

from streamkarma.arrays import Floats
from streamkarma.baselines.base import BaselineClassifier, BaselineRegressor
from streamkarma.baselines.priors import PriorBaseline, SingleImputation
from streamkarma.baselines.tuning import Choice


class _MeanFeat(PriorBaseline):
    prior = "meanfeat"

    def __init__(
        self, C: Choice = None, width: Choice = None, scale: bool = True, random_state: Any = 0
    ) -> None:
        self.C = C
        self.width = width
        self.scale = scale
        self.random_state = random_state

    def _learn(self, X: Floats, Y: Floats, weights: Floats | None) -> None:
        rng = self._rng()
        problem = self._problem(X, Y, rng)
        self._choose_kernel(problem, rng)
        self._mean = problem.mean
        prior = problem.prior(self.prior, self.width_)
        self.imputer_ = prior.imputer
        self.machine_ = SingleImputation.of(prior, problem.Y, self.width_, self.C_, self._squared)

    def _scores(self, X: Floats) -> Floats:
        return self.machine_.scores(self._scaler(X)) + self._mean


class MeanFeatClassifier(_MeanFeat, BaselineClassifier):
    """A support vector machine on rows completed by the mean of their class in feature space.

    Training rows are completed by [D, Definition 1] using their labels, new rows without, see
    ``MeanFeatImputer``. The machine uses the same RBF kernel, and an intercept. This is the single imputation
    that weighted infinite imputations with ``prior="meanfeat"`` start from.

    Parameters
    ----------
    C
        Weight of the losses against ½‖w‖², above 0; a sequence, or None for 0.01 … 100, to choose from on
        random held-out quarters (completed without their labels).
    width
        Width of the RBF kernel ``exp(-width ‖x - x'‖²)``, above 0; a sequence to choose from together
        with C; None for 0.1 / d or 1 / d.
    scale
        Standardise each column by its observed values first.
    random_state
        Seed of the held-out quarters.

    Attributes
    ----------
    C_, width_
        The values given or chosen.
    imputer_
        The ``MeanFeatImputer`` fitted to the scaled columns.

    References
    ----------
    [D] Dick, Haider, Scheffer: Learning from Incomplete Data with Infinite Imputations,
    ICML 2008, section 5.3.

    Examples
    --------
    >>> nan = float("nan")
    >>> X = [[1.0, nan], [2.0, 1.0], [-1.0, -1.0], [nan, -2.0]]
    >>> MeanFeatClassifier(C=1.0).fit(X, [1, 1, 0, 0]).predict([[1.5, nan]])
    array([1])
    """


class MeanFeatRegressor(_MeanFeat, BaselineRegressor):
    """Kernel ridge regression on rows completed by their mean in feature space.

    All rows count as one class. With ``C = 1 / (2 η)``, the machine minimises [D]'s
    ``Σ_i (y_i - f(x_i))² + η ‖f‖²``.

    Parameters
    ----------
    C, width, scale, random_state
        As in ``MeanFeatClassifier``.
    intercept
        Subtract the mean of the targets first, and add it to the predictions. [D]'s kernel
        ridge regression has no intercept.

    Examples
    --------
    >>> nan = float("nan")
    >>> X = [[1.0, 1.0], [2.0, nan], [-1.0, -1.0], [nan, -2.0]]
    >>> MeanFeatRegressor(C=1e3).fit(X, [2.0, 4.0, -2.0, -4.0]).predict([[1.0, 1.0]]).round(1)
    array([2.])
    """

    def __init__(
        self,
        C: Choice = None,
        width: Choice = None,
        scale: bool = True,
        intercept: bool = False,
        random_state: Any = 0,
    ) -> None:
        super().__init__(C, width, scale, random_state)
        self.intercept = intercept
