"""Base classes of the offline methods: validation of input, and the coding of classes.

A method implements ``_learn(X, Y, weights)``, where Y has one column of -1 and 1 per class (a single one for
two classes), or of numbers for a regression, and ``_scores(X)``, which returns as many columns of scores.
Methods with weighted losses derive from ``WeightedClassifier`` and ``WeightedRegressor``; methods with
probabilities set ``_has_probabilities``.
"""

from __future__ import annotations

import sys
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from streamkarma.arrays import Floats
from streamkarma.baselines.tuning import Criterion, Holdout, signs
from streamkarma.baselines.validation import validated, weighted


class Baseline(BaseEstimator):
    """An offline method that accepts NaN for missing values."""

    #: Whether the method needs complete vectors, as the oracle does.
    _needs_complete = False
    #: Whether it is a regression.
    _squared = False
    #: The loss by which settings are chosen on held-out rows; None for the error rate or the squared error.
    criterion: Criterion | None = None

    def _learn(self, X: Floats, Y: Floats, weights: Floats | None) -> None:
        raise NotImplementedError

    def _scores(self, X: Floats) -> Floats:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not self._needs_complete
        return tags

    def _checked(self, X: ArrayLike, y: Any = "no_validation", reset: bool = False) -> Any:
        return validated(self, X, y, reset=reset, complete=self._needs_complete)

    def _holdout(self, Y: Floats, weights: Floats | None = None) -> Holdout:
        """Random quarters for choosing settings, drawn with ``random_state``."""
        return Holdout(Y, self._squared, self._rng(), weights, self._say, self.criterion)

    def _rng(self) -> np.random.RandomState:
        """The generator given by ``random_state``; the same draws in every fit."""
        made: np.random.RandomState = check_random_state(getattr(self, "random_state", 0))
        return made

    def _say(self, text: str) -> None:
        """Print a line of progress on standard error if ``verbose=True``."""
        if getattr(self, "verbose", False):
            print(f"{type(self).__name__}: {text}", file=sys.stderr, flush=True)


class BaselineClassifier(ClassifierMixin, Baseline):
    """A classifier for two classes or more; with only one class, that class is always predicted."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from a table and its labels.

        Parameters
        ----------
        X
            Array of shape (n, d) of finite numbers, with NaN for missing values.
        y
            Array of shape (n,) of classes: numbers, strings or booleans.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For infinite values, shapes that do not match, or a target that is not a class.

        Examples
        --------
        >>> from streamkarma.baselines import MCBClassifier
        >>> model = MCBClassifier(weight=1.0, mu=1e-3).fit([[1.0], [np.nan], [-1.0]], ["a", "a", "b"])
        >>> model.classes_.tolist()
        ['a', 'b']
        """
        return self._fitted(X, y, None)

    def _fitted(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Self:
        rows, labels = self._checked(X, y, reset=True)
        check_classification_targets(labels)
        rows, labels, weights = weighted(rows, labels, sample_weight)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) > 1:
            self._learn(rows, signs(codes, len(self.classes_)), weights)
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Scores of rows.

        Parameters
        ----------
        X
            Array of shape (n, d), NaN for missing values.

        Returns
        -------
        Array of shape (n,) for two classes, positive for the second; else of shape (n, classes).

        Raises
        ------
        NotFittedError
            Before ``fit``; a ValueError.
        ValueError
            For infinite values, or another number of columns than in ``fit``.

        Examples
        --------
        >>> from streamkarma.baselines import ImputedClassifier
        >>> model = ImputedClassifier("mean", C=1.0).fit([[1.0], [2.0], [-1.0], [-2.0]], [1, 1, 0, 0])
        >>> (model.decision_function([[3.0], [-3.0]]) > 0).tolist()
        [True, False]
        """
        check_is_fitted(self)
        rows = self._checked(X)
        if len(self.classes_) == 1:
            return np.zeros(len(rows))
        scores = self._scores(rows)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of each row.

        Parameters
        ----------
        X
            As in ``decision_function``.

        Returns
        -------
        Array of shape (n,), with some of ``classes_``.

        Raises
        ------
        ValueError
            As in ``decision_function``.

        Examples
        --------
        >>> from streamkarma.baselines import ImputedClassifier
        >>> model = ImputedClassifier("mean", C=1.0).fit([[1.0], [2.0], [-1.0], [-2.0]], list("ddww"))
        >>> model.predict([[3.0], [-3.0]]).tolist()
        ['d', 'w']
        """
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        answers: NDArray[Any] = self.classes_[chosen]
        return answers

    @property
    def _has_probabilities(self) -> bool:
        """Whether the method has probabilities, from a logistic loss or from votes."""
        return getattr(self, "machine", None) == "logistic"

    @available_if(lambda self: self._has_probabilities)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability of each class, for methods that have probabilities.

        These are the logistic machines (``machine="logistic"``), mc1 and mcb, trees, and nearest neighbours;
        a support vector machine has none.

        Parameters
        ----------
        X
            As in ``decision_function``.

        Returns
        -------
        Array of shape (n, classes), whose rows add up to 1.

        Raises
        ------
        ValueError
            As in ``decision_function``.

        Examples
        --------
        >>> from streamkarma.baselines import ImputedClassifier
        >>> model = ImputedClassifier("mean", machine="logistic", C=1.0)
        >>> chances = model.fit([[1.0], [2.0], [-1.0], [-2.0]], [1, 1, 0, 0]).predict_proba([[3.0]])
        >>> chances.shape, bool(chances[0, 1] > 0.5)
        ((1, 2), True)
        """
        check_is_fitted(self)
        rows = self._checked(X)
        if len(self.classes_) == 1:
            return np.ones((len(rows), 1))
        shares = self._probabilities(rows)
        return np.column_stack([1.0 - shares, shares]) if shares.shape[1] == 1 else shares

    def _probabilities(self, X: Floats) -> Floats:
        """Probabilities of the second of two classes, shape (n, 1), or of all, from log-odds."""
        scores = self._scores(X)
        return np.asarray(expit(scores) if scores.shape[1] == 1 else softmax(scores, axis=1))


class WeightedClassifier(BaselineClassifier):
    """A classifier whose losses can be weighted."""

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from a table, its labels, and a weight for the loss of each row.

        Parameters
        ----------
        X, y
            As in ``BaselineClassifier``.
        sample_weight
            Array of shape (n,), 0 or more; None for 1 each. The weights apply to the losses, to the moments
            used for scaling, and to the errors on held-out rows. Imputers and densities treat all rows alike,
            except that rows of weight 0 are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As in ``BaselineClassifier``, and for weights that are negative, infinite, or all 0.

        Examples
        --------
        >>> from streamkarma.baselines import ImputedClassifier
        >>> model = ImputedClassifier("mean", C=1.0)
        >>> model = model.fit([[1.0], [-1.0], [1.0]], [1, 0, 0], sample_weight=[9.0, 9.0, 0.0])
        >>> model.predict([[1.0]]).tolist()
        [1]
        """
        return self._fitted(X, y, sample_weight)


