"""The order in which partitions were processed since the last checkpoint, in compact form.

Kafka orders records within a partition, not across them. What a process has learned and answered since its
last checkpoint is therefore recorded, as runs of one partition after another, in the same transaction as the
answers; after a crash the same records can be learned again in the same order.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from kafka import TopicPartition

#: By default, a broker accepts 4096 bytes of metadata with an offset (offset.metadata.max.bytes). A journal
#: of this length calls for a checkpoint, after which it starts over.
ENOUGH = 3500
#: Maximum number of characters for a new partition, excluding its topic's name, and for a run.
_PARTITION, _RUN = 40, 30


class OffsetRange(NamedTuple):
    """A range of offsets of one partition, without its end."""

    partition: TopicPartition
    begin: int
    end: int


class Journal:
    """Offset ranges in the order in which they were learned.

    Examples
    --------
    >>> journal = Journal()
    >>> journal.add(TopicPartition("t", 0), 10, 15)
    >>> journal.add(TopicPartition("t", 1), 0, 3)
    >>> journal.add(TopicPartition("t", 0), 15, 16)
    >>> [(s.partition.partition, s.begin, s.end) for s in offset_ranges(journal.text())]
    [(0, 10, 15), (1, 0, 3), (0, 15, 16)]
    """

    def __init__(self) -> None:
        self._index: dict[TopicPartition, int] = {}
        self._begins: list[int] = []
        #: The end of the last range of each partition.
        self.ends: dict[TopicPartition, int] = {}
        self._runs: list[list[int]] = []
        self._size = 0

    def __bool__(self) -> bool:
        return bool(self._runs)

    def has_room(self, partition: TopicPartition) -> bool:
        """Whether another range of this partition fits."""
        more = 0 if partition in self._index else len(partition.topic) + _PARTITION
        return self._size + more + _RUN <= ENOUGH

    def add(self, partition: TopicPartition, begin: int, end: int) -> None:
        """Note that records were learned; ``begin`` matters only for the first range of a partition."""
        if partition not in self._index:
            self._index[partition] = len(self._begins)
            self._begins.append(begin)
            self._size += len(partition.topic) + _PARTITION
        index = self._index[partition]
        span = end - self.ends.get(partition, begin)
        self.ends[partition] = end
        if self._runs and self._runs[-1][0] == index:
            self._runs[-1][1] += span
        else:
            self._runs.append([index, span])
            self._size += len(f"{index},{span},") + 6

    def text(self) -> str:
        """The journal in its encoded form."""
        topics = sorted({tp.topic for tp in self._index})
        partitions = [
            [topics.index(tp.topic), tp.partition, begin]
            for tp, begin in zip(self._index, self._begins, strict=True)
        ]
        flat = [number for run in self._runs for number in run]
        return json.dumps([topics, partitions, flat], separators=(",", ":"))


def offset_ranges(text: str) -> list[OffsetRange]:
    """Decode a journal.

    Raises
    ------
    ValueError
        If it is invalid.
    """
    try:
        topics, partitions, flat = json.loads(text)
        names = [TopicPartition(str(topics[t]), int(number)) for t, number, _ in partitions]
        ends = [int(begin) for _, _, begin in partitions]
        result: list[OffsetRange] = []
        for index, span in zip(flat[::2], flat[1::2], strict=True):
            result.append(OffsetRange(names[index], ends[index], ends[index] + int(span)))
            ends[index] += int(span)
    except (TypeError, IndexError, ValueError, RecursionError) as error:
        raise ValueError(f"not a journal: {error}") from error
    return result


def sibling(group: str, name: str) -> str:
    """The name of a group for ``name`` that is coordinated by the same broker as ``group``.

    Java's hash of its name determines the broker that coordinates a group. A transaction that commits for two
    groups goes to both of their brokers, but kafka-python remembers only one. The name therefore ends in
    letters that give it the hash of ``group``.

    Examples
    --------
    >>> sibling("fraud", "model")
    'fraud.model.ABGLJAZR'
    """
    prefix = f"{group}.{name}."
    length = 8
    lacking = (_hash(group) - _hash(prefix) * pow(31, length, 1 << 32) - _hash("A" * length)) % (1 << 32)
    while True:
        # Eight letters have more combinations than there are hashes. The hash plus any multiple of 2**32
        # works; the first one that consists only of letters is taken.
        digits = [lacking // 31**place % 31 for place in reversed(range(length))]
        if max(digits) < 26:
            return prefix + "".join(chr(ord("A") + digit) for digit in digits)
        lacking += 1 << 32


def _hash(text: str) -> int:
    """Java's ``String.hashCode``, without its sign."""
    value = 0
    encoded = text.encode("utf-16-be")
    for unit in range(0, len(encoded), 2):
        value = (31 * value + int.from_bytes(encoded[unit : unit + 2], "big")) % (1 << 32)
    return value


def positions_from(state: Any) -> dict[TopicPartition, int]:
    """Next offsets by partition, from the state saved with a model.

    Raises
    ------
    AttributeError, TypeError, ValueError
        If the state is invalid.
    """
    return {
        TopicPartition(topic, int(number)): int(offset)
        for topic, partitions in state.items()
        for number, offset in partitions.items()
    }


def positions_state(positions: dict[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """The inverse of ``positions_from``, sorted."""
    state: dict[str, dict[str, int]] = {}
    for tp in sorted(positions):
        state.setdefault(tp.topic, {})[str(tp.partition)] = positions[tp]
    return state
