"""Learn again what was answered before a crash and is not in the model file yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kafka import KafkaConsumer, TopicPartition, errors
from kafka.consumer.fetcher import ConsumerRecord
from kafka.structs import OffsetAndMetadata

from streamkarma.runtime.journal import Stretch, stretches

#: How long one poll waits; in between signals are heeded.
_POLL_MS = 200


def owed(
    positions: Mapping[TopicPartition, int],
    journal: str,
    committed: Mapping[TopicPartition, OffsetAndMetadata],
    tag: str,
) -> tuple[list[Stretch], bool]:
    """What was answered and is not in a model that has got as far as ``positions``.

    Parameters
    ----------
    journal
        The last journal of this model's process, or "".
    committed
        What the group has committed.
    tag
        What marks a commit as one of this model's process.

    Returns
    -------
    The stretches to learn again, and whether they are in the order in which they were learned.
    They are if the journal begins where the model is, and there is nothing else. If the file is an
    older copy, there is no order but that of the partitions.
    """
    runs = stretches(journal) if journal else []
    begins = {run.partition: run.begin for run in reversed(runs)}
    reached = dict(positions)
    if any(positions.get(partition) != begin for partition, begin in begins.items()):
        runs = []
    reached |= {run.partition: run.end for run in runs}
    late = [
        Stretch(partition, reached[partition], there.offset)
        for partition, there in sorted(committed.items())
        if there.metadata == tag and there.offset > reached.get(partition, there.offset)
    ]
    return [*late, *runs], not late


def replay(
    reader: KafkaConsumer,
    todo: Sequence[Stretch],
    feed: Callable[[TopicPartition, list[ConsumerRecord]], None],
    lost: Callable[[TopicPartition, int, int], None],
    stopped: Callable[[], bool],
) -> None:
    """Read stretches in their order.

    Parameters
    ----------
    reader
        A consumer that has joined no group.
    todo
        What to read.
    feed
        Takes the records.
    lost
        Told of offsets, from one up to another, that the topic no longer has.
    stopped
        Whether the user wants to leave.

    Raises
    ------
    InterruptedError
        If the user wanted to leave before.
    """
    partitions = sorted({stretch.partition for stretch in todo})
    reader.assign(partitions)
    reader.pause(*partitions)
    beginnings = reader.beginning_offsets(partitions)
    kept: dict[TopicPartition, list[ConsumerRecord]] = {partition: [] for partition in partitions}
    for partition in partitions:
        begin = next(stretch.begin for stretch in todo if stretch.partition == partition)
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
                feed(partition, records)
            if kept[partition]:
                break
