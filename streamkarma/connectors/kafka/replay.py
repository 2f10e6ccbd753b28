"""Learn again what was answered before a crash and is not in the model file yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial

from kafka import KafkaConsumer, TopicPartition, errors
from kafka.consumer.fetcher import ConsumerRecord

from streamkarma.connectors.kafka.connection import SetbackError
from streamkarma.connectors.kafka.consumer import LEAVE_MS, READING, TopicConsumer
from streamkarma.connectors.kafka.journal import Stretch, stretches
from streamkarma.connectors.kafka.offsets import Ledger
from streamkarma.connectors.kafka.source import Job
from streamkarma.connectors.kafka.start_offsets import id_changed, say_lost
from streamkarma.errors import RunError

#: How long one poll waits; in between signals are heeded.
_POLL_MS = 200


def catch_up(job: Job, ledger: Ledger, journal_home: tuple[str, TopicPartition],
             feed: Callable[[TopicPartition, list[ConsumerRecord]], None]) -> None:  # fmt: skip
    """Learn again, silently, what was answered and is not in the model file.

    Parameters
    ----------
    job, ledger
        What is worked on, and how far it has got; brought up to what was answered, and saved.
    journal_home
        Group and partition whose offset carries the journal.
    feed
        Takes the records.

    Raises
    ------
    RunError
        If somebody else has written to the group of the journal.
    SetbackError
        If a topic is not there just now.
    """
    group, journal_place = journal_home
    with ExitStack() as stack:
        reader, member = _reader(job, group, stack), _reader(job, job.at.group, stack)
        written = reader.committed(journal_place, metadata=True)
        committed = {tp: member.committed(tp, metadata=True) for tp in ledger.positions}
        mine = {
            tp: int(each.offset)
            for tp, each in committed.items()
            if each is not None and ledger.is_mine(tp.topic, each)
        }
        try:
            todo, ordered = owed(ledger.positions, written.metadata if written else "", mine)
        except ValueError as error:
            raise RunError(f"the group {group} was written to by somebody else: {error}") from error
        todo = _still_there(todo, reader, job, ledger)
        if not todo:
            return
        if not ordered:
            records = sum(end - begin for _, begin, end in todo)
            job.say(
                f"{job.path} is older than the predictions that were sent: {records} records are "
                "learned again, not in the order in which they were learned first"
            )
        replay(reader, todo, feed, partial(say_lost, job), job.stopped)
    ledger.positions |= {stretch.partition: stretch.end for stretch in todo}
    ledger.save()


def _reader(job: Job, group: str, stack: ExitStack) -> TopicConsumer:
    """A consumer with the offsets of a group, which it does not join."""
    settings = {**job.settings.consumer(), **READING}
    settings.pop("group_instance_id", None)
    reader = job.connect(TopicConsumer, **settings, group_id=group)
    stack.callback(reader.close, autocommit=False, timeout_ms=LEAVE_MS)
    return reader


def _still_there(todo: list[Stretch], reader: TopicConsumer, job: Job, ledger: Ledger) -> list[Stretch]:
    """What can be learned again: the records of a topic that was deleted have gone with it."""
    there = reader.topics() if todo else set()
    for topic in sorted({stretch.partition.topic for stretch in todo}):
        if topic not in there and (job.topics.pattern is None or not there):
            raise SetbackError(f"there is no topic {topic}")
        if topic in there and not ledger.is_another(topic, reader.topic_id(topic)):
            continue
        lost = [stretch for stretch in todo if stretch.partition.topic == topic]
        todo = [stretch for stretch in todo if stretch not in lost]
        for (_, number), begin, end in lost:
            name = f"{topic}/{number}"
            job.lost[name] = job.lost.get(name, 0) + end - begin
        what = id_changed(topic) if topic in there else f"topic {topic} is gone"
        job.say(f"{what}: {sum(end - begin for _, begin, end in lost)} records that were answered, and are "
                "not in the model, cannot be learned again")  # fmt: skip
    return todo


def owed(
    positions: Mapping[TopicPartition, int],
    journal: str,
    committed: Mapping[TopicPartition, int],
) -> tuple[list[Stretch], bool]:
    """What was answered and is not in a model that has got as far as ``positions``.

    Parameters
    ----------
    journal
        The last journal of this model's process, or "".
    committed
        Offsets that this model's process has committed.

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
        Stretch(partition, reached[partition], offset)
        for partition, offset in sorted(committed.items())
        if offset > reached.get(partition, offset)
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
