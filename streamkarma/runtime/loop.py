"""The test-then-learn loop over lines of JSON."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from streamkarma.errors import RecordError, RunError
from streamkarma.estimators.learner import check_weight
from streamkarma.events.batch import Batch
from streamkarma.events.flatten import flatten, is_flat
from streamkarma.events.labels import Label
from streamkarma.runtime.judge import Judge
from streamkarma.runtime.task import Tasked
from streamkarma.sources.jsonlines import Lines, parse

Rows = list[dict[str, Any]]


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
        self._accepted: set[tuple[type, Any]] = set()
        self._new_batch()

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
        number = lines.first - 1
        for line in lines.lines:
            number += 1
            try:
                if number in lines.overlong:
                    raise RecordError("longer than the limit; see --max-record-bytes")
                try:
                    record = orjson.loads(line)
                    if type(record) is not dict:
                        raise orjson.JSONDecodeError("not an object", "", 0)
                except orjson.JSONDecodeError:
                    if not line.strip():
                        continue
                    record = parse(line)
                self._take(record)
            except RecordError as error:
                self._flush()
                self._set_aside(number, line, error)
        self._flush()

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
        label = given = record.pop(self._fields.target, None)
        identity, weight = None, 1.0
        if not self._plain:
            identity, weight = self._take_fields(record)
        if (given.__class__, given) not in self._accepted if _hashable(given) else True:
            label = self._check(given)
        learned = self._learn and label is not None and weight > 0.0
        try:
            self._batch.append(record, learned)
        except RecordError:
            if is_flat(record):
                raise
            self._batch.append(flatten(record), learned)
        self._labels.append(label)
        self._weights.append(weight if self._learn else 0.0)
        if self._predictions is not None:
            self._ids.append(identity)
            self._targets.append(given)

    def _take_fields(self, record: dict[str, Any]) -> tuple[Any, float]:
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
        if self.tasked.settled and self.tasked.task == "regression":
            return self.tasked.check(label)
        self._flush()
        checked = self.tasked.check(label)
        self._new_batch()
        return checked

    def _flush(self) -> None:
        """Predict and learn what has gathered, and hand out the rows."""
        if not self._labels:
            return
        rows = self.judge.run(self._batch, self._labels, self._weights, self._predictions is not None)
        if self._predictions is not None:
            observed = self._batch.observed()
            for i, row in enumerate(rows):
                self._complete(row, self._next + i, self._ids[i], self._targets[i], observed[i])
            self._predictions([_ordered(row) for row in rows])
        labelled = sum(label is not None for label in self._labels)
        learned = sum(
            label is not None and weight > 0.0
            for label, weight in zip(self._labels, self._weights, strict=True)
        )
        events = len(self._labels)
        self._next += events
        c = self.counters
        self.counters = c._replace(
            events=c.events + events,
            learned=c.learned + learned,
            unlabelled=c.unlabelled + events - labelled,
        )
        self._accepted = _accepted(self.tasked)
        self._new_batch()

    def _complete(self, row: dict[str, Any], n: int, identity: Any, target: Any, observed: int) -> None:
        row["n"] = n
        if self._fields.id is not None:
            row["id"] = identity
        if target is not None and target == target:
            row["target"] = target
        row["observed"] = observed

    def _set_aside(self, number: int, line: bytes, error: RecordError) -> None:
        self.counters = self.counters._replace(rejected=self.counters.rejected + 1)
        text = line.decode(errors="replace")
        if self._dead_letters is not None:
            self._dead_letters([{"line": number, "error": str(error), "record": text}])
        if self._fail:
            raise RunError(f"line {number}: {error}")


_ORDER = ("n", "id", "prediction", "score", "probability", "target", "loss", "observed")


def _ordered(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in _ORDER if name in row}


def _hashable(label: Any) -> bool:
    return not isinstance(label, (dict, list))


def _accepted(tasked: Tasked) -> set[tuple[type, Any]]:
    """Labels that need no second look, by type: True is not 1."""
    accepted: set[tuple[type, Any]] = {(type(None), None)}
    for label in getattr(tasked.model, "classes", ()):
        kinds = (int, float) if type(label) in (int, float) else (type(label),)
        accepted |= {(kind, label) for kind in kinds}
    return accepted
