"""Start offsets of newly assigned partitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafka import TopicPartition

from streamkarma.connectors.kafka.offsets import Offsets

if TYPE_CHECKING:
    from streamkarma.connectors.kafka.source import TopicSource


def start(unpositioned: Iterable[TopicPartition], offsets: Offsets, source: TopicSource) -> None:
    """Start paused partitions at their start offsets.

    The start offset is the model's position; or the group's offset, if the model has none or another process
    has read the partition since; or else the one given by ``--from``, except that partitions added since this
    process was started are read from their beginning. Offsets of a topic that was deleted and recreated are
    ignored.
    """
    consumer = offsets.consumer
    mine = consumer.assignment()
    partitions = sorted(tp for tp in unpositioned if tp in mine)
    if not partitions:
        return
    _identify({tp.topic for tp in partitions}, offsets, source)
    beginnings, ends = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
    is_new = {tp: tp.partition >= source.partitions.get(tp.topic, 0) for tp in partitions}
    default = {
        tp: (beginnings if source.at.start == "earliest" or is_new[tp] else ends)[tp] for tp in partitions
    }
    for tp in partitions:
        wanted = offsets.wanted(tp)
        offset = default[tp] if wanted is None else wanted
        name = f"topic {tp.topic}, partition {tp.partition}"
        if source.ends is not None and ends[tp] < source.ends.get(tp, 0):
            # The topic was recreated since the start of the run, and may never grow that long again.
            source.ends[tp] = ends[tp]
        if offset > ends[tp]:
            source.say(
                f"{name}: offset {offset} is past its end, {ends[tp]}; was the topic recreated? "
                f"Reading starts at {default[tp]}, as --from {source.at.start} says"
            )
            offset = default[tp]
        elif offset < beginnings[tp]:
            say_lost(source, tp, offset, beginnings[tp])
            offset = beginnings[tp]
        offsets.start_at(tp, offset)
        consumer.seek(tp, offset)
        consumer.resume(tp)


def _identify(topics: set[str], offsets: Offsets, source: TopicSource) -> None:
    """Note the topics' ids, and drop the offsets of those whose id has changed."""
    # This always asks the brokers, and so updates the ids known to the consumer.
    offsets.consumer.topics()
    for topic in sorted(topics):
        topic_id = offsets.consumer.topic_id(topic)
        if offsets.is_another(topic, topic_id):
            if offsets.unsafe:
                offsets.commit(checkpoint=True)
            say_recreated(source, topic)
            offsets.forget(topic)
        if topic_id is not None:
            offsets.topic_ids[topic] = topic_id


def say_recreated(source: TopicSource, topic: str) -> None:
    """Tell the user that the offsets of a topic are no longer valid."""
    source.recreated.add(topic)
    where = "its beginning" if source.at.start == "earliest" else "its end"
    source.say(
        f"{id_changed(topic)}: its stored offsets are dropped, and it is read from {where} "
        f"(--from {source.at.start})"
    )


def id_changed(topic: str) -> str:
    """The message for a topic whose id has changed."""
    return f"the id of topic {topic} has changed (it was recreated, or this is another cluster)"


def say_lost(source: TopicSource, tp: TopicPartition, begin: int, end: int) -> None:
    """Tell the user about records that a topic no longer has, or that are skipped."""
    source.count_lost(tp, end - begin)
    source.say(
        f"topic {tp.topic}, partition {tp.partition}: offsets {begin} to {end - 1} are lost; "
        f"they expired before they were read; reading resumes at {end}"
    )
