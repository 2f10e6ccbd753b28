"""Costs of errors: weights of classes when labels are learned, and a threshold when a class is chosen."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from streamkarma.arrays import Floats, Ints
from streamkarma.errors import UsageError
from streamkarma.estimators.label_shares import LabelShares
from streamkarma.estimators.pipeline import HEAVIEST
from streamkarma.estimators.settings import averaging_window
from streamkarma.events.labels import Label
from streamkarma.parameters.checks import is_word
from streamkarma.parameters.kinds import Threshold, WeightsByClass
from streamkarma.parameters.learning import LEARNING
from streamkarma.parameters.words import BALANCED
from streamkarma.printable import shown


class Costs:
    """The weights of classes and the threshold of a classifier.

    Parameters
    ----------
    class_weight
        None, ``"balanced"`` or weights by class, those not named having weight 1.
    threshold
        None, ``"balanced"`` or the probability from which the positive class is predicted.
    half_life
        Half-life of the counts of labels, or None.

    Raises
    ------
    UsageError
        If one of them is out of its range.
    """

    def __init__(self, class_weight: Any, threshold: Any, half_life: float | None) -> None:
        window = averaging_window(half_life)
        self._weights = check_class_weight(class_weight)
        check_threshold(threshold)
        #: Shares of the labels with their raw weights, and as weighted; None unless needed.
        self._raw_shares = LabelShares(window) if is_word(class_weight, BALANCED) else None
        self._weighted_shares = LabelShares(window) if is_word(threshold, BALANCED) else None

    @property
    def balances(self) -> bool:
        """Whether the threshold depends on the shares of the classes."""
        return self._weighted_shares is not None

    def weigh(self, index: int, weight: float, known: Sequence[Label]) -> float:
        """The weight to learn a label with.

        Parameters
        ----------
        index
            The index of its class.
        weight
            The event's own, above 0.
        known
            The classes, including its own.
        """
        if self._weights is None and self._raw_shares is None:
            return weight
        factor = (
            self._raw_shares.balanced(index, weight, len(known))
            if self._raw_shares is not None
            else weight_of(known[index], self._weights or {})
        )
        return min(max(weight * factor, sys.float_info.min), HEAVIEST)

    def count(self, index: int, weight: float, weighed: float) -> None:
        """Count a learned label, with the event's own weight and the one it was learned with."""
        if self._raw_shares is not None:
            self._raw_shares.add(index, weight)
        if self._weighted_shares is not None:
            self._weighted_shares.add(index, weighed)

    def run(self, targets: Ints, weights: Floats, known: Sequence[Label], before: Ints) -> Floats:
        """Weigh and count the labels of T events in turn.

        Parameters
        ----------
        targets
            Shape (T,): the index of the label, negative without one.
        weights
            Shape (T,): the events' own weights, replaced in place by those to learn with.
        known
            The classes.
        before
            Shape (T,): how many of them had been seen before the event.

        Returns
        -------
        Shape (T, classes): the shares of the classes before each event, 1 for those not seen before; without
        columns if the threshold needs none.
        """
        shares = np.ones((len(targets), len(known) if self.balances else 0))
        labels = zip(targets.tolist(), weights.tolist(), before.tolist(), strict=True)
        for t, (index, weight, classes) in enumerate(labels):
            if self._weighted_shares is not None:
                shares[t, :classes] = self._weighted_shares.of_all(classes)
            if index >= 0 and weight > 0.0:
                weights[t] = self.weigh(index, weight, known)
                self.count(index, weight, float(weights[t]))
        return shares

    def shares(self, classes: int) -> list[float]:
        """The current shares of the classes; empty if not needed."""
        return [] if self._weighted_shares is None else self._weighted_shares.of_all(classes)

    def unmatched(self, known: Sequence[Label]) -> list[str]:
        """Names that were given a weight but are not among the classes."""
        names = {name for label in known for name in names_of(label)}
        return [name for name in self._weights or {} if name not in names]

    def relabel(self, places: Sequence[int]) -> None:
        """Renumber the classes: ``c`` becomes ``places[c]``."""
        for part in (self._raw_shares, self._weighted_shares):
            if part is not None:
                part.relabel(places)

    def merge(self, parts: Sequence[Costs]) -> None:
        """Merge what parts have counted since each was a copy of this one; classes are numbered alike."""
        for own, others in (
            (self._raw_shares, [part._raw_shares for part in parts]),
            (self._weighted_shares, [part._weighted_shares for part in parts]),
        ):
            if own is not None:
                own.merge([other for other in others if other is not None])

    def state(self) -> dict[str, Any]:
        """The counts, as JSON."""
        parts = {"came": self._raw_shares, "learned": self._weighted_shares}
        return {name: part.state() for name, part in parts.items() if part is not None}

    def restore(self, state: Mapping[str, Any], classes: int) -> None:
        """Restore a ``state``; KeyError or ValueError if it is inconsistent."""
        for name, part in (("came", self._raw_shares), ("learned", self._weighted_shares)):
            if part is not None:
                part.restore(state[name], classes)


