"""KARMA for a numeric target, as a river model."""

from __future__ import annotations

from streamkarma.core.loss import REGRESSION
from streamkarma.errors import UsageError
from streamkarma.estimators.regression import CoreRegressor
from streamkarma.estimators.settings import support_vectors
from streamkarma.estimators.vectors import SupportVectorModel

#: See ``settings.support_vectors``. A step of a class label's size is too long for a noisy number; from
#: three tabular sets with half of the attributes withheld and two synthetic streams.
CAUTION = 3.0


class KARMARegressor(SupportVectorModel, CoreRegressor):
    """Online kernel regression that learns from incomplete events without imputing them.

    The learner of ``KARMAClassifier`` with a loss for numbers. The target is standardised
    by its running mean and variance while ``scale`` is on, so that the defaults serve a
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
        deviation of the target; ``"epsilon_insensitive"``, nothing within a tenth of one
        (both in the target's own units without ``scale``). The squared loss has no bound
        on its slope: its steps are never longer than 1 / (2 k(x, x)), with any ``rho``.
    scale
        Standardise numbers and the target.
    max_attributes, max_coordinates, max_name_bytes
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
    MAE: 0.325227
    """

    def __init__(
        self,
        gamma: int | str = 2,
        rho: float | str | None = None,
        eta: float | None = None,
        loss: str = "squared",
        budget: int | None = 512,
        pruning: str = "merge",
        normalize: bool = True,
        average: bool = False,
        scale: bool = True,
        horizon: int | None = None,
        regularity: float | None = None,
        forget: float | None = None,
        max_attributes: int = 16384,
        max_coordinates: int = 16384,
        max_name_bytes: int = 1024,
    ) -> None:
        if loss not in REGRESSION:
            raise UsageError(f"loss must be one of {', '.join(REGRESSION)}, not {loss!r}")
        self.gamma = gamma
        self.rho = rho
        self.eta = eta
        self.loss = loss
        self.budget = budget
        self.pruning = pruning
        self.normalize = normalize
        self.average = average
        self.scale = scale
        self.horizon = horizon
        self.regularity = regularity
        self.forget = forget
        self.max_attributes = max_attributes
        self.max_coordinates = max_coordinates
        self.max_name_bytes = max_name_bytes
        self._begin(support_vectors(self, REGRESSION[loss], CAUTION))
