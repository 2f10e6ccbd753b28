"""KARMA in its explicit form, as river models: every weight kept, and steps that adapt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streamkarma.core.explicit import ADAGRAD, AROW, SGD, TABLE_BITS, UPDATES, Explicit, Step
from streamkarma.core.kernel import check_gamma
from streamkarma.core.loss import CLASSIFICATION, REGRESSION, Loss
from streamkarma.core.mixture import Calibrated
from streamkarma.errors import UsageError
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.estimators.regression import BaseRegressor
from streamkarma.estimators.settings import (
    CostParameters,
    EncodingParameters,
    ValueParameters,
    check_count,
    check_flag,
    check_half_life,
    check_positive,
)
from streamkarma.parameters.checks import check_word
from streamkarma.parameters.learning import ADAGRAD_ETA, DEFAULT_RHO
from streamkarma.printable import shown


@dataclass(eq=False, repr=False)
class ExplicitParameters(ValueParameters):
    """The parameters that ``ExplicitKARMAClassifier`` and ``ExplicitKARMARegressor`` share, see there."""

    gamma: int = 2
    update: str = "arow"
    r: float = 1.0
    eta: float | None = None
    rho: float | None = None
    #: None is replaced by the loss of the update.
    loss: Any = None
    normalize: bool = True
    table_bits: int = TABLE_BITS


@dataclass(eq=False, repr=False)
class ExplicitKARMAClassifier(EncodingParameters, CostParameters, ExplicitParameters, BaseClassifier):
    """Online classifier on the explicit features of KARMA's kernel, for incomplete events.

    The hypotheses are those of ``KARMAClassifier``, and nothing is pruned: with ``gamma=2`` each attribute's
    weight is a sum over the attributes observed with it. The cost of an event is the number of its features:
    the number of observed attributes to the power of ``gamma``.

    Parameters
    ----------
    gamma
        Order of the kernel: 1, 2 or 3.
    update
        ``"arow"``: a variance for every weight, large steps for rare features [C].
        ``"adagrad"``: steps divided by the root of the sum of squared gradients, logistic loss.
        ``"sgd"``: Algorithm 1 of [H], which equals ``KARMAClassifier`` without a budget.
    r
        AROW: the variance of the noise, 1e-12 to 1e12. Larger values give smaller steps.
    eta
        AdaGrad: the step, 1e-12 to 1e12; None for 0.2. SGD: as in ``KARMAClassifier``.
    rho, loss
        SGD: as in ``KARMAClassifier``. The other updates have a fixed loss and no ``rho``: None.
    normalize
        Give every event norm 1 in feature space.
    table_bits
        log2 of the maximum number of weights, 8 to 30; 22 are 64 MB. Features beyond that are hashed, and
        those that collide share a weight: memory does not grow.
    na, sentinel, sentinels, kinds, entity, time, carry, carry_labels, carry_for, max_entities, coverage
        As in ``KARMAClassifier``.
    scale, forget, max_attributes, max_coordinates, max_name_bytes, max_classes, class_weight, threshold
        As in ``KARMAClassifier``; only the table grows with the number of attributes.

    Attributes
    ----------
    classes : list
        The labels seen so far; both False and True after the first boolean.

    Raises
    ------
    UsageError
        A ValueError: a parameter is out of its range.

    Notes
    -----
    AROW's scores are not log-odds: they are calibrated online, see ``core.mixture``, so that probabilities
    are meaningful, and the loss reported is the logistic one.

    References
    ----------
    [H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.
    [C] Crammer, Kulesza, Dredze: Adaptive Regularization of Weight Vectors, NIPS 2009.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from streamkarma import ExplicitKARMAClassifier
    >>> evaluate.progressive_val_score(datasets.Phishing(), ExplicitKARMAClassifier(), metrics.Accuracy())
    Accuracy: 89.59%
    """

    max_classes: int = 1000

    def __post_init__(self) -> None:
        self.loss = _loss(self.update, self.loss, {"arow": "logistic", "adagrad": "logistic"}, "logistic")
        loss = CLASSIFICATION["hinge" if self.update == "arow" else self.loss]
        learner = _explicit(self, loss, 1.0)
        calibrated = self.update == "arow"
        self._begin(Calibrated(learner, check_half_life(self.forget)) if calibrated else learner)


@dataclass(eq=False, repr=False)
class ExplicitKARMARegressor(EncodingParameters, ExplicitParameters, BaseRegressor):
    """Online regression on the explicit features of KARMA's kernel, for incomplete events.

    Parameters
    ----------
    gamma, update, r, eta, rho, loss, normalize, table_bits
        As in ``ExplicitKARMAClassifier``. AROW is recursive least squares with a diagonal covariance
        here; it and AdaGrad have the squared loss.
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
    >>> from streamkarma import ExplicitKARMARegressor
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), ExplicitKARMARegressor(), metrics.MAE())
    MAE: 0.434251
    """

    def __post_init__(self) -> None:
        self.loss = _loss(self.update, self.loss, {"arow": "squared", "adagrad": "squared"}, "squared")
        self._begin(_explicit(self, REGRESSION[self.loss], 3.0))


def _loss(update: str, loss: str | None, fixed: dict[str, str], default: str) -> str:
    """The name of the loss; UsageError for an unknown update, or a loss that it does not support."""
    check_word("update", update, UPDATES)
    known = CLASSIFICATION if default in CLASSIFICATION else REGRESSION
    allowed = {fixed[update]} if update in fixed else set(known)
    if loss is not None and (not isinstance(loss, str) or loss not in allowed):
        raise UsageError(f"loss must be one of {', '.join(sorted(allowed))} with {update}, not {shown(loss)}")
    return loss or fixed.get(update, default)


def _explicit(
    model: ExplicitKARMAClassifier | ExplicitKARMARegressor, loss: Loss, step_margin: float
) -> Explicit:
    """The learner; ``step_margin`` as in ``settings.support_vectors``."""
    update = UPDATES[model.update]
    if model.rho is not None and update in (AROW, ADAGRAD):
        raise UsageError(f"rho has no meaning with update={model.update!r}; leave one of them out")
    if model.eta is not None and update == AROW:
        raise UsageError("eta has no meaning with update='arow'; leave one of them out")
    r = check_positive("r", model.r)
    rho = DEFAULT_RHO if model.rho is None else check_positive("rho", model.rho)
    eta = (
        (ADAGRAD_ETA if update == ADAGRAD else 0.0) if model.eta is None else check_positive("eta", model.eta)
    )
    if update == SGD and eta * rho >= 1.0:
        raise UsageError(f"eta * rho must be below 1, or each step forgets all: {eta} * {rho}")
    steepness = loss.smoothness
    if model.rho is None and model.eta is None:
        steepness = step_margin * max(steepness, 1.0)
    step = Step(update, loss.code, r, eta, rho, steepness, check_half_life(model.forget))
    return Explicit(
        check_gamma(model.gamma),
        check_flag("normalize", model.normalize),
        step,
        check_count("table_bits", model.table_bits),
    )