def choose(chances: Sequence[float], threshold: float | str, shares: Sequence[float], positive: int) -> int:
    """The index of the class to predict for an event; -1 before any is known.

    Parameters
    ----------
    chances
        The probability of each class.
    threshold
        A number: the positive class from that probability on. ``"balanced"``: the class whose probability is
        the largest multiple of its share, which is the Bayes rule for balanced accuracy.
    shares
        The share of each class; not used if the threshold is a number.
    positive
        The index of the positive class of two.

    Examples
    --------
    >>> choose([0.8, 0.2], 0.2, [], 1), choose([0.95, 0.05], 0.2, [], 1)
    (1, 0)
    >>> choose([0.8, 0.2], "balanced", [0.9, 0.1], 1), choose([0.95, 0.05], "balanced", [0.9, 0.1], 1)
    (1, 0)
    """
    if len(chances) < 2:
        return len(chances) - 1
    if isinstance(threshold, str):
        multiples = [chance / share for chance, share in zip(chances, shares, strict=True)]
        return multiples.index(max(multiples))
    return positive if chances[positive] >= threshold else 1 - positive


def decide(chances: Floats, known: Ints, threshold: float | str, shares: Floats, positive: Ints) -> Ints:
    """``choose`` for T events: shapes (T, classes), (T,), those of ``Costs.run``, and (T,)."""
    rows = zip(chances.tolist(), known.tolist(), shares.tolist(), positive.tolist(), strict=True)
    found = [choose(row[:most], threshold, share[:most], which) for row, most, share, which in rows]
    return np.array(found, np.int64)


def greater_of(known: Sequence[Label]) -> int:
    """The index of the positive class of two: the greater in sort order."""
    return int(len(known) < 2 or known[1] > known[0])  # type: ignore[operator]  # they are of one kind


def check_class_weight(given: Any) -> dict[str, float] | None:
    """Weights by name, None if there are none or they are balanced; UsageError for anything else.

    Examples
    --------
    >>> check_class_weight({True: 10, "spam": 0.5}), check_class_weight("balanced")
    ({'true': 10.0, 'spam': 0.5}, None)
    """
    if given is None or is_word(given, BALANCED):
        return None
    if not isinstance(given, Mapping):
        raise UsageError(f"class_weight must be None, 'balanced' or weights by class, not {shown(given)}")
    kind = LEARNING["class_weight"].kind
    assert isinstance(kind, WeightsByClass)
    weights: dict[str, float] = {}
    for key, weight in given.items():
        # Like labels, classes may be given as NumPy values.
        label = key.item() if isinstance(key, np.generic) else key
        if not isinstance(label, (bool, int, float, str)) or not kind.weight.holds(weight):
            raise UsageError(f"class_weight: {kind.weight} by class, not {shown({label: weight})}")
        name = names_of(label)[0]
        if name in weights:
            raise UsageError(f"class_weight names the class {shown(name)} twice; give it one weight")
        weights[name] = float(weight)
    return weights


def plain_costs(class_weight: Any, threshold: Any) -> tuple[Any, str | float | None]:
    """Both as files store them: None, balanced, and numbers; UsageError if one is out of its range."""
    weights = check_class_weight(class_weight)
    return class_weight if weights is None else weights, check_threshold(threshold)


def check_threshold(given: Any) -> float | str | None:
    """Return a threshold that is None, balanced or a probability; else raise UsageError."""
    kind = LEARNING["threshold"].kind
    assert isinstance(kind, Threshold)
    if given is None or is_word(given, BALANCED):
        return given  # type: ignore[no-any-return]  # one of two values
    if not kind.probability.holds(given):
        raise UsageError(f"threshold must be None, 'balanced' or {kind.probability}, not {shown(given)}")
    return float(given)


def names_of(label: Label) -> list[str]:
    """The possible names of a class: as in JSON, and a whole number with or without a decimal point.

    Examples
    --------
    >>> names_of(True), names_of(1), names_of("1"), names_of(0.5)
    (['true'], ['1', '1.0'], ['1'], ['0.5'])
    """
    if isinstance(label, bool):
        return [str(label).lower()]
    if isinstance(label, str):
        return [label]
    # An integer that is not exactly a float must not have its neighbour's name.
    whole = label == float(label) and float(label).is_integer()
    return [str(int(label)), str(float(label))] if whole else [str(label)]


def weight_of(label: Label, weights: Mapping[str, float]) -> float:
    """The weight of a class by its name, 1 if it has none."""
    return next((weights[name] for name in names_of(label) if name in weights), 1.0)
