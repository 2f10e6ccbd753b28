"""The test-then-learn loop over records of JSON."""

from __future__ import annotations

import copy
import sys
from contextlib import closing
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from streamkarma._engine import parse
from streamkarma.connectors.base import DeadLetter
from streamkarma.connectors.records import Records, format_position
from streamkarma.connectors.rows import Column, Rows
from streamkarma.errors import RecordError
from streamkarma.estimators.learners import Model
from streamkarma.events.flatten import flatten, is_flat
from streamkarma.events.labels import Label, labelled
from streamkarma.events.values import is_missing
from streamkarma.runtime.evaluator import Evaluator
from streamkarma.runtime.event_buffer import EventBatch, EventBuffer, WaitingEvent
from streamkarma.runtime.fields import Fields, RecordFields, entity_of
from streamkarma.runtime.output import Counters, Output, Totals
from streamkarma.runtime.pending import Pending, PendingEvent
from streamkarma.runtime.prediction_rows import prediction_columns
from streamkarma.runtime.reading import Reading
from streamkarma.runtime.regret_adapter import RegretAdapter
from streamkarma.runtime.task import TaskModel
from streamkarma.runtime.waiting import id_of, keep_waiting, key_of, time_of

#: Most characters of what is said of a bad record.
_LONGEST_REASON = 500


