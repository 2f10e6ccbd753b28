"""Where a partition begins that has just come to this process."""

from __future__ import annotations

from collections.abc import Iterable

from kafka import TopicPartition

from streamkarma.connectors.kafka.offsets import Ledger
from streamkarma.connectors.kafka.source import Job
from streamkarma.connectors.kafka.tags import Tag


def place(fresh: Iterable[TopicPartition], ledger: Ledger, job: Job) -> None:
    """Tell partitions, which are paused, where they begin, and let them.

    That is the model's position; or the group's offset, if the model has none or another
    process has worked on the partition since; or else where ``--from`` says. Offsets of a topic
    that was deleted and recreated do not count.
    """
    consumer = ledger.consumer
    mine = consumer.assignment()
    partitions = sorted(tp for tp in fresh if tp in mine)
    if not partitions:
        return
    _identify({tp.topic for tp in partitions}, ledger, job)
    beginnings, ends = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
    default = beginnings if job.at.start == "earliest" else ends
    for tp in partitions:
        wanted = _wanted(tp, ledger, job)
        offset = default[tp] if wanted is None else wanted
        name = f"topic {tp.topic}, partition {tp.partition}"
        if offset > ends[tp]:
            job.say(
                f"{name}: offset {offset} is past its end, {ends[tp]}; was the topic made anew? "
                f"Read from {default[tp]}, as --from {job.at.start} says"
            )
            offset = default[tp]
        elif offset < beginnings[tp]:
            say_lost(job, tp, offset, default[tp])
            offset = default[tp]
        ledger.place(tp, offset)
        consumer.seek(tp, offset)
        consumer.resume(tp)


def _identify(topics: set[str], ledger: Ledger, job: Job) -> None:
    """Note the topics' ids, and drop the offsets of those whose id has changed."""
    # This always asks the brokers, and so brings the consumer's ids up to date.
    ledger.consumer.topics()
    for topic in sorted(topics):
        topic_id = ledger.consumer.topic_id(topic)
        if ledger.is_another(topic, topic_id):
            if ledger.unsafe:
                ledger.commit(checkpoint=True)
            say_recreated(job, topic)
            ledger.forget(topic)
        if topic_id is not None:
            ledger.topic_ids[topic] = topic_id


def say_recreated(job: Job, topic: str) -> None:
    """Tell the user that the offsets of a topic mean nothing any more."""
    job.recreated.add(topic)
    where = "its beginning" if job.at.start == "earliest" else "its end"
    job.say(
        f"{id_changed(topic)}: its stored offsets are dropped, and it is read from {where} "
        f"(--from {job.at.start})"
    )


def id_changed(topic: str) -> str:
    """In words, that a topic has another id."""
    return f"the id of topic {topic} has changed (it was recreated, or this is another cluster)"


def say_lost(job: Job, tp: TopicPartition, begin: int, end: int) -> None:
    """Tell the user of records that a topic no longer has, or that are passed over."""
    name = f"{tp.topic}/{tp.partition}"
    job.lost[name] = job.lost.get(name, 0) + end - begin
    job.say(
        f"topic {tp.topic}, partition {tp.partition}: offsets {begin} to {end - 1} are lost; "
        f"they were gone before they were read. Goes on at {end}"
    )


def _wanted(tp: TopicPartition, ledger: Ledger, job: Job) -> int | None:
    """Where the model or the group would have it begin."""
    committed = ledger.consumer.committed(tp, metadata=True)
    mine = ledger.positions.get(tp)
    if committed is None:
        return mine
    tag = Tag.read(committed.metadata)
    if ledger.is_another(tp.topic, tag.topic_id):
        return mine
    by_another = tag.instance not in (None, job.instance)
    if mine is None:
        return int(committed.offset)
    if not by_another or committed.offset <= mine:
        return mine
    job.say(
        f"topic {tp.topic}, partition {tp.partition}: goes on at {committed.offset}, where "
        f"{tag.instance} left it, and not at {mine}"
    )
    return int(committed.offset)
