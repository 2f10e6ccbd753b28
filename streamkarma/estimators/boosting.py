"""Gradient-boosted trees for incomplete events, as river models."""

from __future__ import annotations

from dataclasses import dataclass

from streamkarma.core.mixture import Calibrated
from streamkarma.core.refitted_trees import WINDOW, BoostedTrees
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.estimators.regression import BaseRegressor
from streamkarma.estimators.settings import (
    CostParameters,
    EncodingParameters,
    ValueParameters,
    check_count,
    check_half_life,
)


@dataclass(eq=False, repr=False)
class BoostingParameters(ValueParameters):
    """The parameters that ``BoostingClassifier`` and ``BoostingRegressor`` share, see there."""

    window: int = WINDOW


@dataclass(eq=False, repr=False)
class BoostingClassifier(EncodingParameters, CostParameters, BoostingParameters, BaseClassifier):
    """Gradient-boosted trees for incomplete events, refitted as the stream goes on.

    Fifty trees are fitted to the latest events by Newton steps on histograms [C], each to a sample of them
    [S], and refitted whenever there are half as many events again, beyond 4,096 twice as many. They have up
    to 16 leaves, or one for every 128 events if that is more, and at most 128. Between fits, the leaves learn
    each event: every leaf that the event falls into updates its Newton step. Each split sends
    missing values to the side where they fit better. Once ADWIN detects that errors have risen, older
    events leave the window and the trees are refitted to the rest. With more than 16 classes there are
    fewer trees, and none with more than 800.

    Parameters
    ----------
    window
        Maximum number of events that the trees are fitted to, 1 to 1,048,576; fewer if they have more than 64
        numbers, categories and words on average. An event with more than 1,024 of them is not fitted.
    na, sentinel, sentinels, kinds, entity, time, carry, carry_labels, carry_for, max_entities, coverage
        As in ``KARMAClassifier``.
    scale, forget, max_attributes, max_coordinates, max_name_bytes, max_classes, class_weight, threshold
        As in ``KARMAClassifier``. With ``forget``, events older than eight half-lives leave the window.

    Attributes
    ----------
    classes : list
        The labels seen so far; both False and True after the first boolean.

    Raises
    ------
    UsageError
        A ValueError: a parameter is out of its range.

    References
    ----------
    [C] Chen, Guestrin: XGBoost: A Scalable Tree Boosting System, KDD 2016.
    [S] Friedman: Stochastic Gradient Boosting, Computational Statistics & Data Analysis 2002.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from streamkarma import BoostingClassifier
    >>> evaluate.progressive_val_score(datasets.Phishing(), BoostingClassifier(), metrics.Accuracy())
    Accuracy: 91.51%
    """

    max_classes: int = 1000
    loss = "logistic"

    def __post_init__(self) -> None:
        trees = _trees(self, regression=False)
        self._begin(Calibrated(trees, trees.half_life))


@dataclass(eq=False, repr=False)
class BoostingRegressor(EncodingParameters, BoostingParameters, BaseRegressor):
    """Gradient-boosted trees for a regression on incomplete events.

    Parameters
    ----------
    window
        As in ``BoostingClassifier``.
    scale, forget, max_attributes, max_coordinates, max_name_bytes, na, sentinel, sentinels, kinds, entity,
    time, carry, carry_labels, carry_for, max_entities, coverage
        As in ``KARMARegressor``.

    Raises
    ------
    UsageError
        A ValueError: a parameter is out of its range.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from streamkarma import BoostingRegressor
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), BoostingRegressor(), metrics.MAE())
    MAE: 0.436457
    """

    loss = "squared"

    def __post_init__(self) -> None:
        self._begin(_trees(self, regression=True))


def _trees(model: BoostingClassifier | BoostingRegressor, regression: bool) -> BoostedTrees:
    window = check_count("window", model.window)
    return BoostedTrees(regression, window, check_half_life(model.forget))
