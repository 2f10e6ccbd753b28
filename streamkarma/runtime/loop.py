"""The test-then-learn loop over JSON records."""

from __future__ import annotations

import copy
import sys
from collections import deque
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma._engine import parse, parse_value
from streamkarma.connectors.base import DeadLetter
from streamkarma.connectors.records import Records, format_position
from streamkarma.errors import RecordError
from streamkarma.events.labels import labelled
from streamkarma.runtime.evaluator import Evaluator, RunningMetrics
from streamkarma.runtime.event_buffer import EventBatch
from streamkarma.runtime.explaining import Explained, ExplanationLimits, explain_batch, explained_columns
from streamkarma.runtime.fields import Fields
from streamkarma.runtime.gatherer import Gatherer
from streamkarma.runtime.monitor import Monitor
from streamkarma.runtime.output import Counters, Output, Totals
from streamkarma.runtime.pending import Pending
from streamkarma.runtime.prediction_rows import prediction_columns, rows_of
from streamkarma.runtime.reading import PART, Reading
from streamkarma.runtime.regret_adapter import RegretAdapter
from streamkarma.runtime.task import TaskModel
from streamkarma.runtime.waiting import keep_waiting

#: Maximum length of a message about a bad record.
_LONGEST_REASON = 500


class Loop:
    """Predicts and learns records.

    Parameters
    ----------
    task_model
        The model and its task.
    fields
        The names of fields.
    learn
        Whether to learn from labels, or only to compare with them.
    unlabelled
        With ``learn``: whether to learn what needs no label from events without one.
    output
        Receives rows and dead letters.
    fail
        Whether to stop at the first record that cannot be used.
    first
        The number of the first event, from 1.
    pending
        The events that wait for late labels; None if there are none.
    regret_adapter
        Passes results on to the regret tracker; None for no tracker.
    read_ahead
        Whether to read in another thread while this one learns.
    share_label
        Whether the events of an entity that share a label count as one.
    recent, drift
        As in ``Monitor``.
    explaining
        What rows explain, or None. Events that are learned are then processed one by one, since each is
        explained by the model that predicts it.
    window
        Number of latest events to keep.
    """

    def __init__(
        self,
        task_model: TaskModel,
        fields: Fields,
        learn: bool,
        output: Output,
        fail: bool,
        first: int,
        pending: Pending | None = None,
        regret_adapter: RegretAdapter | None = None,
        read_ahead: bool = False,
        unlabelled: bool = True,
        share_label: bool = True,
        recent: int = 0,
        drift: bool = False,
        explaining: ExplanationLimits | None = None,
        window: int = 0,
    ) -> None:
        self.evaluator = Evaluator(task_model, regret_adapter)
        self.monitor = Monitor(recent, drift, pending is not None)
        self.pending = pending
        self.counters = Counters()
        #: The error of the first rejected record, and its position.
        self.first_rejected: str | None = None
        #: Why ``feed`` stopped before the last record, if it did.
        self.failure: str | None = None
        #: The first records, from which to derive a hint.
        self.first_records: Records | None = None
        self.learns = learn
        self._observes = learn and unlabelled
        self._shares = share_label
        self._fields = fields
        self._output = output
        self._fail = fail
        self._next = first
        # Explanations need names from the encoder, which it cannot provide while it reads ahead.
        self._read_ahead = read_ahead and explaining is None
        self._explaining = explaining
        #: The latest events, with the remembered values of their entities.
        self.latest = deque[dict[str, Any]](maxlen=window)
        # What an entity's memory adds to a record is only available until the next event is read.
        remembers = window > 0 or (explaining is not None and explaining.missing > 0)
        self._one_by_one = remembers or (explaining is not None and learn)
        self._records: Records
        self._use(task_model)

    def _use(self, task_model: TaskModel) -> None:
        """Set up reading for this model."""
        self.task_model = task_model
        self._gatherer = Gatherer(
            task_model, self._fields, self.learns, self._observes, self._shares, self.pending, self._flush
        )
        roles = None if self.pending is not None else self._fields.roles(self._gatherer.entity_fields)
        #: None if the engine cannot handle the names or the late labels.
        self._reading = (
            None
            if roles is None
            else Reading(task_model, roles, self.learns, self._observes, self._fail, self._read_ahead)
        )
        self._gatherer.begin(self._next)

    def continue_with(self, task_model: TaskModel) -> None:
        """Use another model of the same task from now on; counts and metrics continue."""
        self.evaluator.continue_with(task_model)
        self._use(task_model)

    def number_from(self, number: int) -> None:
        """Set the number of the next event."""
        self._next = number
        self._gatherer.begin(number)

    @property
    def last(self) -> int:
        """The number of the last event so far."""
        return self._next - 1

    def totals(self) -> Totals:
        """All counts so far, to be restored by ``resume_totals``."""
        return copy.deepcopy(
            Totals(self.counters, self.evaluator.metrics, self.monitor, self._waits(), self.first_rejected)
        )

    def resume_totals(self, totals: Totals) -> None:
        """Continue counting from these totals."""
        self.counters, self.evaluator.metrics, self.monitor, waits, self.first_rejected = copy.deepcopy(
            totals
        )
        if self.pending is not None:
            self.pending.matched, self.pending.unmatched, self.pending.expired = waits

    def _waits(self) -> tuple[int, int, int]:
        p = self.pending
        return (p.matched, p.unmatched, p.expired) if p is not None else (0, 0, 0)

    def feed(
        self,
        records: Records,
        begin: int = 0,
        most: int = sys.maxsize,
        may_continue: Callable[[], bool] = lambda: True,
    ) -> int:
        """Process up to ``most`` events, starting at an index; returns the index after the last record.

        If a bad record stops the run, ``failure`` is set, and the records before it are learned.
        ``may_continue`` is called at least every few thousand events, and returns whether to process more.
        """
        self._records = self._gatherer.records = records
        if self.first_records is None:
            self.first_records = records
        by_engine = records.text is not None and not records.labels_only and records.metadata is None
        at, goal, stops = begin, self.counters.events + most, False
        while (
            not stops
            and at < len(records)
            and (room := goal - self.counters.events - self._gatherer.events) > 0
        ):
            if self._reading is not None and by_engine and at not in records.refused:
                behind = self._read(self._reading, at, 1 if self._one_by_one else room, may_continue)
                stops = not may_continue()
            else:
                behind = self._take_one(at)
                if self._one_by_one or self._gatherer.events >= PART:
                    self._flush()
                    stops = not may_continue()
            if self.failure is not None:
                return behind
            at = behind
        self._flush()
        self.task_model.announce_ignored()
        self.monitor.announce(self.task_model)
        return at

    def _read(self, reading: Reading, at: int, most: int, may_continue: Callable[[], bool]) -> int:
        """Read records from an index on with the engine, and process them; returns the next index.

        If a bad record stops the run, its index is returned.
        """
        with closing(reading.parts(self._records, at, most, may_continue)) as parts:
            for read in parts:
                if len(read.batch.labels):
                    self._run(read.batch)
                for each, value, why in read.rejected:
                    self._set_aside(each, value, why)
                    if self.failure is not None:
                        return each
                at = read.end
        return at if read.unknown is None else self._read_unknown(reading, at, read.unknown)

    def _read_unknown(self, reading: Reading, at: int, text: str) -> int:
        """Read a record with an unknown label with the engine, once the label has been checked."""
        given = parse_value(text.encode())
        if self.task_model.is_no_label(given):
            if not reading.take_as_none(text):
                # The engine would stop at each.
                self._reading = None
            return at
        try:
            label = self._gatherer.check(given)
        except RecordError as error:
            reading.refuse(text, str(error))
            begin, behind = self._records.begin(at), self._records.begin(at + 1)
            assert self._records.text is not None
            self._set_aside(at, self._records.text[begin : behind - 1], str(error))
            return at if self.failure is not None else at + 1
        self._run(reading.read_one(self._records, at, given, label))
        return at + 1

    def _take_one(self, at: int) -> int:
        """Add one record of any kind, or reject it; returns the same as ``_read``."""
        value = self._records.values[at]
        try:
            if reason := self._records.refused.get(at):
                raise RecordError(reason)
            if value.strip():
                self._gatherer.take(parse(value), at)
        except RecordError as error:
            self._flush()
            self._set_aside(at, value, str(error))
        return at if self.failure is not None else at + 1

    def _flush(self) -> None:
        """Process the gathered events."""
        if self._gatherer.events:
            self._run(self._gatherer.buffer.batch())

    def _run(self, batch: EventBatch) -> None:
        """Predict and learn events, and output the rows."""
        there = labelled(batch.labels)
        weights = self._weights(batch, there)
        events = len(batch.labels)
        printed = self._output.predictions is not None and self._output.wants_rows(events)
        late = batch.late(self._next, self._shares)
        shown = printed or bool(batch.waiting)
        explained = self._explain(batch, self._explaining) if shown and self._explaining else None
        if self.latest.maxlen:
            self.latest.extend(map(self._gatherer.whole, batch.at))
        if self.task_model.predicts_numbers and self.evaluator.has_counted_classes:
            self._switch_to_regression()
        evaluation = self.evaluator.run(
            batch.events, batch.labels, weights, batch.prior, batch.full, late, batch.groups
        )
        self.monitor.add(batch.events, evaluation, self._next)
        columns = prediction_columns(self.task_model, evaluation) if shown else {}
        if explained is not None and self._explaining is not None:
            columns |= explained_columns(explained, evaluation, self.task_model.name, self._explaining)
        if self.pending is not None:
            keep_waiting(self.pending, batch, evaluation, columns, self._next)
        rows = None
        if printed:
            columns |= self._records.row_columns(batch.at)
            rows = rows_of(columns, batch, self._next, self._fields.id is not None)
        self._next += events
        c = self.counters
        self.counters = c._replace(
            events=c.events + events,
            learned=c.learned + int((there & (weights > 0.0)).sum()),
            unlabelled=c.unlabelled + events - int(there.sum()),
            unlabelled_learned=c.unlabelled_learned + int((~there & (weights > 0.0)).sum()),
            zero_weight=c.zero_weight + int((there & (batch.weights == 0.0)).sum()),
        )
        self._gatherer.begin(self._next)
        # Last, because the reader of the output may be gone; everything learned is counted by now.
        if self._output.predictions is not None and rows is not None:
            self._output.predictions(rows, batch.at)

    def _switch_to_regression(self) -> None:
        """Recount the events so far, whose labels were all the same number, as regression."""
        model, number = self.task_model.model, self.task_model.repeated
        alike = model.coverage is None and not self.counters.zero_weight
        if number is not None and alike and (model.scale or number == 0.0):
            self.monitor.recent.switch_to_regression(abs(number), self.evaluator.switch_to_regression(number))
        else:
            # Labels are not kept if nothing is learned from them, and without a scale the number is learned
            # gradually.
            self.evaluator.metrics = RunningMetrics()
            self.monitor.recent.clear()
            self.task_model.announce(f"loss and metrics cover only events from {self._next:,} on")

    def _explain(self, batch: EventBatch, explaining: ExplanationLimits) -> list[Explained]:
        """Explain events before they are learned."""
        records = map(self._gatherer.whole, batch.at) if explaining.missing else None
        return explain_batch(self.task_model, batch, records)

    def _weights(self, batch: EventBatch, there: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The weight to learn each event with; ``there`` marks those with a label."""
        if not self.learns:
            return np.zeros_like(batch.weights)
        if not self._observes:
            return np.where(there, batch.weights, 0.0)
        return batch.weights

    def _set_aside(self, at: int, value: bytes, error: str) -> None:
        self.counters = self.counters._replace(rejected=self.counters.rejected + 1)
        position, error = self._records.position(at), error[:_LONGEST_REASON]
        reason = f"{format_position(position)}: {error}"
        self.first_rejected = self.first_rejected or reason
        if self._fail:
            self.failure = reason
        if self._output.dead_letters is not None:
            self._output.dead_letters(DeadLetter(at, position, error, value))
