"""The base of classifiers and regressors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from inspect import signature
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamkarma._engine import Encoded, Encoder, Translation
from streamkarma.arrays import Arrays
from streamkarma.checkpoint import natural
from streamkarma.core.conformal import PredictionIntervals, PredictionSets
from streamkarma.core.learner import Learner
from streamkarma.core.tickets import LateLabels
from streamkarma.errors import UsageError
from streamkarma.estimators.explaining import Explains
from streamkarma.estimators.frames import row_count, values_of
from streamkarma.estimators.pipeline import Pipeline, check_weight
from streamkarma.estimators.settings import (
    check_bounds,
    check_coverage,
    check_flag,
    check_following,
    check_rules,
)
from streamkarma.events.block import Block
from streamkarma.events.frames import records_of, table_of
from streamkarma.events.values import Record, is_missing
from streamkarma.parameters.kinds import as_float

#: The default coverage of intervals and sets.
DEFAULT_COVERAGE = 0.9
#: Prefix of the names of their arrays.
CONFORMAL = "conformal."

#: One per event.
Weights = Sequence[float] | NDArray[np.float64]


class KARMABase(Explains):
    """A river model around a Pipeline, for one thread at a time."""

    scale: bool
    max_attributes: int
    max_coordinates: int
    max_name_bytes: int
    forget: float | None
    na: Sequence[str] | None
    sentinel: Mapping[str, float | Sequence[float]] | None
    sentinels: bool
    kinds: Mapping[str, str] | None
    entity: str | None
    time: str | None
    carry: str
    carry_labels: bool
    carry_for: float | None
    max_entities: int
    coverage: float | None
    #: Intervals or sets, once there are any.
    _conformal: PredictionIntervals | PredictionSets | None
    _pipeline: Pipeline
    #: Origins of a merged model: their names, and the number of events that each of them had learned.
    merged_from: list[tuple[str, int]]

    def _start(self, learner: Learner, rates: int, regression: bool) -> None:
        self._conformal = None
        self.merged_from = []
        self._take_plain()
        if self.coverage is not None:
            self._begin_conformal(check_coverage(self.coverage))
        bounds = check_bounds(self.max_attributes, self.max_coordinates, self.max_name_bytes)
        rules = check_rules(self.na, self.sentinel, self.sentinels, self.kinds)
        words, sentinels, _, kinds = rules
        self.na = None if self.na is None else words
        self.sentinel = None if self.sentinel is None else sentinels
        self.kinds = None if self.kinds is None else kinds
        memory = self.time, self.carry, self.carry_labels, self.carry_for, self.max_entities
        following = check_following(self.entity, *memory)
        self._pipeline = Pipeline(
            learner, bool(self.scale), *bounds, self.forget, rules, rates, regression, following
        )

    def _take_plain(self) -> None:
        """Convert flags to booleans and numbers to Python's own, as files need them.

        UsageError for a flag that is neither; numbers are checked where they are used.
        """
        for name, parameter in signature(type(self)).parameters.items():
            value = getattr(self, name, parameter.default)
            if isinstance(parameter.default, bool):
                setattr(self, name, check_flag(name, value))
            elif isinstance(value, Real) and not isinstance(value, bool):
                setattr(self, name, int(value) if isinstance(value, Integral) else as_float(value))

    def _asked_coverage(self, coverage: float | None) -> float:
        """The coverage requested by a call; that of a model never changes."""
        known = self.coverage if self._conformal is None else self._conformal.coverage
        asked = check_coverage((known or DEFAULT_COVERAGE) if coverage is None else coverage)
        if known is not None and asked != known:
            raise UsageError(f"this model is calibrated for a coverage of {known:g}, not {asked:g}")
        return asked

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        """The learned state, except for what depends on the kind of label."""
        header, arrays = self._pipeline.state()
        if self.merged_from:
            header["merged_from"] = self.merged_from
        if self._conformal is None:
            return header, arrays
        own = {CONFORMAL + name: array for name, array in self._conformal.arrays().items()}
        return {**header, "coverage": self._conformal.coverage}, {**arrays, **own}

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Restore a ``_state``; ValueError if it is inconsistent."""
        self.merged_from = [(str(name), natural(count)) for name, count in header.get("merged_from", [])]
        own = [name for name in arrays if name.startswith(CONFORMAL)]
        if (coverage := header.get("coverage")) is not None:
            self._begin_conformal(self._asked_coverage(coverage))
        if self._conformal is not None:
            self._conformal.restore({name.removeprefix(CONFORMAL): arrays.pop(name) for name in own})
        self._pipeline.restore(header, arrays)

    def merge(self, other: Self, base: Self | None = None) -> Self:
        """Merge this model with another one that was trained separately; both stay unchanged.

        Parameters
        ----------
        other
            A model of the same kind and with the same parameters.
        base
            The model that both were trained from, or None if each started empty.

        Returns
        -------
        A new model; see ``streamkarma.merge``, which takes any number of models.

        Raises
        ------
        UsageError
            If they cannot be merged.
        """
        # Imported here, as it imports all estimators, which derive from this class.
        from streamkarma.estimators.merging import merge

        return merge([self, other], base)  # type: ignore[list-item, arg-type, return-value]  # one of its kinds

    def begin_survey(self) -> None:
        """Only collect names, categories and the distributions of numbers from now on.

        Such models can be saved and merged like others, and the result does not depend on how the events were
        divided among them. Nothing may be learned in the meantime.
        """
        self._pipeline.encoder.begin_survey()

    def end_survey(self) -> None:
        """Use the names and scales collected since ``begin_survey``."""
        self._pipeline.encoder.end_survey()

    def freeze(self, frozen: bool = True) -> None:
        """Freeze names and the scale of numbers while events are learned, or unfreeze them.

        Unknown names are then left out of events, and counted as ignored. The setting is not saved.
        """
        self._pipeline.encoder.frozen = frozen

    def forget_last(self) -> None:
        """Predict the next events as if they did not follow those learned last.

        The mixture adjusts its prediction by its latest errors, unless another event has been predicted since
        the latest label. Call this before predicting events from another time or place.
        """
        self._pipeline.learner.engine.forget_last()

    @abstractmethod
    def _merge(self, parts: Sequence[Any]) -> None:
        """Merge what parts have learned since each was a copy of this one; they cannot be used afterwards.

        ValueError if they cannot be merged.
        """

    def _relabel_external(self, places: Sequence[int]) -> None:
        """Renumber the classes of external experts, if there are any: ``c`` becomes ``places[c]``."""

    def _merge_external(self, parts: Sequence[Any], translations: Sequence[Translation]) -> None:
        """Merge external experts, if any; ``translations`` are of this model's encoder and the parts'."""

    def _merge_conformal(self, parts: Sequence[Any]) -> None:
        known = [part._conformal for part in parts if part._conformal is not None]
        if known and self._conformal is None:
            self._begin_conformal(known[0].coverage)
        if self._conformal is not None:
            self._conformal.merge(known)

    @property
    def _last_ticket(self) -> NDArray[np.uint64]:
        """Ticket of the single event predicted last."""
        return self._pipeline.tickets if self._pipeline.learner.external_experts else self._pipeline.ticket

    @abstractmethod
    def _begin_conformal(self, coverage: float) -> None:
        """Provide intervals or sets from now on."""

    @abstractmethod
    def run(
        self, events: Encoded, labels: Sequence[Any], weights: Weights, late: LateLabels | None = None
    ) -> Any:
        """Predict, then learn, encoded events in turn.

        Parameters
        ----------
        events
            From ``read``, or from a line reader with this model's encoder; those with a positive weight must
            be ``learned`` there.
        labels
            One per event, checked by ``check_label``; None for an event without one, from which only what
            needs no label is learned.
        weights
            One per event, 0 or more; with 0 it is only predicted.
        late
            Which events await their label, and which received theirs late; None to recognise them by their
            content.
        """

    @abstractmethod
    def register_labels(self, labels: Sequence[Any], weights: Weights) -> None:
        """Register labels before anything is learned; see ``run``."""

    @abstractmethod
    def check_label(self, label: Any) -> Any:
        """Return ``label`` as it is stored, or raise RecordError if this model cannot have it."""

    def learn_one(self, x: Record, y: Any, w: float = 1.0) -> None:
        """Learn one event.

        Parameters
        ----------
        x
            Attributes by name; nested names are joined with dots, as on the command line.
        y
            The label: a boolean, a number or a string; for a regression a finite number. None or NaN for an
            event without a label: distributions and correlations of attributes are learned from it, but no
            classes, and weights only in that the subspace learner repeats an earlier labelled event. If its
            label arrives later, learn it only once, with the label.
        w
            Weight, 0 or more.

        Raises
        ------
        RecordError
            A ValueError: a value, the label or the weight is invalid. Nothing is learned.
        """
        self._learn([x], [y], [w])

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a frame in turn; the same as ``learn_one`` on each.

        Parameters
        ----------
        X
            A data frame of pandas, polars or another library that narwhals supports, in which missing values
            are null or NaN; or a list of dicts.
        y
            A column or a list of labels; null or NaN for none.
        w
            A column or a list of weights, or None for 1.

        Raises
        ------
        UsageError
            A ValueError: an argument is of another type, or the number of labels, or weights, differs from
            that of rows. Nothing is learned.
        RecordError
            A ValueError: a value, a label or a weight is invalid. Nothing is learned.
        """
        labels, rows = values_of("y", y), row_count(X)
        weights = [1.0] * rows if w is None else values_of("w", w)
        if (len(labels), len(weights)) != (rows, rows):
            given = f"{len(labels):,} labels and {len(weights):,} weights"
            raise UsageError(f"there are {rows:,} rows, and {given}: each row needs one of each")
        self._learn(X, labels, weights)

    def _learn(self, X: Any, labels: Sequence[Any], weights: Sequence[Any]) -> None:
        checked_weights = [check_weight(w) for w in weights]
        checked = self._check_labels([None if is_missing(y) else y for y in labels], checked_weights)
        events = self._read_any(X, [w > 0.0 for w in checked_weights], checked)
        self.run(events, checked, checked_weights)

    def _check_labels(self, labels: Sequence[Any], weights: Sequence[float]) -> list[Any]:
        """Labels as they are stored, or RecordError if one cannot be learned after those before it."""
        return [None if y is None else self.check_label(y) for y in labels]

    def _read_any(self, X: Any, learned: Sequence[bool], labels: Sequence[Any] | None = None) -> Encoded:
        """Encode records, or the rows of a frame."""
        if isinstance(X, list):
            return self.read(X, learned, labels)
        table = table_of(X, {self.entity, *(self.kinds or ())})
        if table is None:
            return self.read(records_of(X), learned, labels)
        return self._pipeline.read_table(*table, learned, labels)

    def read(
        self, records: Sequence[Record], learned: Sequence[bool], labels: Sequence[Any] | None = None
    ) -> Encoded:
        """Encode records for ``run``; those ``learned`` update names and statistics.

        Entities remember the ``labels`` of those learned.

        Raises
        ------
        RecordError
            If one of them is invalid; then none is encoded.
        """
        return self._pipeline.read(records, learned, labels)

    @property
    def vocabulary(self) -> Encoder:
        """Names and categories seen so far."""
        return self._pipeline.encoder

    @property
    def steps(self) -> int:
        """Events learned so far."""
        return self._pipeline.learner.steps

    @property
    def ignored(self) -> int:
        """Values ignored so far because of a bound."""
        return self._pipeline.encoder.ignored

    @property
    def values(self) -> dict[str, dict[str, int]]:
        """What happened to the values of each attribute; zero counts are left out.

        ``values`` were learned. Some of these were texts that ``spelled`` a number, numbers ``clipped`` to
        5 deviations, ``prose``, which is used word by word, sets of ``tags``, or ``rare`` categories, words
        and tags, which have no coordinate of their own. Others counted as missing: missing-value words
        (``nothing``), ``sentinels``, and outliers (``far``).
        """
        return self._pipeline.values()

    @property
    def encoded(self) -> Block:
        """The events of the last ``run`` as passed to the learner."""
        return Block(*self._pipeline.encoded.block)

    def worth_keeping(self, record: dict[str, Any]) -> dict[str, Any]:
        """A flat record without the values that will not be used when it is learned later."""
        return self._pipeline.worth_keeping(record)

    def summary(self) -> dict[str, Any]:
        """Sizes and counters of the model.

        ``bytes`` is the memory of its arrays, including spare capacity but not the names themselves; a model
        that was saved and loaded uses as much.
        """
        summary = self._pipeline.summary()
        if self._conformal is not None:
            summary["bytes"] += self._conformal.bytes
        return summary
