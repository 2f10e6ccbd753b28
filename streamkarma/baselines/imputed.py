"""Impute once, or drop incomplete rows or columns, then learn as if nothing had been missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.impute import SimpleImputer

from streamkarma.arrays import Floats
from streamkarma.baselines.base import Baseline, WeightedClassifier, WeightedRegressor
from streamkarma.baselines.class_mean import ClassMeanImputer
from streamkarma.baselines.imputers import GaussImputer, MixtureImputer, RegressionImputer
from streamkarma.baselines.interpolation import InterpolationImputer
from streamkarma.baselines.iterated_svd import SVDImputer
from streamkarma.baselines.machines import Machine, fit_features, kind_of
from streamkarma.baselines.tables import Scaler, moments
from streamkarma.baselines.tuning import Choice, class_codes

#: The imputers by name, each created from a seed.
IMPUTERS: dict[str, Callable[[Any], Any]] = {
    "zero": lambda seed: SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True),
    "mean": lambda seed: SimpleImputer(strategy="mean", keep_empty_features=True),
    "median": lambda seed: SimpleImputer(strategy="median", keep_empty_features=True),
    "class-mean": lambda seed: ClassMeanImputer(),
    "gauss": lambda seed: GaussImputer(),
    "gmm": lambda seed: MixtureImputer(random_state=seed),
    "regression": lambda seed: RegressionImputer(),
    "svd": lambda seed: SVDImputer(random_state=seed),
    "interpolation": lambda seed: InterpolationImputer(),
}


def imputer_named(name: str, random_state: Any = 0) -> Any:
    """A new imputer by its name in ``ImputedClassifier``."""
    if name not in IMPUTERS:
        raise ValueError(f"imputer must be one of {', '.join(IMPUTERS)}, or a transformer; not {name!r}")
    return IMPUTERS[name](random_state)


def targets_of(Y: Floats, squared: bool) -> NDArray[Any]:
    """Targets or class indices, for imputers that use labels."""
    return Y[:, 0] if squared else class_codes(Y)


class _Machine(Baseline):
    """Base of the methods in this module: a machine on features, and its settings."""

    def __init__(
        self,
        machine: str | None = None,
        C: Choice = None,
        width: Choice = None,
        scale: bool = True,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.machine = machine
        self.C = C
        self.width = width
        self.scale = scale
        self.random_state = random_state
        self.verbose = verbose

    def _trained(self, Z: Floats, Y: Floats, weights: Floats | None, constant: bool = False) -> Machine:
        kind = kind_of(self.machine, self._squared)
        if constant and self.machine is None and Y.shape[1] > 1:
            kind = "crammer-singer"
        # The Crammer–Singer hinge has no free intercept.
        intercept = "feature" if constant or kind == "crammer-singer" else "free"
        return fit_features(kind, Z, self._holdout(Y, weights), self.C, self.width, intercept)


class _Imputed(_Machine):
    def __init__(
        self,
        imputer: Any = "mean",
        machine: str | None = None,
        C: Choice = None,
        width: Choice = None,
        scale: bool = True,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        super().__init__(machine, C, width, scale, random_state, verbose)
        self.imputer = imputer

    def _learn(self, X: Floats, Y: Floats, weights: Floats | None) -> None:
        named = isinstance(self.imputer, str)
        self.imputer_ = imputer_named(self.imputer, self.random_state) if named else clone(self.imputer)
        # [H] normalises first: 0 is then the mean of the observed values, and the targets have mean 0.
        zero = named and self.imputer == "zero"
        self._first = Scaler.of(X, scale=self.scale and zero, weights=weights)
        completed = self.imputer_.fit_transform(self._first(X), targets_of(Y, self._squared))
        # Where no observed value varies, an imputer's rounding errors do not count as spread.
        least = 1e-12 * moments(X)[1]
        self._scaler = Scaler.of(completed, scale=self.scale and not zero, weights=weights, least=least)
        centred = zero and self._squared
        self._mean = np.average(Y, axis=0, weights=weights) if centred else np.zeros(Y.shape[1])
        self.machine_ = self._trained(self._scaler(completed), Y - self._mean, weights, constant=zero)

    def _scores(self, X: Floats) -> Floats:
        completed = self.imputer_.transform(self._first(X))
        return self.machine_.scores(self._scaler(completed)) + self._mean


class ImputedClassifier(_Imputed, WeightedClassifier):
    """Single imputation, and a classifier on the completed rows.

    Parameters
    ----------
    imputer
        ``"zero"`` [H], see below; ``"mean"`` or ``"median"`` of the column [D, M]; ``"class-mean"``,
        in training the mean of the row's class [D]; ``"gauss"`` or ``"gmm"``, conditional means by
        EM [D]; ``"regression"``, ``"svd"`` or ``"interpolation"`` [M]: iterated regression, iterated
        SVD, and interpolation between neighbouring rows; or any scikit-learn transformer.
    machine
        ``"svm"`` (linear, hinge, three classes or more one against the rest; the default),
        ``"crammer-singer"`` (linear, hinge, all classes at once), ``"rbf-svm"`` or ``"logistic"``.
    C
        Weight of the losses against ½‖w‖², above 0; a sequence to choose from, such as ``HAZAN_C``
        and ``SMIEJA_C`` of ``streamkarma.baselines.tuning``; None, the default, for the best of
        0.01 … 100. It is chosen on three random held-out quarters of the rows ([H] holds out once).
        Then all rows are learned.
    width
        Width of the RBF kernel ``exp(-width ‖z - z'‖²)``, above 0; a sequence to choose from together
        with C, such as ``SMIEJA_WIDTH``; None for 0.1 or 1 times 1 / (columns · variance).
    scale
        Standardise each column, after imputing, or for ``"zero"`` before, by its observed values.
    random_state
        Seed of the held-out quarters and of the imputer.
    verbose
        Print progress on standard error.

    Notes
    -----
    ``"zero"`` is [H]'s 0-imputation: columns are normalised to mean 0, a constant feature replaces the
    intercept, and missing values are 0. This is KARMA with γ = 1 (``BatchKARMAClassifier(gamma=1)``, with the
    same C), and its default machine for several classes is Crammer and Singer's. For zeros in the raw units
    of the columns, which may be far from all data, use ``SimpleImputer(strategy="constant", fill_value=0)``.
    [D] calls mean imputation MeanInput.

    References
    ----------
    [H] Hazan, Livni, Mansour, ICML 2015, Section 5. [D] Dick, Haider, Scheffer, ICML 2008,
    Section 6.1. [M] Mackey, STATS 306B, lecture 16, Section 16.2.2.

    Examples
    --------
    >>> X = np.array([[0.0, np.nan], [1.0, 1.0], [4.0, np.nan], [5.0, 6.0]])
    >>> ImputedClassifier("mean", C=1.0).fit(X, ["low", "low", "high", "high"]).predict([[4.5, np.nan]])
    array(['high'], dtype='<U4')
    """


class ImputedRegressor(_Imputed, WeightedRegressor):
    """Single imputation, and ridge regression on the completed rows.

    Parameters
    ----------
    imputer, C, width, scale, random_state, verbose
        As in ``ImputedClassifier``; for ``"zero"`` the mean of the targets is subtracted, as in [H].
    machine
        ``"ridge"`` (linear; the default) or ``"rbf-ridge"``.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, np.nan], [2.0, 2.0], [3.0, 3.0]])
    >>> ImputedRegressor("regression", C=1e6).fit(X, [0.0, 1.0, 2.0, 3.0]).predict([[4.0, 4.0]]).round(2)
    array([4.])
    """


class _Deleted(_Machine):
    def __init__(
        self,
        drop: str = "rows",
        machine: str | None = None,
        C: Choice = None,
        width: Choice = None,
        scale: bool = True,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        super().__init__(machine, C, width, scale, random_state, verbose)
        self.drop = drop

    def _learn(self, X: Floats, Y: Floats, weights: Floats | None) -> None:
        if self.drop not in ("rows", "columns"):
            raise ValueError(f"drop must be 'rows' or 'columns', not {self.drop!r}")
        missing = np.isnan(X)
        rows = ~missing.any(axis=1) if self.drop == "rows" else np.full(len(X), True)
        self.columns_ = ~missing.any(axis=0) if self.drop == "columns" else np.full(X.shape[1], True)
        if not rows.any() or not self.columns_.any():
            raise ValueError(
                f"none of the {len(X) if self.drop == 'rows' else X.shape[1]} {self.drop} is complete: "
                "nothing is left after deletion; impute instead"
            )
        kept = X[np.ix_(rows, self.columns_)]
        weights = None if weights is None else weights[rows]
        self._scaler = Scaler.of(kept, scale=self.scale, weights=weights)
        self._mean = np.average(kept, axis=0, weights=weights)
        self.machine_ = self._trained(self._scaler(kept), Y[rows], weights)

    def _scores(self, X: Floats) -> Floats:
        kept = X[:, self.columns_]
        return self.machine_.scores(self._scaler(np.where(np.isnan(kept), self._mean, kept)))


class DeletedClassifier(_Deleted, WeightedClassifier):
    """Complete-case analysis or feature deletion [M]: learn only from complete rows or columns.

    Parameters
    ----------
    drop
        ``"rows"``: rows with missing values are not used (complete cases); ``"columns"``: columns with
        missing values are not used.
    machine, C, width, scale, random_state, verbose
        As in ``ImputedClassifier``.

    Raises
    ------
    ValueError
        From ``fit``, when nothing is complete.

    Notes
    -----
    The lecture does not say how to predict incomplete rows; here missing values are replaced by the mean of
    the complete rows.

    Examples
    --------
    >>> X = np.array([[0.0, np.nan], [0.0, 1.0], [2.0, np.nan], [3.0, 4.0]])
    >>> DeletedClassifier("columns", C=1.0).fit(X, [0, 0, 1, 1]).predict([[2.5, np.nan]])
    array([1])
    """


class DeletedRegressor(_Deleted, WeightedRegressor):
    """Complete cases or complete columns only, and ridge regression.

    Parameters
    ----------
    drop, C, width, scale, random_state, verbose
        As in ``DeletedClassifier``.
    machine
        ``"ridge"`` or ``"rbf-ridge"``.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0], [2.0, np.nan], [-1.0, -1.0], [np.nan, -2.0]])
    >>> DeletedRegressor(C=1e3).fit(X, [2.0, 4.0, -2.0, -4.0]).predict([[3.0, 3.0]]).round(1)
    array([6.])
    """


class _FullData(_Machine):
    _needs_complete = True

    def _learn(self, X: Floats, Y: Floats, weights: Floats | None) -> None:
        self._scaler = Scaler.of(X, scale=self.scale, weights=weights)
        self.machine_: Machine = self._trained(self._scaler(X), Y, weights)

    def _scores(self, X: Floats) -> Floats:
        return self.machine_.scores(self._scaler(X))


class FullDataClassifier(_FullData, WeightedClassifier):
    """The oracle of [H]: the best linear classifier on complete vectors.

    It refuses tables with missing values. The theorem compares KARMA's loss to its loss; it is not available
    to methods that see only incomplete events.

    Parameters
    ----------
    machine, C, width, scale, random_state, verbose
        As in ``ImputedClassifier``.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]])
    >>> FullDataClassifier(C=1.0).fit(X, [0, 0, 1, 1]).predict([[4.0, 4.0]])
    array([1])
    """


class FullDataRegressor(_FullData, WeightedRegressor):
    """The best linear regression on complete vectors: the oracle for numbers.

    Parameters
    ----------
    machine
        ``"ridge"`` or ``"rbf-ridge"``.
    C, width, scale, random_state, verbose
        As in ``ImputedClassifier``.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]])
    >>> FullDataRegressor(C=1e4).fit(X, [1.0, 1.0, 5.0, 5.0]).predict([[4.0, 4.0]]).round(1)
    array([8.])
    """
