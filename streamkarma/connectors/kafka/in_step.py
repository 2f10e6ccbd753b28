"""Events and their late labels, read in step by the times of their records."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from kafka import KafkaConsumer, TopicPartition, errors
from kafka.consumer.fetcher import ConsumerRecord

from streamkarma.connectors.kafka.consumer import Polled

#: A partition with this many records held back is paused.
_MOST_HELD = 5000
#: Events of a partition may be this many ahead of the labels, but all together only this share of the events
#: that may wait. Otherwise blocks would be tiny where events and labels alternate.
_AHEAD, _SHARE_AHEAD = 100, 0.25
#: The earliest of this many records counts, so that a wrong time in the future does not hold up a partition.
_NEXT = 10
#: How long to wait for records that a partition has but does not deliver, since its broker may be gone.
_PATIENCE_SECONDS = 2.0


class _End(NamedTuple):
    """The end offset of a partition that holds up others, and when it was asked for."""

    offset: int
    asked: float


class InStep:
    """Puts polled records in an order in which labels follow their events, also with a backlog.

    What is ahead of the other side is held back until the other side has caught up, has no more records, or
    does not deliver them. Labels are never ahead of events; events are ahead of labels by a bounded number.

    Parameters
    ----------
    consumer
        The consumer, which is paused where too much is held back.
    labels
        The topic of labels.
    pending
        Maximum number of events that wait for their labels.
    """

    def __init__(self, consumer: KafkaConsumer, labels: str, pending: int) -> None:
        self._consumer, self._labels, self._pending = consumer, labels, pending
        self._held: dict[TopicPartition, deque[ConsumerRecord]] = {}
        self._paused: set[TopicPartition] = set()
        self._ends: dict[TopicPartition, _End] = {}

    def __bool__(self) -> bool:
        """Whether records are held back."""
        return any(self._held.values())

    def holds(self, partition: TopicPartition) -> bool:
        """Whether records of a partition are held back."""
        return bool(self._held.get(partition))

    def keep_only(self, partitions: Iterable[TopicPartition]) -> None:
        """Drop the records of other partitions, which are read again from their positions, if at all."""
        kept = set(partitions)
        self._held = {tp: self._held.get(tp) or deque() for tp in sorted(kept)}
        self._ends = {tp: end for tp, end in self._ends.items() if tp in kept}
        # Whoever drops a partition has paused it, or has lost it.
        self._paused &= kept

    def take(self, polled: Polled) -> Iterator[tuple[TopicPartition, list[ConsumerRecord]]]:
        """Yield the records whose turn it is, of these and of those held back."""
        for tp in polled.keys() & self._held.keys():
            self._held[tp].extend(polled[tp])
            self._ends.pop(tp, None)
        labels = [tp for tp in self._held if tp.topic == self._labels]
        events = [tp for tp in self._held if tp.topic != self._labels]
        ahead = min(_AHEAD, int(_SHARE_AHEAD * self._pending / max(1, len(events))))
        some = True
        while some:
            some = False
            for tp, records in self._next(events, labels, 0, max(1, ahead)):
                some = True
                yield tp, records
            # A label of the same millisecond comes after its event.
            for tp, records in self._next(labels, events, 1, 1):
                some = True
                yield tp, records
        self._pause()

    def _next(
        self, partitions: list[TopicPartition], others: list[TopicPartition], before: int, least: int
    ) -> Iterator[tuple[TopicPartition, list[ConsumerRecord]]]:
        """Yield the next records up to what was reached in others, or to this many milliseconds before it."""
        held = [tp for tp in partitions if self._held[tp]]
        # Asking how far others are takes time.
        limit = self._earliest(others) - before if held else 0.0
        for tp in held:
            if records := self._until(tp, limit, least):
                yield tp, records

    def _until(self, tp: TopicPartition, limit: float, least: int) -> list[ConsumerRecord]:
        """The next records of a partition up to a time, or ``least`` of them; none if the first is later."""
        held = self._held[tp]
        records: list[ConsumerRecord] = []
        if _time(held) <= limit:
            while held and (len(records) < least or held[0].timestamp <= limit):
                records.append(held.popleft())
        return records

    def _earliest(self, partitions: Iterable[TopicPartition]) -> float:
        """The time up to which all records of these partitions were taken."""
        return min(map(self._reached, partitions), default=float("inf"))

    def _reached(self, tp: TopicPartition) -> float:
        if held := self._held[tp]:
            return _time(held)
        return float("-inf") if self._is_behind(tp) else float("inf")

    def _is_behind(self, tp: TopicPartition) -> bool:
        """Whether a partition without polled records has more of them to wait for."""
        position = self._consumer.position(tp, timeout_ms=1000) or 0
        if tp not in self._ends:
            known = self._consumer.highwater(tp)
            if known is not None and known <= position:
                return False
            # An open transaction is below the high watermark, but nobody can read it yet.
            self._ends[tp] = _End(self._end(tp), time.monotonic())
        end, asked = self._ends[tp]
        return position < end and time.monotonic() - asked < _PATIENCE_SECONDS

    def _end(self, tp: TopicPartition) -> int:
        """The offset up to which a partition can be read now; 0 if its broker does not answer."""
        try:
            milliseconds = int(1000 * _PATIENCE_SECONDS)
            end: int = self._consumer.end_offsets([tp], timeout_ms=milliseconds)[tp]
        except errors.KafkaTimeoutError:
            return 0
        return end

    def _pause(self) -> None:
        """Pause the partitions of which enough is held back, and resume the others."""
        full = {tp for tp, held in self._held.items() if len(held) >= _MOST_HELD}
        self._consumer.pause(*full - self._paused)
        self._consumer.resume(*self._paused - full)
        self._paused = full


def _time(held: deque[ConsumerRecord]) -> int:
    return min(int(record.timestamp) for record in islice(held, _NEXT))
