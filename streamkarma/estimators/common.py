"""The base of classifiers and regressors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma._engine import Encoded
from streamkarma.arrays import Arrays, pop_part, with_prefix
from streamkarma.checkpoint import natural
from streamkarma.core.learner import Learner
from streamkarma.core.tickets import LateLabels
from streamkarma.errors import UsageError
from streamkarma.estimators.explaining import Explains
from streamkarma.estimators.frames import row_count, values_of
from streamkarma.estimators.inspectable import Inspectable
from streamkarma.estimators.mergeable import Mergeable
from streamkarma.estimators.pipeline import Pipeline, check_weight
from streamkarma.estimators.settings import (
    check_bounds,
    check_coverage,
    check_entities,
    check_rules,
    take_plain,
)
from streamkarma.events.frames import records_of, table_of
from streamkarma.events.values import Record, is_missing

#: The default coverage of intervals and sets.
DEFAULT_COVERAGE = 0.9
#: Prefix of the names of their arrays.
CONFORMAL = "conformal."

#: One per event.
Weights = Sequence[float] | NDArray[np.float64]


class KARMABase(Mergeable, Inspectable, Explains):
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

    def _start(self, learner: Learner, rates: int, regression: bool) -> None:
        self._conformal = None
        self.merged_from = []
        take_plain(self)
        if self.coverage is not None:
            self._begin_conformal(check_coverage(self.coverage))
        bounds = check_bounds(self.max_attributes, self.max_coordinates, self.max_name_bytes)
        rules = check_rules(self.na, self.sentinel, self.sentinels, self.kinds)
        words, sentinels, _, kinds = rules
        self.na = None if self.na is None else words
        self.sentinel = None if self.sentinel is None else sentinels
        self.kinds = None if self.kinds is None else kinds
        memory = self.time, self.carry, self.carry_labels, self.carry_for, self.max_entities
        entities = check_entities(self.entity, *memory)
        self._pipeline = Pipeline(
            learner, bool(self.scale), *bounds, self.forget, rules, rates, regression, entities
        )

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
        own = with_prefix(CONFORMAL, self._conformal.arrays())
        return {**header, "coverage": self._conformal.coverage}, {**arrays, **own}

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Restore a ``_state``; ValueError if it is inconsistent."""
        self.merged_from = [(str(name), natural(count)) for name, count in header.get("merged_from", [])]
        if (coverage := header.get("coverage")) is not None:
            self._begin_conformal(self._asked_coverage(coverage))
        if self._conformal is not None:
            self._conformal.restore(pop_part(arrays, CONFORMAL))
        self._pipeline.restore(header, arrays)

    def forget_last(self) -> None:
        """Predict the next events as if they did not follow those learned last.

        The mixture adjusts its prediction by its latest errors, unless another event has been predicted since
        the latest label. Call this before predicting events from another time or place.

        Examples
        --------
        >>> from streamkarma import KARMAMixtureRegressor
        >>> model = KARMAMixtureRegressor()
        >>> for t in range(300):  # ten events around 0, then ten around 5, and so on
        ...     model.learn_one({"temp": t % 7}, 5.0 * (t // 10 % 2))
        >>> adjusted = model.predict_one({"temp": 3})
        >>> model.forget_last()
        >>> adjusted > model.predict_one({"temp": 3})
        True
        """
        self._pipeline.learner.engine.forget_last()

    @property
    def _last_ticket(self) -> NDArray[np.uint64]:
        """Ticket of the single event predicted last."""
        return self._pipeline.tickets if self._pipeline.learner.external_experts else self._pipeline.ticket

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

        Returns
        -------
        The predictions and losses: a ``ClassificationResult`` or a ``RegressionResult``.
        """

    @abstractmethod
    def register_labels(self, labels: Sequence[Any], weights: Weights) -> None:
        """Register labels before anything is learned.

        Parameters
        ----------
        labels, weights
            As in ``run``.
        """

    @abstractmethod
    def check_label(self, label: Any) -> Any:
        """Check a label, or a target.

        Parameters
        ----------
        label
            What an event has as its label.

        Returns
        -------
        The label as it is stored.

        Raises
        ------
        RecordError
            A ValueError: this model cannot have it.
        """

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Everything learned.

        Returns
        -------
        JSON and arrays, which ``restore`` of a new model with the same parameters takes.

        Raises
        ------
        UsageError
            A ValueError: an extra expert cannot be written.

        Examples
        --------
        >>> from streamkarma import KARMAClassifier
        >>> model, again = KARMAClassifier(), KARMAClassifier()
        >>> model.learn_one({"temp": 31.0}, "dry")
        >>> again.restore(*model.state())
        >>> again.predict_one({"temp": 30.0})
        'dry'
        """

    @abstractmethod
    def restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Restore what was learned, in a model that has learned nothing.

        Parameters
        ----------
        header, arrays
            A result of ``state``; arrays that were used are removed.

        Raises
        ------
        ValueError, KeyError
            If the parts of the state are inconsistent.
        """

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

        Examples
        --------
        >>> from streamkarma import KARMAClassifier
        >>> model = KARMAClassifier()
        >>> model.learn_one({"temp": 31.0, "wind": {"from": "S", "speed": None}}, "dry", w=2.0)
        >>> model.vocabulary.attributes
        ['temp', 'wind.from']
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

        Examples
        --------
        >>> import pandas as pd
        >>> from streamkarma import KARMAClassifier
        >>> frame = pd.DataFrame({"temp": [31.0, None, 12.0], "wind": ["S", "S", "N"]})
        >>> model = KARMAClassifier()
        >>> model.learn_many(frame, pd.Series(["dry", "dry", "wet"]))
        >>> model.steps
        3
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
        """Encode records for ``run``.

        Parameters
        ----------
        records
            One event each, as in ``learn_one``.
        learned
            Whether each of them will be learned; if so, it updates names and statistics.
        labels
            The labels of those learned, for the memory of their entities; None if there are no labels.

        Returns
        -------
        The encoded events.

        Raises
        ------
        RecordError
            A ValueError: one of them is invalid; then none is encoded.
        """
        return self._pipeline.read(records, learned, labels)

    def worth_keeping(self, record: dict[str, Any]) -> dict[str, Any]:
        """Remove from a record the values that will not be used when it is learned later.

        Parameters
        ----------
        record
            A flat record.

        Returns
        -------
        The rest of it.
        """
        return self._pipeline.worth_keeping(record)
