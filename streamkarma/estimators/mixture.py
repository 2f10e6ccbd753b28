"""The mixture of all learners, as river models: what ``--learner auto`` is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from streamkarma._engine import Encoded
from streamkarma.core.explicit import ADAGRAD, AROW, Explicit, Products, Step
from streamkarma.core.factorisation import FactorisationMachine
from streamkarma.core.learner import Arrays, Floats, Learner
from streamkarma.core.loss import HINGE, LOGISTIC, SQUARED
from streamkarma.core.mixture import Mixture
from streamkarma.core.subspace import Subspace, SubspaceSettings
from streamkarma.core.support import Rule, SupportVectors
from streamkarma.core.transformed_target import TransformedTarget
from streamkarma.deprecation import renamed
from streamkarma.errors import UsageError
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.estimators.external_experts import EncodedRecords, ExternalExperts
from streamkarma.estimators.regression import BaseRegressor
from streamkarma.estimators.settings import (
    DEFAULT_RHO,
    ValueParameters,
    averaging_window,
    check_count,
    check_forget,
)
from streamkarma.events.frames import records_of
from streamkarma.events.values import Record

#: log2 of the most weights of each explicit expert: four megabytes with their spreads, and every
#: pair of 500 attributes before anything is hashed.
TABLE_BITS = 18

#: Most features of one event for the explicit experts, and half as many for products: an event of more than
#: 45 attributes is taken without what grows with their square, and costs a third of what it did with 60, a
#: tenth with 200. On four wide synthetic streams the mixture made up to 4 % more errors, and none of these
#: has interactions.
MOST_FEATURES = 2048

#: AdaGrad's step: smaller than for the expert alone, since others are there to be fast. This and the
#: choice of experts are from 17 tabular sets and four synthetic streams; an explicit expert of order 3
#: was never worth its time there.
ETA = 0.05

#: Dimensions of the factor that stands beside pairs: it is ahead where data are truly of low rank.
RANK = 8

#: The experts of a regression that also learn the target bent to a Gaussian. With up to three more, the mean
#: absolute error was within 1 % on five streams, two of them log-normal.
TRANSFORMED = ("explicit 2 arow", "subspace factor")
#: The losses by which experts of numbers are mixed.
POINT_LOSSES = ("squared", "absolute")

#: The factorisation machine's step and shrinkage, chosen for the mixture on made streams of users and items
#: and of crossed categories, and on ratings of jokes; shrinkage up to this costs nothing there.
FACTOR_ETA, FACTOR_SHRINK = 0.5, 1e-3


def experts(budget: int, forget: float, regression: bool) -> dict[str, Learner]:
    """The experts by name: each stands for something a stream may be like.

    The order of the explicit ones says whether weights depend on what is observed beside; AROW finds
    out fast, the more so with a small r, and AdaGrad bears labels that are noisy. Of two values, products
    have a weight for each pair, and the factorisation machine one that factorises: it knows something of
    two categories that never met, and sleeps where there are but few.
    """
    hinge, smooth = (SQUARED, SQUARED) if regression else (HINGE, LOGISTIC)

    def arow(gamma: int, r: float) -> Explicit:
        return Explicit(gamma, True, Step(AROW, hinge, r, 0.0, 0.0, 0.0, forget), TABLE_BITS, MOST_FEATURES)

    def adagrad(gamma: int) -> Explicit:
        return Explicit(
            gamma, True, Step(ADAGRAD, smooth, 1.0, ETA, 0.0, 0.0, forget), TABLE_BITS, MOST_FEATURES
        )

    steepness = 6.0 if regression else 1.0
    rule = Rule(
        2, True, DEFAULT_RHO, 0.0, smooth, steepness, budget, "merge", averaging_window(forget or None)
    )
    machine = FactorisationMachine(regression, FACTOR_ETA, FACTOR_SHRINK, forget, TABLE_BITS)
    plain = SubspaceSettings(regression=regression, forget=forget)
    return {
        "explicit 1 arow": arow(1, 10.0),
        "explicit 1 adagrad": adagrad(1),
        "explicit 2 arow": arow(2, 10.0),
        "explicit 2 arow fast": arow(2, 1.0),
        "explicit 2 adagrad": adagrad(2),
        "products": Products(Step(AROW, hinge, 3.0, 0.0, 0.0, 0.0, forget), TABLE_BITS, MOST_FEATURES // 2),
        "factorisation machine": machine,
        "karma": SupportVectors(rule, average=False),
        "subspace": Subspace(plain._replace(r=100.0)),
        "subspace indicators": Subspace(plain._replace(indicators=True)),
        "subspace factor": Subspace(plain._replace(max_rank_dim=1, rank=RANK)),
    }


@renamed(others="extra_experts")
@dataclass(eq=False, repr=False)
class KARMAMixtureClassifier(ValueParameters, BaseClassifier):
    """Online classifier for incomplete events that mixes all learners of this package.

    Each expert learns by itself. Its scores are calibrated to probabilities online, and these are
    mixed by Bayes' rule with a fixed share, together with a blend of them: in log loss the mixture is
    never much worse than the best expert, over any stretch of the stream, and often better than all.
    The experts' weights say which assumption about missingness the stream supports: subspace without
    indicators, that attributes are missing at random and correlated; subspace with indicators or
    explicit of order 2, that absence tells something; explicit of order 1, that it may be ignored.

    Parameters
    ----------
    budget
        Most support vectors of the expert that has them, 1 to 1,048,576.
    extra_experts
        A list of river classifiers to mix in: copies of them learn alongside the experts, event by event.
        They get each event without its missing attributes and must accept that. A model with extra experts
        cannot be saved.
    forget
        Half-life in events, 1 to 1e15, of what was learned, for streams that drift. None to keep
        everything; the mixture follows a change of the best expert in any case.
    scale, max_attributes, max_coordinates, max_name_bytes, max_classes, na, sentinel, sentinels, kinds,
    entity, time, carry, carry_for, max_entities
        As in ``KARMAClassifier``.

    Attributes
    ----------
    classes : list
        The labels seen so far; False and True from the first of them on.
    weights : dict
        The mean weight of each expert, and of the blend, over the last 1,000 events learned.

    Raises
    ------
    UsageError
        A ValueError: a parameter is out of its range.

    References
    ----------
    Cesa-Bianchi, Lugosi: Prediction, Learning, and Games, 2006 (mixability, fixed share).

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from streamkarma import KARMAMixtureClassifier
    >>> evaluate.progressive_val_score(datasets.Phishing(), KARMAMixtureClassifier(), metrics.Accuracy())
    Accuracy: 89.83%
    """

    budget: int = 128
    extra_experts: list[base.Classifier] | None = None
    scale: bool = True
    forget: float | None = None
    max_attributes: int = 16384
    max_coordinates: int = 16384
    max_name_bytes: int = 1024
    max_classes: int = 1000
    loss = "logistic"

    def __post_init__(self) -> None:
        extra = self.extra_experts or []
        self._external = ExternalExperts(extra)
        self._begin(_mixture(self.budget, self.forget, regression=False, external=len(extra)))

    @property
    def weights(self) -> dict[str, float]:
        return _weights(self)

    def read(self, records: Sequence[Record], learned: Sequence[bool]) -> Encoded:
        """As ``KARMABase.read``; extra experts need the records themselves."""
        if not self.extra_experts:
            return super().read(records, learned)
        events = EncodedRecords()
        self.vocabulary.read_dicts(list(records), list(learned), events, asked=True)
        events.records = list(records)
        return events

    def _external_scores(
        self, events: Encoded, part: slice, targets: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        if not isinstance(events, EncodedRecords):
            return None
        classes = self._pipeline.learner.classes
        return self._external.run(events.records[part], self._labels.known, targets, weights, classes)

    def _read_any(self, X: Any, learned: Sequence[bool]) -> Encoded:
        if self.extra_experts and not isinstance(X, list):
            X = records_of(X)
        return super()._read_any(X, learned)

    def _scores(self, events: Encoded) -> Floats:
        if not self.extra_experts:
            return super()._scores(events)
        return self.run(events, [None] * len(events), [0.0] * len(events)).scores

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Everything learned, as JSON and arrays; UsageError with extra experts."""
        if self.extra_experts:
            raise UsageError("a mixture with extra experts cannot be saved: their state is not known")
        return super().state()


