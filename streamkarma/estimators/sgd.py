"""A linear model that keeps adapting, by gradient steps of constant size, as river models."""

from __future__ import annotations

from dataclasses import dataclass

from streamkarma.core.explicit import TABLE_BITS
from streamkarma.core.mixture import Calibrated
from streamkarma.core.sgd import Sgd
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
class ConstantStepParameters(ValueParameters):
    """The parameters that ``ConstantStepClassifier`` and ``ConstantStepRegressor`` share, see there."""

    eta: float = 0.03
    table_bits: int = TABLE_BITS


@dataclass(eq=False, repr=False)
class ConstantStepClassifier(EncodingParameters, CostParameters, ConstantStepParameters, BaseClassifier):
    """Online logistic regression by gradient descent with a constant step size, for incomplete events.

    A linear model on the standardised values and on indicators of the observed attributes. Its steps do not
    decrease: it follows drift at any time, and without drift it makes more errors than models that converge.

    Parameters
    ----------
    eta
        The step, 1e-12 to 1e12. It is kept below 2 / |x|², with x the event's features.
    table_bits
        log2 of the maximum number of weights, 8 to 30. Beyond that they are hashed.
    forget
        Half-life of the weights in events, 1 to 1e15; None if only later events change them.
    scale, max_attributes, max_coordinates, max_name_bytes, max_classes, class_weight, threshold, na,
    sentinel, sentinels, kinds, entity, time, carry, carry_labels, carry_for, max_entities, coverage
        As in ``KARMAClassifier``.

    Attributes
    ----------
    classes : list
        The labels seen so far; both False and True after the first boolean.

    Raises
    ------
    UsageError
        A ValueError: a parameter is out of its range.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from streamkarma import ConstantStepClassifier
    >>> evaluate.progressive_val_score(datasets.Phishing(), ConstantStepClassifier(), metrics.Accuracy())
    Accuracy: 89.75%
    """

    max_classes: int = 1000
    loss = "logistic"

    def __post_init__(self) -> None:
        self._begin(Calibrated(_sgd(self, regression=False), check_half_life(self.forget)))


@dataclass(eq=False, repr=False)
class ConstantStepRegressor(EncodingParameters, ConstantStepParameters, BaseRegressor):
    """Online linear regression by gradient descent with a constant step size, for incomplete events.

    As ``ConstantStepClassifier``, with the squared loss and the step kept below 1 / (2 |x|²).

    Parameters
    ----------
    eta, table_bits, forget
        As in ``ConstantStepClassifier``.
    scale, max_attributes, max_coordinates, max_name_bytes, na, sentinel, sentinels, kinds, entity, time,
    carry, carry_labels, carry_for, max_entities, coverage
        As in ``KARMARegressor``.

    Raises
    ------
    UsageError
        A ValueError: a parameter is out of its range.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from streamkarma import ConstantStepRegressor
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), ConstantStepRegressor(), metrics.MAE())
    MAE: 0.324025
    """

    loss = "squared"

    def __post_init__(self) -> None:
        self._begin(_sgd(self, regression=True))


def _sgd(model: ConstantStepClassifier | ConstantStepRegressor, regression: bool) -> Sgd:
    """The learner."""
    eta, half_life = check_positive("eta", model.eta), check_half_life(model.forget)
    return Sgd(regression, eta, half_life, check_count("table_bits", model.table_bits))
