"""What one attribute holds."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from streamkarma._engine import is_prose, number
from streamkarma.events.values import EXACT
from streamkarma.profile.changes import Bits, Change, ChangeFinder, Events
from streamkarma.profile.summaries import Distinct, Frequent, Moments

#: Values that say what is above or usual, before it is watched whether that changes.
_REFERENCE = 256
#: Longer values are cut where they are counted.
_LONGEST = 80
#: Values from which on it can be told what is new in nearly every event.
_ENOUGH = 50
#: Share of the values that makes an attribute one of a kind, and that is new where hardly one comes back.
_NEARLY_ALL, _NEW = 0.95, 0.9
#: The last part of a name that says that numbers are points in time, and the seconds that they then are.
_TIME_NAME = re.compile(r"(?:^|[._])(?:ts|time|timestamp|date|datetime|at|epoch)$", re.IGNORECASE)
_EPOCH = 946_684_800.0, 4_102_444_800.0
_ISO = re.compile(r"\d{4}-\d\d-\d\d")


class Attribute:
    """Takes the values of an attribute.

    Parameters
    ----------
    name
        The name.
    most
        Most values whose frequency is counted.

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
        #: Values by what they are; a text that spells a number is a number as well.
        self.forms: Counter[str] = Counter()
        #: Whether each number was greater than the one before.
        self._increasing = True
        self._last = -np.inf
        self._frequent = Frequent(most)
        self._watch = _Watch()

    def add(self, events: Events, values: Sequence[Any]) -> None:
        """Take values, and the events, counted from 0, that they are of."""
        self.observed += len(values)
        plain = [value for value in values if type(value) is not list]
        counts = Counter(tag for value in values if type(value) is list for tag in value)
        self.forms["tags"] += len(values) - len(plain)
        numbers: dict[Any, float] = {}
        # By type, since True is 1.
        for (_, value), count in Counter(zip(map(type, plain), plain, strict=True)).items():
            counts[_told(value)] += count
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

    def _add_numbers(self, numbers: np.ndarray[Any, np.dtype[np.float64]]) -> None:
        self.forms["number"] += len(numbers)
        self.moments.add(numbers)
        self.forms["integer"] += int((numbers == np.floor(numbers)).sum())
        before = np.append(self._last, numbers[:-1])
        self._increasing &= bool((numbers > before).all())
        self._last = float(numbers[-1])

    @property
    def kind(self) -> str:
        """What it is, as in the documentation of attributes; ``mixed`` for numbers and texts."""
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
    def is_nearly_always_new(self) -> bool:
        """Whether its values hardly ever come back."""
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
        """Where the share of values changes that are above the first ones, or are the usual one of them."""
        if self.kind in ("time", "identifier", "text", "tags") or self.counts_upwards:
            return []
        return self._watch.finder.changes()


class _Watch:
    """Watches whether values are above the median of the first ones; of texts, whether they are the usual."""

    def __init__(self) -> None:
        self.finder = ChangeFinder()
        self._first: list[tuple[int, Any]] = []
        self._usual: Any = None

    def add(self, events: Events, values: Sequence[Any]) -> None:
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
    """The median of numbers, or the commonest text if most are texts."""
    texts = [value for value in values if isinstance(value, str)]
    if 2 * len(texts) > len(values):
        return Counter(texts).most_common(1)[0][0]
    halves = [value / 2.0 for value in values if not isinstance(value, str)]
    return float(2.0 * np.median(halves))  # the sum of two might be too great for a float


def _told(value: Any) -> str:
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