@dataclass(eq=False, repr=False)
class KARMAMixtureRegressor(ValueParameters, BaseRegressor):
    """Online regression for incomplete events that mixes all learners of this package.

    As ``KARMAMixtureClassifier``; each expert's prediction is corrected by an online straight line
    and counts as a Gaussian with the running variance of its residuals, and these densities are
    mixed. One more expert, a mixture of two of them, learns the target bent to a Gaussian, as prices
    and durations need it: see ``core.transformed_target``.

    Parameters
    ----------
    budget, forget
        As in ``KARMAMixtureClassifier``.
    loss
        ``"squared"``: what is predicted is the mean of what the target may be. ``"absolute"``: the median,
        which a few huge targets do not move; experts then count as Laplace densities, and lines follow the
        absolute loss.
    scale, max_attributes, max_coordinates, max_name_bytes, na, sentinel, sentinels, kinds, entity, time,
    carry, carry_for, max_entities
        As in ``KARMARegressor``.

    Attributes
    ----------
    weights : dict
        The mean weight of each expert, and of the blend, over the last 1,000 events learned.

    Raises
    ------
    UsageError
        A ValueError: a parameter is out of its range.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from streamkarma import KARMAMixtureRegressor
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), KARMAMixtureRegressor(), metrics.MAE())
    MAE: 0.331884
    """

    budget: int = 128
    scale: bool = True
    forget: float | None = None
    max_attributes: int = 16384
    max_coordinates: int = 16384
    max_name_bytes: int = 1024
    loss: str = "squared"

    def __post_init__(self) -> None:
        if self.loss not in POINT_LOSSES:
            raise UsageError(f"loss must be one of {', '.join(POINT_LOSSES)}, not {self.loss!r}")
        absolute = self.loss == "absolute"
        self._begin(_mixture(self.budget, self.forget, True, 0, absolute, bool(self.scale)))

    @property
    def weights(self) -> dict[str, float]:
        return _weights(self)


def _transformed(forget: float, absolute: bool) -> Learner:
    """Two of the experts, mixed, for a target bent to a Gaussian."""
    chosen = experts(1, forget, regression=True)
    inner = {name: chosen[name] for name in TRANSFORMED}
    return TransformedTarget(Mixture(inner, regression=True, forget=forget), median=absolute)


def _mixture(
    budget: int,
    forget: float | None,
    regression: bool,
    external: int = 0,
    absolute: bool = False,
    scale: bool = False,
) -> Mixture:
    half_life = check_forget(forget) or 0.0
    members = experts(check_count("budget", budget), half_life, regression)
    if regression:
        members["transformed target"] = _transformed(half_life, absolute)
    return Mixture(members, regression, external, half_life, absolute, regression and scale)


def _weights(model: BaseClassifier | BaseRegressor) -> dict[str, float]:
    """The mean weight of each expert by name."""
    weights: dict[str, float] = model.summary()["experts"]
    return weights
