"""The test-then-learn loop over lines of JSON."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import orjson

from streamkarma.errors import RecordError, RunError
from streamkarma.estimators.learner import check_weight
from streamkarma.estimators.regressor import LARGEST_TARGET
from streamkarma.events.batch import Batch
from streamkarma.events.flatten import flatten, is_flat
from streamkarma.events.labels import Label
from streamkarma.events.vocabulary import observed_in
from streamkarma.runtime.judge import Judge
from streamkarma.runtime.task import Tasked
from streamkarma.sources.jsonlines import Lines, parse
from streamkarma.sources.scanner import NO_LABEL, NUMBER, NameTable, name_table, scan

Row = dict[str, Any]
Rows = list[Row]


class Fields(NamedTuple):
    """Names in a record that are not attributes.

    Attributes
    ----------
    target
        The label.
    id
        Copied to the output; None for none.
    weight
        The weight of the event; None for none.
    ignore
        Left out.
    """

    target: str = "y"
    id: str | None = None
    weight: str | None = None
    ignore: tuple[str, ...] = ()


class Counters(NamedTuple):
    """What became of the records of a run."""

    events: int = 0
    learned: int = 0
    unlabelled: int = 0
    rejected: int = 0


class Loop:
    """Turns lines into predictions, learning as it goes.

    Parameters
    ----------
    tasked
        The model and its task.
    fields
        Which names are what.
    learn
        Whether labels are learned from, or only compared with.
    predictions
        Takes the rows to print, or None for none.
    dead_letters
        Takes a row for each record that was set aside, or None.
    fail
        Stop at the first such record.
    first
        The number of the first event, from 1.
    """

    def __init__(self, tasked: Tasked, fields: Fields, learn: bool,
                 predictions: Callable[[Rows], None] | None,
                 dead_letters: Callable[[Rows], None] | None, fail: bool, first: int) -> None:  # fmt: skip
        self.tasked = tasked
        self.judge = Judge(tasked)
        self.counters = Counters()
        #: What was wrong with the first record set aside, and where.
        self.first_rejected: str | None = None
        self._fields = fields
        # Names with a dot may lie inside of objects, which are then flattened first.
        special = [fields.target, fields.id, fields.weight, *fields.ignore]
        self._nested = any(name is not None and "." in name for name in special)
        self._plain = fields.id is None and fields.weight is None and not fields.ignore
        self._learn = learn
        self._predictions = predictions
        self._dead_letters = dead_letters
        self._fail = fail
        self._next = first
        self._names = self._table_of = 0
        self._table: NameTable
        self._refresh()

    @property
    def last(self) -> int:
        """The number of the last event so far."""
        return self._next - 1

    def feed(self, lines: Lines) -> None:
        """Process some lines.

        Raises
        ------
        RunError
            At a bad record, if that is to stop the run; what came before it is learned.
        """
        rest = lines.lines
        if not lines.overlong:
            rest = rest[self._scan(rest) :]
            rest = rest[self._take_plain(rest) :]
        for number, line in enumerate(rest, lines.first + len(lines.lines) - len(rest)):
            self._take_line(number, line, number in lines.overlong)
        self._flush()

    def _scan(self, lines: list[bytes]) -> int:
        """Process the common lines at the front, and return how many these were.

        Where each label must be shown again as it was given, or fields beside it taken out,
        or names still come in, the general readers do it all.
        """
        names = self.tasked.model.vocabulary.coordinate_count
        steady, self._names = self._names == names, names
        if not steady or not self._plain or self._nested or self._predictions is not None:
            return 0
        if self._table_of != names:
            table = name_table(self.tasked.model.vocabulary.numeric_names(), self._fields.target)
            self._table, self._table_of = table, names
        scanned = scan(lines, self._table, names)
        if not scanned.lines:
            return 0
        labels: list[Any] = scanned.labels.tolist()
        for t in np.flatnonzero(scanned.kinds == NO_LABEL):
            labels[t] = None
        kinds = {(float, bool)[kind - NUMBER] for kind in set(scanned.kinds.tolist()) - {NO_LABEL}}
        numeric = kinds <= {float} and self._numeric(labels)
        if not (numeric or self._accepted.issuperset((k, y) for k in kinds for y in {*labels} - {None})):
            return 0
        self._batch.fill(scanned.starts, scanned.coordinates, scanned.values)
        self._labels += labels
        self._weights += [1.0] * len(labels)
        self._flush()
        return scanned.lines

    def _take_plain(self, lines: list[bytes]) -> int:
        """Add lines that are all objects, with labels that are known or numbers to predict.

        All at once, which is what a fast stream needs. Returns how many were added: those
        before the first whose attributes need a closer look, or none.
        """
        if self._nested:
            return 0
        try:
            records = list(map(orjson.loads, lines))
            given = [record.pop(self._fields.target, None) for record in records]
            known = self._accepted.issuperset(zip(map(type, given), given, strict=True))
            if not (known or self._numeric(given)):
                return 0
            identities: list[Any] = [None] * len(given)
            weights = [1.0] * len(given)
            if not self._plain:
                identities, weights = map(list, zip(*map(self._take_fields, records), strict=True))
        except (orjson.JSONDecodeError, AttributeError, TypeError, RecordError):
            return 0
        taken = len(records)
        if not self._batch.extend_plain(records):
            learned = [self._learn and y is not None and w > 0.0 for y, w in zip(given, weights, strict=True)]
            taken = self._batch.extend(records, learned)
        self._labels += given[:taken]
        self._weights += weights[:taken]
        self._ids += identities[:taken]
        self._targets += given[:taken]
        return taken

    def _numeric(self, given: list[Any]) -> bool:
        """Whether these are numbers to be predicted, and none too large."""
        return (
            self._numbers
            and {float, int, type(None)}.issuperset(map(type, given))
            and max((abs(y) for y in given if y is not None), default=0.0) <= LARGEST_TARGET
        )

    def _take_line(self, number: int, line: bytes, overlong: bool) -> None:
        """Add the record of one line, whatever it is, or set it aside."""
        try:
            if overlong:
                raise RecordError("longer than the limit; see --max-record-bytes")
            if line.strip():
                self._take(parse(line))
        except RecordError as error:
            self._flush()
            self._set_aside(number, line, error)

    def _new_batch(self) -> None:
        self._batch: Batch = self.tasked.model.batch()
        self._labels: list[Label | None] = []
        self._weights: list[float] = []
        self._ids: list[Any] = []
        self._targets: list[Any] = []

    def _take(self, record: dict[str, Any]) -> None:
        """Add one record to the batch."""
        if self._nested and not is_flat(record):
            record = flatten(record)
        given = record.pop(self._fields.target, None)
        identity, weight = self._take_fields(record)
        known = not isinstance(given, (dict, list)) and (type(given), given) in self._accepted
        label = given
        if not known:
            record = record if is_flat(record) else flatten(record)
            observed_in(record)  # what is no event must not settle the task
            label = self._check(given)
        learned = self._learn and label is not None and weight > 0.0
        try:
            self._batch.append(record, learned)
        except RecordError:
            if is_flat(record):
                raise
            self._batch.append(flatten(record), learned)
        self._labels.append(label)
        self._weights.append(weight)
        self._ids.append(identity)
        self._targets.append(given)

    def _take_fields(self, record: dict[str, Any]) -> tuple[Any, float]:
        """Take out of a record what is no attribute; returns its id and weight."""
        fields = self._fields
        identity = record.pop(fields.id, None) if fields.id else None
        weight = record.pop(fields.weight, None) if fields.weight else None
        for name in fields.ignore:
            record.pop(name, None)
        return identity, 1.0 if weight is None else check_weight(weight)

    def _check(self, label: Any) -> Label | None:
        """A label that is not known yet. It may settle the task, so all before it go first."""
        if label is None or (isinstance(label, float) and math.isnan(label)):
            return None
        self._flush()
        checked = self.tasked.check(label)
        self._new_batch()
        return checked

    def _flush(self) -> None:
        """Predict and learn what has gathered, and hand out the rows."""
        if not self._labels:
            return
        weights = self._weights if self._learn else [0.0] * len(self._weights)
        rows = self.judge.run(self._batch, self._labels, weights, self._predictions is not None)
        sizes = self._batch.sizes()
        complete = [
            self._complete(row, self._next + i, self._ids[i], self._targets[i], sizes[i])
            for i, row in enumerate(rows)
        ]
        events, unlabelled = len(self._labels), self._labels.count(None)
        idle = 0
        if min(weights) == 0.0:
            idle = sum(w == 0.0 and y is not None for y, w in zip(self._labels, weights, strict=True))
        self._next += events
        c = self.counters
        self.counters = c._replace(
            events=c.events + events,
            learned=c.learned + events - unlabelled - idle,
            unlabelled=c.unlabelled + unlabelled,
        )
        self._refresh()
        # Last, for whoever takes them may be gone, and what was learned is counted by now.
        if self._predictions is not None:
            self._predictions(complete)

    def _refresh(self) -> None:
        self._accepted = _accepted(self.tasked)
        self._numbers = self.tasked.settled and self.tasked.task == "regression"
        self._new_batch()

    def _complete(self, row: Row, n: int, identity: Any, target: Any, observed: int) -> Row:
        """The row of an event with what is not the model's to say, in the order of the contract."""
        every = {"n": n, **row, "observed": observed}
        if self._fields.id is not None:
            every["id"] = identity
        if target is not None and target == target:
            every["target"] = target
        return {name: every[name] for name in _ORDER if name in every}

    def _set_aside(self, number: int, line: bytes, error: RecordError) -> None:
        self.counters = self.counters._replace(rejected=self.counters.rejected + 1)
        reason = f"line {number}: {error}"
        self.first_rejected = self.first_rejected or reason
        text = line.decode(errors="replace")
        if self._dead_letters is not None:
            self._dead_letters([{"line": number, "error": str(error), "record": text}])
        if self._fail:
            raise RunError(reason)


_ORDER = ("n", "id", "prediction", "score", "probability", "target", "loss", "observed")


def _accepted(tasked: Tasked) -> set[tuple[type, Any]]:
    """Labels that need no second look, by type: True is not 1."""
    accepted: set[tuple[type, Any]] = {(type(None), None)}
    for label in getattr(tasked.model, "classes", ()):
        kinds = (int, float) if type(label) in (int, float) else (type(label),)
        accepted |= {(kind, label) for kind in kinds}
    return accepted
