"""Interpolation between neighbouring rows [M, 16.2.2], for time series."""

from __future__ import annotations

import numpy as np

from streamkarma.arrays import Floats
from streamkarma.baselines.imputer_base import Imputer
from streamkarma.baselines.tables import Scaler, moments


class InterpolationImputer(Imputer):
    """Interpolates each column linearly between observed values, with rows in order of time.

    Rows are assumed to be evenly spaced, in the order of the table. Before the first and after the last
    observed value of a column, that value is repeated. A column without any value in a table gets its mean in
    ``fit``, or 0 if it had none there either.

    Attributes
    ----------
    mean_
        Array of shape (d,): the mean of each column's observed values in ``fit``.

    Notes
    -----
    The lecture does not say how to interpolate; a line is the simplest choice. A table given to ``transform``
    is a separate series: it is interpolated within itself and uses only the means of ``fit``. Unlike with the
    other imputers, the result for a row therefore depends on the other rows, including later ones, and a
    single row gets the means. To continue the series of ``fit``, transform both together. Neighbours of
    shuffled rows, as in a holdout, are meaningless.

    References
    ----------
    [M] Mackey, STATS 306B, lecture 16.

    Examples
    --------
    >>> X = np.array([[1.0, np.nan], [np.nan, 5.0], [np.nan, 6.0], [4.0, np.nan]])
    >>> InterpolationImputer().fit_transform(X).tolist()
    [[1.0, 5.0], [2.0, 5.0], [3.0, 6.0], [4.0, 6.0]]
    """

    def _scaling(self, X: Floats) -> Scaler:
        return Scaler.of(X, scale=False)

    def _learn(self, X: Floats) -> None:
        self.mean_ = moments(X)[0]

    def _complete(self, X: Floats) -> Floats:
        filled = X.copy()
        for j, column in enumerate(X.T):
            at = np.flatnonzero(~np.isnan(column))
            filled[:, j] = np.interp(np.arange(len(X)), at, column[at]) if len(at) else self.mean_[j]
        return filled
