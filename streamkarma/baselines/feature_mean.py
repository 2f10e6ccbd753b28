"""Mean imputation in feature space [D, Definition 1]: one point for each row, using the labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from streamkarma.arrays import Floats
from streamkarma.baselines.imputer_base import AcceptsMissing
from streamkarma.baselines.tables import Scaler, moments

Codes = NDArray[np.intp]

#: Numbers in a block of a kernel matrix: tens of megabytes.
BLOCK = 2_000_000

#: New rows have converged when none of their values moves by more, in standard deviations.
SETTLED = 1e-7


class FeatureMean(NamedTuple):
    """A completed table, its objective, and the largest number of steps from any start."""

    completed: Floats
    objective: float
    steps: int


class MeanFeatImputer(OneToOneFeatureMixin, TransformerMixin, AcceptsMissing):
    """Class-based mean imputation in the feature space of a kernel ([D]'s MeanFeat).

    Completes the rows of ``fit`` with the ω̂ that minimises, over the missing values,
    ``Σ_v (1/n_v) Σ_{i,j of class v} ‖φ(ω_i) - φ(ω_j)‖²``: twice the sum of squared distances in
    feature space between the rows and the mean of their class [D, Definition 1].

    Parameters
    ----------
    kernel
        ``"rbf"``, ``exp(-width ‖x - x'‖²)``; or ``"linear"``, for which the solution is the mean of each
        column in each class.
    width
        Width of the RBF kernel, above 0; None for 1 / d.
    scale
        Standardise each column by its observed values first (undone afterwards).
    tol
        A search ends when a step lowers the objective by less than this fraction; 0 or more (default 1e-9).
    max_iter
        Maximum number of steps of a search, 1 or more (default 500).

    Attributes
    ----------
    completed_
        The rows of ``fit``, completed: array of shape (n, d).
    objective_
        The objective reached, on the scaled columns.
    n_iter_
        Steps of the longer of the two searches, at least 1.

    Notes
    -----
    With the RBF kernel the objective is not convex. It is minimised by L-BFGS from two starts, the class
    means and the column means, and the better result is kept.

    In [D], only labelled rows are incomplete. ``transform`` completes any row without its label, by the point
    that minimises ``Σ_v (n_v/n) ‖φ(ω) - m_v‖²``, where m_v is the mean in feature space of the completed rows
    of class v and n_v / n its share: the smallest expected distance for a row of unknown class. For the RBF
    kernel this is the maximum of ``Σ_j k(ω, ω̂_j)``, found by fixed-point steps (mean shift) from the mean of
    all completed rows and from the mean of each class. Every row is completed independently of the others,
    and ``fit_transform`` differs from ``fit`` followed by ``transform``.

    Where a column has no observed value in a class, the linear kernel does not determine the missing values:
    they are the mean of the column, or 0 in a column without any value.

    References
    ----------
    [D] Dick, Haider, Scheffer: Learning from Incomplete Data with Infinite Imputations,
    ICML 2008, section 5.3.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0], [3.0, np.nan], [-1.0, -2.0], [np.nan, -4.0]])
    >>> y = np.array([1, 1, 0, 0])
    >>> MeanFeatImputer(kernel="linear").fit_transform(X, y).round(3).tolist()
    [[1.0, 1.0], [3.0, 1.0], [-1.0, -2.0], [-1.0, -4.0]]
    """

    def __init__(
        self,
        kernel: str = "rbf",
        width: float | None = None,
        scale: bool = True,
        tol: float = 1e-9,
        max_iter: int = 500,
    ) -> None:
        self.kernel = kernel
        self.width = width
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Complete a table, and learn how to complete new rows.

        Parameters
        ----------
        X
            Array of shape (n, d), NaN for missing values.
        y
            Array of shape (n,): any number of classes. Numbers that are not all integers are regression
            targets; all rows then belong to one class, as with None.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For invalid settings, or shapes that do not match.

        Examples
        --------
        >>> imputer = MeanFeatImputer(kernel="linear").fit([[1.0], [np.nan], [-1.0]], [1, 1, 0])
        >>> imputer.completed_.round(3).tolist()
        [[1.0], [1.0], [-1.0]]
        """
        rows = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        if self.kernel not in ("rbf", "linear"):
            raise ValueError(f"kernel must be rbf or linear, not {self.kernel!r}")
        if self.width is not None and not self.width > 0:
            raise ValueError(f"width must be a number above 0, or None for 1 / d, not {self.width}")
        self._width = self.width if self.width is not None else 1.0 / rows.shape[1]
        self._scaler = Scaler.of(rows, scale=self.scale)
        codes = _class_codes(y, rows)
        scaled = self._scaler(rows)
        if self.kernel == "linear":
            found = linear_mean(scaled, codes)
        else:
            found = rbf_mean(scaled, codes, self._width, self.tol, self.max_iter)
        self._rows, self.objective_, self.n_iter_ = found
        self._means = np.array([part.mean(axis=0) for part in (self._rows, *_by_class(self._rows, codes))])
        self.completed_ = self._unscaled(rows, self._rows)
        return self

    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None) -> Floats:
        """Complete a table using its labels.

        Parameters
        ----------
        X, y
            As in ``fit``.

        Returns
        -------
        Array of shape (n, d) without NaN.

        Raises
        ------
        ValueError
            As in ``fit``.

        Examples
        --------
        >>> MeanFeatImputer(kernel="linear").fit_transform([[1.0], [np.nan], [-1.0]], [1, 1, 0]).tolist()
        [[1.0], [1.0], [-1.0]]
        """
        completed: Floats = self.fit(X, y).completed_
        return completed

    def transform(self, X: ArrayLike) -> Floats:
        """Complete rows without labels, each independently of the others.

        Parameters
        ----------
        X
            Array of shape (m, d), NaN for missing values.

        Returns
        -------
        Array of shape (m, d) without NaN; observed values are unchanged.

        Raises
        ------
        ValueError
            For infinite values, or another number of columns than in ``fit``.

        Examples
        --------
        >>> imputer = MeanFeatImputer(kernel="linear").fit([[1.0], [3.0], [-1.0]], [1, 1, 0])
        >>> imputer.transform([[np.nan], [7.0]]).round(3).tolist()
        [[1.0], [7.0]]
        """
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        scaled = self._scaler(rows)
        starts = [np.where(np.isnan(scaled), mean, scaled) for mean in self._means]
        if self.kernel == "linear":
            return self._unscaled(rows, starts[0])
        filled = scaled.copy()
        lacking = np.flatnonzero(np.isnan(rows).any(axis=1))
        for block in _blocks(len(lacking), len(self._rows)):
            part = lacking[block]
            ends = [self._climbed(start[part], np.isnan(rows[part])) for start in starts]
            best = np.argmax([height for height, _ in ends], axis=0)
            filled[part] = np.array([end for _, end in ends])[best, np.arange(len(part))]
        return self._unscaled(rows, filled)

    def _climbed(self, Z: Floats, missing: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """The result of mean shift for each row, and the log of ``Σ_j k(z, ω̂_j)`` there."""
        Z = Z.copy()
        moving = np.arange(len(Z))
        for _ in range(self.max_iter):
            logs = self._log_kernel(Z[moving])
            shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
            moved = np.where(missing[moving], shares @ self._rows, Z[moving])
            # Row by row, so that a row's result does not depend on the others.
            far = np.abs(moved - Z[moving]).max(axis=1) > SETTLED
            Z[moving] = moved
            moving = moving[far]
            if not len(moving):
                break
        return np.asarray(logsumexp(self._log_kernel(Z), axis=1)), Z

    def _log_kernel(self, Z: Floats) -> Floats:
        squares = (Z**2).sum(axis=1, keepdims=True) - 2.0 * Z @ self._rows.T + (self._rows**2).sum(axis=1)
        return np.asarray(-self._width * np.maximum(squares, 0.0))

    def _unscaled(self, rows: Floats, filled: Floats) -> Floats:
        return np.where(np.isnan(rows), filled * self._scaler.spread + self._scaler.shift, rows)


def linear_mean(X: Floats, codes: Codes) -> FeatureMean:
    """Definition 1 for the linear kernel: the means of each class."""
    filled = _class_filled(X, codes)
    parts = _by_class(filled, codes)
    return FeatureMean(filled, 2.0 * float(sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts)), 1)


