"""MeanFeat alone: incomplete rows as means in feature space, and a kernel machine [D]."""

from __future__ import annotations

from typing import Any

from streamkarma.baselines.base import Baseline, BaselineClassifier, BaselineRegressor
from streamkarma.baselines.machines import fit_gram
from streamkarma.baselines.priors import MeanFeat
from streamkarma.baselines.tables import Floats, Scaler


class _MeanFeat(Baseline):
    def __init__(self, C: float | None = None, width: float | None = None, scale: bool = True,
                 random_state: Any = 0) -> None:  # fmt: skip
        self.C = C
        self.width = width
        self.scale = scale
        self.random_state = random_state

    def _learn(self, X: Floats, Y: Floats) -> None:
        self._scaler = Scaler.of(X, scale=self.scale)
        self._rows = self._scaler(X)
        self.prior_ = MeanFeat(self._rows, self.width if self.width is not None else 1.0 / X.shape[1])
        K = self.prior_.between(self._rows, self._rows)
        self.machine_ = fit_gram(self._squared, K, Y, self.C, self._rng())

    def _scores(self, X: Floats) -> Floats:
        return self.machine_.scores(self.prior_.between(self._scaler(X), self._rows))


class MeanFeatClassifier(_MeanFeat, BaselineClassifier):
    """A support vector machine on means in feature space.

    A row stands where the mean of φ is when its missing values are drawn, independently, from
    the observed values of their columns; φ is that of the RBF kernel. Imputing the mean in input
    space instead (MeanInput) lands elsewhere.

    Parameters
    ----------
    C
        As of ``ImputedClassifier``.
    width
        Of the RBF kernel ``exp(-width ‖x - x'‖²)``, above 0; None for 1 / d.
    scale
        Standardise each column by its observed values first.
    random_state
        Seed of the held-out quarters.

    Notes
    -----
    [D]'s Definition 1 could not be consulted word for word; this is what its name says, in the
    closed form that the RBF kernel allows.

    References
    ----------
    [D] Dick, Haider, Scheffer: Learning from Incomplete Data with Infinite Imputations,
    ICML 2008.
    """


class MeanFeatRegressor(_MeanFeat, BaselineRegressor):
    """Kernel ridge regression on means in feature space.

    Parameters
    ----------
    C, width, scale, random_state
        As of ``MeanFeatClassifier``.
    """
