"""Running regret for any river model."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from streamkarma._engine import Encoded, Encoder
from streamkarma.errors import RecordError, UsageError
from streamkarma.estimators.pipeline import check_weight
from streamkarma.estimators.regression import LARGEST_TARGET
from streamkarma.events.block import Block
from streamkarma.events.labels import Labels
from streamkarma.events.values import LONGEST_NAME, Record
from streamkarma.parameters.kinds import Integer
from streamkarma.parameters.running import RUNNING
from streamkarma.printable import shown
from streamkarma.regret.losses import LOSSES
from streamkarma.regret.metric import RegressionRegretMetric, RegretMetric
from streamkarma.regret.tracker import Tracker, parse_baselines
from streamkarma.regret.wrapped import WrappedClassifier, WrappedRegressor

#: Events are passed on in blocks of this size; every method that reports flushes first.
BLOCK = 64

#: Probabilities are clipped here: a class that the model ruled out costs at most 34.5.
MIN_PROBABILITY = 1e-15


class RegretTracker:
    """How much better would an offline method have done than a model that learns event by event?

    Parameters
    ----------
    task
        ``"classification"`` or ``"regression"``.
    baselines
        Names, in a list or with commas, ``"fast"`` or ``"all"``; see ``streamkarma.baselines.REGISTRY``.
    loss
        In classification ``"logistic"`` (the default) or, for two classes, ``"hinge"``; in regression
        ``"squared"`` (the default) or ``"absolute"``.
    memory
        Maximum number of events kept. Beyond that, a uniform sample is kept and the results are estimates.
    seconds
        Time limit for each fit of a baseline.
    scale
        Standardise numbers by their running mean and variance before the baselines see them, as
        streamkarma's models do.
    seed
        Seed of the sample.

    Raises
    ------
    UsageError
        A ValueError, if a parameter is out of range.

    Notes
    -----
    Baselines are fitted in a separate process after 256, 512, 1024, … events, and by ``finish``.

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

    def __init__(
        self,
        task: str = "classification",
        baselines: str | Sequence[str] = "fast",
        loss: str | None = None,
        memory: int = RUNNING["regret_memory"].default,
        seconds: float = RUNNING["regret_seconds"].default,
        scale: bool = True,
        seed: int = 0,
    ) -> None:
        if task not in ("classification", "regression"):
            raise UsageError(f"task must be classification or regression, not {shown(task)}")
        known = LOSSES["binary" if task == "classification" else "regression"]
        if loss is not None and loss not in known:
            raise UsageError(f"loss must be one of {', '.join(known)}, not {shown(loss)}")
        if not Integer(1).holds(memory):
            raise UsageError(f"memory must be 1 or more, not {shown(memory)}")
        if not (isinstance(seconds, (int, float)) and seconds > 0.0):
            raise UsageError(f"seconds must be a number above 0, not {shown(seconds)}")
        if not Integer(0, 2**31 - 1).holds(seed):
            raise UsageError(f"seed must be an integer from 0 to 2^31 - 1, not {shown(seed)}")
        if not isinstance(scale, bool):
            raise UsageError(f"scale must be True or False, not {shown(scale)}")
        self.task = task
        self.loss = loss or known[0]
        self.scale = scale
        self._tracker = Tracker(parse_baselines(baselines, called="baselines"), memory, seconds, seed)
        self._labels = Labels(1 << 20)
        self._encoder = Encoder(1 << 20, 1 << 20, LONGEST_NAME, scale, math.inf)
        self._events = Encoded()
        self._facts: list[tuple[float, float, float, float]] = []

    def update(self, x: Record, y: Any, score: Any, w: float = 1.0) -> None:
        """Record one event, before or after the model learns it.

        Parameters
        ----------
        x
            Attributes by name; a missing one is absent, None or NaN.
        y
            The label.
        score
            The prediction of the model before it learned the event. Classification: the probabilities
            from ``predict_proba_one``, or for the classes False and True (or 0 and 1) a raw score that
            is positive for the second. Regression: the predicted number.
        w
            Weight, above 0.

        Raises
        ------
        RecordError
            A ValueError: a value, the label, the weight or the score is invalid. The score must be finite,
            because the regret would otherwise be infinite, too.
        UsageError
            A ValueError: the score is not of a kind that the loss takes.

        Examples
        --------
        >>> tracker = RegretTracker("regression", baselines="mean")
        >>> for t in range(50):
        ...     tracker.update({"a": t % 7}, 2.0 * (t % 7), score=5.0)
        >>> row = tracker.finish()["mean"]
        >>> row["events"], row["regret"] > 0
        (50, True)
        """
        weight = check_weight(w)
        if self.task == "regression":
            target, predicted = _checked_number("label", y), _checked_number("score", score)
            off = predicted - target
            loss, error = (off * off if self.loss == "squared" else abs(off)), abs(off)
        else:
            label = self._labels.check(y)
            loss, error = self._of_class(label, score)
        if weight == 0.0:
            return
        self._encoder.read_dicts([x], [True], self._events)
        if self.task != "regression":
            if not isinstance(label, (str, bool)) and label in (0, 1):
                # 1 is the positive class, even if it comes first.
                self._labels.enter(0)
                self._labels.enter(1)
            self._labels.enter(label)
            target = float(self._labels.indices([label])[0])
        self._facts.append((target, weight, weight * loss, error))
        if len(self._facts) >= BLOCK:
            self._flush()

    def finish(self) -> dict[str, dict[str, Any]]:
        """Fit every baseline on all events, and wait for the results.

        Returns
        -------
        As by ``summary``.

        Examples
        --------
        >>> RegretTracker(baselines="mean").finish()  # without events there is nothing to fit
        {}
        """
        self._flush()
        self._tracker.finish(self._kind, self.loss)
        return self.summary()

    def summary(self) -> dict[str, dict[str, Any]]:
        """The latest results.

        Returns
        -------
        By baseline, a dict with ``events``, ``weight``, ``learner_loss``, ``baseline_loss``, ``regret``
        (sums), ``regret_per_event``, ``exact``, ``standard_error``, ``learner_error``, ``error``,
        ``held_out_loss``, ``held_out_error``, ``held_out_standard_error`` (of the learner's loss minus the
        one held out), and ``held_out_problem`` if the held-out fits failed; or with ``events`` and
        ``problem``. A baseline without a result yet is absent.

        Examples
        --------
        >>> RegretTracker(baselines="mean").summary()
        {}
        """
        self._flush()
        return self._tracker.latest()

    def close(self) -> None:
        """Cancel any fit that is still running.

        Examples
        --------
        >>> RegretTracker().close()
        """
        self._tracker.close()

    def wrap(self, model: Any) -> Any:
        """Wrap a model, so that what it predicts and learns is reported to this tracker.

        Parameters
        ----------
        model
            A river classifier or regressor.

        Returns
        -------
        A river model that behaves like ``model``; pass it, together with ``metric``, to
        ``evaluate.progressive_val_score`` and the like.

        Examples
        --------
        >>> from streamkarma import KARMAClassifier
        >>> tracker = RegretTracker(baselines="mean")
        >>> model = tracker.wrap(KARMAClassifier())
        >>> model.learn_one({"temp": 31.0}, True)
        >>> model.predict_one({"temp": 30.0})
        True
        """
        return (
            WrappedClassifier(model, self) if self.task == "classification" else WrappedRegressor(model, self)
        )

    def beside(self, model: Any) -> Any:
        """Deprecated: the old name of ``wrap``.

        Parameters
        ----------
        model
            As in ``wrap``.

        Returns
        -------
        As by ``wrap``.
        """
        warnings.warn("beside is now called wrap", DeprecationWarning, stacklevel=2)
        return self.wrap(model)

    def metric(self, baseline: str | None = None) -> RegretMetric | RegressionRegretMetric:
        """The regret per event as a river metric.

        Parameters
        ----------
        baseline
            The name of a baseline; None for the one with the smallest loss at the time.

        Returns
        -------
        A ``RegretMetric``, or for a regression a ``RegressionRegretMetric``.

        Raises
        ------
        UsageError
            A ValueError: the tracker has no such baseline.

        Examples
        --------
        >>> RegretTracker(baselines="mean").metric()
        RegretMetric: 0.
        """
        kind = RegretMetric if self.task == "classification" else RegressionRegretMetric
        return kind(self, baseline)

    @property
    def baselines(self) -> list[str]:
        """The names of the baselines."""
        return self._tracker.names

    @property
    def _kind(self) -> str:
        if self.task == "regression":
            return "regression"
        return "multiclass" if len(self._labels.known) > 2 else "binary"

    def _of_class(self, label: Any, score: Any) -> tuple[float, float]:
        """Loss and error of one prediction."""
        if isinstance(score, Mapping):
            if self.loss == "hinge":
                raise UsageError("the hinge loss needs a raw score, not probabilities")
            probabilities = {name: _checked_number("probability", each) for name, each in score.items()}
            if not probabilities:
                # No class is known yet: a probability of one half.
                return math.log(2.0), 1.0
            # A class that the model has never seen counts as an additional one, as likely as each of the
            # others.
            probability = probabilities.get(label, 1.0 / (len(score) + 1))
            loss = -math.log(min(max(probability, MIN_PROBABILITY), 1.0))
            return loss, float(max(probabilities, key=probabilities.__getitem__) != label)
        if label not in (False, True):
            raise UsageError(f"a raw score is for two classes, False and True or 0 and 1, not {label!r}")
        number = _checked_number("score", score)
        margin = number if label else -number
        if self.loss == "hinge":
            return max(0.0, 1.0 - margin), float(margin <= 0.0)
        return float(np.logaddexp(0.0, -margin)), float((number > 0) != bool(label))

    def _flush(self) -> None:
        if not self._facts:
            return
        block, self._events = self._tracker.indices.block(Block(*self._events.block)), Encoded()
        facts, self._facts = np.array(self._facts), []
        self._tracker.add(block, np.arange(len(facts)), facts, self._kind, self.loss)


def _checked_number(what: str, value: Any) -> float:
    """A number that can be squared, or RecordError."""
    try:
        number = math.nan if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= LARGEST_TARGET:
        raise RecordError(f"the {what} must be a finite number within ±1e100, not {shown(value)}")
    return number
