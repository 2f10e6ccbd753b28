"""Events that wait for their labels, and labels that wait for their events."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from streamkarma._engine import Encoded
from streamkarma.arrays import Arrays
from streamkarma.checkpoint import checked_float, from_json_lines, json_lines, natural
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.estimators.learners import Model
from streamkarma.estimators.pipeline import check_weight
from streamkarma.events.labels import Label

#: Names of the waiting events and labels in a model file. They are arrays because the header has little room;
#: older models have them in the header, under the same names.
_EVENTS, _LABELS = "events", "labels"
#: The waiting events as the learner saw them.
_ARRAYS = tuple(f"pending.{name}" for name in ("starts", "attributes", "coordinates", "values", "raw"))


class PriorPrediction(NamedTuple):
    """The prediction for an event when it arrived, on which its loss is later measured.

    Attributes
    ----------
    row
        The output row, without number, id and label.
    scores
        Classification: the raw scores. Regression: the prediction, and the standard deviation of the target.
    known
        Classification: the number of classes known then. Regression: 0.
    """

    row: dict[str, Any]
    scores: list[float]
    known: int


class PendingEvent(NamedTuple):
    """An event that waits for its label.

    Attributes
    ----------
    weight
        Its weight.
    prior
        Its prediction.
    number
        Its number in the stream.
    record
        Its attributes, if it is learned entirely with its label.
    encoded
        The event as the learner saw it on arrival, if it was then learned without its label; else None.
    observed
        Whether it was the current learner that learned it on arrival.
    entity
        Its entity; None if unknown.
    """

    weight: float
    prior: PriorPrediction
    number: int
    record: dict[str, Any]
    encoded: Encoded | None = None
    observed: bool = False
    entity: str | None = None


class _ByTime:
    """The keys of a store by time: where the clock can go back, those kept first are not the oldest.

    Parameters
    ----------
    store
        Key to a time and something else. Keys that were removed from it are skipped.
    """

    def __init__(self, store: Mapping[bytes, tuple[float, Any]]) -> None:
        self._store = store
        self._heap: list[tuple[float, bytes]] | None = None

    def add(self, key: bytes, time: float) -> None:
        """Add a key that was stored."""
        if self._heap is not None:
            heappush(self._heap, (time, key))

    def before(self, time: float) -> Iterable[bytes]:
        """Yield the keys with earlier times, which the caller removes from the store."""
        if self._heap is None or len(self._heap) > 2 * len(self._store) + 100:
            self._heap = [(came, key) for key, (came, _) in self._store.items()]
            heapify(self._heap)
        while self._heap and self._heap[0][0] < time:
            came, key = heappop(self._heap)
            if key in self._store and self._store[key][0] == came:
                yield key


class Pending:
    """A bounded store of events and labels, by the JSON of their ids.

    When a bound is exceeded, the oldest are dropped: an event is then *expired*, a label *unmatched*. If an
    id occurs again, the earlier event expires and the newer one waits. An expired event is not learned.

    Parameters
    ----------
    limit
        Maximum number of waiting events, and of waiting labels.
    seconds
        Longest wait, or None for no limit. Time is taken from the records, so that replaying a stream gives
        the same result.

    Attributes
    ----------
    clock
        The latest time of any record, or the time of the last one, see ``turn_to``.

    Examples
    --------
    >>> pending = Pending(limit=1)
    >>> for key in (b"7", b"8"):
    ...     pending.make_room(key)
    ...     pending.keep(key, PendingEvent(1.0, PriorPrediction({}, [0.5], 2), 1, {"x": 1.0}), time=0.0)
    >>> pending.expired, pending.event_of(b"7"), pending.event_of(b"8").record
    (1, None, {'x': 1.0})
    """

    def __init__(self, limit: int, seconds: float | None = None) -> None:
        self.limit = limit
        self.seconds = seconds
        self.clock = 0.0
        self._knows_time = False
        #: Labels matched to their events, labels without an event, and events dropped without a label.
        self.matched = self.unmatched = self.expired = 0
        self._events: OrderedDict[bytes, tuple[float, PendingEvent]] = OrderedDict()
        self._labels: OrderedDict[bytes, tuple[float, Label]] = OrderedDict()
        self._events_by_time, self._labels_by_time = _ByTime(self._events), _ByTime(self._labels)
        #: Keys of events by entity, in order of arrival.
        self._keys_of: dict[str, dict[bytes, None]] = {}

    def make_room(self, key: bytes, others: int = 0) -> None:
        """Make room for an event with this id and ``others`` more, dropping the oldest."""
        self.expired += key in self._events
        self._remove(key)
        while self._events and len(self._events) + others >= self.limit:
            self._drop_oldest()

    def keep(self, key: bytes, event: PendingEvent, time: float) -> None:
        """Keep an event, for which there is room, until its label arrives."""
        self._events[key] = (time, event)
        self._events_by_time.add(key, time)
        if event.entity is not None:
            self._keys_of.setdefault(event.entity, {})[key] = None

    def _drop_oldest(self) -> None:
        self.expired += 1
        self._remove(next(iter(self._events)))

    def _remove(self, key: bytes) -> None:
        _, event = self._events.pop(key, (0.0, None))
        if event is not None and event.entity is not None:
            keys = self._keys_of[event.entity]
            del keys[key]
            if not keys:
                del self._keys_of[event.entity]

    def keys_of(self, entity: str) -> list[bytes]:
        """The ids of an entity's events, in order of arrival."""
        return list(self._keys_of.get(entity, ()))

    def forget(self, coordinates: list[int]) -> None:
        """Drop evicted coordinates from all events."""
        for _, event in self._events.values():
            if event.encoded is not None:
                event.encoded.forget(coordinates)

    def mark_unobserved(self) -> None:
        """Mark all events as unobserved: a new learner has not seen them."""
        for key, (time, event) in self._events.items():
            self._events[key] = time, event._replace(observed=False)

    def event_of(self, key: bytes) -> PendingEvent | None:
        """The event with this id, which stays until ``resolve``."""
        found = self._events.get(key)
        return found[1] if found else None

    def resolve(self, key: bytes) -> None:
        """Remove an event whose label has arrived."""
        self._remove(key)
        self.matched += 1

    def keep_label(self, key: bytes, label: Label, time: float) -> None:
        """Keep a label until its event arrives."""
        self.unmatched += self._labels.pop(key, None) is not None
        self._labels[key] = (time, label)
        self._labels_by_time.add(key, time)
        # There may be several to drop: a model can be resumed with a lower limit.
        while len(self._labels) > self.limit:
            self._labels.popitem(last=False)
            self.unmatched += 1

    def label_of(self, key: bytes) -> Label | None:
        """The label with this id that arrived before its event; it stays until ``resolve_label``."""
        found = self._labels.get(key)
        return found[1] if found else None

    def resolve_label(self, key: bytes) -> None:
        """Remove a label whose event has arrived."""
        del self._labels[key]
        self.matched += 1

    def tick(self, time: float | None) -> float:
        """Advance the clock to a record's time, if it has one; the clock never goes back."""
        if time is not None:
            self._know(time)
            self.clock = max(self.clock, time)
        return self.clock

    def turn_to(self, time: float | None) -> float:
        """Set the clock to a record's time, even if earlier, so that a wrong time has no lasting effect."""
        if time is not None:
            self._know(time)
            self.clock = time
        return self.clock

    def _know(self, time: float) -> None:
        """Let what came before any time was known have come at the first known one."""
        if not self._knows_time:
            self._knows_time = True
            self._events.update({key: (time, event) for key, (_, event) in self._events.items()})
            self._labels.update({key: (time, label) for key, (_, label) in self._labels.items()})
            self._events_by_time, self._labels_by_time = _ByTime(self._events), _ByTime(self._labels)

    def has_expired(self, since: float, now: float) -> bool:
        """Whether an event or label that arrived at ``since`` has waited too long."""
        return self.seconds is not None and since < now - self.seconds

    def expire(self, now: float) -> None:
        """Drop events and labels that have waited too long."""
        if self.seconds is None:
            return
        for key in self._events_by_time.before(now - self.seconds):
            self.expired += 1
            self._remove(key)
        for key in self._labels_by_time.before(now - self.seconds):
            del self._labels[key]
            self.unmatched += 1

    def summary(self) -> dict[str, int]:
        """Counts of events and labels; waiting labels count as unmatched."""
        return {
            "matched": self.matched,
            "unmatched": self.unmatched + len(self._labels),
            "expired": self.expired,
            "waiting": len(self._events),
        }

    def sizes(self) -> dict[str, int]:
        """Numbers of waiting events and labels."""
        return {"events": len(self._events), "labels": len(self._labels)}

    def state(self) -> dict[str, Any]:
        """The bounds, as JSON."""
        return {
            "limit": self.limit,
            "seconds": self.seconds,
            "clock": self.clock if self._knows_time else None,
        }

    def arrays(self) -> Arrays:
        """The waiting events and labels, and the events as the learner saw them."""
        events = (
            [key.decode(), time, e.weight, e.number, e.record, e.encoded is not None, e.observed,
             e.prior.row, _or_null(e.prior.scores), e.prior.known, e.entity]
            for key, (time, e) in self._events.items()
        )  # fmt: skip
        labels = ([key.decode(), time, label] for key, (time, label) in self._labels.items())
        all_of_them = Encoded()
        for _, event in self._events.values():
            if event.encoded is not None:
                all_of_them.append(event.encoded)
        return {
            f"pending.{_EVENTS}": json_lines(events),
            f"pending.{_LABELS}": json_lines(labels),
            **dict(zip(_ARRAYS, all_of_them.arrays(), strict=True)),
        }

    @classmethod
    def resumed(cls, state: dict[str, Any], arrays: Arrays, model: Model) -> Pending:
        """Restore a ``state``, with its ``arrays``, for a model.

        Raises
        ------
        KeyError, TypeError, ValueError
            If the state is invalid.
        """
        seconds = None if state["seconds"] is None else checked_float(state["seconds"])
        pending = cls(natural(state["limit"]), seconds)
        pending._knows_time = state["clock"] is not None
        pending.clock = checked_float(state["clock"]) if pending._knows_time else 0.0
        classes = len(model.classes) if isinstance(model, BaseClassifier) else 0
        # Two classes have one score; a regression has a prediction and a standard deviation.
        widths = {1, *range(3, classes + 1)} if isinstance(model, BaseClassifier) else {1, 2}
        encoder = model.vocabulary
        bounds = encoder.attribute_count, encoder.coordinate_count
        starts, attributes, coordinates, values, raw = (arrays[name] for name in _ARRAYS)
        encoded = Encoded.of_arrays(starts, attributes, coordinates, values, raw, bounds)
        at = 0
        for each in _waiting(_EVENTS, state, arrays):
            key, time, weight, number, record, is_encoded, observed, row, scores, known, entity = each
            if not isinstance(entity, str | None):
                raise TypeError("an entity without a name")
            numbers = [math.nan if s is None else checked_float(s) for s in scores]
            if len(numbers) not in widths:
                raise ValueError("a prediction with a wrong number of classes")
            prior = PriorPrediction(dict(row), numbers, natural(known))
            own = encoded.one(at) if is_encoded else None
            at += own is not None
            event = PendingEvent(
                check_weight(weight), prior, natural(number), dict(record), own, bool(observed), entity
            )
            pending.keep(key.encode(), event, checked_float(time))
        if at != len(encoded):
            raise ValueError("more events than are waiting")
        for key, time, label in _waiting(_LABELS, state, arrays):
            pending._labels[key.encode()] = (checked_float(time), label)
        return pending


def _waiting(name: str, state: dict[str, Any], arrays: Arrays) -> Iterable[Any]:
    """The waiting events or labels in a model file."""
    found: Iterable[Any] = state[name] if name in state else from_json_lines(arrays[f"pending.{name}"])
    return found


def _or_null(scores: list[float]) -> list[float | None]:
    """Numbers for JSON, with None for those that are not finite."""
    return [s if math.isfinite(s) else None for s in scores]