def rbf_mean(X: Floats, codes: Codes, width: float, tol: float = 1e-9, max_iter: int = 500) -> FeatureMean:
    """Definition 1 for the RBF kernel, from two starts."""
    missing = np.isnan(X)
    objective = rbf_objective(codes, width)
    filled = np.where(missing, moments(X)[0], X)
    if not missing.any():
        return FeatureMean(filled, objective(filled)[0], 1)

    def of_values(values: Floats) -> tuple[float, Floats]:
        filled[missing] = values
        value, slope = objective(filled)
        return value, slope[missing]

    options = {"maxiter": max_iter, "ftol": tol, "gtol": 1e-6}
    starts = (_class_filled(X, codes)[missing], filled[missing])
    ends = [minimize(of_values, start, jac=True, method="L-BFGS-B", options=options) for start in starts]
    best = min(ends, key=lambda end: float(end.fun))
    filled[missing] = best.x
    return FeatureMean(filled, float(best.fun), max(1, *(int(end.nit) for end in ends)))


def rbf_objective(codes: Codes, width: float) -> Callable[[Floats], tuple[float, Floats]]:
    """The objective of Definition 1 and its gradient, as a function of a completed table."""
    classes = [np.flatnonzero(codes == code) for code in np.unique(codes)]

    def objective(Z: Floats) -> tuple[float, Floats]:
        value, slope = 0.0, np.empty_like(Z)
        for rows in classes:
            part, n = Z[rows], len(rows)
            for block in _blocks(n, n):
                K = rbf_kernel(part[block], part, gamma=width)
                sums = K.sum(axis=1)
                value += 2.0 / n * float((n - sums).sum())
                slope[rows[block]] = 8.0 * width / n * (sums[:, np.newaxis] * part[block] - K @ part)
        return value, slope

    return objective


def _class_codes(y: ArrayLike | None, rows: Floats) -> Codes:
    if y is None:
        return np.zeros(len(rows), dtype=np.intp)
    labels = column_or_1d(y, warn=True)
    check_consistent_length(rows, labels)
    if type_of_target(labels) == "continuous":
        return np.zeros(len(rows), dtype=np.intp)
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.intp)


def _by_class(Z: Floats, codes: Codes) -> list[Floats]:
    return [Z[codes == code] for code in np.unique(codes)]


def _class_filled(X: Floats, codes: Codes) -> Floats:
    """``X`` with the mean of its class where a value is missing."""
    overall = moments(X)[0]
    filled = X.copy()
    for code in np.unique(codes):
        rows = codes == code
        part = X[rows]
        mean = np.where(np.isnan(part).all(axis=0), overall, moments(part)[0])
        filled[rows] = np.where(np.isnan(part), mean, part)
    return filled


def _blocks(rows: int, columns: int) -> Iterator[slice]:
    """Slices of rows for which a block of a matrix with this many columns stays small."""
    size = max(1, BLOCK // max(1, columns))
    return (slice(start, start + size) for start in range(0, rows, size))
