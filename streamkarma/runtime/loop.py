"""The test-then-learn loop over records of JSON."""

from __future__ import annotations

import copy
import sys
import time
from typing import Any

import numpy as np
import orjson

from streamkarma.connectors.base import DeadLetter as Letter
from streamkarma.connectors.jsonlines.lines import parse
from streamkarma.errors import RecordError
from streamkarma.estimators.regression import LARGEST_TARGET
from streamkarma.events.flatten import flatten, is_flat
from streamkarma.events.labels import Label, labelled
from streamkarma.events.values import is_missing, observed_in
from streamkarma.runtime.comparing import Comparing
from streamkarma.runtime.fields import NOW, Fields, Taken
from streamkarma.runtime.gathered import Gathered, Ready
from streamkarma.runtime.judge import Judge, Verdict
from streamkarma.runtime.output import Counters, Output, Tally
from streamkarma.runtime.pending import Event, Made, Pending
from streamkarma.runtime.scanning import Scanning
from streamkarma.runtime.task import Tasked
from streamkarma.sinks.rows import Column, Rows
from streamkarma.sources.records import Records, said

#: Records that are read in the general way before the scanner is tried again; twice as many each
#: time it finds nothing it can read.
_PIECE = 32
#: Most bytes of an id that is kept, as JSON, and most characters of what is said of a bad record.
LONGEST_ID, _LONGEST_REASON = 1024, 500


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
        #: Those that were fed first, to look for a hint in.
        self.first_records: Records | None = None
        self.learns = learn
        self._fields = fields
        self._nested = fields.nested
        self._only_target = fields.only_target
        self._output = output
        self._fail = fail
        self._next = first
        roles = None if pending is not None else fields.roles
        #: None where the general readers have to do it all.
        self._scanning = None if roles is None else Scanning(tasked, roles)
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

    def feed(self, records: Records, begin: int = 0, most: int = sys.maxsize) -> int:
        """Process records from one on, until there have been so many events; returns where that is.

        It is behind the last of them, unless one is bad and is to stop the run: then ``failure``
        says so, and what came before it is learned.
        """
        self._records = records
        if self.first_records is None:
            self.first_records = records
        at, piece, goal = begin, _PIECE, self.counters.events + most
        while at < len(records) and (room := goal - self.counters.events - len(self._gathered.labels)) > 0:
            scanned = self._scan(at, room)
            at += scanned
            if at == len(records) or scanned == room:
                break
            piece = _PIECE if scanned else 2 * piece
            end = min(at + piece, len(records), at + room - scanned)
            if not records.refused and not records.labels_only and self.pending is None:
                at += self._take_plain(at, end)
            for each in range(at, end):
                self._take_one(each)
                if self.failure is not None:
                    return each
            at = end
        self._flush()
        return at

    def scan_ahead(self, records: Records) -> Records:
        """Scan records that will be fed later; another thread may do so."""
        if self._scanning is not None:
            self._scanning.ahead(records)
        return records

    def _scan(self, at: int, most: int) -> int:
        """Process the common records from one on, up to so many, and return how many these were."""
        ready = None if self._scanning is None else self._scanning.ready(self._records, at, most)
        if ready is None:
            return 0
        self._flush()
        self._run(ready)
        return len(ready.labels)

    def _take_plain(self, begin: int, end: int) -> int:
        """Add records that are all objects, with labels that are known or numbers to predict.

        All at once, which is what a fast stream needs. Returns how many were added: those
        before the first whose attributes need a closer look, or none.
        """
        values = self._records.values[begin:end]
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
        return self._gathered.extend(records, given, taken, begin, self.learns)

    def _numeric(self, given: list[Any]) -> bool:
        """Whether these are numbers to be predicted, and none too large."""
        return (
            self.tasked.predicts_numbers
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
        if len(key) > LONGEST_ID:
            raise RecordError(f"an id that a label is to find has at most {LONGEST_ID:,} bytes")
        now = self._time(taken, at)
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
                kept = self.tasked.model.vocabulary.kept(observed)
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

    def _time(self, taken: Taken, at: int) -> float:
        """When a record happened."""
        assert self.pending is not None
        if self._records.time is not None:
            return self._records.time(at)
        return time.time() if self._fields.time == NOW else self.pending.tick(taken.time)

    def _add(self, record: dict[str, Any], given: Any, label: Label | None, taken: Taken, at: int,
             made: Made | None = None) -> None:  # fmt: skip
        learned = self.learns and label is not None and taken.weight > 0.0
        self._gathered.batch.append(record, learned)
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
        """Process what has gathered."""
        if self._gathered.labels:
            self._run(self._gathered.ready())

    def _run(self, ready: Ready) -> None:
        """Predict and learn events, and hand out the rows."""
        weights = ready.weights if self.learns else np.zeros_like(ready.weights)
        printed = self._output.predictions is not None
        columns = printed or bool(ready.waiting)
        judged = self.judge.run(ready.batch, ready.labels, weights, columns, ready.made, ready.full)
        if self.pending is not None:
            self._keep_waiting(self.pending, judged, ready)
        rows = self._rows(judged.columns, ready) if printed else None
        events, there = len(ready.labels), labelled(ready.labels)
        self._next += events
        c = self.counters
        self.counters = c._replace(
            events=c.events + events,
            learned=c.learned + int((there & (weights > 0.0)).sum()),
            unlabelled=c.unlabelled + events - int(there.sum()),
            zero_weight=c.zero_weight + int((there & (ready.weights == 0.0)).sum()),
        )
        self._refresh()
        self.tasked.announce_ignored()
        # Last, for whoever takes them may be gone, and what was learned is counted by now.
        if self._output.predictions is not None and rows is not None:
            self._output.predictions(rows, ready.at)

    def _keep_waiting(self, pending: Pending, judged: Verdict, ready: Ready) -> None:
        """Have events wait for their labels, with what was said of them."""
        said_rows = judged.rows([t for t, _, _ in ready.waiting.values()])
        for (key, (t, record, then)), row in zip(ready.waiting.items(), said_rows, strict=True):
            made = Made(row, judged.scores[t].tolist(), int(judged.known[t]))
            pending.keep(key, Event(record, float(ready.weights[t]), made), then)

    def _refresh(self) -> None:
        self._accepted = self.tasked.accepted()
        self._new_batch()

    def _new_batch(self) -> None:
        self._gathered = Gathered(self.tasked.model.batch())

    def _rows(self, columns: dict[str, Column], ready: Ready) -> Rows:
        """What was said, with what is not the model's to say, in the order of the contract."""
        every = {
            "n": np.arange(self._next, self._next + len(ready.labels)),
            **columns,
            "target": ready.targets,
            "observed": ready.batch.sizes(),
        }
        if self._fields.id is not None:
            every["id"] = ready.ids
        return Rows({name: every[name] for name in _ORDER if name in every})

    def _set_aside(self, at: int, value: bytes, error: RecordError) -> None:
        self.counters = self.counters._replace(rejected=self.counters.rejected + 1)
        place, told = self._records.place(at), str(error)[:_LONGEST_REASON]
        reason = f"{said(place)}: {told}"
        self.first_rejected = self.first_rejected or reason
        if self._fail:
            self.failure = reason
        if self._output.dead_letters is not None:
            self._output.dead_letters(Letter(at, place, told, value))


#: What a row may have.
_ORDER = ("n", "id", "prediction", "score", "probability", "target", "loss", "observed")
