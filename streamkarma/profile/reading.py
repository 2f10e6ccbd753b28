"""Reads the observed values from the records of a source."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

from streamkarma._engine import MissingWords, parse
from streamkarma.connectors.base import Source
from streamkarma.connectors.jsonlines.hints import remedy
from streamkarma.connectors.records import Records, format_position
from streamkarma.errors import RecordError
from streamkarma.events.flatten import flatten
from streamkarma.parameters.words import CLASS_WORDS, MISSING_WORDS
from streamkarma.runtime.signals import StopSignal

Given = ParamSpec("Given")
Got = TypeVar("Got")

Row = dict[str, Any]

_NESTED = frozenset([dict, list])
#: Number of texts above which the cache is cleared, and maximum length of a cached text.
_KNOWN, _SHORT = 1 << 16, 64


class _Known(dict[str, bool]):
    """Whether texts are missing values, cached because the same ones recur."""

    def __init__(self, missing: MissingWords) -> None:
        super().__init__()
        self._missing = missing

    def __missing__(self, text: str) -> bool:
        found = text in self._missing
        if len(text) <= _SHORT:
            self[text] = found
        return found


class Look:
    """Reads a source once and leaves no trace: the `Context` of its reader.

    Parameters
    ----------
    missing_words
        The words that stand for a missing value; None for the usual ones, which may be classes.
    target
        The label.
    say
        Prints a line for the user.

    Attributes
    ----------
    rejected
        Number of records that could not be used.
    first_rejected
        The first of them, and why.
    remedy
        What to do if they look like another format.
    """

    model_path = ""
    kept: Mapping[str, Any] = {}  # read only, as the type says
    events = last = pending = 0
    interval = sys.maxsize
    checkpoint_due = False

    def __init__(self, missing_words: Sequence[str] | None, target: str, say: Callable[[str], None]) -> None:
        self.missing_words = MISSING_WORDS if missing_words is None else missing_words
        self.text_label = target if missing_words is None else None
        self._has_other_labels = False
        self.rejected = 0
        self.first_rejected: str | None = None
        self.remedy = ""
        self._known = _Known(MissingWords(self.missing_words))
        self._say = say
        self.stop = StopSignal()

    def rows(self, source: Source) -> Iterator[list[Row]]:
        """The observed values of each record, in blocks; a signal ends it."""
        with suppress(InterruptedError), self.stop.installed(), source.open(self) as reader:
            reader.resume(None)
            for block in reader.blocks():
                if block is not None:
                    yield self._observed(block.records)
                if self.stopped():
                    return

    def _observed(self, records: Records) -> list[Row]:
        rows = []
        for at, value in enumerate(records.values):
            try:
                if reason := records.refused.get(at):
                    raise RecordError(reason)
                if not value.strip():
                    continue
                record = parse(value)
                records.add_metadata(record, at)
                flat = record if _NESTED.isdisjoint(map(type, record.values())) else flatten(record)
            except RecordError as error:
                self.rejected += 1
                where = format_position(records.position(at))
                if self.first_rejected is None:
                    self.first_rejected = f"{where}: {error}"
                    self.remedy = remedy(self.first_rejected, records.values)
                continue
            row = {name: each for name, each in flat.items() if not self._is_missing(each)}
            if self.text_label is not None and self.text_label in flat:
                self._add_label(row, self.text_label, flat[self.text_label])
            rows.append(row)
        if len(self._known) > _KNOWN:
            self._known.clear()
        return rows

    def _add_label(self, row: Row, name: str, label: Any) -> None:
        """Add a label that is "none" or "-", unless the labels so far are not texts."""
        if not isinstance(label, str):
            self._has_other_labels |= label is not None
        elif label.strip().lower() in CLASS_WORDS and not self._has_other_labels:
            row[name] = label

    def _is_missing(self, value: Any) -> bool:
        return self._known[value] if type(value) is str else value is None

    # The interface for readers.

    def checkpoint(self) -> None:
        """There is no model to write."""

    def number_from(self, number: int) -> None:
        """Nothing is numbered."""

    def sync_rows(self) -> None:
        """There are no rows."""

    def committed(self) -> None:
        """Nothing is committed."""

    def load_part(self, part: str, models: Sequence[bytes]) -> int:
        """Models are loaded only for learning."""
        raise NotImplementedError

    def save_part(self, part: str) -> None:
        """Models are saved only after learning."""
        raise NotImplementedError

    def say(self, line: str) -> None:
        """Print a line for the user."""
        self._say(line)

    def stopped(self) -> bool:
        """Whether a signal has arrived."""
        return self.stop.has_come()

    def interruptible(
        self, wait: Callable[Given, Got], waits_for: Callable[[], int | None] = lambda: None
    ) -> Callable[Given, Got]:
        """``wait``, wrapped so that it raises InterruptedError once a signal has arrived."""
        return self.stop.unless(wait, waits_for)
