"""Imputation by class means: one reading of [D]'s MeanInput."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets

from streamkarma.arrays import Floats
from streamkarma.baselines.imputer_base import Imputer
from streamkarma.baselines.tables import Scaler, moments
from streamkarma.baselines.validation import validated


class ClassMeanImputer(Imputer):
    """Imputes class means where labels are known, and column means elsewhere.

    ``fit_transform(X, y)`` completes the training rows with the means of their classes; ``transform(X)`` has
    no labels, and uses the means over all classes. As with scikit-learn's ``TargetEncoder``, the two
    therefore differ even on the same rows: to train on the result, use ``fit_transform``, as pipelines do.

    Attributes
    ----------
    classes_
        Array of shape (classes,).
    means_
        Array of shape (classes, d): mean of the observed values of each class; the column's mean where a
        class has none.
    mean_
        Array of shape (d,): mean of the observed values of each column, 0 if there are none.

    Notes
    -----
    [D, Section 6.1] does not say whether mean imputation is per class. As rows to be predicted have no label,
    this imputer helps where only the training rows are incomplete, as in [D]'s experiments. Labels that are
    not classes are refused: for regression, use the column's mean (``SimpleImputer``).

    References
    ----------
    [D] Dick, Haider, Scheffer, ICML 2008.

    Examples
    --------
    >>> X = np.array([[1.0], [np.nan], [9.0], [np.nan]])
    >>> imputer = ClassMeanImputer()
    >>> imputer.fit_transform(X, ["low", "low", "high", "high"]).ravel().tolist()
    [1.0, 1.0, 9.0, 9.0]
    >>> imputer.transform(X).ravel().tolist()
    [1.0, 5.0, 9.0, 5.0]
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn the means.

        Parameters
        ----------
        X
            Array of shape (n, d), NaN for missing values.
        y
            Array of shape (n,) of classes: numbers, strings or booleans.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Without labels, for labels that are not classes, or shapes that do not match.

        Examples
        --------
        >>> ClassMeanImputer().fit([[1.0], [np.nan], [9.0]], ["low", "low", "high"]).means_.ravel().tolist()
        [9.0, 1.0]
        """
        self._fit_labelled(X, y)
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> Floats:
        """Learn the means, and complete each row with those of its class.

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
        >>> ClassMeanImputer().fit_transform([[1.0], [np.nan], [9.0]], ["low", "low", "high"]).tolist()
        [[1.0], [1.0], [9.0]]
        """
        rows, of = self._fit_labelled(X, y)
        return np.where(np.isnan(rows), self.means_[of], rows)

    def _fit_labelled(self, X: ArrayLike, y: Any) -> tuple[Floats, NDArray[np.intp]]:
        """The rows, and the class index of each."""
        rows, labels = validated(self, X, y)
        try:
            check_classification_targets(labels)
        except ValueError as error:
            raise ValueError(f"{error} For a regression, use SimpleImputer, the mean of the column") from None
        self.classes_, of = np.unique(labels, return_inverse=True)
        self._fit_rows(rows)
        means = []
        for number in range(len(self.classes_)):
            members = rows[of == number]
            means.append(np.where(np.isnan(members).all(axis=0), self.mean_, moments(members)[0]))
        self.means_ = np.array(means)
        return rows, of

    def _scaling(self, X: Floats) -> Scaler:
        return Scaler.of(X, scale=False)

    def _learn(self, X: Floats) -> None:
        self.mean_ = moments(X)[0]

    def _complete(self, X: Floats) -> Floats:
        return np.where(np.isnan(X), self.mean_, X)
