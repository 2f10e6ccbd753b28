"""Statistics of one attribute."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from streamkarma._engine import is_prose, number
from streamkarma.arrays import Ints
from streamkarma.connectors.tables.number_formats import PLAIN, form_of, prevailing
from streamkarma.events.values import EXACT
from streamkarma.profile.changes import Bits, Change, ChangeFinder
from streamkarma.profile.summaries import Distinct, Frequent, Moments

#: First values, which set the median or the most common value; then changes are monitored.
_REFERENCE = 256
#: Length to which values are cut when they are counted.
_LONGEST = 80
#: Minimum number of values to decide whether nearly every one is new.
_ENOUGH = 50
#: Fraction of values of a kind that gives an attribute this kind; fraction distinct if values hardly recur.
_NEARLY_ALL, _NEW = 0.95, 0.9
#: Last parts of names that mark numbers as timestamps, and the range of these in seconds.
_TIME_NAME = re.compile(r"(?:^|[._])(?:ts|time|timestamp|date|datetime|at|epoch)$", re.IGNORECASE)
_EPOCH = 946_684_800.0, 4_102_444_800.0
_ISO = re.compile(r"\d{4}-\d\d-\d\d")


class Attribute:
    """The statistics of an attribute's values.

    Parameters
    ----------
    name
        The name.
    most
        Maximum number of distinct values with counts.

    Examples
    --------
    >>> attribute = Attribute("a", 10)
    >>> attribute.add(np.arange(3), ["x", "y", "x"])
    >>> attribute.kind, attribute.observed, attribute.top(1), attribute.distinct.count()
    ('category', 3, [('x', 2)], 2)
    """

    def __init__(self, name: str, most: int) -> None:
        self.name = name
        self.observed = 0
        self.moments = Moments()
        self.distinct = Distinct()
        #: Number of values of each form; a text that spells a number is also a number.
        self.forms: Counter[str] = Counter()
        #: Number of texts that look like numbers, and the first of each, by what makes them texts.
        self._like_numbers: Counter[str] = Counter()
        self._examples: dict[str, str] = {}
        #: Whether each number was greater than the one before.
        self._increasing = True
        self._last = -np.inf
        self._frequent = Frequent(most)
        self._watch = _Watch()

    def add(self, events: Ints, values: Sequence[Any]) -> None:
        """Add values, and the events, counted from 0, that they belong to."""
        self.observed += len(values)
        plain = [value for value in values if type(value) is not list]
        counts = Counter(tag for value in values if type(value) is list for tag in value)
        self.forms["tags"] += len(values) - len(plain)
        numbers: dict[Any, float] = {}
        # By type, since True is 1.
        for (_, value), count in Counter(zip(map(type, plain), plain, strict=True)).items():
            counts[_as_text(value)] += count
            spelled = number(value) if isinstance(value, str) else value
            if spelled is None:
                self._count_text(value, count)
                continue
            numbers[value] = float(spelled)
            self.forms["spelled"] += count * isinstance(value, str)
            self.forms["boolean"] += count * isinstance(value, bool)
        self.distinct.add(counts)
        self._frequent.add(_cut(counts))
        if numbers:
            self._add_numbers(np.array([numbers[value] for value in plain if value in numbers]))
        self._watch.add(events, values)

    def _count_text(self, text: str, count: int) -> None:
        self.forms["text"] += count
        self.forms["time"] += count * _is_time(text)
        self.forms["prose"] += count * is_prose(text)
        if form := form_of(text):
            self._like_numbers[form] += count
            self._examples.setdefault(form, text)

    def _add_numbers(self, numbers: np.ndarray[Any, np.dtype[np.float64]]) -> None:
        self.forms["number"] += len(numbers)
        self.moments.add(numbers)
        self.forms["integer"] += int((numbers == np.floor(numbers)).sum())
        before = np.append(self._last, numbers[:-1])
        self._increasing &= bool((numbers > before).all())
        self._last = float(numbers[-1])

    @property
    def kind(self) -> str:
        """The kind, as in the documentation of attributes; ``mixed`` for numbers and texts."""
        forms, enough = self.forms, _NEARLY_ALL * self.observed
        if forms["boolean"] == self.observed:
            return "boolean"
        if forms["tags"] >= enough:
            return "tags"
        if forms["number"] >= enough:
            return "time" if self._is_epoch() else "number"
        if forms["text"] < enough:
            return "mixed"
        if forms["time"] >= enough:
            return "time"
        if forms["prose"] >= 0.5 * self.observed:
            return "text"
        return "identifier" if self.is_nearly_always_new else "category"

    @property
    def texts_like_numbers(self) -> tuple[str, str] | None:
        """What its numbers are written with so that some or all are texts, and one of these; None if it has
        other values."""
        forms: Counter[str | None] = Counter(self._like_numbers)
        forms[PLAIN] += self.forms["number"] - self.forms["boolean"]
        forms[None] = self.observed - forms.total()
        form = prevailing(forms)
        return None if form is None else (form, self._examples[form])

    @property
    def is_nearly_always_new(self) -> bool:
        """Whether its values hardly ever recur."""
        return self.observed >= _ENOUGH and self.distinct.count() >= _NEW * self.observed

    @property
    def counts_upwards(self) -> bool:
        """Whether each number is greater than the one before."""
        return self._increasing and self.moments.count > 1

    def _is_epoch(self) -> bool:
        moments, (begin, end) = self.moments, _EPOCH
        return bool(_TIME_NAME.search(self.name)) and any(
            begin <= moments.least / unit and moments.greatest / unit < end for unit in (1.0, 1e3)
        )

    def top(self, most: int) -> list[tuple[str, int]]:
        """Its most frequent values, cut to 80 characters, and their counts."""
        return self._frequent.top(most)

    @property
    def count_error(self) -> int:
        """By how much the count of a value can be too low."""
        return self._frequent.error

    def changes(self) -> list[Change]:
        """Changes in the fraction of values above the median of the first, or equal to their most common."""
        if self.kind in ("time", "identifier", "text", "tags") or self.counts_upwards:
            return []
        return self._watch.finder.changes()


class _Watch:
    """Monitors whether values are above the median of the first ones or, for texts, their most common one."""

    def __init__(self) -> None:
        self.finder = ChangeFinder()
        self._first: list[tuple[int, Any]] = []
        self._usual: Any = None

    def add(self, events: Ints, values: Sequence[Any]) -> None:
        pairs = zip(events.tolist(), values, strict=True)
        plain = [(event, value) for event, value in pairs if not isinstance(value, list)]
        if self._usual is None:
            self._first += plain
            if len(self._first) < _REFERENCE:
                return
            self._usual, plain = _usual([value for _, value in self._first[:_REFERENCE]]), self._first
            self._first = []
        at = np.array([event for event, _ in plain], np.int64)
        self.finder.add(at, self._bits([value for _, value in plain]))

    def _bits(self, values: Sequence[Any]) -> Bits:
        usual = self._usual
        if isinstance(usual, str):
            return np.array([value == usual for value in values], np.uint8)
        return np.array([not isinstance(value, str) and value > usual for value in values], np.uint8)


def _usual(values: Sequence[Any]) -> Any:
    """The median of numbers, or the most common text if most are texts."""
    texts = [value for value in values if isinstance(value, str)]
    if 2 * len(texts) > len(values):
        return Counter(texts).most_common(1)[0][0]
    halves = [value / 2.0 for value in values if not isinstance(value, str)]
    return float(2.0 * np.median(halves))  # the sum of two might overflow


def _as_text(value: Any) -> str:
    """A text, or a number or a boolean as JSON: 1.0 as 1, and -0.0 as 0."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and abs(value) >= EXACT:
        return str(value)
    return str(value).lower() if isinstance(value, bool) else repr(float(value) + 0.0).removesuffix(".0")


def _cut(counts: Counter[str]) -> Counter[str]:
    if all(len(value) <= _LONGEST for value in counts):
        return counts
    cut: Counter[str] = Counter()
    for value, count in counts.items():
        cut[value[:_LONGEST]] += count
    return cut


def _is_time(text: str) -> bool:
    if not _ISO.match(text):
        return False
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
