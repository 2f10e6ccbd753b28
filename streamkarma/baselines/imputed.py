"""Impute once, or drop what is incomplete, then learn as if nothing had been missing."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.impute import SimpleImputer

from streamkarma.baselines.base import Baseline, BaselineClassifier, BaselineRegressor
from streamkarma.baselines.imputers import GaussImputer, MixtureImputer, RegressionImputer, SVDImputer
from streamkarma.baselines.machines import Machine, fit_features, kind_of
from streamkarma.baselines.tables import Floats, Scaler


def imputer_named(name: str, random_state: Any = 0) -> Any:
    """A new imputer for one of the names that ``ImputedClassifier`` knows."""
    match name:
        case "zero":
            return SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True)
        case "mean" | "median":
            return SimpleImputer(strategy=name, keep_empty_features=True)
        case "gauss":
            return GaussImputer()
        case "gmm":
            return MixtureImputer(random_state=random_state)
        case "regression":
            return RegressionImputer()
        case "svd":
            return SVDImputer(random_state=random_state)
    raise ValueError(
        f"imputer is zero, mean, median, gauss, gmm, regression, svd or a transformer, not {name!r}"
    )


class _Imputed(Baseline):
    def __init__(self, imputer: Any = "mean", machine: str | None = None, C: float | None = None,
                 scale: bool = True, random_state: Any = 0) -> None:  # fmt: skip
        self.imputer = imputer
        self.machine = machine
        self.C = C
        self.scale = scale
        self.random_state = random_state

    def _learn(self, X: Floats, Y: Floats) -> None:
        named = isinstance(self.imputer, str)
        self.imputer_ = imputer_named(self.imputer, self.random_state) if named else clone(self.imputer)
        completed = self.imputer_.fit_transform(X)
        # After imputing, so that 0 is 0 of what was measured and not the mean.
        self._scaler = Scaler.of(completed, scale=self.scale)
        kind = kind_of(self.machine, self._squared)
        self.machine_ = fit_features(kind, self._scaler(completed), Y, self.C, self._rng())

    def _scores(self, X: Floats) -> Floats:
        return self.machine_.scores(self._scaler(self.imputer_.transform(X)))


class ImputedClassifier(_Imputed, BaselineClassifier):
    """Single imputation and a classifier on what it completes.

    Parameters
    ----------
    imputer
        ``"zero"``, ``"mean"`` or ``"median"``; ``"gauss"`` or ``"gmm"`` [D], conditional means
        by EM; ``"regression"`` or ``"svd"`` [M], iterated regression and principal components;
        or any scikit-learn transformer.
    machine
        ``"svm"`` (linear, hinge; the default), ``"rbf-svm"`` or ``"logistic"``.
    C
        Weight of the losses against ½‖w‖², above 0; None, the default, to choose one of
        0.01 … 100 on quarters of the rows held out at random (three of them; [H] holds
        out once). Then all rows are learned.
    scale
        Standardise each column after imputing, so that 0 means 0 of what was measured.
    random_state
        Seed of the held-out quarters and of what the imputer draws.

    Notes
    -----
    0-imputation is KARMA with γ = 1 [H, Section 3]. [D] calls mean imputation MeanInput.

    References
    ----------
    [H] Hazan, Livni, Mansour, ICML 2015. [D] Dick, Haider, Scheffer, ICML 2008.
    [M] Mackey, STATS 306B, lecture 16.

    Examples
    --------
    >>> X = np.array([[0.0, np.nan], [1.0, 1.0], [4.0, np.nan], [5.0, 6.0]])
    >>> ImputedClassifier("mean", C=1.0).fit(X, ["low", "low", "high", "high"]).predict([[4.5, np.nan]])
    array(['high'], dtype='<U4')
    """


class ImputedRegressor(_Imputed, BaselineRegressor):
    """Single imputation and a ridge regression on what it completes.

    Parameters
    ----------
    imputer, C, scale, random_state
        As of ``ImputedClassifier``.
    machine
        ``"ridge"`` (linear; the default) or ``"rbf-ridge"``.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, np.nan], [2.0, 2.0], [3.0, 3.0]])
    >>> ImputedRegressor("zero", C=1e6).fit(X, [0.0, 1.0, 2.0, 3.0]).predict([[4.0, 4.0]]).round(2)
    array([4.])
    """


class _Deleted(Baseline):
    def __init__(self, drop: str = "rows", machine: str | None = None, C: float | None = None,
                 scale: bool = True, random_state: Any = 0) -> None:  # fmt: skip
        self.drop = drop
        self.machine = machine
        self.C = C
        self.scale = scale
        self.random_state = random_state

    def _learn(self, X: Floats, Y: Floats) -> None:
        if self.drop not in ("rows", "columns"):
            raise ValueError(f"drop is 'rows' or 'columns', not {self.drop!r}")
        missing = np.isnan(X)
        rows = ~missing.any(axis=1) if self.drop == "rows" else np.full(len(X), True)
        self.columns_ = ~missing.any(axis=0) if self.drop == "columns" else np.full(X.shape[1], True)
        if not rows.any() or not self.columns_.any():
            raise ValueError(
                f"none of the {len(X) if self.drop == 'rows' else X.shape[1]} {self.drop} is complete: "
                "nothing is left after deletion; impute instead"
            )
        kept = X[np.ix_(rows, self.columns_)]
        self._mean = kept.mean(axis=0)
        self._scaler = Scaler.of(kept, scale=self.scale)
        kind = kind_of(self.machine, self._squared)
        self.machine_ = fit_features(kind, self._scaler(kept), Y[rows], self.C, self._rng())

    def _scores(self, X: Floats) -> Floats:
        kept = X[:, self.columns_]
        return self.machine_.scores(self._scaler(np.where(np.isnan(kept), self._mean, kept)))


class DeletedClassifier(_Deleted, BaselineClassifier):
    """Complete-case analysis, or feature deletion [M]: learn from what is complete only.

    Parameters
    ----------
    drop
        ``"rows"``: rows with anything missing are not learned from (complete cases);
        ``"columns"``: columns with anything missing are not used.
    machine, C, scale, random_state
        As of ``ImputedClassifier``.

    Raises
    ------
    ValueError
        From ``fit``, when nothing is complete.

    Notes
    -----
    The lecture does not say how to answer for incomplete rows: here the mean of the
    complete ones stands for what is missing in them.

    Examples
    --------
    >>> X = np.array([[0.0, np.nan], [0.0, 1.0], [2.0, np.nan], [3.0, 4.0]])
    >>> DeletedClassifier("columns", C=1.0).fit(X, [0, 0, 1, 1]).predict([[2.5, np.nan]])
    array([1])
    """


class DeletedRegressor(_Deleted, BaselineRegressor):
    """Complete cases or complete columns only, and ridge regression.

    Parameters
    ----------
    drop, C, scale, random_state
        As of ``DeletedClassifier``.
    machine
        ``"ridge"`` or ``"rbf-ridge"``.
    """


class _FullData(Baseline):
    _needs_complete = True

    def __init__(self, machine: str | None = None, C: float | None = None, scale: bool = True,
                 random_state: Any = 0) -> None:  # fmt: skip
        self.machine = machine
        self.C = C
        self.scale = scale
        self.random_state = random_state

    def _learn(self, X: Floats, Y: Floats) -> None:
        self._scaler = Scaler.of(X, scale=self.scale)
        kind = kind_of(self.machine, self._squared)
        self.machine_: Machine = fit_features(kind, self._scaler(X), Y, self.C, self._rng())

    def _scores(self, X: Floats) -> Floats:
        return self.machine_.scores(self._scaler(X))


class FullDataClassifier(_FullData, BaselineClassifier):
    """The oracle of [H]: the best linear classifier on complete vectors.

    It refuses tables with anything missing. What it suffers is what the theorem compares
    KARMA's loss to; no method that sees incomplete events only can use it.

    Parameters
    ----------
    machine, C, scale, random_state
        As of ``ImputedClassifier``.
    """


class FullDataRegressor(_FullData, BaselineRegressor):
    """The best linear regression on complete vectors: the oracle for numbers.

    Parameters
    ----------
    machine
        ``"ridge"`` or ``"rbf-ridge"``.
    C, scale, random_state
        As of ``ImputedClassifier``.
    """
