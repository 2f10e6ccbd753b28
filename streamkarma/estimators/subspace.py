"""The subspace learner as river models, and its completion as a transformer."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from river import base

from streamkarma.core.mixture import Calibrated
from streamkarma.core.subspace import Completion, Subspace, SubspaceSettings
from streamkarma.deprecation import renamed
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.estimators.outcomes import marks
from streamkarma.estimators.pipeline import Pipeline
from streamkarma.estimators.regression import BaseRegressor
from streamkarma.estimators.settings import (
    CostParameters,
    EncodingParameters,
    KindParameters,
    ValueParameters,
    check_bounds,
    check_count,
    check_flag,
    check_half_life,
    check_positive,
    check_rules,
)
from streamkarma.events.flatten import flatten, is_flat
from streamkarma.events.values import Record, is_missing
from streamkarma.parameters.kinds import as_float

#: The category that stands for all rare ones.
RARE = "(rare)"


@dataclass(eq=False, repr=False)
class SubspaceParameters(ValueParameters):
    """The parameters that ``SubspaceClassifier`` and ``SubspaceRegressor`` share, see there."""

    indicators: bool = False
    r: float = 10.0
    shrink: float = 5.0
    max_pairwise_coordinates: int = 64
    rank: int = 16


@renamed(max_rank_dim="max_pairwise_coordinates")
@dataclass(eq=False, repr=False)
class SubspaceClassifier(EncodingParameters, CostParameters, SubspaceParameters, BaseClassifier):
    """Online classifier that completes events by the subspace they lie close to.

    It learns how attributes are correlated from those observed together, completes each event by its mean
    given the observed values, and learns a linear model of the completed events: the ``f_{w,Q}`` that KARMA
    competes with [H, Def. 2], with Q learned. Where attributes are correlated and missing at random nothing
    else comes close; where absence itself is informative, it is wrong without ``indicators``.

    Parameters
    ----------
    indicators
        Add missing-value indicators to the linear model.
    r
        Variance of the noise in AROW, the linear model's update, 1e-12 to 1e12: larger values give smaller
        steps.
    shrink
        Number of uncorrelated events that each pair of attributes starts with, 0 or 1e-12 to 1e12.
    max_pairwise_coordinates
        Maximum number of coordinates (numbers and categories) for which all pairwise moments are kept, 1 to
        1,024. If there are more, attributes take turns, those that others explain stay, and the rest are
        used uncompleted. With 1 a factor model of ``rank`` dimensions replaces the pairs: for hundreds of
        attributes that share a low rank, and are seldom observed.
    rank
        Dimensions of that factor model, 1 to 256.
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

    Notes
    -----
    Scores are calibrated online, see ``core.mixture``; the loss is the logistic one.

    References
    ----------
    [H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from streamkarma import SubspaceClassifier
    >>> evaluate.progressive_val_score(datasets.Phishing(), SubspaceClassifier(), metrics.Accuracy())
    Accuracy: 89.19%
    """

    max_classes: int = 1000
    loss = "logistic"

    def __post_init__(self) -> None:
        settings = _linear_settings(self, regression=False)
        self._begin(Calibrated(Subspace(settings), settings.half_life))


@renamed(max_rank_dim="max_pairwise_coordinates")
@dataclass(eq=False, repr=False)
class SubspaceRegressor(EncodingParameters, SubspaceParameters, BaseRegressor):
    """Online regression that completes events by the subspace they lie close to.

    Parameters
    ----------
    indicators, r, shrink, max_pairwise_coordinates, rank
        As in ``SubspaceClassifier``; the update is recursive least squares with a diagonal
        covariance.
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
    >>> from streamkarma import SubspaceRegressor
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), SubspaceRegressor(), metrics.MAE())
    MAE: 0.596772
    """

    loss = "squared"

    def __post_init__(self) -> None:
        self._begin(Subspace(_linear_settings(self, regression=True)))


@renamed(max_rank_dim="max_pairwise_coordinates")
@dataclass(eq=False, repr=False)
class SubspaceImputer(KindParameters, base.Transformer):
    """Completes events by their mean given the observed values, as a river transformer.

    Missing numbers are filled in, in their own units, and missing categories by the most likely one. As in
    all models, words such as ``NA``, sentinels, and numbers too far out to be measurements are missing, too;
    other observed values are kept. Texts, tags, points in time, identifiers, attributes with both numbers and
    words, and attributes that were never learned stay missing. Like any model, it must be used by one thread
    at a time.

    Parameters
    ----------
    shrink, max_pairwise_coordinates, rank, forget, max_attributes, max_coordinates, max_name_bytes
        As in ``SubspaceClassifier``.
    na, sentinel, sentinels, kinds
        As in ``KARMAClassifier``.

    Raises
    ------
    UsageError
        A ValueError: a parameter is out of its range.

    Examples
    --------
    Where one attribute is always twice the other:

    >>> from streamkarma import SubspaceImputer
    >>> imputer = SubspaceImputer()
    >>> for t in range(500):
    ...     imputer.learn_one({"a": t % 7, "b": 2.0 * (t % 7)})
    >>> {name: round(value, 1) for name, value in imputer.transform_one({"b": 10.0}).items()}
    {'b': 10.0, 'a': 4.9}
    """

    shrink: float = 5.0
    max_pairwise_coordinates: int = 64
    rank: int = 16
    forget: float | None = None
    max_attributes: int = 16384
    max_coordinates: int = 16384
    max_name_bytes: int = 1024

    def __post_init__(self) -> None:
        settings = _settings(self, regression=False)
        self._completion = Completion(settings)
        bounds = check_bounds(self.max_attributes, self.max_coordinates, self.max_name_bytes)
        rules = check_rules(self.na, self.sentinel, self.sentinels, self.kinds)
        self._missing_words = {word.strip().lower() for word in rules[0]}
        # Only its encoder is used; its learner never runs.
        self._pipeline = Pipeline(Subspace(settings), True, *bounds, settings.half_life or None, rules)

    def learn_one(self, x: Record) -> None:
        """Learn from the observed values of an event.

        Parameters
        ----------
        x
            Attributes by name; nested names are joined with dots, as on the command line.

        Raises
        ------
        RecordError
            A ValueError: a value cannot be used. Nothing is learned.

        Examples
        --------
        >>> from streamkarma import SubspaceImputer
        >>> SubspaceImputer().learn_one({"a": 1.0, "b": None, "wind": {"from": "S"}})
        """
        self._completion.observe(self._pipeline.read([x], [True]))

    def transform_one(self, x: Record) -> dict[Any, Any]:
        """Complete an event, without learning from it.

        Parameters
        ----------
        x
            The event, as in ``learn_one``.

        Returns
        -------
        The event, flattened if it is nested, with missing values filled in.

        Raises
        ------
        RecordError
            A ValueError: a value cannot be used.

        Examples
        --------
        >>> from streamkarma import SubspaceImputer
        >>> imputer = SubspaceImputer()
        >>> for t in range(500):
        ...     imputer.learn_one({"a": t % 7, "wind": "S" if t % 7 > 3 else "N"})
        >>> imputer.transform_one({"a": 6.0})["wind"]
        'S'
        """
        x = x if is_flat(x) else flatten(x)
        events, encoder = self._pipeline.read([x], [False]), self._pipeline.encoder
        completed = self._completion.completed(events, encoder.coordinate_count)[0]
        kinds = dict(zip(encoder.attributes, encoder.kinds().values(), strict=True))
        observed = encoder.names_of(events.arrays()[1].tolist()).values()
        unmeasured = {name for name, kind in kinds.items() if kind == "number"}.difference(observed)
        result = {
            name: value for name, value in x.items() if not self._is_missing(value) and name not in unmeasured
        }
        left_out = result.keys() | marks(encoder)
        best = dict[Hashable, float]()
        for place, entry in enumerate(encoder.entries(), 1):
            if entry is None or entry[0] in left_out:
                continue
            name, category = entry
            if kinds[name] == "number":
                # Beside its own coordinate a number may have others for recurring values, as categories.
                if category is None:
                    mean, deviation = encoder.mean_and_deviation(place)
                    result[name] = mean + deviation * float(completed[place])
            elif kinds[name] == "category" and category != RARE and completed[place] > best.get(name, 0.0):
                best[name], result[name] = completed[place], category
        return result

    def impute_one(self, x: Record) -> dict[Any, Any]:
        """The old name of ``transform_one``.

        Parameters
        ----------
        x
            As in ``transform_one``.

        Returns
        -------
        As by ``transform_one``.
        """
        warnings.warn("impute_one is now called transform_one", DeprecationWarning, stacklevel=2)
        return self.transform_one(x)

    def _is_missing(self, value: Any) -> bool:
        """Whether nothing or a word stands for a missing value, also of an attribute never learned."""
        if isinstance(value, str):
            return value.strip().lower() in self._missing_words
        return is_missing(value)


def _settings(
    model: SubspaceClassifier | SubspaceRegressor | SubspaceImputer, regression: bool
) -> SubspaceSettings:
    """The settings of the subspace, checked."""
    return SubspaceSettings(
        regression=regression,
        shrink=0.0 if as_float(model.shrink) == 0.0 else check_positive("shrink", model.shrink),
        half_life=check_half_life(model.forget),
        max_pairwise_coordinates=check_count(
            "max_pairwise_coordinates", model.max_pairwise_coordinates, 1024
        ),
        rank=check_count("rank", model.rank, 256),
    )


def _linear_settings(model: SubspaceClassifier | SubspaceRegressor, regression: bool) -> SubspaceSettings:
    """The settings of the subspace and of the linear model on it, checked."""
    settings = _settings(model, regression)
    return settings._replace(
        r=check_positive("r", model.r), indicators=check_flag("indicators", model.indicators)
    )
