"""The mixture of all learners, as river models: the learner of ``--learner auto``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma._engine import Encoded
from streamkarma.arrays import Arrays, Floats
from streamkarma.core.mixture import Mixture
from streamkarma.deprecation import renamed
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.estimators.experts import experts, transformed
from streamkarma.estimators.external_experts import (
    WithExternalExperts,
    class_scores,
    number_score,
    number_scores,
)
from streamkarma.estimators.regression import BaseRegressor
from streamkarma.estimators.settings import (
    CostParameters,
    EncodingParameters,
    ValueParameters,
    check_count,
    check_flag,
    check_half_life,
)
from streamkarma.parameters.checks import check_word

#: The losses by which the experts of a regression are mixed.
POINT_LOSSES = ("squared", "absolute")


@dataclass(eq=False, repr=False)
class MixtureParameters(ValueParameters):
    """The parameters that ``KARMAMixtureClassifier`` and ``KARMAMixtureRegressor`` share, see there."""

    budget: int = 128
    extra_experts: list[Any] | None = None


@renamed(others="extra_experts")
@dataclass(eq=False, repr=False)
class KARMAMixtureClassifier(
    EncodingParameters, CostParameters, MixtureParameters, WithExternalExperts, BaseClassifier
):
    """Online classifier for incomplete events that mixes all learners of this package.

    Each expert learns independently. Its scores are calibrated to probabilities online, and these are
    mixed by Bayes' rule with a fixed share, together with a blend of them: in log loss the mixture is
    never much worse than the best expert, over any stretch of the stream, and often better than all.
    The experts' weights show which assumption about missingness the stream supports: subspace without
    indicators, that attributes are missing at random and correlated; subspace with indicators or
    explicit of order 2, that absence is informative; explicit of order 1, that it may be ignored.

    Parameters
    ----------
    budget
        Maximum number of support vectors of the expert with support vectors, 1 to 1,048,576.
    extra_experts
        A list of river classifiers to mix in: copies of them learn alongside the experts, event by event.
        They receive each event without its missing attributes and must accept that. Weights are passed to
        those with a ``w`` in ``learn_one``; others learn all events alike. They are saved with the mixture
        if nothing in them needs pickle; see the page on learners.
    forget
        Half-life in events, 1 to 1e15, of what was learned, for streams that drift. None to keep
        everything; the mixture follows a change of the best expert in any case.
    refit
        Batch learners to add as experts, comma-separated: ``"lightgbm"`` (needs
        ``pip install 'streamkarma[lightgbm]'``), ``"boosting"`` (scikit-learn's histogram gradient boosting)
        and ``"trees"`` (its random forest). They are fitted in another process after 128, 192, 256, 384, …
        events with a label. None for none.
    refit_memory
        Maximum number of events kept for fitting, 1 to 1,048,576; beyond that, a uniform sample of all.
    scale, max_attributes, max_coordinates, max_name_bytes, max_classes, na, sentinel, sentinels, kinds,
    entity, time, carry, carry_labels, carry_for, max_entities, coverage, class_weight, threshold
        As in ``KARMAClassifier``.

    Attributes
    ----------
    classes : list
        The labels seen so far; both False and True after the first boolean.
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
    Accuracy: 91.27%
    """

    max_classes: int = 1000
    refit: str | None = None
    refit_memory: int = 20_000
    loss = "logistic"

    def __post_init__(self) -> None:
        self._begin(_mixture(self.budget, self.forget, False, self._begin_external(regression=False)))

    @property
    def weights(self) -> dict[str, float]:
        """The mean weight of each expert, and of the blend, over the last 1,000 events learned."""
        return _weights(self)

    def _external_scores(
        self, events: Encoded, part: slice, targets: NDArray[np.int64], weights: Floats
    ) -> Floats | None:
        if not self._pipeline.learner.external_experts:
            return None
        known, classes = self._labels.known, self._pipeline.learner.classes
        learned = (targets >= 0) & (weights > 0.0)
        labels = [known[target] if each else None for target, each in zip(targets, learned, strict=True)]
        models = self._of_models(
            events, part, labels, weights, lambda _, chances: class_scores(chances, known, classes), classes
        )
        refits = self._of_refits(part, np.where(targets >= 0, targets, np.nan), weights, classes)
        return np.concatenate([*models, *map(np.nan_to_num, refits)])

    def _scores(self, events: Encoded) -> Floats:
        if not self._pipeline.learner.external_experts:
            return super()._scores(events)
        return self.run(events, [None] * len(events), [0.0] * len(events)).scores

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return self._with_external(*super().state())

    def restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        self._restore_refits(header, arrays, len(header["classes"]))
        super().restore(header, arrays)


@dataclass(eq=False, repr=False)
class KARMAMixtureRegressor(EncodingParameters, MixtureParameters, WithExternalExperts, BaseRegressor):
    """Online regression for incomplete events that mixes all learners of this package.

    As ``KARMAMixtureClassifier``; each expert's prediction is corrected by a straight line fitted online
    and taken as a Student's t density of four degrees of freedom, with the running scale of the
    mixture's residuals; these densities are mixed. One more expert, a mixture of three of them, learns
    the target transformed to a Gaussian, for prices and durations: see ``core.transformed_target``.

    Parameters
    ----------
    budget, forget
        As in ``KARMAMixtureClassifier``.
    extra_experts
        As in ``KARMAMixtureClassifier``, but river regressors.
    loss
        ``"squared"``: predictions are means of the target. ``"absolute"``: medians, which a few huge targets
        do not move; experts are then Laplace densities, and the lines are fitted by the absolute loss.
    refit, refit_memory
        As in ``KARMAMixtureClassifier``.
    scale, max_attributes, max_coordinates, max_name_bytes, na, sentinel, sentinels, kinds, entity, time,
    carry, carry_labels, carry_for, max_entities, coverage
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
    MAE: 0.195612
    """

    refit: str | None = None
    refit_memory: int = 20_000
    loss: str = "squared"

    def __post_init__(self) -> None:
        check_word("loss", self.loss, POINT_LOSSES)
        absolute, external_experts = self.loss == "absolute", self._begin_external(regression=True)
        self._begin(
            _mixture(
                self.budget, self.forget, True, external_experts, absolute, check_flag("scale", self.scale)
            )
        )

    @property
    def weights(self) -> dict[str, float]:
        """The mean weight of each expert, and of the blend, over the last 1,000 events learned."""
        return _weights(self)

    def _external_scores(
        self, events: Encoded, targets: Floats, weights: Floats, centres: Floats, spreads: Floats
    ) -> Floats | None:
        if not self._pipeline.learner.external_experts:
            return None
        learned = ~np.isnan(targets) & (weights > 0.0)
        labels = [float(y) if each else None for y, each in zip(targets, learned, strict=True)]
        part = slice(0, len(labels))
        models = self._of_models(
            events, part, labels, weights, lambda t, given: number_score(given, centres[t], spreads[t]), 1
        )
        refits = self._of_refits(part, targets, weights, 1)
        return np.concatenate([*models, *(number_scores(each, centres, spreads) for each in refits)])

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return self._with_external(*super().state())

    def restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        self._restore_refits(header, arrays, 0)
        super().restore(header, arrays)


def _mixture(
    budget: int,
    half_life: float | None,
    regression: bool,
    external_experts: int = 0,
    absolute: bool = False,
    scale: bool = False,
) -> Mixture:
    half_life = check_half_life(half_life)
    members = experts(check_count("budget", budget), half_life, regression)
    if regression:
        members["transformed target"] = transformed(half_life, absolute)
    return Mixture(members, regression, external_experts, half_life, absolute, regression and scale)


def _weights(model: BaseClassifier | BaseRegressor) -> dict[str, float]:
    """The mean weight of each expert by name."""
    weights: dict[str, float] = model.summary()["experts"]
    return weights
