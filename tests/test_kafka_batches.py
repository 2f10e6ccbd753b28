"""Records decoded and encoded by the engine: the same as kafka-python does itself."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka import TopicPartition, errors
from kafka.consumer.fetcher import Fetcher
from kafka.protocol.consumer import IsolationLevel
from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder
from kafka.record.util import calc_crc32c

from streamkarma.connectors.kafka import _private

PARTITION = TopicPartition("clicks", 3)
#: Of a batch: its attributes, and where what they and the checksum cover begins.
ATTRIBUTES, CHECKSUM = 21, 17
#: Bits of the attributes.
APPEND_TIME, TRANSACTIONAL, CONTROL = 0x08, 0x10, 0x20

maybe_bytes = st.none() | st.binary(max_size=200)
a_record = st.tuples(
    st.integers(0, 10_000),
    maybe_bytes,
    maybe_bytes,
    st.lists(st.tuples(st.text(max_size=5), maybe_bytes), max_size=2),
)
a_batch = st.tuples(
    st.lists(a_record, min_size=1, max_size=8),
    st.integers(0, 4),
    st.sampled_from([0, APPEND_TIME]),
    st.integers(0, 3),
)


#: What was taken in each step, and the position after it.
Steps = list[tuple[list[Any], int]]


class Aborted(NamedTuple):
    """A transaction that was aborted."""

    producer_id: int
    first_offset: int


def batch(
    records: list[Any],
    first: int,
    compression: int = 0,
    attributes: int = 0,
    producer_id: int = -1,
    missing: int = 0,
    magic: int = 2,
) -> bytearray:
    """A batch as a broker sends it; its last offsets may be ``missing``, as after compaction."""
    more = {} if producer_id < 0 else {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0}
    builder = MemoryRecordsBuilder(magic, compression, 1 << 20, 0 if magic > 1 else first, **more)
    for time, key, value, headers in records:
        assert builder.append(1_700_000_000_000 + time, key, value, headers) is not None
    builder.close()
    content = bytearray(builder.buffer())
    if magic > 1:
        struct.pack_into(">q", content, 0, first)
        content[ATTRIBUTES + 1] |= attributes
        struct.pack_into(">i", content, ATTRIBUTES + 2, len(records) - 1 + missing)
        seal(content)
    return content


def seal(content: bytearray) -> None:
    """Correct the checksum of a batch."""
    struct.pack_into(">I", content, CHECKSUM, calc_crc32c(bytes(content[ATTRIBUTES:])))


def fetched(
    kind: Any,
    content: bytes,
    begin: int = 0,
    level: IsolationLevel = IsolationLevel.READ_COMMITTED,
    aborted: Sequence[Aborted] = (),
) -> Any:
    """The records of a fetched partition."""
    return kind(
        begin,
        PARTITION,
        MemoryRecords(bytes(content)),
        isolation_level=level,
        aborted_transactions=list(aborted),
    )


def taken(records: Any, sizes: Sequence[int]) -> Steps:
    """What is taken in steps: the records without the sizes, and the position after each step."""
    steps = []
    for size in sizes:
        if not records:
            break
        found = [
            each._replace(serialized_key_size=0, serialized_value_size=0, serialized_header_size=0)
            for each in records.take(size)
        ]
        steps.append((found, records.next_fetch_offset))
    return steps


def both(content: bytes, sizes: Sequence[int] = (3, 1, 100, 100), **how: Any) -> list[Steps]:
    """What the engine's records and kafka-python's own give."""
    return [
        taken(fetched(kind, content, **how), sizes)
        for kind in (_private._DecodedRecords, Fetcher.PartitionRecords)
    ]


@given(st.lists(a_batch, min_size=1, max_size=4), st.integers(0, 5), st.lists(st.integers(1, 9), max_size=12))
def test_records_are_those_of_kafka_python(batches: list[Any], skipped: int, sizes: list[int]) -> None:
    """Whatever they hold, however they are compressed, and however they are taken."""
    content, first = b"", 100
    for records, compression, attributes, missing in batches:
        content += batch(records, first, compression, attributes, missing=missing)
        first += len(records) + missing
    ours, theirs = both(content, [*sizes, 1000, 1000], begin=100 + skipped)
    # Where a batch ends with offsets that are missing, kafka-python passes over them with the next record.
    assert [found for found, _ in ours] == [found for found, _ in theirs]
    assert all(mine >= their for (_, mine), (_, their) in zip(ours, theirs, strict=True))
    assert ours[-1] == theirs[-1]


def values(steps: Steps) -> list[bytes | None]:
    """The values of the records in steps."""
    return [each.value for found, _ in steps for each in found]


def end_of_transaction(kind: int, first: int, producer_id: int) -> bytearray:
    """The mark at the end of a transaction: 0 for aborted, 1 for committed."""
    mark = [(0, struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 0), [])]
    return batch(mark, first, attributes=TRANSACTIONAL | CONTROL, producer_id=producer_id)


@pytest.mark.parametrize("level", [IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED])
def test_aborted_records_and_marks_are_left_out(level: IsolationLevel) -> None:
    """Two producers, one of which aborts, and then commits."""
    one = [(0, None, b"%d" % k, []) for k in range(2)]
    content = batch(one, 0, attributes=TRANSACTIONAL, producer_id=7)
    content += batch(one, 2, attributes=TRANSACTIONAL, producer_id=8)
    content += end_of_transaction(0, 4, 7) + end_of_transaction(1, 5, 8)
    content += batch(one, 6, attributes=TRANSACTIONAL, producer_id=7) + end_of_transaction(1, 8, 7)
    ours, theirs = both(content, level=level, aborted=[Aborted(7, 0)])
    assert ours == theirs
    assert len(values(ours)) == (4 if level == IsolationLevel.READ_COMMITTED else 6)
    assert ours[-1][1] == 9


def test_records_from_before_kafka_0_11_are_read() -> None:
    """They have no batches, and may precede those that have."""
    old = [(k, b"k", b"old %d" % k, []) for k in range(3)]
    content = batch(old, 0, magic=1) + batch(old, 3) + batch(old, 6, magic=1)
    ours, theirs = both(content)
    assert ours == theirs
    assert len(values(ours)) == 9


def test_large_batches_are_decoded_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same result."""
    monkeypatch.setattr(_private, "_DECODED", 4)
    content = batch([(k, b"%d" % k, None, []) for k in range(18)], 5, compression=4)
    ours, theirs = both(content, [7, 2, 100])
    assert ours == theirs


