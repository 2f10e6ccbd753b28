"""The first and end offsets of partitions, from the Kafka client that Spark uses itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from streamkarma.spark.session import translated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Key = tuple[str, int]

_BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"


def bounds(
    spark: SparkSession, brokers: str, settings: Mapping[str, str], keys: Iterable[Key]
) -> dict[Key, tuple[int, int]]:
    """The first available offset and the end offset of each partition.

    Raises
    ------
    RunError
        If the brokers do not answer.
    """
    # Spark's client is accessible only through its gateway to Java.
    java = spark._jvm
    assert java is not None
    with translated():
        given = java.java.util.HashMap()
        own = {"bootstrap.servers": brokers, "key.deserializer": _BYTES, "value.deserializer": _BYTES}
        for name, value in {**settings, **own}.items():
            given.put(name, value)
        partitions = java.java.util.ArrayList()
        for topic, number in keys:
            partitions.add(java.org.apache.kafka.common.TopicPartition(topic, number))
        consumer = java.org.apache.kafka.clients.consumer.KafkaConsumer(given)
        try:
            begins, ends = consumer.beginningOffsets(partitions), consumer.endOffsets(partitions)
        finally:
            consumer.close()
        return {(tp.topic(), tp.partition()): (begin, ends[tp]) for tp, begin in begins.items()}
