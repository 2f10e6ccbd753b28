"""The subspace learner as river models, and its completion as a transformer."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from river import base

from streamkarma.core.mixture import Calibrated
from streamkarma.core.subspace import Completion, Settings, Subspace
from streamkarma.estimators.classification import CoreClassifier
from streamkarma.estimators.learner import Learner
from streamkarma.estimators.regression import CoreRegressor
from streamkarma.estimators.settings import check_bounds, check_count, check_forget, check_positive
from streamkarma.events.flatten import flatten, is_flat
from streamkarma.events.values import Record, is_missing


class SubspaceClassifier(CoreClassifier):
    """Online classifier that completes events by the subspace they lie close to.

    It learns which attributes go together from those observed together, completes each event by
    its mean given what is there, and learns a linear model of the completed events: the
    ``f_{w,Q}`` that KARMA competes with [H, Def. 2], with Q learned. Where attributes are
    correlated and missing at random nothing else comes close; where absence itself tells of the
    label, it needs ``indicators``, or is wrong.

    Parameters
    ----------
    indicators
        Let the linear model see which attributes are there.
    r
        Variance of the noise in AROW, the linear model's update, 1e-12 to 1e12: the larger, the more
        cautious.
    shrink
        How many events without any correlation each pair of attributes starts with, 0 or 1e-12 to 1e12.
    max_rank_dim
        Most coordinates (numbers and categories) of which every pair is followed, 1 to 1,024.
        Beyond it a factor of ``rank`` dimensions takes their place, and nothing costs as much as
        there are attributes.
    rank
        Dimensions of that factor, 1 to 256.
    scale, forget, max_attributes, max_coordinates, max_name_bytes, max_classes
        As in ``KARMAClassifier``.

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
    Scores are calibrated online, see ``core.calibration``; the loss is the logistic one.

    References
    ----------
    [H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from streamkarma import SubspaceClassifier
    >>> evaluate.progressive_val_score(datasets.Phishing(), SubspaceClassifier(), metrics.Accuracy())
    Accuracy: 89.27%
    """

    def __init__(
        self,
        indicators: bool = False,
        r: float = 10.0,
        shrink: float = 5.0,
        max_rank_dim: int = 64,
        rank: int = 16,
        scale: bool = True,
        forget: float | None = None,
        max_attributes: int = 16384,
        max_coordinates: int = 16384,
        max_name_bytes: int = 1024,
        max_classes: int = 1000,
    ) -> None:
        self.indicators = indicators
        self.r = r
        self.shrink = shrink
        self.max_rank_dim = max_rank_dim
        self.rank = rank
        self.scale = scale
        self.forget = forget
        self.max_attributes = max_attributes
        self.max_coordinates = max_coordinates
        self.max_name_bytes = max_name_bytes
        self.max_classes = max_classes
        self.loss = "logistic"
        settings = _settings(self, regression=False)
        self._begin(Calibrated(Subspace(settings), settings.forget))


class SubspaceRegressor(CoreRegressor):
    """Online regression that completes events by the subspace they lie close to.

    Parameters
    ----------
    indicators, r, shrink, max_rank_dim, rank
        As in ``SubspaceClassifier``; the update is recursive least squares with a diagonal
        covariance.
    scale, forget, max_attributes, max_coordinates, max_name_bytes
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
    MAE: 0.614991
    """

    def __init__(
        self,
        indicators: bool = False,
        r: float = 10.0,
        shrink: float = 5.0,
        max_rank_dim: int = 64,
        rank: int = 16,
        scale: bool = True,
        forget: float | None = None,
        max_attributes: int = 16384,
        max_coordinates: int = 16384,
        max_name_bytes: int = 1024,
    ) -> None:
        self.indicators = indicators
        self.r = r
        self.shrink = shrink
        self.max_rank_dim = max_rank_dim
        self.rank = rank
        self.scale = scale
        self.forget = forget
        self.max_attributes = max_attributes
        self.max_coordinates = max_coordinates
        self.max_name_bytes = max_name_bytes
        self.loss = "squared"
        self._begin(Subspace(_settings(self, regression=True)))


class SubspaceImputer(base.Transformer):
    """Completes events by their mean given what is observed, as a river transformer.

    Numbers that are missing are filled in, in their own units, and so are categorical attributes,
    by the category that is the most likely. What is observed stays as it is, and an attribute that
    was never learned stays missing.

    Parameters
    ----------
    shrink, max_rank_dim, rank, forget, max_attributes, max_coordinates, max_name_bytes
        As in ``SubspaceClassifier``.

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
    >>> {name: round(value, 1) for name, value in imputer.impute_one({"b": 10.0}).items()}
    {'b': 10.0, 'a': 4.9}
    """

    def __init__(
        self,
        shrink: float = 5.0,
        max_rank_dim: int = 64,
        rank: int = 16,
        forget: float | None = None,
        max_attributes: int = 16384,
        max_coordinates: int = 16384,
        max_name_bytes: int = 1024,
    ) -> None:
        self.shrink = shrink
        self.max_rank_dim = max_rank_dim
        self.rank = rank
        self.forget = forget
        self.max_attributes = max_attributes
        self.max_coordinates = max_coordinates
        self.max_name_bytes = max_name_bytes
        settings = _settings(self, regression=False)
        self._completion = Completion(settings)
        bounds = check_bounds(max_attributes, max_coordinates, max_name_bytes)
        # For its names and statistics alone: what it would learn with is never run.
        self._learner = Learner(Subspace(settings), True, *bounds, forget)

    def learn_one(self, x: Record) -> None:
        """Learn from what is observed.

        Raises
        ------
        RecordError
            A ValueError: a value cannot be used. Nothing is learned.
        """
        self._completion.observe(self._learner.read([x], [True]))

    def transform_one(self, x: Record) -> dict[Any, Any]:
        """As ``impute_one``; river's name for it."""
        return self.impute_one(x)

    def impute_one(self, x: Record) -> dict[Any, Any]:
        """The event, flattened if it is nested, with what is missing filled in; it leaves no trace."""
        x = x if is_flat(x) else flatten(x)
        events, encoder = self._learner.read([x], [False]), self._learner.encoder
        completed = self._completion.completed(events, encoder.coordinate_count)[0]
        result = {name: value for name, value in x.items() if not is_missing(value)}
        observed = set(result)
        best = dict[Hashable, float]()
        for place, (name, category) in enumerate(encoder.entries(), 1):
            if name in observed:
                continue
            if category is None:
                mean, deviation = encoder.mean_and_deviation(place)
                result[name] = mean + deviation * float(completed[place])
            elif completed[place] > best.get(name, 0.0):
                best[name], result[name] = completed[place], category
        return result


def _settings(said: Any, regression: bool) -> Settings:
    """The settings of the core learner, checked."""
    settings = Settings(
        regression=regression,
        shrink=0.0 if said.shrink == 0 else check_positive("shrink", said.shrink),
        forget=check_forget(said.forget) or 0.0,
        max_rank_dim=check_count("max_rank_dim", said.max_rank_dim, 1024),
        rank=check_count("rank", said.rank, 256),
    )
    if isinstance(said, SubspaceImputer):
        return settings
    return settings._replace(r=check_positive("r", said.r), indicators=bool(said.indicators))