def test_a_wrong_checksum_is_told() -> None:
    """No record of the batch is given out."""
    content = batch([(0, None, b"good", [])], 0) + batch([(0, None, b"bad", [])], 1)
    content[-3] ^= 1
    records = fetched(_private._DecodedRecords, content)
    assert [each.value for each in records.take(9)] == [b"good"]
    with pytest.raises(errors.CorruptRecordError, match="clicks, partition 3: .* offset 1 to 1 do not match"):
        records.take(9)


def test_a_malformed_record_is_told_after_those_before_it() -> None:
    """Also if the checksum matches."""
    content = batch([(0, None, b"good", []), (0, None, b"bad", [])], 0)
    content[-5] += 2  # the size of the value
    seal(content)
    records = fetched(_private._DecodedRecords, content)
    assert [each.value for each in records.take(9)] == [b"good"]
    with pytest.raises(errors.CorruptRecordError, match="are malformed"):
        records.take(9)


def test_bytes_after_the_last_record_are_told() -> None:
    """Their number is in the header of the batch."""
    content = batch([(0, None, b"one", []), (0, None, b"two", [])], 0)
    struct.pack_into(">i", content, 57, 1)
    seal(content)
    records = fetched(_private._DecodedRecords, content)
    assert [each.value for each in records.take(9)] == [b"one"]
    with pytest.raises(errors.CorruptRecordError, match="are followed by other bytes"):
        records.take(9)


@given(
    st.lists(st.tuples(maybe_bytes, st.binary(max_size=200)), max_size=30),
    st.integers(1, 2000),
    st.integers(-10, 100_000),
)
def test_batches_are_filled_as_kafka_python_fills_them(
    more: list[tuple[bytes | None, bytes]], size: int, later: int
) -> None:
    """As many records, and the same bytes."""
    now = 1_700_000_000_000
    ours, theirs = (MemoryRecordsBuilder(2, 0, size) for _ in range(2))
    for builder in (ours, theirs):
        builder.append(now, b"k", b"the first", [])
    filled = _private._fill(ours, now + later, more)
    fitting = takewhile(lambda each: theirs.append(now + later, *each, []) is not None, more)
    assert filled == sum(1 for _ in fitting)
    assert ours.next_offset() == theirs.next_offset()
    ours.close()
    theirs.close()
    assert ours.buffer() == theirs.buffer()
    assert _private._fill(ours, now, more) == 0
