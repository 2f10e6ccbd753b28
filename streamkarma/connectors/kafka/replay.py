"""Learns again what was answered before a crash but is not in the model file yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from kafka import KafkaConsumer, TopicPartition, errors
from kafka.consumer.fetcher import ConsumerRecord

from streamkarma.connectors.base import Context
from streamkarma.connectors.kafka._private import TopicConsumer
from streamkarma.connectors.kafka.consumer import LEAVE_MS, READING
from streamkarma.connectors.kafka.errors import RetriableKafkaError
from streamkarma.connectors.kafka.journal import OffsetRange, offset_ranges
from streamkarma.connectors.kafka.offsets import Offsets
from streamkarma.connectors.kafka.shared_models import name_of
from streamkarma.connectors.kafka.start_offsets import id_changed, say_lost
from streamkarma.errors import RunError

if TYPE_CHECKING:
    from streamkarma.connectors.kafka.source import TopicSource

Replayed = Iterator[tuple[TopicPartition, list[ConsumerRecord]]]

#: How long one poll waits; signals are handled in between.
_POLL_MS = 200


def replay(source: TopicSource, context: Context, offsets: Offsets) -> Replayed:
    """Yield what was answered but is not in the model file, which is then written.

    Parameters
    ----------
    source, context
        The source, and the run.
    offsets
        The position of the model, which is advanced to what was answered.

    Raises
    ------
    RunError
        If another program has written to the group of the journal.
    RetriableKafkaError
        If a topic does not exist at the moment.
    InterruptedError
        If the user wants to stop.
    """
    group, journal_place = source.journal_home
    with ExitStack() as stack:
        reader, member = _reader(source, group, stack), _reader(source, source.at.group, stack)
        written = reader.committed(journal_place, metadata=True)
        committed = {tp: member.committed(tp, metadata=True) for tp in offsets.positions}
        mine = {
            tp: int(each.offset)
            for tp, each in committed.items()
            if each is not None and offsets.is_mine(tp.topic, each)
        }
        try:
            todo, ordered = owed(offsets.positions, written.metadata if written else "", mine)
        except ValueError as error:
            raise RunError(f"the group {group} was written to by another program: {error}") from error
        if not todo:
            return
        lost_before, read = dict(source.lost), Counter[TopicPartition]()
        todo = _still_there(todo, reader, source, offsets)
        if todo and not ordered:
            records = sum(end - begin for _, begin, end in todo)
            source.say(
                f"{context.model_path} is older than the predictions that were sent: {records} records are "
                "learned again, not in their original order"
            )
        if todo:
            for tp, found in read_ranges(reader, todo, partial(say_lost, source), source.stopped):
                read[tp] += len(found)
                yield tp, found
    if ordered and written and context.last < written.offset:
        _say_compacted(source, todo, read, lost_before, int(written.offset) - context.last)
        # These numbers are taken.
        context.number_from(int(written.offset) + 1)
    offsets.positions |= {span.partition: span.end for span in todo}
    offsets.save()


def _say_compacted(
    source: TopicSource,
    todo: list[OffsetRange],
    read: Mapping[TopicPartition, int],
    lost_before: Mapping[str, int],
    missing: int,
) -> None:
    """Report answered events that were compacted away since, rather than expired at the beginning of a topic.

    ``missing`` is the number of events that were answered but not learned again. Not every offset is an
    event: transaction markers have offsets, too.
    """
    missing -= sum(source.lost.values()) - sum(lost_before.values())
    for tp in sorted({span.partition for span in todo}):
        name = name_of(*tp)
        there = read[tp] + source.lost.get(name, 0) - lost_before.get(name, 0)
        gone = sum(end - begin for partition, begin, end in todo if partition == tp) - there
        if (lost := min(gone, missing)) > 0:
            missing -= lost
            source.count_lost(tp, lost)
            source.say(
                f"topic {tp.topic}, partition {tp.partition}: {lost} records that were answered but are not "
                "in the model are lost: they were compacted away before they could be learned again"
            )


def _reader(source: TopicSource, group: str, stack: ExitStack) -> TopicConsumer:
    """A consumer with access to the offsets of a group, without joining it."""
    settings = {**source.settings.consumer(), **READING}
    settings.pop("group_instance_id", None)
    reader = source.connect(TopicConsumer, **settings, group_id=group)
    stack.callback(reader.close, autocommit=False, timeout_ms=LEAVE_MS)
    return reader


def _still_there(
    todo: list[OffsetRange], reader: TopicConsumer, source: TopicSource, offsets: Offsets
) -> list[OffsetRange]:
    """The ranges that can be learned again, without those of deleted topics."""
    there = reader.topics() if todo else set()
    for topic in sorted({span.partition.topic for span in todo}):
        if topic not in there and (source.topics.pattern is None or not there):
            raise RetriableKafkaError(f"there is no topic {topic}")
        if topic in there and not offsets.is_another(topic, reader.topic_id(topic)):
            continue
        lost = [span for span in todo if span.partition.topic == topic]
        todo = [span for span in todo if span not in lost]
        for partition, begin, end in lost:
            source.count_lost(partition, end - begin)
        what = id_changed(topic) if topic in there else f"topic {topic} is gone"
        records = sum(end - begin for _, begin, end in lost)
        source.say(
            f"{what}: {records} records that were answered but are not in the model cannot be learned again"
        )
    return todo


def owed(
    positions: Mapping[TopicPartition, int],
    journal: str,
    committed: Mapping[TopicPartition, int],
) -> tuple[list[OffsetRange], bool]:
    """What was answered but is not in a model with these ``positions``.

    Parameters
    ----------
    journal
        The last journal of this model's process, or "".
    committed
        Offsets that this model's process has committed.

    Returns
    -------
    The ranges to learn again, and whether they are in the original order. They are if the journal begins
    at the model's position and covers everything. If the file is an older copy, only the order within
    partitions is known.
    """
    runs = offset_ranges(journal) if journal else []
    begins = {run.partition: run.begin for run in reversed(runs)}
    reached = dict(positions)
    if any(positions.get(partition) != begin for partition, begin in begins.items()):
        runs = []
    reached |= {run.partition: run.end for run in runs}
    late = [
        OffsetRange(partition, reached[partition], offset)
        for partition, offset in sorted(committed.items())
        if offset > reached.get(partition, offset)
    ]
    return [*late, *runs], not late


def read_ranges(
    reader: KafkaConsumer,
    todo: Sequence[OffsetRange],
    lost: Callable[[TopicPartition, int, int], None],
    stopped: Callable[[], bool],
) -> Replayed:
    """Yield the records of offset ranges in order.

    Parameters
    ----------
    reader
        A consumer that has not joined a group.
    todo
        The ranges to read.
    lost
        Called with ranges of offsets that the topic no longer has.
    stopped
        Returns whether the user wants to stop.

    Raises
    ------
    InterruptedError
        If the user wants to stop.
    """
    partitions = sorted({span.partition for span in todo})
    reader.assign(partitions)
    reader.pause(*partitions)
    beginnings = reader.beginning_offsets(partitions)
    kept: dict[TopicPartition, list[ConsumerRecord]] = {partition: [] for partition in partitions}
    for partition in partitions:
        begin = next(span.begin for span in todo if span.partition == partition)
        if begin < beginnings[partition]:
            lost(partition, begin, beginnings[partition])
        reader.seek(partition, max(begin, beginnings[partition]))
    for partition, _, end in todo:
        while kept[partition] or reader.position(partition) < end:
            if not kept[partition]:
                reader.resume(partition)
                try:
                    kept[partition] = reader.poll(timeout_ms=_POLL_MS).get(partition, [])
                except errors.OffsetOutOfRangeError:
                    there = reader.beginning_offsets([partition])[partition]
                    lost(partition, reader.position(partition), there)
                    reader.seek(partition, there)
                reader.pause(partition)
            if stopped():
                raise InterruptedError
            records = [record for record in kept[partition] if record.offset < end]
            kept[partition] = kept[partition][len(records) :]
            if records:
                yield partition, records
            if kept[partition]:
                break
