"""Base class of the imputers: transformers that complete a table and keep its columns."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from streamkarma.arrays import Floats
from streamkarma.baselines.tables import Scaler
from streamkarma.baselines.validation import validated


class AcceptsMissing(BaseEstimator):
    """An estimator that accepts NaN for missing values, and tells scikit-learn so."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class Imputer(OneToOneFeatureMixin, TransformerMixin, AcceptsMissing):
    """A transformer that completes tables; ``_learn`` and ``_complete`` see scaled columns.

    Tables are arrays or data frames of numbers. Column names are kept, and ``set_output(transform="pandas")``
    makes it return frames.
    """

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn how to complete rows.

        Parameters
        ----------
        X
            Array of shape (n, d), NaN for missing values.
        y
            Not used.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For infinite values, or a table without rows or columns.

        Examples
        --------
        >>> from streamkarma.baselines import GaussImputer
        >>> GaussImputer().fit([[1.0, 2.0], [2.0, 4.0], [3.0, np.nan]]).n_features_in_
        2
        """
        self._fit_rows(validated(self, X))
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Complete rows.

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
        >>> from streamkarma.baselines import GaussImputer
        >>> imputer = GaussImputer().fit([[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]])
        >>> imputer.transform([[3.0, np.nan]]).round(2).tolist()
        [[3.0, 3.0]]
        """
        check_is_fitted(self)
        rows: Floats = validated(self, X, reset=False)
        if not np.isnan(rows).any():
            return rows
        filled = self._complete(self._scaler(rows)) * self._scaler.spread + self._scaler.shift
        return np.where(np.isnan(rows), filled, rows)

    def _fit_rows(self, rows: Floats) -> None:
        self._scaler = self._scaling(rows)
        self._learn(self._scaler(rows))

    def _scaling(self, X: Floats) -> Scaler:
        return Scaler.of(X)

    def _learn(self, X: Floats) -> None:
        raise NotImplementedError

    def _complete(self, X: Floats) -> Floats:
        raise NotImplementedError
