"""A forest of online trees for incomplete events, as river models."""

from __future__ import annotations

from dataclasses import dataclass

from streamkarma.core.forest import Forest
from streamkarma.core.mixture import Calibrated
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
class ForestParameters(ValueParameters):
    """The parameters that ``ForestClassifier`` and ``ForestRegressor`` share, see there."""

    trees: int = 10


@dataclass(eq=False, repr=False)
class ForestClassifier(EncodingParameters, CostParameters, ForestParameters, BaseClassifier):
    """Online forest for incomplete events.

    Trees grow as in [D] on histograms of random subsets of attributes. Each tree learns each event a
    Poisson-distributed number of times [O], and is replaced when it has become worse [G]. Each split sends
    missing values to the side where they fit better, and may also test whether an attribute is observed.

    Parameters
    ----------
    trees
        Number of trees, 1 to 1,000; the cost of an event is proportional to it.
    na, sentinel, sentinels, kinds, entity, time, carry, carry_labels, carry_for, max_entities, coverage
        As in ``KARMAClassifier``.
    scale, forget, max_attributes, max_coordinates, max_name_bytes, max_classes, class_weight, threshold
        As in ``KARMAClassifier``.

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
    [D] Domingos, Hulten: Mining High-Speed Data Streams, KDD 2000.
    [O] Oza, Russell: Online Bagging and Boosting, AISTATS 2001.
    [G] Gomes et al.: Adaptive Random Forests for Evolving Data Stream Classification, Machine Learning 2017.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from streamkarma import ForestClassifier
    >>> evaluate.progressive_val_score(datasets.Phishing(), ForestClassifier(), metrics.Accuracy())
    Accuracy: 89.75%
    """

    max_classes: int = 1000
    loss = "logistic"

    def __post_init__(self) -> None:
        forest = _forest(self, regression=False)
        self._begin(Calibrated(forest, forest.half_life))


@dataclass(eq=False, repr=False)
class ForestRegressor(EncodingParameters, ForestParameters, BaseRegressor):
    """Online forest for a regression on incomplete events.

    Parameters
    ----------
    trees
        As in ``ForestClassifier``.
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
    >>> from streamkarma import ForestRegressor
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), ForestRegressor(), metrics.MAE())
    MAE: 0.668634
    """

    loss = "squared"

    def __post_init__(self) -> None:
        self._begin(_forest(self, regression=True))


def _forest(model: ForestClassifier | ForestRegressor, regression: bool) -> Forest:
    return Forest(regression, check_count("trees", model.trees, 1000), check_half_life(model.forget))
