"""Events that wait for their labels, and labels that wait for their events."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any, NamedTuple

from streamkarma.checkpoint import finite, natural
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.estimators.learners import Model
from streamkarma.estimators.pipeline import check_weight
from streamkarma.events.labels import Label


class PriorPrediction(NamedTuple):
    """What was said of an event when it came, which is what its loss is later measured on.

    Attributes
    ----------
    row
        The prediction as it was printed, without number, id and label.
    scores
        Classification: the raw scores; regression: the prediction, and one standard
        deviation of the target.
    known
        Classification: how many classes there were; regression: 0.
    """

    row: dict[str, Any]
    scores: list[float]
    known: int


class PendingEvent(NamedTuple):
    """An event without its label: its attributes, its weight, and what was said of it."""

    record: dict[str, Any]
    weight: float
    prior: PriorPrediction


class Pending:
    """A bounded store of events and labels, by the JSON of their ids.

    Both wait in the order in which they came. What is past a bound leaves from the front:
    an event is then *expired*, a label *unmatched*. An event whose id comes again expires
    too, and the newer one waits.

    Parameters
    ----------
    limit
        Most events, and most labels, that wait at once.
    seconds
        Longest wait, or None for any. Time is that of the records, so a stream that is
        read again is remembered alike.

    Attributes
    ----------
    clock
        The latest time that a record said.

    Examples
    --------
    >>> pending = Pending(limit=1)
    >>> for key in (b"7", b"8"):
    ...     pending.keep(key, PendingEvent({"x": 1.0}, 1.0, PriorPrediction({}, [0.5], 2)), time=0.0)
    >>> pending.expired, pending.event_of(b"7"), pending.event_of(b"8").record
    (1, None, {'x': 1.0})
    """

    def __init__(self, limit: int, seconds: float | None = None) -> None:
        self.limit = limit
        self.seconds = seconds
        self.clock = 0.0
        #: Labels that found their event, labels that did not, and events that left without.
        self.matched = self.unmatched = self.expired = 0
        self._events: OrderedDict[bytes, tuple[float, PendingEvent]] = OrderedDict()
        self._labels: OrderedDict[bytes, tuple[float, Label]] = OrderedDict()

    def keep(self, key: bytes, event: PendingEvent, time: float) -> None:
        """Let an event wait for its label."""
        self.expired += self._events.pop(key, None) is not None
        self._events[key] = (time, event)
        if len(self._events) > self.limit:
            self._events.popitem(last=False)
            self.expired += 1

    def event_of(self, key: bytes) -> PendingEvent | None:
        """The event of this id, which stays until ``settle``."""
        found = self._events.get(key)
        return found[1] if found else None

    def settle(self, key: bytes) -> None:
        """The label of a waiting event has come."""
        del self._events[key]
        self.matched += 1

    def keep_label(self, key: bytes, label: Label, time: float) -> None:
        """Let a label wait, whose event is still to come."""
        self.unmatched += self._labels.pop(key, None) is not None
        self._labels[key] = (time, label)
        if len(self._labels) > self.limit:
            self._labels.popitem(last=False)
            self.unmatched += 1

    def label_of(self, key: bytes) -> Label | None:
        """The label of this id that came before its event, which stays until ``settle_label``."""
        found = self._labels.get(key)
        return found[1] if found else None

    def settle_label(self, key: bytes) -> None:
        """The event of a waiting label has come."""
        del self._labels[key]
        self.matched += 1

    def tick(self, time: float | None) -> float:
        """The time, which never goes back, after a record that says it or does not."""
        if time is not None:
            self.clock = max(self.clock, time)
        return self.clock

    def expire(self, now: float) -> None:
        """Drop what has waited too long."""
        if self.seconds is None:
            return
        oldest = now - self.seconds
        while self._events and next(iter(self._events.values()))[0] < oldest:
            self._events.popitem(last=False)
            self.expired += 1
        while self._labels and next(iter(self._labels.values()))[0] < oldest:
            self._labels.popitem(last=False)
            self.unmatched += 1

    def summary(self) -> dict[str, int]:
        """What has become of events and labels; a label that still waits is unmatched so far."""
        return {
            "matched": self.matched,
            "unmatched": self.unmatched + len(self._labels),
            "expired": self.expired,
            "waiting": len(self._events),
        }

    def sizes(self) -> dict[str, int]:
        """How many of each wait."""
        return {"events": len(self._events), "labels": len(self._labels)}

    def state(self) -> dict[str, Any]:
        """All that waits, as JSON."""
        events = [
            [key.decode(), time, e.record, e.weight, e.prior.row, _finite(e.prior.scores), e.prior.known]
            for key, (time, e) in self._events.items()
        ]
        labels = [[key.decode(), time, label] for key, (time, label) in self._labels.items()]
        bounds = {"limit": self.limit, "seconds": self.seconds, "clock": self.clock}
        return {**bounds, "events": events, "labels": labels}

    @classmethod
    def resumed(cls, state: dict[str, Any], model: Model) -> Pending:
        """Go on with a ``state``, for a model.

        Raises
        ------
        KeyError, TypeError, ValueError
            If it is none.
        """
        seconds = None if state["seconds"] is None else finite(state["seconds"])
        pending = cls(natural(state["limit"]), seconds)
        pending.clock = finite(state["clock"])
        classes = len(model.classes) if isinstance(model, BaseClassifier) else 0
        # Of two classes there is one score; of a regression, a prediction and a deviation.
        widths = {1, *range(3, classes + 1)} if isinstance(model, BaseClassifier) else {1, 2}
        for key, time, record, weight, row, scores, known in state["events"]:
            numbers = [math.nan if s is None else finite(s) for s in scores]
            if len(numbers) not in widths:
                raise ValueError("a prediction of other classes than there are")
            prior = PriorPrediction(dict(row), numbers, natural(known))
            event = PendingEvent(dict(record), check_weight(weight), prior)
            pending._events[key.encode()] = (finite(time), event)
        for key, time, label in state["labels"]:
            pending._labels[key.encode()] = (finite(time), label)
        return pending


def _finite(scores: list[float]) -> list[float | None]:
    """Numbers as JSON has them."""
    return [s if math.isfinite(s) else None for s in scores]
