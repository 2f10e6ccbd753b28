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
        """Learn from an array of shape (n, d), NaN for missing values; ``y`` is not used."""
        self._fit_rows(validated(self, X))
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """``X`` completed; observed values are unchanged."""
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
