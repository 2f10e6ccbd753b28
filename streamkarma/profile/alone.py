"""How well one attribute alone predicts the label, by cross-validation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from streamkarma.arrays import Floats, Ints
from streamkarma.profile.summaries import quantiles, squarable

#: Folds of the cross-validation; bins of numbers; maximum number of texts, or numbers, with own groups.
_FOLDS, _BINS, _VALUES = 5, 32, 64
#: Weight of the overall mean in the mean of a group, as a number of labels.
_PRIOR = 1.0
#: Minimum number of labelled rows for a result.
FEWEST = 50


class PredictivePower(NamedTuple):
    """How well an attribute predicts the label: fractions between 0 and 1.

    Attributes
    ----------
    share
        Fraction of the squared error, of the predicted number or probabilities, that is avoided.
    errors
        Fraction of the wrong predictions that is avoided; 0 for numbers.
    saved
        Number of wrong predictions avoided.
    """

    share: float
    errors: float
    saved: int


class Label:
    """The labels of some rows.

    Parameters
    ----------
    labels
        Numbers of a regression, else classes.
    is_number
        Whether it is a regression.

    Examples
    --------
    >>> label = Label(["a", "b"] * 50, False)
    >>> label.predictive_power([1.0, None] * 50).errors, label.predictive_power([1.0] * 100)
    (1.0, PredictivePower(share=0.0, errors=0.0, saved=0))
    """

    def __init__(self, labels: Sequence[Any], is_number: bool) -> None:
        if is_number:
            self._columns: Floats = squarable(np.array(labels, np.float64))[:, np.newaxis]
        else:
            classes = sorted(set(map(str, labels)))
            self._columns = np.array(
                [[label == each for each in classes] for label in map(str, labels)], np.float64
            )
        self._is_number = is_number
        self._folds = np.arange(len(labels)) % _FOLDS
        self._squared, self._wrong = self._missed(np.zeros(len(labels), np.int64))

    def predictive_power(self, values: Sequence[Any]) -> PredictivePower:
        """How well an attribute with these values predicts the label; None for a missing value."""
        squared, wrong = self._missed(groups(values))
        share = 1.0 - squared / self._squared if self._squared > 0 else 0.0
        errors = 1.0 - wrong / self._wrong if self._wrong else 0.0
        return PredictivePower(max(0.0, share), max(0.0, errors), max(0, self._wrong - wrong))

    def _missed(self, groups: Ints) -> tuple[float, int]:
        """Squared error and wrong predictions if each group predicts its mean on the other folds."""
        squared, wrong = 0.0, 0
        for fold in range(_FOLDS):
            inner, outer = self._folds != fold, self._folds == fold
            mean = self._columns[inner].mean(axis=0)
            sums = np.zeros((groups.max() + 1, self._columns.shape[1]))
            np.add.at(sums, groups[inner], self._columns[inner])
            counts = np.bincount(groups[inner], minlength=len(sums))[:, np.newaxis]
            predicted = ((sums + _PRIOR * mean) / (counts + _PRIOR))[groups[outer]]
            there = self._columns[outer]
            squared += float(((there - predicted) ** 2).sum())
            if not self._is_number:
                wrong += int((predicted.argmax(axis=1) != there.argmax(axis=1)).sum())
        return squared, wrong


def groups(values: Sequence[Any]) -> Ints:
    """The group of each value: missing, a range of numbers, a frequent text, or any other value.

    Examples
    --------
    >>> groups([None, 1.5, "x", 2.5, "x"]).tolist()
    [0, 2, 1, 3, 1]
    """
    texts = Counter(value for value in values if isinstance(value, str))
    place = {text: at for at, (text, _) in enumerate(texts.most_common(_VALUES), 1)}
    numbers = np.array([float(value) for value in values if isinstance(value, (int, float))])
    edges = np.unique(quantiles(numbers, np.linspace(0, 1, _BINS + 1)[1:-1])) if len(numbers) else numbers
    distinct = np.unique(numbers)
    edges = distinct[1:] if len(distinct) <= _VALUES else edges
    found = np.zeros(len(values), np.int64)
    first = len(place) + 1
    for at, value in enumerate(values):
        if isinstance(value, str):
            found[at] = place.get(value, first + len(edges) + 1)
        elif isinstance(value, (int, float)):
            found[at] = first + int(np.searchsorted(edges, value, side="right"))
        elif value is not None:
            found[at] = first + len(edges) + 1
    return found
