"""Interpolation between neighbours in order [M, 16.2.2], for rows that are a series."""

from __future__ import annotations

import numpy as np

from streamkarma.baselines.imputer_base import Imputer
from streamkarma.baselines.tables import Floats, Scaler, moments


class InterpolationImputer(Imputer):
    """Each column linearly between its observed neighbours, the rows being in order of time.

    Row numbers are the time: rows are taken to be evenly spaced, in the order of the table.
    Before the first observed value of a column, and after the last, that value is repeated. A
    column without any value in a table has its mean in ``fit``, 0 if there was none there.

    Attributes
    ----------
    mean_
        Array of shape (d,): the mean of each column's observed values in ``fit``.

    Notes
    -----
    The lecture does not say how; between two neighbours, a line is the simplest.
    A table given to ``transform`` is a series of its own: it is interpolated within itself, and
    of ``fit`` it takes only the means. So, other than with the other imputers, a row's answer
    depends on the rows it comes with, later ones among them, and a row alone gets the means.
    To continue the series of ``fit``, transform both together. Rows that were shuffled, as by a
    holdout, have neighbours that mean nothing.

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
