"""KARMA in its explicit form, as river models: every weight kept, and steps that adapt."""

from __future__ import annotations

from typing import Any

from streamkarma.core.explicit import ADAGRAD, AROW, SGD, TABLE_BITS, UPDATES, Explicit, Step
from streamkarma.core.kernel import check_gamma
from streamkarma.core.loss import CLASSIFICATION, REGRESSION, Loss
from streamkarma.core.mixture import Calibrated
from streamkarma.errors import UsageError
from streamkarma.estimators.classification import CoreClassifier
from streamkarma.estimators.regression import CoreRegressor
from streamkarma.estimators.settings import DEFAULT_RHO, check_count, check_forget, check_positive

#: AdaGrad's step where none is given. Of 0.1, 0.2 and 0.5 the best on eleven tabular sets with half
#: withheld, by little; none of them is reported on.
DEFAULT_ETA = 0.2


class ExplicitKARMAClassifier(CoreClassifier):
    """Online classifier on the explicit features of KARMA's kernel, for incomplete events.

    The hypotheses are those of ``KARMAClassifier``, and nothing is pruned: with ``gamma=2`` each
    attribute's weight is a sum over the attributes that are there beside it. What an event costs is
    the number of its features, the observed attributes to the power of ``gamma``.

    Parameters
    ----------
    gamma
        Order of the kernel: 1, 2 or 3.
    update
        ``"arow"``: a variance for every weight, large steps for what was seldom seen [C].
        ``"adagrad"``: steps divided by the root of the sum of squared gradients, logistic loss.
        ``"sgd"``: Algorithm 1 of [H], which equals ``KARMAClassifier`` without a budget.
    r
        AROW: the variance of the noise, 1e-12 to 1e12. The larger, the more cautious.
    eta
        AdaGrad: the step, 1e-12 to 1e12; None for 0.2. SGD: as in ``KARMAClassifier``.
    rho, loss
        SGD: as in ``KARMAClassifier``. The other updates come with a loss and without ``rho``: None.
    normalize
        Give every event norm 1 in feature space.
    table_bits
        log2 of the most weights, 8 to 30; 22 are 64 MB. Features beyond that many are hashed, and those
        that meet share a weight: memory stays as it is.
    scale, forget, max_attributes, max_coordinates, max_name_bytes, max_classes
        As in ``KARMAClassifier``; nothing but the table grows with the number of attributes.

    Attributes
    ----------
    classes : list
        The labels seen so far; False and True from the first of them on.

    Raises
    ------
    UsageError
        A ValueError: a parameter is out of its range.

    Notes
    -----
    AROW's scores are no log-odds: they are calibrated online, see ``core.calibration``, so that
    probabilities mean what they say, and the loss reported is the logistic one.

    References
    ----------
    [H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.
    [C] Crammer, Kulesza, Dredze: Adaptive Regularization of Weight Vectors, NIPS 2009.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from streamkarma import ExplicitKARMAClassifier
    >>> evaluate.progressive_val_score(datasets.Phishing(), ExplicitKARMAClassifier(), metrics.Accuracy())
    Accuracy: 89.43%
    """

    def __init__(
        self,
        gamma: int = 2,
        update: str = "arow",
        r: float = 1.0,
        eta: float | None = None,
        rho: float | None = None,
        loss: str | None = None,
        normalize: bool = True,
        table_bits: int = TABLE_BITS,
        scale: bool = True,
        forget: float | None = None,
        max_attributes: int = 16384,
        max_coordinates: int = 16384,
        max_name_bytes: int = 1024,
        max_classes: int = 1000,
    ) -> None:
        self.gamma = gamma
        self.update = update
        self.r = r
        self.eta = eta
        self.rho = rho
        self.normalize = normalize
        self.table_bits = table_bits
        self.scale = scale
        self.forget = forget
        self.max_attributes = max_attributes
        self.max_coordinates = max_coordinates
        self.max_name_bytes = max_name_bytes
        self.max_classes = max_classes
        self.loss = _loss(update, loss, {"arow": "logistic", "adagrad": "logistic"}, "logistic")
        core = _explicit(self, {"arow": CLASSIFICATION["hinge"]}.get(update, CLASSIFICATION[self.loss]), 1.0)
        self._begin(Calibrated(core, check_forget(forget) or 0.0) if update == "arow" else core)


class ExplicitKARMARegressor(CoreRegressor):
    """Online regression on the explicit features of KARMA's kernel, for incomplete events.

    Parameters
    ----------
    gamma, update, r, eta, rho, loss, normalize, table_bits
        As in ``ExplicitKARMAClassifier``. AROW is recursive least squares with a diagonal covariance
        here; it and AdaGrad have the squared loss.
    scale, forget, max_attributes, max_coordinates, max_name_bytes
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
    MAE: 0.467547
    """

    def __init__(
        self,
        gamma: int = 2,
        update: str = "arow",
        r: float = 1.0,
        eta: float | None = None,
        rho: float | None = None,
        loss: str | None = None,
        normalize: bool = True,
        table_bits: int = TABLE_BITS,
        scale: bool = True,
        forget: float | None = None,
        max_attributes: int = 16384,
        max_coordinates: int = 16384,
        max_name_bytes: int = 1024,
    ) -> None:
        self.gamma = gamma
        self.update = update
        self.r = r
        self.eta = eta
        self.rho = rho
        self.normalize = normalize
        self.table_bits = table_bits
        self.scale = scale
        self.forget = forget
        self.max_attributes = max_attributes
        self.max_coordinates = max_coordinates
        self.max_name_bytes = max_name_bytes
        self.loss = _loss(update, loss, {"arow": "squared", "adagrad": "squared"}, "squared")
        self._begin(_explicit(self, REGRESSION[self.loss], 3.0))


def _loss(update: str, said: str | None, fixed: dict[str, str], default: str) -> str:
    """The name of the loss; UsageError for an update that does not exist, or comes with another."""
    if update not in UPDATES:
        raise UsageError(f"update must be one of {', '.join(UPDATES)}, not {update!r}")
    known = CLASSIFICATION if default in CLASSIFICATION else REGRESSION
    allowed = {fixed[update]} if update in fixed else set(known)
    if said is not None and said not in allowed:
        raise UsageError(f"loss must be one of {', '.join(sorted(allowed))} with {update}, not {said!r}")
    return said or fixed.get(update, default)


def _explicit(said: Any, loss: Loss, caution: float) -> Explicit:
    """The core learner; ``caution`` as in ``settings.support_vectors``."""
    update = UPDATES[said.update]
    if said.rho is not None and update in (AROW, ADAGRAD):
        raise UsageError(f"rho has no meaning with update {said.update!r}")
    if said.eta is not None and update == AROW:
        raise UsageError("eta has no meaning with update 'arow'")
    r = check_positive("r", said.r)
    rho = DEFAULT_RHO if said.rho is None else check_positive("rho", said.rho)
    eta = (DEFAULT_ETA if update == ADAGRAD else 0.0) if said.eta is None else check_positive("eta", said.eta)
    if update == SGD and eta * rho >= 1.0:
        raise UsageError(f"eta * rho must be below 1, or each step forgets all: {eta} * {rho}")
    steepness = loss.smoothness
    if said.rho is None and said.eta is None:
        steepness = caution * max(steepness, 1.0)
    step = Step(update, loss.code, r, eta, rho, steepness, check_forget(said.forget) or 0.0)
    return Explicit(
        check_gamma(said.gamma), bool(said.normalize), step, check_count("table_bits", said.table_bits)
    )
