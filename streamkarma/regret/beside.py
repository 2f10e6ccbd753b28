"""The tracker beside any river model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from river import base

from streamkarma._engine import Encoded, Encoder
from streamkarma.errors import UsageError
from streamkarma.estimators.learner import check_weight
from streamkarma.events.block import Block
from streamkarma.events.labels import Labels
from streamkarma.events.values import LONGEST_NAME, Record, as_number
from streamkarma.regret.losses import LOSSES
from streamkarma.regret.metric import RegressionRegretMetric, RegretMetric
from streamkarma.regret.tracker import Tracker, chosen

#: Events that are handed on together; nothing that is asked for ever waits for a block to fill.
BLOCK = 64

#: The least probability that counts: a class that a model rules out and that comes costs 34.5.
LEAST = 1e-15


class RegretTracker:
    """How much better would offline have done, for a model that learns event by event?

    Parameters
    ----------
    task
        ``"classification"`` or ``"regression"``.
    baselines
        Names with commas, ``"fast"`` or ``"all"``; see ``streamkarma.baselines.REGISTRY``.
    loss
        For classes ``"logistic"`` (the default) or, for two of them, ``"hinge"``; for numbers
        ``"squared"`` (the default) or ``"absolute"``.
    memory
        Most events kept; past it a uniform sample, and the figures are estimates.
    seconds
        What one baseline may take at a time.
    scale
        Standardise numbers by their running mean and variance, as streamkarma's models do; the
        baselines see them so.
    seed
        Of the sample.

    Raises
    ------
    UsageError
        A ValueError: for a parameter that is not one of these.

    Notes
    -----
    Baselines are asked in a process of their own at 256, 512, 1024, … events, and by ``finish``.

    Examples
    --------
    >>> from river import linear_model
    >>> model, tracker = linear_model.LogisticRegression(), RegretTracker(baselines="mean")
    >>> for t in range(100):
    ...     x, y = {"a": t % 7 - 3.0, "b": None if t % 3 else 1.0}, t % 7 > 3
    ...     tracker.update(x, y, model.predict_proba_one({"a": x["a"]}))
    ...     model.learn_one({"a": x["a"]}, y)
    >>> row = tracker.finish()["mean"]
    >>> row["events"], row["exact"], row["regret"] > 0
    (100, True, True)
    """

    def __init__(self, task: str = "classification", baselines: str = "fast", loss: str | None = None,
                 memory: int = 20_000, seconds: float = 60.0, scale: bool = True,
                 seed: int = 0) -> None:  # fmt: skip
        if task not in ("classification", "regression"):
            raise UsageError(f"task is classification or regression, not {task!r}")
        known = LOSSES["binary" if task == "classification" else "regression"]
        if loss is not None and loss not in known:
            raise UsageError(f"loss is one of {', '.join(known)}, not {loss!r}")
        if memory < 1:
            raise UsageError(f"memory is 1 or more, not {memory}")
        self.task = task
        self.loss = loss or known[0]
        self.scale = scale
        self._tracker = Tracker(chosen(baselines), memory, seconds, seed)
        self._labels = Labels(1 << 20)
        self._encoder = Encoder(1 << 20, 1 << 20, LONGEST_NAME, scale, math.inf)
        self._events = Encoded()
        self._facts: list[tuple[float, float, float, float]] = []

    def update(self, x: Record, y: Any, score: Any, w: float = 1.0) -> None:
        """Tell of one event, before or after the model has learned it.

        Parameters
        ----------
        x
            Attributes by name; what is missing is absent, None or NaN.
        y
            The label.
        score
            What the model said before it learned the event. Classes: ``predict_proba_one``'s
            probabilities by class, or for False and True (or 0 and 1) a raw score that is
            positive for the second. Numbers: the prediction.
        w
            Weight, above 0.

        Raises
        ------
        RecordError
            A ValueError: a value, the label or the weight cannot be used.
        """
        weight = check_weight(w)
        if self.task == "regression":
            target = as_number("y", y)
            off = as_number("score", score) - target
            loss, error = (off * off if self.loss == "squared" else abs(off)), abs(off)
        else:
            label = self._labels.check(y)
            loss, error = self._of_class(label, score)
            if not isinstance(label, (str, bool)) and label in (0, 1):
                # Of 0 and 1 the second is 1, whichever comes first.
                self._labels.enter(0)
                self._labels.enter(1)
            self._labels.enter(label)
            target = float(self._labels.indices([label])[0])
        if weight == 0.0:
            return
        self._encoder.read_dicts([x], [True], self._events)
        self._facts.append((target, weight, weight * loss, error))
        if len(self._facts) >= BLOCK:
            self._flush()

    def finish(self) -> dict[str, dict[str, Any]]:
        """Ask every baseline about all events, and wait for the answers; see ``summary``."""
        self._flush()
        self._tracker.finish(self._kind, self.loss)
        return self.summary()

    def summary(self) -> dict[str, dict[str, Any]]:
        """By baseline, what is known so far.

        ``events``, ``learner_loss``, ``baseline_loss``, ``regret`` (sums), ``regret_per_event``,
        ``exact``, ``standard_error``, ``learner_error``, ``error``, ``held_out_loss``,
        ``held_out_error``; or ``events`` and ``problem``. A baseline that has not answered yet
        is absent.
        """
        self._flush()
        return self._tracker.latest()

    def close(self) -> None:
        """Leave what is on its way."""
        self._tracker.close()

    def beside(self, model: Any) -> Any:
        """The model, with everything it predicts and learns told to this tracker.

        What comes back is a river classifier or regressor that does as ``model`` does; it is for
        ``evaluate.progressive_val_score`` and its like, with ``metric``.
        """
        return _Watched(model, self) if self.task == "classification" else _WatchedRegressor(model, self)

    def metric(self, baseline: str | None = None) -> RegretMetric | RegressionRegretMetric:
        """The regret per event as a river metric; see ``RegretMetric``."""
        kind = RegretMetric if self.task == "classification" else RegressionRegretMetric
        return kind(self, baseline)

    @property
    def _kind(self) -> str:
        if self.task == "regression":
            return "regression"
        return "multiclass" if len(self._labels.known) > 2 else "binary"

    def _of_class(self, label: Any, score: Any) -> tuple[float, float]:
        """Loss and error of what was said of one label."""
        if isinstance(score, Mapping):
            if self.loss == "hinge":
                raise UsageError("the hinge loss needs a raw score, not probabilities")
            if not score:
                # Nothing is known yet: as likely as not.
                return math.log(2.0), 1.0
            # A class that is not even named was never seen: one more beside those that were.
            chance = score.get(label, 1.0 / (len(score) + 1))
            return -math.log(max(float(chance), LEAST)), float(max(score, key=score.__getitem__) != label)
        if label not in (False, True):
            raise UsageError(f"a raw score is for two classes, False and True or 0 and 1, not {label!r}")
        margin = float(score) if label else -float(score)
        if self.loss == "hinge":
            return max(0.0, 1.0 - margin), float(margin <= 0.0)
        return float(np.logaddexp(0.0, -margin)), float((float(score) > 0) != bool(label))

    def _flush(self) -> None:
        if not self._facts:
            return
        block, self._events = Block(*self._events.block), Encoded()
        facts, self._facts = np.array(self._facts), []
        self._tracker.take(block, np.arange(len(facts)), facts, self._kind, self.loss)


class _Watched(base.Classifier):
    def __init__(self, model: Any, tracker: RegretTracker) -> None:
        self.model = model
        self.tracker = tracker
        self._said: tuple[Any, Any] = (None, None)

    @property
    def _multiclass(self) -> bool:
        return bool(self.model._multiclass)

    def predict_proba_one(self, x: Any, **more: Any) -> Any:
        """What the model says."""
        said = self.model.predict_proba_one(x, **more)
        self._said = (x, said)
        return said

    def learn_one(self, x: Any, y: Any, **more: Any) -> None:
        """Tell the tracker, and have the model learn."""
        # Nearly always it has just been asked about this event.
        known, said = self._said
        if known is not x:
            said = self.model.predict_proba_one(x)
        self.tracker.update(x, y, said, more.get("w", 1.0))
        self.model.learn_one(x, y, **more)


class _WatchedRegressor(base.Regressor):
    def __init__(self, model: Any, tracker: RegretTracker) -> None:
        self.model = model
        self.tracker = tracker

    def predict_one(self, x: Any, **more: Any) -> Any:
        """What the model says."""
        return self.model.predict_one(x, **more)

    def learn_one(self, x: Any, y: Any, **more: Any) -> None:
        """Tell the tracker, and have the model learn."""
        self.tracker.update(x, y, self.model.predict_one(x), more.get("w", 1.0))
        self.model.learn_one(x, y, **more)
