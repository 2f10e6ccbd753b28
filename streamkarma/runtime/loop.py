"""The test-then-learn loop over records of JSON."""

from __future__ import annotations

import copy
import time
from typing import Any

import orjson

from streamkarma.errors import RecordError
from streamkarma.estimators.regression import LARGEST_TARGET
from streamkarma.events.flatten import flatten, is_flat
from streamkarma.events.labels import Label
from streamkarma.events.vocabulary import is_missing, observed_in
from streamkarma.runtime.comparing import Comparing
from streamkarma.runtime.fields import Fields, Taken
from streamkarma.runtime.gathered import Gathered
from streamkarma.runtime.judge import ABSENT, Judge, Row
from streamkarma.runtime.output import Counters, Letter, Output, Tally
from streamkarma.runtime.pending import Event, Made, Pending
from streamkarma.runtime.task import Tasked
from streamkarma.sources.jsonlines import parse
from streamkarma.sources.records import Records, said
from streamkarma.sources.scanner import NameTable, name_table, scan


class Loop:
    """Turns records into predictions, learning as it goes.

    Parameters
    ----------
    tasked
        The model and its task.
    fields
        Which names are what.
    learn
        Whether labels are learned from, or only compared with.
    output
        Who takes rows and dead letters.
    fail
        Stop at the first record that cannot be used.
    first
        The number of the first event, from 1.
    pending
        Where events wait for labels that come later, or None if none do.
    comparing
        Who compares with baselines, or None.
    """

    def __init__(self, tasked: Tasked, fields: Fields, learn: bool, output: Output,
                 fail: bool, first: int, pending: Pending | None = None,
                 comparing: Comparing | None = None) -> None:  # fmt: skip
        self.tasked = tasked
        self.judge = Judge(tasked, comparing)
        self.pending = pending
        self.counters = Counters()
        #: What was wrong with the first record set aside, and where.
        self.first_rejected: str | None = None
        #: Why ``feed`` stopped before the last record, if it did.
        self.failure: str | None = None
        self._fields = fields
        self._nested = fields.nested
        self._only_target = fields.only_target
        self._learn = learn
        self._output = output
        self._fail = fail
        self._next = first
        self._names = self._table_of = 0
        self._table: NameTable
        self._records: Records
        self._refresh()

    @property
    def last(self) -> int:
        """The number of the last event so far."""
        return self._next - 1

    def tally(self) -> Tally:
        """What has been counted so far, to go back to."""
        return copy.deepcopy(Tally(self.counters, self.judge.counted, self._waits(), self.first_rejected))

    def take_up(self, tally: Tally) -> None:
        """Go on counting from there."""
        self.counters, self.judge.counted, waits, self.first_rejected = copy.deepcopy(tally)
        if self.pending is not None:
            self.pending.matched, self.pending.unmatched, self.pending.expired = waits

    def _waits(self) -> tuple[int, int, int]:
        p = self.pending
        return (p.matched, p.unmatched, p.expired) if p is not None else (0, 0, 0)

    def feed(self, records: Records) -> int:
        """Process some records; returns how many that were.

        These are all, unless one of them is bad and is to stop the run: then ``failure``
        says so, and what came before it is learned.
        """
        self._records = records
        done = 0
        if not records.refused and not records.labels_only and self.pending is None:
            done = self._scan(records.values)
            done += self._take_plain(done)
        for at in range(done, len(records.values)):
            self._take_one(at)
            if self.failure is not None:
                return at
        self._flush()
        return len(records.values)

    def _scan(self, values: list[bytes]) -> int:
        """Process the common records at the front, and return how many these were.

        Where fields beside the label must be taken out, or names still come in, the general
        readers do it all.
        """
        names = self.tasked.model.vocabulary.coordinate_count
        steady, self._names = self._names == names, names
        simple = self._only_target and not self._nested and self._records.beside is None
        if not steady or not simple:
            return 0
        if self._table_of != names:
            table = name_table(self.tasked.model.vocabulary.numeric_names(), self._fields.target)
            self._table, self._table_of = table, names
        scanned = scan(values, self._table, names)
        if not scanned.lines:
            return 0
        labels = scanned.given()
        known = self._accepted.issuperset(zip(map(type, labels), labels, strict=True))
        if not (known or self._numeric(labels)):
            return 0
        self._gathered.fill(scanned.starts, scanned.coordinates, scanned.values, labels)
        self._flush()
        return scanned.lines

    def _take_plain(self, begin: int) -> int:
        """Add records that are all objects, with labels that are known or numbers to predict.

        All at once, which is what a fast stream needs. Returns how many were added: those
        before the first whose attributes need a closer look, or none.
        """
        values = self._records.values[begin:]
        if self._nested or not values:
            return 0
        try:
            records = list(map(orjson.loads, values))
            if self._records.beside is not None:
                for at, record in enumerate(records, begin):
                    self._put_beside(record, at)
            given = [record.pop(self._fields.target, None) for record in records]
            known = self._accepted.issuperset(zip(map(type, given), given, strict=True))
            if not (known or self._numeric(given)):
                return 0
            taken = None if self._only_target else list(map(self._fields.take, records))
        except (orjson.JSONDecodeError, AttributeError, TypeError, RecordError):
            return 0
        return self._gathered.extend(records, given, taken, begin, self._learn)

    def _numeric(self, given: list[Any]) -> bool:
        """Whether these are numbers to be predicted, and none too large."""
        return (
            self._numbers
            and {float, int, type(None)}.issuperset(map(type, given))
            and max((abs(y) for y in given if y is not None), default=0.0) <= LARGEST_TARGET
        )

    def _take_one(self, at: int) -> None:
        """Add one record, whatever it is, or set it aside."""
        value = self._records.values[at]
        try:
            if reason := self._records.refused.get(at):
                raise RecordError(reason)
            if value.strip():
                self._take(parse(value), at)
        except RecordError as error:
            self._flush()
            self._set_aside(at, value, error)

    def _take(self, record: dict[str, Any], at: int) -> None:
        """Add one record to what has gathered."""
        if self._nested and not is_flat(record):
            record = flatten(record)
        if self._records.beside is not None:
            self._put_beside(record, at)
        given = record.pop(self._fields.target, None)
        taken = self._fields.take(record)
        if self.pending is not None and taken.id is not None:
            self._take_later(record, given, taken, at)
            return
        if self._records.labels_only:
            raise RecordError(f"a label needs the id of its event, {self._fields.id!r}")
        self._add(record, given, self._label(record, given), taken, at)

    def _take_later(self, record: dict[str, Any], given: Any, taken: Taken, at: int) -> None:
        """Add an event that may wait, or the label of one that does."""
        pending, labels_only = self.pending, self._records.labels_only
        assert pending is not None
        key = orjson.dumps(taken.id)
        now = self._records.time(at) if self._records.time else time.time()
        waiting = self._gathered.waiting
        if waiting and (key in waiting or not is_missing(given) or pending.seconds is not None):
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
                observed = record if is_flat(record) else flatten(record)
                kept = {name: value for name, value in observed.items() if not is_missing(value)}
                self._gathered.waiting[key] = (len(self._gathered.labels) - 1, kept, now)
            else:
                pending.settle_label(key)
            return
        event = pending.event_of(key)
        if event is not None:
            label = self._label(event.record, given)
            self._add(event.record, given, label, taken._replace(weight=event.weight), at, event.made)
            pending.settle(key)
        elif labels_only or all(map(is_missing, record.values())):
            self._label({}, given)
            pending.keep_label(key, given, now)
        else:
            self._add(record, given, self._label(record, given), taken, at)

    def _add(self, record: dict[str, Any], given: Any, label: Label | None, taken: Taken, at: int,
             made: Made | None = None) -> None:  # fmt: skip
        learned = self._learn and label is not None and taken.weight > 0.0
        try:
            self._gathered.batch.append(record, learned)
        except RecordError:
            if is_flat(record):
                raise
            self._gathered.batch.append(flatten(record), learned)
        self._gathered.append(given, label, taken, at, made)

    def _put_beside(self, record: dict[str, Any], at: int) -> None:
        """Add the attributes that came beside the value of a record."""
        assert self._records.beside is not None
        for name, value in self._records.beside[at].items():
            if name in record:
                raise RecordError(f"{name!r} is in the record and comes beside it as well")
            record[name] = value

    def _known(self, given: Any) -> bool:
        return not isinstance(given, (dict, list)) and (type(given), given) in self._accepted

    def _label(self, record: dict[str, Any], given: Any) -> Label | None:
        if self._known(given):
            return given  # type: ignore[no-any-return]  # it is one of the model's labels
        # What is no event must not settle the task.
        observed_in(record if is_flat(record) else flatten(record))
        return self._check(given)

    def _check(self, label: Any) -> Label | None:
        """A label that is not known yet. It may settle the task, so all before it go first."""
        if is_missing(label):
            return None
        self._flush()
        checked = self.tasked.check(label)
        self._new_batch()
        return checked

    def _flush(self) -> None:
        """Predict and learn what has gathered, and hand out the rows."""
        g = self._gathered
        if not g.labels:
            return
        weights = g.weights if self._learn else [0.0] * len(g.weights)
        printed = self._output.predictions is not None
        judged = self.judge.run(g.batch, g.labels, weights, printed or bool(g.waiting), g.made, g.full)
        if self.pending is not None:
            for key, (t, record, then) in g.waiting.items():
                made = Made(judged.row(t), judged.scores[t].tolist(), int(judged.known[t]))
                self.pending.keep(key, Event(record, g.weights[t], made), then)
        rows = self._rows(judged.columns, g) if printed else []
        events, unlabelled = len(g.labels), g.labels.count(None)
        idle = 0
        if min(weights) == 0.0:
            idle = sum(w == 0.0 and y is not None for y, w in zip(g.labels, weights, strict=True))
        self._next += events
        c = self.counters
        self.counters = c._replace(
            events=c.events + events,
            learned=c.learned + events - unlabelled - idle,
            unlabelled=c.unlabelled + unlabelled,
        )
        self._refresh()
        # Last, for whoever takes them may be gone, and what was learned is counted by now.
        if self._output.predictions is not None:
            self._output.predictions(rows, g.at)

    def _refresh(self) -> None:
        self._accepted = _accepted(self.tasked)
        self._numbers = self.tasked.settled and self.tasked.task == "regression"
        self._new_batch()

    def _new_batch(self) -> None:
        self._gathered = Gathered(self.tasked.model.batch())

    def _rows(self, columns: dict[str, list[Any]], g: Gathered) -> list[Row]:
        """What was said, with what is not the model's to say, in the order of the contract."""
        every: dict[str, Any] = {
            "n": range(self._next, self._next + len(g.labels)),
            **columns,
            "target": [ABSENT if y is None or y != y else y for y in g.targets],
            "observed": g.batch.sizes(),
        }
        if self._fields.id is not None:
            every["id"] = g.ids
        names = [name for name in _ORDER if name in every]
        rows = [
            dict(zip(names, values, strict=True))
            for values in zip(*(every[name] for name in names), strict=True)
        ]
        if any(ABSENT in every[name] for name in _MAY_LACK if name in every):
            rows = [{name: value for name, value in row.items() if value is not ABSENT} for row in rows]
        return rows

    def _set_aside(self, at: int, value: bytes, error: RecordError) -> None:
        self.counters = self.counters._replace(rejected=self.counters.rejected + 1)
        place = self._records.place(at)
        reason = f"{said(place)}: {error}"
        self.first_rejected = self.first_rejected or reason
        if self._fail:
            self.failure = reason
        if self._output.dead_letters is not None:
            self._output.dead_letters(Letter(at, place, str(error), value))


#: What a row may have, and what of it some rows do not.
_MAY_LACK = ("prediction", "score", "probability", "target", "loss")
_ORDER = ("n", "id", "prediction", "score", "probability", "target", "loss", "observed")


def _accepted(tasked: Tasked) -> set[tuple[type, Any]]:
    """Labels that need no second look, by type: True is not 1."""
    accepted: set[tuple[type, Any]] = {(type(None), None)}
    for label in getattr(tasked.model, "classes", ()):
        kinds = (int, float) if type(label) in (int, float) else (type(label),)
        accepted |= {(kind, label) for kind in kinds}
    return accepted
