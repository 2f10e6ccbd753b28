"""The order of learning since the last checkpoint, and how it is used after a crash."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka import TopicPartition

from streamkarma.connectors.kafka.journal import ENOUGH, Journal, OffsetRange, offset_ranges, sibling
from streamkarma.connectors.kafka.replay import owed
from streamkarma.connectors.kafka.topics import Topics
from streamkarma.errors import UsageError

partitions = st.builds(TopicPartition, st.sampled_from(["a", "b", "x" * 249]), st.integers(0, 60))
steps = st.lists(st.tuples(partitions, st.integers(1, 10**6)), max_size=400)


def written(
    steps: list[tuple[TopicPartition, int]], start: int
) -> tuple[Journal, list[tuple[TopicPartition, int]]]:
    """A journal filled as far as possible, and the steps it holds."""
    journal, held = Journal(), []
    ends: dict[TopicPartition, int] = {}
    for partition, span in steps:
        if not journal.has_room(partition):
            break
        begin = ends.get(partition, start)
        ends[partition] = begin + span
        journal.add(partition, begin, begin + span)
        held.append((partition, span))
    assert journal.ends == ends
    return journal, held


@given(steps, st.integers(0, 10**15))
def test_what_is_written_is_read(steps: list[tuple[TopicPartition, int]], start: int) -> None:
    journal, held = written(steps, start)
    text = journal.text()
    # Never more than a broker accepts, however it was filled.
    assert len(text) <= ENOUGH + 100 < 4096
    order = [(s.partition, offset) for s in offset_ranges(text) for offset in (s.begin, s.end)]
    position: dict[TopicPartition, int] = {}
    expected: list[tuple[TopicPartition, int]] = []
    for partition, span in held:
        begin = position.get(partition, start)
        position[partition] = begin + span
        if expected and expected[-1] == (partition, begin):
            expected[-1] = (partition, begin + span)
        else:
            expected += [(partition, begin), (partition, begin + span)]
    assert order == expected


@pytest.mark.parametrize(
    "text", ["", "x", "[1]", '[["a"],[[3,0,0]],[0,1]]', '[["a"],[[0,0,0]],[0]]', "[" * 9999]
)
def test_what_is_no_journal(text: str) -> None:
    with pytest.raises(ValueError, match="not a journal"):
        offset_ranges(text)


def test_what_is_owed() -> None:
    a, b = TopicPartition("t", 0), TopicPartition("t", 1)
    journal = Journal()
    for partition, begin, end in ((a, 5, 8), (b, 2, 4), (a, 8, 9)):
        journal.add(partition, begin, end)
    runs = [OffsetRange(a, 5, 8), OffsetRange(b, 2, 4), OffsetRange(a, 8, 9)]
    # The model is at the beginning of the journal.
    assert owed({a: 5, b: 2}, journal.text(), {a: 9, b: 4}) == (runs, True)
    # It is at its end: saved in time.
    assert owed({a: 9, b: 4}, journal.text(), {a: 9, b: 4}) == ([], True)
    # It is older than both: only the order within partitions is known.
    assert owed({a: 3, b: 2}, journal.text(), {a: 9, b: 4}) == (
        [OffsetRange(a, 3, 9), OffsetRange(b, 2, 4)],
        False,
    )
    # The journal continues from there, but does not cover everything: an older copy again.
    assert owed({a: 5, b: 2}, journal.text(), {a: 9, b: 7}) == ([OffsetRange(b, 4, 7), *runs], False)
    # It is new: nothing in it was answered.
    assert owed({}, journal.text(), {a: 9, b: 4}) == ([], True)
    # What another process has committed is not learned by this one.
    assert owed({a: 3, b: 2}, "", {}) == ([], True)


def java_hash(text: str) -> int:
    """As in the documentation of java.lang.String."""
    units = text.encode("utf-16-be")
    codes = [int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2)]
    return sum(code * 31 ** (len(codes) - 1 - i) for i, code in enumerate(codes)) % 2**32


@given(st.text(min_size=1, max_size=60), st.from_regex(r"[a-zA-Z0-9._-]{1,40}", fullmatch=True))
def test_the_journal_is_kept_where_the_group_is(group: str, name: str) -> None:
    group = group.encode("utf-8", "replace").decode()
    other = sibling(group, name)
    assert other.startswith(f"{group}.{name}.")
    assert java_hash(other) == java_hash(group)


def test_names_and_patterns() -> None:
    there = {"events", "events-eu", "labels", "out", "other.events"}
    assert Topics.of(["events", "nope"], None, [None]).matching(there) == {"events"}
    assert Topics.of(["events.*"], "labels", ["out"]).matching(there) == {"events", "events-eu"}
    assert Topics.of(["^(?!out).*"], "labels", ["out"]).matching(there) == there - {"out", "labels"}
    assert Topics.of([".*|x"], "labels", ["events"]).matching(there) == there - {"events", "labels"}
    for given_, labels, written_ in (
        (["a*", "b"], None, []),
        (["(a"], None, []),
        (["a"], None, ["a"]),
        (["a"], "b", ["b"]),
        (["a"], None, ["b", "b", None]),
    ):
        with pytest.raises(UsageError):
            Topics.of(given_, labels, written_)


@pytest.mark.parametrize("name", ["a b", "a/b", "ä", "x" * 250, ".", "..", "a\n"])
def test_what_is_written_to_has_a_name_that_kafka_takes(name: str) -> None:
    for labels, written_ in ((name, [None]), (None, [None, name])):
        with pytest.raises(UsageError, match="no topic can have the name .{,70}: expected at most 249"):
            Topics.of(["a"], labels, written_)
    Topics.of(["a"], "x" * 249, ["A.b_c-9"])


def test_a_topic_of_events_is_none_of_labels() -> None:
    with pytest.raises(UsageError, match="a cannot be both a topic of events and the --label-topic"):
        Topics.of(["a", "b"], "a", [None])
