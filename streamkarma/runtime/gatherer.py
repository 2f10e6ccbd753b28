"""Records gathered for the next step of the loop: events and late labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamkarma._engine import parse
from streamkarma.connectors.records import Records
from streamkarma.errors import RecordError
from streamkarma.estimators.learners import Model
from streamkarma.estimators.outcomes import whole
from streamkarma.events.flatten import flatten, is_flat
from streamkarma.events.labels import Label
from streamkarma.events.values import is_missing
from streamkarma.runtime.event_buffer import EventBuffer, WaitingEvent
from streamkarma.runtime.fields import Fields, RecordFields
from streamkarma.runtime.pending import Pending, PendingEvent
from streamkarma.runtime.task import TaskModel
from streamkarma.runtime.waiting import id_of, key_of, time_of


class Gatherer:
    """Turns parsed records into a buffer of events.

    Parameters
    ----------
    task_model
        The model and its task.
    fields
        The names of fields.
    learns, observes
        Whether to learn events with a label, and events without one.
    shares
        Whether the events of an entity that share a label count as one.
    pending
        The events that wait for late labels; None if there are none.
    flush
        Processes the events in the buffer, and calls ``begin``.

    Attributes
    ----------
    buffer
        The events so far.
    records
        The records being read.
    entity_fields
        The names of the entity and the time of an event, if entities are tracked.
    """

    records: Records
    buffer: EventBuffer

    def __init__(
        self,
        task_model: TaskModel,
        fields: Fields,
        learns: bool,
        observes: bool,
        shares: bool,
        pending: Pending | None,
        flush: Callable[[], None],
    ) -> None:
        self.entity_fields = _entity_fields(task_model.model, fields)
        self._task_model = task_model
        self._fields = fields
        self._nested = fields.nested or any("." in name for name in self.entity_fields)
        self._learns, self._observes, self._shares = learns, observes, shares
        # Whether the event read last was read without the name of its entity, see ``_is_nameless``.
        self._nameless = False
        self._pending = pending
        self._flush = flush

    def begin(self, first: int) -> None:
        """Start a buffer whose first event has this number."""
        self._first = first
        self._accepted = self._task_model.accepted()
        self.buffer = EventBuffer()

    @property
    def events(self) -> int:
        """The number of events in the buffer."""
        return len(self.buffer.labels)

    def take(self, record: dict[str, Any], at: int) -> None:
        """Add one of the ``records``; RecordError if it cannot be used."""
        if self._nested and not is_flat(record):
            record = self._fields.flattened(record)
        self.records.add_metadata(record, at)
        given = record.pop(self._fields.target, None)
        if self._task_model.is_no_label(given):
            given = None
        taken = self._fields.extract(record, self.entity_fields)
        entity, self._nameless = self._entity(record), False
        if self._pending is not None and (taken.id is not None or entity is not None):
            self._take_later(record, given, taken, at, entity)
            return
        if self.records.labels_only:
            raise RecordError(f"a label needs {self._addressee()}")
        self._add(record, given, self._label(record, given), taken, at)

    def whole(self, at: int) -> dict[str, Any]:
        """The attributes of the event read last, with the remembered values of its entity."""
        record = parse(self.records.values[at])
        if self._nested and not is_flat(record):
            record = self._fields.flattened(record)
        record.pop(self._fields.target, None)
        self._fields.extract(record, self.entity_fields)
        return self._as_read(whole(self._task_model.model, record))

    def _addressee(self) -> str:
        """What a label needs to be matched to its event, in words."""
        named = {
            "the id of its event": self._fields.id,
            "the entity that it is for": self._task_model.model.entity,
        }
        return " or ".join(f"{what}, {name!r}" for what, name in named.items() if name is not None)

    def _entity(self, record: dict[str, Any]) -> str | None:
        """The entity of an event, if labels are matched by entity."""
        model = self._task_model.model
        if model.entity is None or self._pending is None:
            return None
        model.vocabulary.check({model.entity: record.get(model.entity)})
        return model.vocabulary.entity

    def _take_later(
        self, record: dict[str, Any], given: Any, taken: RecordFields, at: int, entity: str | None
    ) -> None:
        """Add an event that may wait, or the label of a waiting event."""
        pending, labels_only = self._pending, self.records.labels_only
        assert pending is not None
        number = self._first + len(self.buffer.labels)
        key = key_of(taken.id, number)
        now = time_of(
            self.records, at, self._fields, taken, pending, self._fields.timed in self.entity_fields
        )
        waiting = self.buffer.waiting
        if key in waiting or len(waiting) >= pending.limit or pending.has_expired(self.buffer.earliest, now):
            # Waiting events are stored before they are looked up or expire. Otherwise the result would depend
            # on how the records were divided into blocks, which differs in a replay.
            self._flush()
        pending.expire(now)
        if is_missing(given):
            if labels_only:
                raise RecordError(f"a label record without {self._fields.target!r}")
            early = pending.label_of(key)
            self._nameless = is_missing(early) and self._is_nameless(entity)
            self._add(record, early, self._label(record, early), taken, at)
            if is_missing(early):
                pending.make_room(key, len(self.buffer.waiting))
                kept = None if self._teaches(None, taken.weight) else self._worth_keeping(record)
                self.buffer.wait(key, WaitingEvent(len(self.buffer.labels) - 1, kept, now, entity))
            else:
                pending.resolve_label(key)
            return
        event = pending.event_of(key)
        if event is not None:
            label = self._label(event.record, given)
            # The label may have started another learner, which has not seen the event.
            event = pending.event_of(key) or event
            self._add(event.record, given, label, taken._replace(weight=event.weight), at, event)
            self._remember(event.entity, label, event.weight)
            pending.resolve(key)
        elif entity is not None and taken.id is None and self._is_label(record, at):
            self._settle_entity(entity, given, taken, at)
        elif labels_only or self._is_label(record, at):
            self._label({}, given)
            pending.keep_label(key, given, now)
        else:
            self._add(record, given, self._label(record, given), taken, at)

    def _is_label(self, record: dict[str, Any], at: int) -> bool:
        """Whether one of the ``records`` has only an entity, a time and metadata."""
        beside = () if self.records.metadata is None else self.records.metadata[at]
        own = (name for name in record if name not in self.entity_fields and name not in beside)
        return all(is_missing(record[name]) for name in own)

    def _settle_entity(self, entity: str, given: Any, taken: RecordFields, at: int) -> None:
        """Learn all waiting events of an entity with its label."""
        pending = self._pending
        assert pending is not None
        if entity in self.buffer.entities:
            self._flush()
        label, keys = self._label({}, given), pending.keys_of(entity)
        if not keys:
            pending.unmatched += 1
            return
        begin, share = len(self.buffer.labels), 1.0 / len(keys) if self._shares else 1.0
        weight = 0.0
        for key in keys:
            event = pending.event_of(key)
            assert event is not None
            weight += event.weight
            taken = taken._replace(id=id_of(key), weight=share * event.weight)
            self._add(event.record, given, label, taken, at, event)
            pending.resolve(key)
        self._remember(entity, label, weight)
        self.buffer.groups.append(range(begin, len(self.buffer.labels)))

    def _remember(self, entity: str | None, label: Label | None, weight: float) -> None:
        """Store a late label for its entity, once, if the events learned with it have a positive weight."""
        if entity is not None and self._learns and weight > 0.0:
            self._task_model.model.vocabulary.add_late_label(entity, label)

    def _add(
        self,
        record: dict[str, Any],
        given: Any,
        label: Label | None,
        taken: RecordFields,
        at: int,
        settled: PendingEvent | None = None,
    ) -> None:
        """Add an event. If it has waited and was learned on arrival, its encoding from then is reused."""
        events = self.buffer.events
        if settled is not None and settled.encoded is not None:
            events.append(settled.encoded)
        else:
            learned = self._teaches(label, taken.weight)
            # An event that has waited keeps its entity's values from when it arrived.
            whole = settled is not None
            vocabulary = self._task_model.model.vocabulary
            if self._nameless:
                vocabulary.show_entity(False)
            try:
                vocabulary.read_dicts([record], [learned], events, whole=whole, labels=[label])
            finally:
                if self._nameless:
                    vocabulary.show_entity(True)
            if self._pending is not None and (evicted := events.last_evicted):
                self._pending.forget(evicted)
        self.buffer.append(given, label, taken, at, settled)

    def _teaches(self, label: Label | None, weight: float) -> bool:
        """Whether an event is learned on arrival, with its label, or without one as far as possible."""
        return (self._learns if label is not None else self._observes) and weight > 0.0

    def _worth_keeping(self, record: dict[str, Any]) -> dict[str, Any]:
        """The event read last, with the remembered values of its entity, to be learned later."""
        model = self._task_model.model
        kept = model.worth_keeping(record if is_flat(record) else flatten(record))
        return self._as_read({**model.vocabulary.carried(), **kept})

    def _is_nameless(self, entity: str | None) -> bool:
        """Whether an event that waits for its label is read without the name of its entity as an attribute.

        If the entity has had no label, nothing is known about its name. And if all its events wait for one
        label, the model would attribute it to the name rather than to their other attributes.
        """
        model = self._task_model.model
        is_attribute = model.entity not in self._fields.ignore
        return entity is not None and is_attribute and model.vocabulary.lacks_label(entity)

    def _as_read(self, record: dict[str, Any]) -> dict[str, Any]:
        """The event read last, without the name of its entity if that was left out."""
        if not self._nameless:
            return record
        entity = self._task_model.model.entity
        return {name: value for name, value in record.items() if name != entity}

    def _known(self, given: Any) -> bool:
        return not isinstance(given, (dict, list)) and (type(given), given) in self._accepted

    def _label(self, record: dict[str, Any], given: Any) -> Label | None:
        if self._known(given):
            return given  # type: ignore[no-any-return]  # it is one of the model's labels
        # An invalid event must not settle the task.
        self._task_model.model.vocabulary.check(record)
        if self._task_model.predicts_numbers and type(given) in (int, float) and not is_missing(given):
            # A number does not change the task, and earlier events need not be processed first.
            return self._task_model.check(given)
        return self.check(given)

    def check(self, label: Any) -> Label | None:
        """Check a new label. As it may settle the task, all earlier events are processed first."""
        if is_missing(label):
            return None
        self._flush()
        before = self._task_model.model
        checked = self._task_model.check(label)
        if self._task_model.model is not before:
            self.entity_fields = _entity_fields(self._task_model.model, self._fields)
            if self._pending is not None:
                self._pending.mark_unobserved()
        self.buffer = EventBuffer()
        return checked


def _entity_fields(model: Model, fields: Fields) -> set[str]:
    """The names of the entity and the time of an event, if entities are tracked."""
    if model.entity is None:
        return set()
    # An entity that is ignored as an attribute still identifies the owner of an event.
    model.vocabulary.show_entity(model.entity not in fields.ignore)
    return {model.entity} if model.time is None else {model.entity, model.time}