class BaselineRegressor(RegressorMixin, Baseline):
    """A regressor: predicts a number for each row."""

    _squared = True

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from a table and its targets.

        Parameters
        ----------
        X
            Array of shape (n, d) of finite numbers, with NaN for missing values.
        y
            Array of shape (n,) of finite numbers.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For infinite values or shapes that do not match.

        Examples
        --------
        >>> from streamkarma.baselines import MCBRegressor
        >>> MCBRegressor(weight=1.0, mu=1e-3).fit([[1.0], [np.nan], [-1.0]], [1.0, 0.0, -1.0]).n_features_in_
        1
        """
        return self._fitted(X, y, None)

    def _fitted(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Self:
        rows, targets = self._checked(X, y, reset=True)
        rows, targets, weights = weighted(rows, targets, sample_weight)
        numbers = np.asarray(targets, dtype=np.float64)
        self._learn(rows, numbers[:, np.newaxis], weights)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """The number predicted for each row.

        Parameters
        ----------
        X
            Array of shape (n, d), NaN for missing values.

        Returns
        -------
        Array of shape (n,).

        Raises
        ------
        NotFittedError
            Before ``fit``; a ValueError.
        ValueError
            For infinite values, or another number of columns than in ``fit``.

        Examples
        --------
        >>> from streamkarma.baselines import ImputedRegressor
        >>> model = ImputedRegressor("mean", C=1e6).fit([[0.0], [1.0], [2.0]], [0.0, 2.0, 4.0])
        >>> model.predict([[3.0]]).round(2).tolist()
        [6.0]
        """
        check_is_fitted(self)
        return self._scores(self._checked(X))[:, 0]


class WeightedRegressor(BaselineRegressor):
    """A regressor whose losses can be weighted."""

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from a table, its targets, and a weight for the loss of each row.

        Parameters
        ----------
        X, y
            As in ``BaselineRegressor``.
        sample_weight
            As in ``WeightedClassifier``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As in ``BaselineRegressor``, and for weights that are negative, infinite, or all 0.

        Examples
        --------
        >>> from streamkarma.baselines import ImputedRegressor
        >>> model = ImputedRegressor("mean", C=1e6)
        >>> model = model.fit([[0.0], [1.0], [1.0]], [0.0, 2.0, 9.0], sample_weight=[1.0, 1.0, 0.0])
        >>> model.predict([[3.0]]).round(2).tolist()
        [6.0]
        """
        return self._fitted(X, y, sample_weight)
