"""Reads lines of JSON with the engine."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from streamkarma._engine import LineReader, Lines
from streamkarma.connectors.records import Records
from streamkarma.connectors.rows import Json
from streamkarma.estimators.regression import LARGEST_TARGET
from streamkarma.events.labels import Label, LabelColumn
from streamkarma.events.roles import ID
from streamkarma.runtime.event_buffer import EventBatch, shown_labels
from streamkarma.runtime.task import TaskModel


class Read(NamedTuple):
    """The result of reading some records.

    Attributes
    ----------
    batch
        The events.
    rejected
        Records that are not events: index, content, and reason.
    end
        Index of the first record not read.
    unknown
        The JSON of that record's label, if reading stopped because the label is not known yet.
    """

    batch: EventBatch
    rejected: list[tuple[int, bytes, str]]
    end: int
    unknown: str | None


#: Events read, or gathered, at once.
PART = 8192
#: Events read ahead while as many are learned: enough to make the hand-over cheap, and few enough for both to
#: start early, so a block is read in several parts if it is large enough.
_LEAST_AHEAD, _MOST_AHEAD, _PARTS = 1024, 4096, 4

#: Maximum number and length of remembered labels that are no classes: the same ones tend to recur.
MOST_REMEMBERED, LONGEST_REMEMBERED = 1000, 100


class Reading:
    """Reads records for a model whose field names the engine can handle.

    Parameters
    ----------
    task_model
        The model and its task.
    roles
        The roles of names that are not attributes.
    learn, unlabelled
        Whether events with a label are learned, and those without one.
    strict
        Whether to stop at the first record that is not an event.
    read_ahead
        Whether to read the next part in another thread while one is learned.
    """

    def __init__(
        self,
        task_model: TaskModel,
        roles: Mapping[str, int],
        learn: bool,
        unlabelled: bool,
        strict: bool,
        read_ahead: bool = False,
    ) -> None:
        self._task_model = task_model
        self._reader = LineReader(dict(roles), learn, unlabelled, strict)
        self._has_ids = ID in roles.values()
        self._known: tuple[Any, int] | None = None
        self._remembered = 0
        self._strict = strict
        self._thread = ThreadPoolExecutor(1, "reader") if read_ahead else None

    def parts(
        self, records: Records, at: int, most: int, may_continue: Callable[[], bool]
    ) -> Generator[Read, None, None]:
        """Read records in parts, from an index up to ``most`` events, a refused record, or an unknown label.

        Once ``may_continue`` returns False, no more parts are read.

        With a thread, the next part is read when a part is yielded. The encoder is then ahead of the learner,
        which has no effect: all labels are known, and every part that was read is yielded.
        """
        self._task_model.check_positive()
        size = PART
        if self._thread is not None:
            size = min(max(_LEAST_AHEAD, min(len(records) - at, most) // _PARTS), _MOST_AHEAD)
        read = self.read(records, at, min(size, most))
        while True:
            most -= len(read.batch.labels)
            ends = read.unknown is not None or (self._strict and read.rejected)
            if ends or most <= 0 or read.end == len(records) or read.end in records.refused:
                yield read
                return
            if self._thread is None:
                yield read
                if not may_continue():
                    return
                read = self.read(records, read.end, min(size, most))
            elif not may_continue():
                yield read
                return
            else:
                later = self._thread.submit(self.read, records, read.end, min(size, most))
                try:
                    yield read
                finally:
                    # If the caller stops early, the encoder must not still be running.
                    read = later.result()

    def read(self, records: Records, at: int, most: int) -> Read:
        """Read records, from an index up to ``most`` events, a refused record, or an unknown label."""
        classes = self._know_labels()
        lines, text, begin = self._lines(records, at, most)
        labels = LabelColumn(lines.labels, lines.kinds, classes)
        batch = self._ready(lines, at, labels, shown_labels(labels.plain()))
        rejected = [(at + line, text[first:last], why) for line, first, last, why in lines.rejected]
        records.remember(at + lines.count, begin + lines.end)
        return Read(batch, rejected, at + lines.count, lines.unknown)

    def read_one(self, records: Records, at: int, given: Any, label: Label | None) -> EventBatch:
        """Read one record with a checked label: as it was ``given``, and as it is learned."""
        lines, _, begin = self._lines(records, at, 1, label is not None)
        records.remember(at + 1, begin + lines.end)
        return self._ready(lines, at, [label], shown_labels([given]))

    def refuse(self, label: str, reason: str) -> None:
        """Reject later records with a label, in JSON, for this reason, instead of stopping at each."""
        if self._remembers(label):
            self._reader.refuse(label, reason)

    def take_as_none(self, label: str) -> bool:
        """Take a label, in JSON, as none in later records; False if too many have been remembered."""
        remembers = self._remembers(label)
        if remembers:
            self._reader.take_as_none(label)
        return remembers

    def _remembers(self, label: str) -> bool:
        """Count a label to remember, unless it is too long or there are too many."""
        if self._remembered >= MOST_REMEMBERED or len(label) > LONGEST_REMEMBERED:
            return False
        self._remembered += 1
        return True

    def _lines(
        self, records: Records, at: int, most: int, given: bool | None = None
    ) -> tuple[Lines, bytes, int]:
        """The engine's result, the text it was read from, and the offset of that in the whole text."""
        assert records.text is not None
        text, begin, shift = records.text, records.begin(at), 0
        refused = min((each for each in records.refused if each >= at), default=None)
        if refused is not None:
            text, begin, shift = text[begin : records.begin(refused)], 0, begin
        return self._reader.read(self._task_model.model.vocabulary, text, begin, most, given), text, shift

    def _ready(self, lines: Lines, at: int, labels: Any, targets: Any) -> EventBatch:
        events = len(lines.events)
        whole = events == lines.count
        indices = range(at, at + events) if whole else (at + lines.lines).tolist()
        ids = Json(lines.kept[ID] if self._has_ids else [])
        return EventBatch(lines.events, labels, lines.weights, targets, ids, indices)

    def _know_labels(self) -> list[Label]:
        """Pass the labels of the model to the reader; returns its classes."""
        model = self._task_model.model
        classes: list[Label] = getattr(model, "classes", [])
        known = model, len(classes)
        if self._known != known:
            numbers = self._task_model.predicts_numbers
            self._reader.know(LARGEST_TARGET if numbers else classes)
            self._known = known
            self._remembered = 0
        return classes