class Loop:
    """Turns records into predictions, learning as it goes.

    Parameters
    ----------
    task_model
        The model and its task.
    fields
        Which names are what.
    learn
        Whether labels are learned from, or only compared with.
    unlabelled
        Whether events without a label teach what needs none, provided that ``learn``.
    output
        Who takes rows and dead letters.
    fail
        Stop at the first record that cannot be used.
    first
        The number of the first event, from 1.
    pending
        Where events wait for labels that come later, or None if none do.
    regret_adapter
        Passes results on to the regret tracker; None for no tracker.
    read_ahead
        Read in another thread while this one learns.
    share_label
        Whether the events of an entity that one label teaches count as one.
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
    ) -> None:
        self.task_model = task_model
        self.evaluator = Evaluator(task_model, regret_adapter)
        self.pending = pending
        self.counters = Counters()
        #: What was wrong with the first record set aside, and where.
        self.first_rejected: str | None = None
        #: Why ``feed`` stopped before the last record, if it did.
        self.failure: str | None = None
        #: Those that were fed first, to look for a hint in.
        self.first_records: Records | None = None
        self.learns = learn
        self._observes = learn and unlabelled
        self._shares = share_label
        self._fields = fields
        self._nested = fields.nested
        self._output = output
        self._fail = fail
        self._next = first
        self._followed = _followed(task_model.model, fields)
        roles = None if pending is not None else fields.roles(self._followed)
        #: None where names or labels that come later are more than the engine can tell.
        self._reading = (
            None if roles is None else Reading(task_model, roles, learn, self._observes, fail, read_ahead)
        )
        self._records: Records
        self._refresh()

    @property
    def last(self) -> int:
        """The number of the last event so far."""
        return self._next - 1

    def totals(self) -> Totals:
        """All counts so far, to return to with ``resume_totals``."""
        return copy.deepcopy(
            Totals(self.counters, self.evaluator.metrics, self._waits(), self.first_rejected)
        )

    def resume_totals(self, totals: Totals) -> None:
        """Continue counting from there."""
        self.counters, self.evaluator.metrics, waits, self.first_rejected = copy.deepcopy(totals)
        if self.pending is not None:
            self.pending.matched, self.pending.unmatched, self.pending.expired = waits

    def _waits(self) -> tuple[int, int, int]:
        p = self.pending
        return (p.matched, p.unmatched, p.expired) if p is not None else (0, 0, 0)

    def feed(self, records: Records, begin: int = 0, most: int = sys.maxsize) -> int:
        """Process records from one on, until there have been so many events; returns where that is.

        It is behind the last of them, unless one is bad and is to stop the run: then ``failure``
        says so, and what came before it is learned.
        """
        self._records = records
        if self.first_records is None:
            self.first_records = records
        by_engine = records.text is not None and not records.labels_only and records.metadata is None
        at, goal = begin, self.counters.events + most
        while at < len(records) and (room := goal - self.counters.events - len(self._buffer.labels)) > 0:
            if self._reading is not None and by_engine and at not in records.refused:
                behind = self._read(self._reading, at, room)
            else:
                behind = self._take_one(at)
            if self.failure is not None:
                return behind
            at = behind
        self._flush()
        self.task_model.announce_ignored()
        return at

    def _read(self, reading: Reading, at: int, most: int) -> int:
        """Have the engine read records from one on, and process them; returns where the next one is.

        If a bad one is to stop the run, it is that one.
        """
        with closing(reading.parts(self._records, at, most)) as parts:
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
        """Have the engine read a record whose label is not known, once that is looked at."""
        given = orjson.loads(text)
        try:
            label = self._check(given)
        except RecordError as error:
            begin, behind = self._records.begin(at), self._records.begin(at + 1)
            assert self._records.text is not None
            self._set_aside(at, self._records.text[begin : behind - 1], str(error))
            return at if self.failure is not None else at + 1
        self._run(reading.read_one(self._records, at, given, label))
        return at + 1

    def _take_one(self, at: int) -> int:
        """Add one record, whatever it is, or set it aside; returns as ``_read``."""
        value = self._records.values[at]
        try:
            if reason := self._records.refused.get(at):
                raise RecordError(reason)
            if value.strip():
                self._take(parse(value), at)
        except RecordError as error:
            self._flush()
            self._set_aside(at, value, str(error))
        return at if self.failure is not None else at + 1

    def _take(self, record: dict[str, Any], at: int) -> None:
        """Add one record to what has gathered."""
        if self._nested and not is_flat(record):
            record = self._fields.flattened(record)
        if self._records.metadata is not None:
            self._add_metadata(record, at)
        given = record.pop(self._fields.target, None)
        taken = self._fields.extract(record, self._followed)
        entity = self._entity(record)
        if self.pending is not None and (taken.id is not None or entity is not None):
            self._take_later(record, given, taken, at, entity)
            return
        if self._records.labels_only:
            raise RecordError(f"a label needs the id of its event, {self._fields.id!r}")
        self._add(record, given, self._label(record, given), taken, at)

    def _entity(self, record: dict[str, Any]) -> str | None:
        """Whose event it is, if that can tell which events a label is for."""
        name = self.task_model.model.entity
        return None if name is None or self.pending is None else entity_of(record.get(name))

    def _take_later(
        self, record: dict[str, Any], given: Any, taken: RecordFields, at: int, entity: str | None
    ) -> None:
        """Add an event that may wait, or the label of one that does."""
        pending, labels_only = self.pending, self._records.labels_only
        assert pending is not None
        number = self._next + len(self._buffer.labels)
        key = key_of(taken.id, number)
        now = time_of(self._records, at, self._fields, taken, pending)
        waiting = self._buffer.waiting
        crowded = len(waiting) >= pending.limit
        if waiting and (crowded or key in waiting or not is_missing(given) or pending.seconds is not None):
            # What waits is in its place before anything is looked up, or has had its time:
            # else it would show where the records were cut, and a replay cuts them otherwise.
            self._flush()
        pending.expire(now)
        if is_missing(given):
            if labels_only:
                raise RecordError(f"a label record without {self._fields.target!r}")
            early = pending.label_of(key)
            self._add(record, early, self._label(record, early), taken, at)
            if is_missing(early):
                pending.make_room(key, len(self._buffer.waiting))
                kept = None if self._teaches(None, taken.weight) else self._worth_keeping(record)
                self._buffer.waiting[key] = WaitingEvent(len(self._buffer.labels) - 1, kept, now, entity)
            else:
                pending.settle_label(key)
            return
        event = pending.event_of(key)
        if event is not None:
            label = self._label(event.record, given)
            # The label may have had another learner begin, to which the event is new.
            event = pending.event_of(key) or event
            self._add(event.record, given, label, taken._replace(weight=event.weight), at, event)
            pending.settle(key)
        elif entity is not None and taken.id is None and self._is_label(record):
            self._settle_entity(entity, given, taken, at)
        elif labels_only or all(map(is_missing, record.values())):
            self._label({}, given)
            pending.keep_label(key, given, now)
        else:
            self._add(record, given, self._label(record, given), taken, at)

    def _is_label(self, record: dict[str, Any]) -> bool:
        """Whether a record says nothing but whose it is, and when."""
        return all(is_missing(value) for name, value in record.items() if name not in self._followed)

    def _settle_entity(self, entity: str, given: Any, taken: RecordFields, at: int) -> None:
        """Teach all waiting events of an entity their label."""
        pending = self.pending
        assert pending is not None
        label, keys = self._label({}, given), pending.keys_of(entity)
        if not keys:
            pending.unmatched += 1
            return
        begin, share = len(self._buffer.labels), 1.0 / len(keys) if self._shares else 1.0
        for key in keys:
            event = pending.event_of(key)
            assert event is not None
            taken = taken._replace(id=id_of(key), weight=share * event.weight)
            self._add(event.record, given, label, taken, at, event)
            pending.settle(key)
        self._buffer.groups.append(range(begin, len(self._buffer.labels)))

    def _add(
        self,
        record: dict[str, Any],
        given: Any,
        label: Label | None,
        taken: RecordFields,
        at: int,
        settled: PendingEvent | None = None,
    ) -> None:
        """Add an event; one that has waited, and was seen by the learner when it came, is as it was then."""
        events = self._buffer.events
        if settled is not None and settled.encoded is not None:
            events.append(settled.encoded)
        else:
            learned = self._teaches(label, taken.weight)
            # One that has waited has what its entity had said when it came.
            whole = settled is not None
            self.task_model.model.vocabulary.read_dicts([record], [learned], events, whole=whole)
            if self.pending is not None and (gone := events.last_gone):
                self.pending.forget(gone)
        self._buffer.append(given, label, taken, at, settled)

    def _teaches(self, label: Label | None, weight: float) -> bool:
        """Whether an event is learned when it comes, with its label or as far as it needs none."""
        return (self.learns if label is not None else self._observes) and weight > 0.0

    def _worth_keeping(self, record: dict[str, Any]) -> dict[str, Any]:
        """What an event has that was read last, and what its entity had said, to be learned later."""
        model = self.task_model.model
        kept = model.worth_keeping(record if is_flat(record) else flatten(record))
        return {**model.vocabulary.carried(), **kept}

    def _add_metadata(self, record: dict[str, Any], at: int) -> None:
        """Add the metadata attributes of a record."""
        assert self._records.metadata is not None
        for name, value in self._records.metadata[at].items():
            if name in record:
                raise RecordError(f"{name!r} is both in the record and in its metadata")
            record[name] = value

    def _known(self, given: Any) -> bool:
        return not isinstance(given, (dict, list)) and (type(given), given) in self._accepted

    def _label(self, record: dict[str, Any], given: Any) -> Label | None:
        if self._known(given):
            return given  # type: ignore[no-any-return]  # it is one of the model's labels
        # What is no event must not settle the task.
        self.task_model.model.vocabulary.check(record)
        return self._check(given)

    def _check(self, label: Any) -> Label | None:
        """A label that is not known yet. It may settle the task, so all before it go first."""
        if is_missing(label):
            return None
        self._flush()
        before = self.task_model.model
        checked = self.task_model.check(label)
        if self.pending is not None and self.task_model.model is not before:
            self.pending.begin_anew()
        self._new_batch()
        return checked

    def _flush(self) -> None:
        """Process what has gathered."""
        if self._buffer.labels:
            self._run(self._buffer.batch())

    def _run(self, batch: EventBatch) -> None:
        """Predict and learn events, and hand out the rows."""
        there = labelled(batch.labels)
        weights = self._weights(batch, there)
        printed = self._output.predictions is not None
        late = batch.late(self._next, self._shares)
        evaluation = self.evaluator.run(
            batch.events, batch.labels, weights, batch.prior, batch.full, late, batch.groups
        )
        shown = printed or batch.waiting
        columns = prediction_columns(self.task_model, evaluation) if shown else {}
        if self.pending is not None:
            keep_waiting(self.pending, batch, evaluation, columns, self._next)
        rows = self._rows(columns, batch) if printed else None
        events = len(batch.labels)
        self._next += events
        c = self.counters
        self.counters = c._replace(
            events=c.events + events,
            learned=c.learned + int((there & (weights > 0.0)).sum()),
            unlabelled=c.unlabelled + events - int(there.sum()),
            unlabelled_learned=c.unlabelled_learned + int((~there & (weights > 0.0)).sum()),
            zero_weight=c.zero_weight + int((there & (batch.weights == 0.0)).sum()),
        )
        self._refresh()
        # Last, because the reader of the output may be gone; all that was learned is counted by now.
        if self._output.predictions is not None and rows is not None:
            self._output.predictions(rows, batch.at)

    def _weights(self, batch: EventBatch, there: NDArray[np.bool_]) -> NDArray[np.float64]:
        """How much each event teaches; ``there`` says which have a label."""
        if not self.learns:
            return np.zeros_like(batch.weights)
        if not self._observes:
            return np.where(there, batch.weights, 0.0)
        return batch.weights

    def _refresh(self) -> None:
        self._accepted = self.task_model.accepted()
        self._new_batch()

    def _new_batch(self) -> None:
        self._buffer = EventBuffer()

    def _rows(self, columns: dict[str, Column], batch: EventBatch) -> Rows:
        """What was said, with what is not the model's to say, in the order of the contract."""
        every = {**columns, "target": batch.targets, "observed": batch.events.sizes}
        if self._fields.id is not None:
            every["id"] = batch.ids
        every["n"] = np.arange(self._next, self._next + len(batch.labels))
        return Rows({name: every[name] for name in _ORDER if name in every})

    def _set_aside(self, at: int, value: bytes, error: str) -> None:
        self.counters = self.counters._replace(rejected=self.counters.rejected + 1)
        position, error = self._records.position(at), error[:_LONGEST_REASON]
        reason = f"{format_position(position)}: {error}"
        self.first_rejected = self.first_rejected or reason
        if self._fail:
            self.failure = reason
        if self._output.dead_letters is not None:
            self._output.dead_letters(DeadLetter(at, position, error, value))


def _followed(model: Model, fields: Fields) -> set[str]:
    """The names that say whose an event is, and when it happened, if entities are followed."""
    if model.entity is None:
        return set()
    # The entity may be left out as an attribute, and still says whose the event is.
    model.vocabulary.show_entity(model.entity not in fields.ignore)
    return {model.entity} if model.time is None else {model.entity, model.time}


#: What a row may have.
_ORDER = ("n", "id", "prediction", "score", "probability", "target", "loss", "observed")
