"""KARMA for a numeric target, as a river model."""

from __future__ import annotations

from dataclasses import dataclass

from streamkarma.core.loss import REGRESSION
from streamkarma.estimators.regression import BaseRegressor
from streamkarma.estimators.settings import SupportVectorParameters, support_vectors
from streamkarma.estimators.vectors import SupportVectorModel

#: See ``settings.support_vectors``. The step for class labels is too long for a noisy number; tuned on three
#: tabular sets with half of the attributes withheld and two synthetic streams.
STEP_MARGIN = 3.0


@dataclass(eq=False, repr=False)
class KARMARegressor(SupportVectorParameters, SupportVectorModel, BaseRegressor):
    """Online kernel regression that learns from incomplete events without imputing them.

    The learner of ``KARMAClassifier`` with a loss for numbers. The target is standardised
    by its running mean and variance while ``scale`` is on, so that the defaults suit a
    target in any unit.

    Parameters
    ----------
    gamma, eta, budget, pruning, normalize, average, horizon, regularity, forget
        As in ``KARMAClassifier``.
    rho
        Strength of the regularisation, above 0; a number gives steps of 1 / (rho t). None,
        the default, gives rho = 0.001 and steps never longer than 1 / (3 k(x, x)), half of
        that for the squared loss. ``"auto"`` as in ``KARMAClassifier``, not for the squared loss.
    loss
        ``"squared"``; ``"absolute"``; ``"huber"``, quadratic within one standard
        deviation of the target; ``"epsilon_insensitive"``, zero within a tenth of one
        (both in the target's own units without ``scale``). The squared loss has no bound
        on its slope: its steps are never longer than 1 / (2 k(x, x)), with any ``rho``.
    scale
        Standardise numbers and the target.
    max_attributes, max_coordinates, max_name_bytes, na, sentinel, sentinels, kinds, entity, time, carry,
    carry_labels, carry_for, max_entities, coverage
        As in ``KARMAClassifier``.

    Attributes
    ----------
    support_vectors : list of SupportVector
        Observed sets, values and coefficients.

    Raises
    ------
    UsageError
        A ValueError: a parameter is out of its range.

    References
    ----------
    Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from streamkarma import KARMARegressor
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), KARMARegressor(), metrics.MAE())
    MAE: 0.325343
    """

    loss: str = "squared"

    def __post_init__(self) -> None:
        self._begin(support_vectors(self, REGRESSION, STEP_MARGIN))
