"""A linear model on bins of values and pairs of them, as river models."""

from __future__ import annotations

from dataclasses import dataclass

from streamkarma.core.explicit import AROW, BINS_TABLE_BITS, Bins, Step
from streamkarma.core.loss import HINGE, SQUARED
from streamkarma.core.mixture import Calibrated
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.estimators.regression import BaseRegressor
from streamkarma.estimators.settings import (
    CostParameters,
    EncodingParameters,
    ValueParameters,
    check_count,
    check_half_life,
    check_positive,
)


@dataclass(eq=False, repr=False)
class BinsParameters(ValueParameters):
    """The parameters that ``BinsClassifier`` and ``BinsRegressor`` share, see there."""

    r: float = 1.0
    table_bits: int = BINS_TABLE_BITS


@dataclass(eq=False, repr=False)
class BinsClassifier(EncodingParameters, CostParameters, BinsParameters, BaseClassifier):
    """Online classifier on bins of values and pairs of bins, for incomplete events.

    Each number belongs to two of eight bins, with degrees that add up to 1, and each category to one of its
    own. AROW learns a weight for each bin and each pair of bins. It thus finds thresholds, intervals and
    boxes, which a linear model of the values cannot. Missing values are in no bin. An event of n attributes
    costs 3/2 n². With more than 17 each number belongs to one bin only, and with more than 31 there are no
    pairs.

    Parameters
    ----------
    r
        The variance of the noise, 1e-12 to 1e12. Larger values give smaller steps.
    table_bits
        log2 of the maximum number of weights, 8 to 30; 18 are 4 MB. Beyond that they are hashed.
    scale, forget, max_attributes, max_coordinates, max_name_bytes, max_classes, class_weight, threshold,
    na, sentinel, sentinels, kinds, entity, time, carry, carry_labels, carry_for, max_entities, coverage
        As in ``KARMAClassifier``. Bins are half a deviation wide: without ``scale``, half a unit.

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
    Crammer, Kulesza, Dredze: Adaptive Regularization of Weight Vectors, NIPS 2009.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from streamkarma import BinsClassifier
    >>> evaluate.progressive_val_score(datasets.Phishing(), BinsClassifier(), metrics.Accuracy())
    Accuracy: 91.27%
    """

    max_classes: int = 1000
    loss = "logistic"

    def __post_init__(self) -> None:
        self._begin(Calibrated(_bins(self, HINGE), check_half_life(self.forget)))


@dataclass(eq=False, repr=False)
class BinsRegressor(EncodingParameters, BinsParameters, BaseRegressor):
    """Online regression on bins of values and pairs of bins, for incomplete events.

    As ``BinsClassifier``, by recursive least squares with a diagonal covariance.

    Parameters
    ----------
    r, table_bits
        As in ``BinsClassifier``.
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
    >>> from streamkarma import BinsRegressor
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), BinsRegressor(), metrics.MAE())
    MAE: 0.395053
    """

    loss = "squared"

    def __post_init__(self) -> None:
        self._begin(_bins(self, SQUARED))


def _bins(model: BinsClassifier | BinsRegressor, loss: int) -> Bins:
    """The learner."""
    r, half_life = check_positive("r", model.r), check_half_life(model.forget)
    step = Step(AROW, loss, r, 0.0, 0.0, 0.0, half_life)
    return Bins(step, check_count("table_bits", model.table_bits))
