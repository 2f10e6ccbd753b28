"""River models that report what they predict and learn to a tracker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from river import base

from streamkarma.events.values import is_missing

if TYPE_CHECKING:
    from streamkarma.regret.river_tracker import RegretTracker


class _Wrapped(base.Estimator):
    """What both kinds of wrapped models have in common."""

    def __init__(self, model: Any, tracker: RegretTracker) -> None:
        self.model = model
        self.tracker = tracker

    def predict_one(self, x: Any, **more: Any) -> Any:
        """Predict with the wrapped model; a classifier may have its own threshold."""
        return self.model.predict_one(x, **more)


class WrappedClassifier(_Wrapped, base.Classifier):
    """A classifier that reports to a tracker."""

    def __init__(self, model: Any, tracker: RegretTracker) -> None:
        super().__init__(model, tracker)
        self._last: tuple[Any, Any] = (None, None)

    @property
    def _multiclass(self) -> bool:
        return bool(self.model._multiclass)

    def predict_proba_one(self, x: Any, **more: Any) -> Any:
        """Predict with the wrapped model."""
        probabilities = self.model.predict_proba_one(x, **more)
        self._last = (x, probabilities)
        return probabilities

    def learn_one(self, x: Any, y: Any, **more: Any) -> None:
        """Update the tracker, then learn."""
        # This event has almost always just been predicted, so it need not be predicted again.
        (last, probabilities), self._last = self._last, (None, None)
        if last is not x:
            probabilities = self.model.predict_proba_one(x)
        if not is_missing(y):
            self.tracker.update(x, y, probabilities, more.get("w", 1.0))
        self.model.learn_one(x, y, **more)


class WrappedRegressor(_Wrapped, base.Regressor):
    """A regressor that reports to a tracker."""

    def learn_one(self, x: Any, y: Any, **more: Any) -> None:
        """Update the tracker, then learn."""
        # Some models return None before they have learned; river's metrics skip that as well.
        if not is_missing(y) and (prediction := self.model.predict_one(x)) is not None:
            self.tracker.update(x, y, prediction, more.get("w", 1.0))
        self.model.learn_one(x, y, **more)
