"""What the offline methods share: how input is checked, and how classes become scores.

A system gives two methods: ``_learn(X, Y)``, where Y has one column of -1 and 1 per class
(a single one for two classes), or of numbers for a regression; and ``_scores(X)``, one
column of scores each. Three classes or more are one against the rest.
"""

from __future__ import annotations

import sys
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from streamkarma.baselines.tables import Floats


class Baseline(BaseEstimator):
    """An offline method that takes NaN for what is missing."""

    #: True where the method needs complete vectors, as the oracle does.
    _needs_complete = False
    #: True for a regression.
    _squared = False

    def _learn(self, X: Floats, Y: Floats) -> None:
        raise NotImplementedError

    def _scores(self, X: Floats) -> Floats:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not self._needs_complete
        return tags

    def _checked(self, X: ArrayLike, y: Any = "no_validation", reset: bool = False) -> Any:
        finite: Any = True if self._needs_complete else "allow-nan"
        return validate_data(self, X, y, reset=reset, dtype=np.float64, ensure_all_finite=finite)

    def _rng(self) -> np.random.RandomState:
        """The generator that ``random_state`` names; the same draws at every fit."""
        made: np.random.RandomState = check_random_state(getattr(self, "random_state", 0))
        return made

    def _say(self, text: str) -> None:
        """A line of progress on standard error, with ``verbose=True``."""
        if getattr(self, "verbose", False):
            print(f"{type(self).__name__}: {text}", file=sys.stderr, flush=True)


class BaselineClassifier(ClassifierMixin, Baseline):
    """Two classes or more; with one class only, every answer is that class."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from a table and its labels.

        Parameters
        ----------
        X
            Array of shape (n, d) of finite numbers, with NaN for what is missing.
        y
            Array of shape (n,) of classes: numbers, strings or booleans.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For infinite values, shapes that do not fit, or a target that is no class.
        """
        rows, labels = self._checked(X, y, reset=True)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) > 1:
            self._learn(rows, signs(codes, len(self.classes_)))
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Scores: of shape (n,) for two classes, above 0 for the second; else (n, classes)."""
        check_is_fitted(self)
        rows = self._checked(X)
        if len(self.classes_) == 1:
            return np.zeros(len(rows))
        scores = self._scores(rows)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of each row of ``X``."""
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        answers: NDArray[Any] = self.classes_[chosen]
        return answers


class BaselineRegressor(RegressorMixin, Baseline):
    """A number for each row."""

    _squared = True

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from a table and its targets.

        Parameters
        ----------
        X
            Array of shape (n, d) of finite numbers, with NaN for what is missing.
        y
            Array of shape (n,) of finite numbers.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For infinite values or shapes that do not fit.
        """
        rows, targets = self._checked(X, y, reset=True)
        numbers = np.asarray(targets, dtype=np.float64)
        self._learn(rows, numbers[:, np.newaxis])
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """The number predicted for each row of ``X``."""
        check_is_fitted(self)
        return self._scores(self._checked(X))[:, 0]


def signs(codes: NDArray[np.intp], classes: int) -> Floats:
    """Classes as columns of -1 and 1: one for two classes, else one per class.

    Examples
    --------
    >>> signs(np.array([0, 1]), 2).tolist(), signs(np.array([0, 2]), 3).tolist()
    ([[-1.0], [1.0]], [[1.0, -1.0, -1.0], [-1.0, -1.0, 1.0]])
    """
    if classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, np.newaxis]
    return np.where(codes[:, np.newaxis] == np.arange(classes), 1.0, -1.0)
