"""The regret that a tracker measures, as river metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from river import base
from river.metrics.base import ClassificationMetric, Metric, RegressionMetric

from streamkarma.errors import UsageError

if TYPE_CHECKING:
    from streamkarma.regret.river_tracker import RegretTracker


class _Regret(Metric):
    """Base class of both metrics; ``task`` is the task of the tracker."""

    _fmt = ",.6f"
    task: str

    def __init__(self, tracker: RegretTracker, baseline: str | None = None) -> None:
        if tracker.task != self.task:
            raise UsageError(
                f"{type(self).__name__} is for {self.task}, the tracker for {tracker.task}; "
                "use tracker.metric()"
            )
        if baseline is not None and baseline not in tracker.baselines:
            raise UsageError(f"baseline must be one of {', '.join(tracker.baselines)}, not {baseline!r}")
        self.tracker = tracker
        self.baseline = baseline

    def clone(self, *_: Any, **__: Any) -> Any:
        """Another metric of the same tracker, which has all of the state.

        Returns
        -------
        The metric.
        """
        return type(self)(self.tracker, self.baseline)

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Do nothing: the wrapped model updates the tracker.

        Parameters
        ----------
        y_true, y_pred, w
            Ignored.
        """

    def revert(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Do nothing, like ``update``.

        Parameters
        ----------
        y_true, y_pred, w
            Ignored.
        """

    @property
    def bigger_is_better(self) -> bool:
        """False: lower regret is better."""
        return False

    def works_with(self, model: base.Estimator) -> bool:
        """Whether a model was wrapped by the tracker.

        Parameters
        ----------
        model
            The model.

        Returns
        -------
        True for a result of ``RegretTracker.wrap``.
        """
        return getattr(model, "tracker", None) is self.tracker

    def get(self) -> float:
        """Regret per event, in the tracker's loss.

        Returns
        -------
        The learner's mean loss minus the baseline's; 0 before the first result.
        """
        rows = {name: row for name, row in self.tracker.summary().items() if "problem" not in row}
        if self.baseline is not None:
            rows = {name: row for name, row in rows.items() if name == self.baseline}
        if not rows:
            return 0.0
        best = min(rows.values(), key=lambda row: row["baseline_loss"] / row["weight"])
        return float(best["regret_per_event"])


class RegretMetric(_Regret, ClassificationMetric):
    """Regret per event against the best baseline so far, or against a given one.

    All figures come from the tracker; ``update`` ignores its arguments. Before the first result it is 0.
    Like river's own metrics it can be combined with others by ``+``.

    Parameters
    ----------
    tracker
        A tracker for classification.
    baseline
        A name, or None for the baseline with the smallest loss.

    Raises
    ------
    UsageError
        A ValueError, if the tracker is for regression, or does not have the baseline.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from streamkarma import KARMAClassifier
    >>> from streamkarma.regret import RegretTracker
    >>> tracker = RegretTracker(baselines="zero")
    >>> data = datasets.Phishing().take(200)
    >>> both = metrics.Accuracy() + tracker.metric()
    >>> both = evaluate.progressive_val_score(data, tracker.wrap(KARMAClassifier()), both)
    >>> rows = tracker.finish()
    >>> both[1].get() == rows["zero"]["regret_per_event"]
    True
    """

    task = "classification"

    @property
    def requires_labels(self) -> bool:
        """False: probabilities are enough."""
        return False


class RegressionRegretMetric(_Regret, RegressionMetric):
    """Regret per event of a regression against the best baseline so far, or against a given one.

    All figures come from the tracker, as in ``RegretMetric``, which has an example of a whole run.

    Parameters
    ----------
    tracker
        A tracker for regression.
    baseline
        A name, or None for the baseline with the smallest loss.

    Raises
    ------
    UsageError
        A ValueError, if the tracker is for classification, or does not have the baseline.

    Examples
    --------
    >>> from streamkarma.regret import RegretTracker
    >>> tracker = RegretTracker("regression", baselines="zero,mean")
    >>> metric = RegressionRegretMetric(tracker, "mean")
    >>> metric.get()  # no baseline has been fitted yet
    0.0
    """

    task = "regression"
