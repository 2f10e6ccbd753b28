"""River models as experts of the mixture."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from streamkarma._engine import Encoded, Translation, logarithms
from streamkarma.arrays import Arrays, Floats, pop_part, with_prefix
from streamkarma.errors import UsageError
from streamkarma.estimators.common import KARMABase
from streamkarma.estimators.settings import check_count
from streamkarma.events.block import Block
from streamkarma.events.flatten import flatten, is_flat
from streamkarma.events.frames import records_of
from streamkarma.events.labels import Label
from streamkarma.events.values import Record, is_missing
from streamkarma.refit.names import parse_refits

if TYPE_CHECKING:
    from streamkarma.refit.refits import Refits

#: Probabilities of an external expert are clipped this far from 0 and 1.
CLIP = 1e-6
#: Predicted numbers are clipped this many standard deviations from the mean of the targets.
FARTHEST = 1e3
#: The names of river models and refits in a state.
MODELS, REFITS = "external", "refit"


class RestoredExperts(list[Any]):
    """Models already trained with the mixture, restored from a file; any others are cloned untrained."""


class ExternalExperts:
    """External models that predict and learn alongside the experts.

    Parameters
    ----------
    models
        River classifiers, or regressors. They receive each event without its missing attributes and must
        accept that. Models with a weight ``w`` in ``learn_one`` receive that of the event, others do not.
    regression
        Whether they are regressors.

    Raises
    ------
    UsageError
        If one is neither.
    """

    def __init__(self, models: Sequence[base.Estimator], regression: bool) -> None:
        if not isinstance(models, Sequence):
            kind = type(models).__name__
            raise UsageError(f"extra_experts must be None or a list of river models, not a {kind}")
        for model in models:
            if not isinstance(_last_step(model), base.Regressor if regression else base.Classifier):
                kind = "regressors" if regression else "classifiers"
                raise UsageError(f"extra_experts must be river {kind}, not {type(model).__name__}")
        kept = isinstance(models, RestoredExperts)
        self.models: list[Any] = list(models) if kept else [model.clone() for model in models]
        self._weighed = [_takes_weight(model) for model in self.models]
        self._regression = regression
        #: The last event and its predictions, unless the models have learned since: an event that is
        #: predicted and then learned is predicted only once.
        self._last: tuple[Record, list[Any]] | None = None

    def run(
        self,
        records: Sequence[Record],
        labels: Sequence[Any],
        weights: Floats,
        score: Callable[[int, Any], Any],
    ) -> list[list[Any]]:
        """Predict, then learn, each event in turn.

        Parameters
        ----------
        records
            T events; nested ones are flattened.
        labels
            The label of each event, None if it is not learned.
        weights
            The weight of each event, above 0 if it is learned.
        score
            Maps the index of an event and a model's prediction for it to scores.

        Returns
        -------
        Scores of each event by each model, from before it was learned.
        """
        scores = []
        each = zip(records, labels, weights.tolist(), strict=True)
        for t, (record, label, weight) in enumerate(each):
            x = dict(_plain(record if is_flat(record) else flatten(record)))
            scores.append([score(t, answer) for answer in self._answers(x)])
            if label is not None:
                self._last = None
                for model, is_weighed in zip(self.models, self._weighed, strict=True):
                    model.learn_one(x, label, **({"w": weight} if is_weighed else {}))
        return scores

    def _answers(self, x: Record) -> list[Any]:
        if self._last is None or not _is_same(self._last[0], x):
            ask = "predict_one" if self._regression else "predict_proba_one"
            # Some models answer None before they have learned.
            nothing: Any = math.nan if self._regression else {}
            answers = (getattr(model, ask)(x) for model in self.models)
            self._last = x, [nothing if answer is None else answer for answer in answers]
        return self._last[1]


class EncodedRecords(Encoded):
    """Encoded events together with their records, which external experts need."""

    def __init__(self) -> None:
        self.records: list[Record] = []


class WithExternalExperts(KARMABase):
    """A mixture with experts outside the engine: river models, and refits of batch learners."""

    extra_experts: list[Any] | None
    refit: str | None
    refit_memory: int
    _external: ExternalExperts
    _refits: Refits | None

    def _begin_external(self, regression: bool) -> int:
        """Create these experts, once the parameters are set; returns how many there are."""
        self._external = ExternalExperts([] if self.extra_experts is None else self.extra_experts, regression)
        self._refits = None
        names, memory = parse_refits(self.refit), check_count("refit_memory", self.refit_memory)
        if names:
            from streamkarma.refit.refits import Refits

            self._refits = Refits(names, memory, regression)
        return len(self._external.models) + len(names)

    def read(
        self, records: Sequence[Record], learned: Sequence[bool], labels: Sequence[Any] | None = None
    ) -> Encoded:
        # Extra experts need the records themselves.
        if not self.extra_experts:
            return super().read(records, learned, labels)
        events = self._empty_events(records)
        known = None if labels is None else list(labels)
        self.vocabulary.read_dicts(list(records), list(learned), events, awaiting=True, labels=known)
        return events

    def _empty_events(self, records: Sequence[Record]) -> Encoded:
        if not self.extra_experts:
            return super()._empty_events(records)
        events = EncodedRecords()
        events.records = list(records)
        return events

    def _read_any(self, X: Any, learned: Sequence[bool], labels: Sequence[Any] | None = None) -> Encoded:
        if self.extra_experts and not isinstance(X, list):
            X = records_of(X)
        return super()._read_any(X, learned, labels)

    def _of_models(
        self,
        events: Encoded,
        part: slice,
        labels: Sequence[Any],
        weights: Floats,
        score: Callable[[int, Any], Any],
        classes: int,
    ) -> list[Floats]:
        """Scores of the river models, if any, shape (F, T, classes); they also learn labelled events."""
        if not self.extra_experts:
            return []
        if not isinstance(events, EncodedRecords):
            raise UsageError("extra experts need records, which only Python has: use learn_one or learn_many")
        scores = self._external.run(events.records[part], labels, weights, score)
        shape = (len(labels), len(self._external.models), classes)
        return [np.ascontiguousarray(np.reshape(scores, shape).swapaxes(0, 1), np.float64)]

    def _of_refits(self, part: slice, targets: Floats, weights: Floats, classes: int) -> list[Floats]:
        """Scores of the refits, as in ``_of_models``; NaN before the first fit."""
        if self._refits is None:
            return []
        if part.start == 0:
            self._refits.begin(Block(*self._pipeline.encoded.raw_block))
        return [self._refits.run(part, targets, weights, classes)]

    def summary(self) -> dict[str, Any]:
        # The engine numbers its external experts; refits are named after what is fitted.
        summary = super().summary()
        if self._refits is not None:
            models = len(self._external.models)
            names = {f"other {models + i}": f"refit {name}" for i, name in enumerate(self._refits.names, 1)}
            summary["experts"] = {names.get(name, name): w for name, w in summary["experts"].items()}
            summary["bytes"] += self._refits.bytes
            summary["refits"] = dict(self._refits.fitted)
            if self._refits.problems:
                summary["refit_problems"] = dict(self._refits.problems)
        return summary

    def _with_external(self, header: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
        """A state together with that of these experts."""
        parts = {}
        if self.extra_experts:
            from streamkarma.estimators import river_state

            parts[MODELS] = river_state.write(self._external.models)
        if self._refits is not None:
            parts[REFITS] = self._refits.state()
        for name, (own, more) in parts.items():
            header = {**header, name: own}
            arrays = {**arrays, **with_prefix(f"{name}.", more)}
        return header, arrays

    def _relabel_external(self, places: Sequence[int]) -> None:
        if self._refits is not None:
            from streamkarma.refit.merging import relabel

            relabel(self._refits, places)

    def _merge_external(self, parts: Sequence[Any], translations: Sequence[Translation]) -> None:
        if self._refits is not None:
            from streamkarma.refit.merging import merge

            merge([self._refits, *(part._refits for part in parts)], translations)

    def _restore_refits(self, header: dict[str, Any], arrays: Arrays, classes: int) -> None:
        """Restore and remove the refits from a state; ValueError if they are inconsistent."""
        if self._refits is not None:
            self._refits.restore(header[REFITS], pop_part(arrays, f"{REFITS}."), classes)


def restored_experts(state: Any, arrays: Arrays) -> RestoredExperts:
    """The external experts from a state; removes their arrays.

    Raises
    ------
    ValueError, KeyError, TypeError, AttributeError, IndexError
        If they are not what ``_with_external`` wrote.
    """
    from streamkarma.estimators import river_state

    return RestoredExperts(river_state.read(state, pop_part(arrays, f"{MODELS}.")))


def class_scores(chances: dict[Label, float], known: Sequence[Label], classes: int) -> Floats:
    """Scores from a classifier's probabilities: log-odds of the second of two classes, else one for each.

    Examples
    --------
    >>> class_scores({False: 0.25, True: 0.75}, [False, True], 1).round(2).tolist()
    [1.1]
    """
    each = np.array([min(max(chances.get(label, 0.0), CLIP), 1.0 - CLIP) for label in known])
    if classes > 1:
        return logarithms(each)
    # With fewer than two classes there is nothing to predict.
    return logarithms(each[1:] / each[:1]) if len(each) == 2 else np.zeros(1)


def number_score(prediction: Any, centre: float, spread: float) -> float:
    """A predicted number in standard units; the mean for NaN."""
    score = (float(prediction) - centre) / spread
    return 0.0 if math.isnan(score) else min(max(score, -FARTHEST), FARTHEST)


def number_scores(predictions: Floats, centres: Floats, spreads: Floats) -> Floats:
    """As ``number_score``, for predictions of shape (F, T, 1)."""
    scores = (predictions - centres[:, np.newaxis]) / spreads[:, np.newaxis]
    return np.nan_to_num(np.clip(scores, -FARTHEST, FARTHEST), nan=0.0)


def _last_step(model: Any) -> Any:
    """The predicting step of a pipeline; any other model itself."""
    while steps := getattr(model, "steps", None):
        model = list(steps.values())[-1]
    return model


def _takes_weight(model: Any) -> bool:
    """Whether the predicting step takes a weight by name; a pipeline accepts one even if no step does."""
    return "w" in signature(_last_step(model).learn_one).parameters


def _plain(flat: Record) -> Iterator[tuple[Hashable, Any]]:
    """The observed values; each tag becomes an attribute, for models that do not support tags."""
    for name, value in flat.items():
        if isinstance(value, list):
            yield from ((f"{name}.{tag}", 1) for tag in value)
        elif not is_missing(value):
            yield name, value


def _is_same(one: Record, other: Record) -> bool:
    """Whether two events are the same to any model: names in the same order, and values of the same types."""
    return one == other and all(
        a == b and type(one[a]) is type(other[b]) for a, b in zip(one, other, strict=True)
    )
