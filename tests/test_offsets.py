"""What is committed to a group, with and without a transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import TopicPartition, errors
from kafka.structs import OffsetAndMetadata

from streamkarma.connectors.kafka.journal import offset_ranges
from streamkarma.connectors.kafka.offsets import Offsets

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class Group:
    """A consumer, as far as Offsets uses it."""

    def __init__(self) -> None:
        self.told: dict[TopicPartition, int] = {}
        #: Error raised by the next commit.
        self.trouble: errors.KafkaError | None = None

    def assignment(self) -> set[TopicPartition]:
        return {A, B}

    def group_metadata(self) -> None:
        """Its content is not used."""

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_ms: int = 0) -> None:
        trouble, self.trouble = self.trouble, None
        if trouble is not None:
            raise trouble
        self.told |= {tp: each.offset for tp, each in offsets.items()}

    async def commit_async(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self.commit(offsets)


@pytest.fixture
def group() -> Group:
    return Group()


@pytest.fixture
def saved() -> list[dict[str, Any]]:
    """Snapshots written instead of a file."""
    return []


@pytest.fixture
def offsets(group: Group, saved: list[dict[str, Any]]) -> Offsets:
    """Offsets that are written to no file."""
    context: Any = SimpleNamespace(checkpoint_due=True, last=0)
    source: Any = SimpleNamespace(
        instance="i", committed=lambda: None, stored=lambda: None, journal_home=("journal", A)
    )
    made = Offsets(source, context)
    context.checkpoint = lambda: saved.append(made.snapshot())
    made.consumer = group
    return made


def test_what_is_in_the_file_when_a_partition_comes_is_told(group: Group, offsets: Offsets) -> None:
    offsets.start_at(A, 3)
    offsets.note(A, 3, 10)
    offsets.start_at(B, 5)
    # The file is written because of B, and contains A's events, too.
    offsets.maybe_commit(quiet=False)
    assert (group.told, offsets.unsafe) == ({A: 10, B: 5}, False)


def test_where_a_partition_begins_is_written_also_if_that_has_to_wait_for_a_rebalance(
    group: Group, offsets: Offsets, saved: list[dict[str, Any]]
) -> None:
    group.trouble = errors.RebalanceInProgressError()
    offsets.start_at(A, 3)
    offsets.maybe_commit(quiet=True)
    assert saved == []
    offsets.maybe_commit(quiet=True)
    assert saved == [{"kafka": {"t": {"0": 3}}}]
    # Once is enough.
    offsets.start_at(A, 3)
    offsets.maybe_commit(quiet=True)
    assert len(saved) == 1


def test_where_partitions_begin_goes_with_the_next_transaction_once_it_is_in_the_file(
    group: Group, offsets: Offsets, saved: list[dict[str, Any]]
) -> None:
    sent: list[dict[TopicPartition, int]] = []
    sink: Any = SimpleNamespace(
        commit=lambda mine, journal: sent.append({tp: each.offset for tp, each in mine[0].items()})
    )
    offsets.sink = sink
    offsets.start_at(A, 3)
    offsets.start_at(B, 5)
    offsets.commit(checkpoint=True)
    assert (sent, saved) == ([], [{"kafka": {"t": {"0": 3, "1": 5}}}])
    offsets.note(A, 3, 10)
    offsets.commit(checkpoint=False)
    assert sent == [{A: 10, B: 5}]
    offsets.start_at(B, 7)
    offsets.note(B, 7, 8)
    offsets.commit(checkpoint=True)
    # Once records of a partition are learned, their end is committed; a checkpoint commits the other starts.
    offsets.start_at(A, 20)
    offsets.commit(checkpoint=True)
    offsets.commit(checkpoint=True)
    offsets.commit(checkpoint=True)
    assert sent[1:] == [{A: 10, B: 8}, {A: 20}]
    offsets.start_at(A, 30)
    offsets.commit(checkpoint=True)
    offsets.discard()
    offsets.commit(checkpoint=True)
    assert len(sent) == 3
    # An idle process commits all its positions to the group.
    offsets.start_at(A, 40)
    offsets.commit(checkpoint=True)
    offsets._confirmed = 0.0
    offsets.maybe_commit(quiet=True)
    assert group.told == {A: 40, B: 8}
    offsets.commit(checkpoint=True)
    assert len(sent) == 3


def test_what_nobody_can_read_goes_into_the_file_without_a_transaction(
    offsets: Offsets, saved: list[dict[str, Any]]
) -> None:
    sent: list[dict[TopicPartition, int]] = []
    sink: Any = SimpleNamespace(
        commit=lambda mine, journal: sent.append({tp: each.offset for tp, each in mine[0].items()})
    )
    offsets.sink = sink
    offsets.note(A, 0, 10)
    offsets.commit(checkpoint=False)
    offsets.skip(A, 12)
    offsets.commit(checkpoint=False)
    offsets.commit(checkpoint=True)
    assert (sent, saved) == ([{A: 10}], [{"kafka": {"t": {"0": 12}}}])
    # What is learned next begins where the file says, so that it can be learned again in its order.
    offsets.note(A, 12, 15)
    assert offset_ranges(offsets._journal.text()) == [(A, 12, 15)]


def test_what_the_brokers_did_not_hear_is_told_again(group: Group, offsets: Offsets) -> None:
    offsets.note(A, 0, 10)
    group.trouble = errors.KafkaTimeoutError()
    offsets.commit(checkpoint=True)
    assert (group.told, offsets.unsafe) == ({}, False)
    offsets.commit(checkpoint=True)
    assert group.told == {A: 10}


@pytest.mark.parametrize("trouble", [None, errors.KafkaTimeoutError()])
def test_partitions_that_have_left_are_told_of_no_more(
    group: Group, offsets: Offsets, trouble: errors.KafkaError | None
) -> None:
    offsets.note(A, 0, 10)
    group.trouble = trouble
    asyncio.run(offsets.before_leaving())
    assert group.told == ({} if trouble else {A: 10})
    group.told = {A: 99}  # by its new owner
    offsets.note(B, 0, 4)
    offsets.commit(checkpoint=True)
    assert group.told == {A: 99, B: 4}
