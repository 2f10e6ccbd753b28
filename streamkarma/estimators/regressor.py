"""KARMA for a numeric target, as a river model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import base

from streamkarma.core.loss import REGRESSION, losses
from streamkarma.core.moments import encode_targets
from streamkarma.core.support import Arrays
from streamkarma.errors import RecordError, UsageError
from streamkarma.estimators.classifier import KARMAClassifier
from streamkarma.estimators.common import KARMABase
from streamkarma.estimators.frames import records_of
from streamkarma.estimators.learner import Learner
from streamkarma.estimators.settings import support_vectors
from streamkarma.events.batch import Batch
from streamkarma.events.vocabulary import Record

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: See ``settings.support_vectors``. A step of a class label's size is too long for a noisy number; from
#: three tabular sets with half of the attributes withheld and two synthetic streams.
CAUTION = 3.0

#: Targets beyond this are refused: their squares, and sums of these, must stay finite.
LARGEST_TARGET = 1e100


class Estimated(NamedTuple):
    """What a run over T events said and suffered, in units of the target.

    Attributes
    ----------
    predictions
        Shape (T,), from before each event was learned.
    losses
        Shape (T,): NaN without a target.
    spreads
        Shape (T,): one standard deviation of the target so far, or 1 without ``scale``.
    """

    predictions: Floats
    losses: Floats
    spreads: Floats


class KARMARegressor(KARMABase, base.MiniBatchRegressor):
    """Online kernel regression that learns from incomplete events without imputing them.

    The learner of ``KARMAClassifier`` with a loss for numbers. The target is standardised
    by its running mean and variance while ``scale`` is on, so that the defaults serve a
    target in any unit.

    Parameters
    ----------
    gamma, eta, budget, pruning, normalize, average, horizon, regularity
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
    max_attributes, max_coordinates
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
    MAE: 0.323329
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
        max_attributes: int = 16384,
        max_coordinates: int = 16384,
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
        self.max_attributes = max_attributes
        self.max_coordinates = max_coordinates
        support = support_vectors(self, REGRESSION[loss], CAUTION)
        self._learner = Learner(support, scale, max_attributes, max_coordinates)
        self._target = np.zeros(3)

    def predict_one(self, x: Record) -> float:
        """The predicted target; 0 before anything was learned."""
        return float(self._predict([x])[0])

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """The predicted target of every row."""
        import pandas as pd

        return pd.Series(self._predict(records_of(X)), index=X.index)

    def _predict(self, records: Sequence[Record]) -> Floats:
        nothing = np.full(len(records), np.nan)
        centres, spreads = np.empty_like(nothing), np.empty_like(nothing)
        encode_targets(nothing, nothing, self._target, self.scale, centres, spreads)
        return self._learner.scores(records)[:, 0] * spreads + centres

    def run(self, batch: Batch, targets: Sequence[float | None], weights: Sequence[float]) -> Estimated:
        """Predict, then learn, the events of a batch in turn; see ``KARMABase.run``."""
        wanted = np.array([np.nan if y is None else y for y in targets], np.float64)
        weighed = np.array(weights, np.float64)
        centres, spreads = np.empty_like(wanted), np.empty_like(wanted)
        standard = encode_targets(wanted, weighed, self._target, self.scale, centres, spreads)
        block = self._learner.encode(batch, ~np.isnan(wanted) & (weighed > 0.0))
        scores = self._learner.support.run(block, standard, weighed)[0][:, 0]
        loss = REGRESSION[self.loss]
        suffered = losses(loss.code, scores, (wanted - centres) / spreads) * spreads**loss.degree
        return Estimated(scores * spreads + centres, suffered, spreads)

    def suffered(self, prediction: float, target: float, spread: float) -> float:
        """Loss of a prediction, made when one standard deviation of the target was ``spread``."""
        loss = REGRESSION[self.loss]
        off = np.array([(prediction - target) / spread])
        return float(losses(loss.code, off, np.zeros(1))[0] * spread**loss.degree)

    def check_label(self, target: Any) -> float:
        """``target`` as a float, or RecordError if it is not a finite number."""
        if isinstance(target, (str, bytes, np.bool_, bool)):
            raise RecordError(f"the target must be a number, not {target!r}")
        try:
            number = float(target)
        except (TypeError, ValueError, OverflowError):
            number = float("nan")
        if not abs(number) <= LARGEST_TARGET:
            raise RecordError(f"the target must be a finite number within ±1e100, not {target!r}")
        return number

    def take_over(self, classifier: KARMAClassifier, target: float) -> None:
        """Go on where a classifier of the same parameters that saw one label leaves off.

        Its names and statistics are kept. Targets that are all the same are 0 once
        standardised, which is what v = 0 predicts: from them nothing but their mean is to
        be learned. (Without ``scale`` they would have taught the constant, and that is lost.)
        """
        other = classifier._learner
        steps = other.support.steps
        self._learner.vocabulary, self._learner.moments = other.vocabulary, other.moments
        self._learner.support.restart(steps)
        if self.scale:
            self._target[:] = (steps, target, 0.0)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Everything learned, as JSON and arrays."""
        header, arrays = self._learner.state()
        return header, {**arrays, "target": self._target}

    def restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Take over a ``state``; ValueError if it contradicts itself."""
        target = arrays.pop("target")
        if target.shape != (3,):
            raise ValueError("the statistics of the target are not three numbers")
        self._target = np.array(target)
        self._learner.restore(header, arrays)
        if self._learner.support.classes != 1:
            raise ValueError("a regression has one vector per support vector")
