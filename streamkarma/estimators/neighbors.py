"""Nearest neighbours in a window, as river models."""

from __future__ import annotations

from dataclasses import dataclass

from streamkarma.core.mixture import Calibrated
from streamkarma.core.neighbors import START, Neighbors
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.estimators.regression import BaseRegressor
from streamkarma.estimators.settings import (
    CostParameters,
    EncodingParameters,
    ValueParameters,
    check_count,
    check_half_life,
)
from streamkarma.parameters.learning import MOST_NEIGHBORS


@dataclass(eq=False, repr=False)
class NeighborsParameters(ValueParameters):
    """The parameters that ``NeighborsClassifier`` and ``NeighborsRegressor`` share, see there."""

    window: int | None = None
    neighbors: int = 10


@dataclass(eq=False, repr=False)
class NeighborsClassifier(EncodingParameters, CostParameters, NeighborsParameters, BaseClassifier):
    """Online classifier by the nearest of the last events, for incomplete events of few attributes.

    It keeps a window of labelled events, and so fits nonlinear and drifting relations. Distances cover the
    attributes observed in the event; where an event of the window lacks one, a fraction of the expected
    distance is added instead, so that events with little in common are not near. The weight of each
    attribute is learned as well [G]. Once ADWIN detects that errors have risen, older events leave the
    window [B].

    Parameters
    ----------
    window
        Maximum number of events kept, 1 to 1,048,576. None starts with 1,000 and keeps up to 16,000 while
        older ones help, fewer if they have many attributes; with ``forget`` it is 1,000.
    neighbors
        Number of neighbours that vote, 1 to 1,024; nearer ones have more weight.
    na, sentinel, sentinels, kinds, entity, time, carry, carry_labels, carry_for, max_entities, coverage
        As in ``KARMAClassifier``.
    scale, forget, max_attributes, max_coordinates, max_name_bytes, max_classes, class_weight, threshold
        As in ``KARMAClassifier``. Without ``scale``, numbers must be of about the same size as standardised
        ones: differences are clipped at 3.

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
    An event of more than 128 numbers, categories and words is predicted by the shares of classes in the
    window and does not enter it. If there are more than 64 attributes in the window, some are ignored. Of
    several words or tags of one attribute at most one is used.

    Scores are calibrated online, see ``core.mixture``; the loss is the logistic one.

    References
    ----------
    [B] Bifet, Pfahringer, Read, Holmes: Efficient Data Stream Classification via Probabilistic Adaptive
    Windows, SAC 2013.

    [G] Goldberger, Roweis, Hinton, Salakhutdinov: Neighbourhood Components Analysis, NIPS 2004.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from streamkarma import NeighborsClassifier
    >>> evaluate.progressive_val_score(datasets.Phishing(), NeighborsClassifier(), metrics.Accuracy())
    Accuracy: 90.15%
    """

    max_classes: int = 1000
    loss = "logistic"

    def __post_init__(self) -> None:
        self._begin(Calibrated(_neighbors(self, regression=False), check_half_life(self.forget)))


@dataclass(eq=False, repr=False)
class NeighborsRegressor(EncodingParameters, NeighborsParameters, BaseRegressor):
    """Online regression by the nearest of the last events, for incomplete events of few attributes.

    Parameters
    ----------
    window, neighbors
        As in ``NeighborsClassifier``; the prediction is the mean of the targets of the nearest.
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
    >>> from streamkarma import NeighborsRegressor
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), NeighborsRegressor(), metrics.MAE())
    MAE: 0.438836
    """

    loss = "squared"

    def __post_init__(self) -> None:
        self._begin(_neighbors(self, regression=True))


def _neighbors(model: NeighborsClassifier | NeighborsRegressor, regression: bool) -> Neighbors:
    """The learner, its parameters checked."""
    window = START if check_half_life(model.forget) else None
    if model.window is not None:
        window = check_count("window", model.window)
    return Neighbors(regression, window, check_count("neighbors", model.neighbors, MOST_NEIGHBORS))
