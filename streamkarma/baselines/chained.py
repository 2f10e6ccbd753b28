"""mice: multiple imputation by chained equations, with predictions averaged [S]."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  (makes the next one importable)
from sklearn.impute import IterativeImputer
from sklearn.utils import check_random_state

from streamkarma.arrays import Floats
from streamkarma.baselines.base import Baseline, WeightedClassifier, WeightedRegressor
from streamkarma.baselines.machines import Machine, fit_features, kind_of
from streamkarma.baselines.progress import Progress
from streamkarma.baselines.tables import Scaler
from streamkarma.baselines.tuning import Choice


class _Chained(Baseline):
    def __init__(
        self,
        imputations: int = 5,
        machine: str | None = None,
        C: Choice = None,
        width: Choice = None,
        max_iter: int = 10,
        scale: bool = True,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.imputations = imputations
        self.machine = machine
        self.C = C
        self.width = width
        self.max_iter = max_iter
        self.scale = scale
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, X: Floats, Y: Floats, weights: Floats | None) -> None:
        if self.imputations < 1:
            raise ValueError(f"imputations must be 1 or more, not {self.imputations}")
        rng = self._rng()
        self._scaler = Scaler.of(X, scale=self.scale)
        rows = self._scaler(X)
        kind = kind_of(self.machine, self._squared)
        self.n_iter_ = self.max_iter
        self._seeds = rng.randint(2**31 - 1, size=self.imputations)
        self._imputers: list[Any] = []
        self.machines_: list[Machine] = []
        C, width = self.C, self.width
        intercept = "feature" if kind == "crammer-singer" else "free"
        progress = Progress(self._say, self.imputations, "imputations done")
        for seed in self._seeds:
            imputer = IterativeImputer(
                sample_posterior=True,
                max_iter=self.max_iter,
                random_state=int(seed),
                keep_empty_features=True,
            )
            completed = imputer.fit_transform(rows)
            self._imputers.append(imputer)
            holdout = self._holdout(Y, weights)
            self.machines_.append(fit_features(kind, completed, holdout, C, width, intercept))
            # Chosen only once, so that the machines differ only in their imputations.
            C, width = self.machines_[-1].C, self.machines_[-1].width
            progress.step()

    def _scores(self, X: Floats) -> Floats:
        rows = self._scaler(X)
        pairs = zip(self._imputers, self._seeds, self.machines_, strict=True)
        scores = [machine.scores(_drawn(imputer, rows, seed)) for imputer, seed, machine in pairs]
        return np.asarray(np.mean(scores, axis=0))


def _drawn(imputer: Any, rows: Floats, seed: int) -> Floats:
    """One imputation of ``rows``, always with the same draws."""
    if not np.isnan(rows).any():
        return rows
    again = copy.copy(imputer)
    again.random_state_ = check_random_state(int(seed))
    drawn: Floats = again.transform(rows)
    return drawn


class ChainedEquationsClassifier(_Chained, WeightedClassifier):
    """Multiple imputation by chained equations, with one machine per imputation and scores averaged.

    Every incomplete column is regressed on all others (Bayesian ridge), and its missing values are drawn from
    the posterior, in ``max_iter`` rounds. This is repeated m times.

    Parameters
    ----------
    imputations
        m, 1 or more.
    machine, C, width
        As in ``ImputedClassifier``; C and the width are chosen for the first imputation.
    max_iter
        Rounds of each imputation.
    scale
        Standardise each column by its observed values first.
    random_state
        Seed of all draws.
    verbose
        Print each imputation on standard error.

    Notes
    -----
    The machines' scores are averaged, as multiple imputation pools estimates; [S] does not specify this. New
    rows are drawn from the posteriors in their order, so predictions for incomplete rows depend slightly on
    the other rows.

    References
    ----------
    [S] Śmieja, Struski, Tabor, arXiv 1612.01480. van Buuren, Groothuis-Oudshoorn: mice, 2011.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0], [2.0, np.nan], [-1.0, -1.0], [np.nan, -2.0]])
    >>> model = ChainedEquationsClassifier(imputations=2, C=1.0, max_iter=3).fit(X, [1, 1, 0, 0])
    >>> model.predict([[3.0, np.nan]])
    array([1])
    """


class ChainedEquationsRegressor(_Chained, WeightedRegressor):
    """Multiple imputation by chained equations, with ridge regression on each and predictions averaged.

    Parameters
    ----------
    imputations, C, width, max_iter, scale, random_state, verbose
        As in ``ChainedEquationsClassifier``.
    machine
        ``"ridge"`` or ``"rbf-ridge"``.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0], [2.0, np.nan], [-1.0, -1.0], [np.nan, -2.0]])
    >>> model = ChainedEquationsRegressor(imputations=2, C=100.0, max_iter=3).fit(X, [2.0, 4.0, -2.0, -4.0])
    >>> model.predict([[1.5, 1.5]]).round()
    array([3.])
    """
