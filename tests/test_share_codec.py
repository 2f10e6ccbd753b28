"""Models in a topic: what is written is read, and what was tampered with is not."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamkarma.connectors.kafka import shared_models
from streamkarma.connectors.kafka.shared_models import BASE, ModelSnapshot, TopicModels, chunk_key, encode

NAME, EPOCH = "events/3", "e1"

snapshots = st.builds(
    ModelSnapshot,
    st.just(EPOCH),
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**53),
    st.none() | st.just("yPxZ"),
    st.binary(max_size=300),
)


def snapshot(content: bytes, next: int = 7, epoch: str = EPOCH) -> ModelSnapshot:
    return ModelSnapshot(epoch, next, 5, None, content)


def put(stored: TopicModels, records: list[tuple[bytes, bytes]]) -> None:
    for key, value in records:
        stored.take(key, value)


@given(st.lists(snapshots, min_size=1, max_size=5), st.integers(1, 40))
def test_the_last_two_models_of_a_name_are_there(written: list[ModelSnapshot], chunk: int) -> None:
    stored = TopicModels()
    for each in written:
        put(stored, encode(NAME, each, chunk))
    assert stored.models(NAME, EPOCH) == written[:-3:-1]
    assert stored.names(EPOCH) == [NAME]
    assert stored.reached(NAME, EPOCH) == written[-1].next
    assert not stored.broken()


@given(st.lists(snapshots, min_size=2, max_size=5), st.integers(1, 40), st.data())
def test_what_compaction_leaves_is_the_newest(
    written: list[ModelSnapshot], chunk: int, data: st.DataObject
) -> None:
    records = [record for each in written for record in encode(NAME, each, chunk)]
    last = {key: place for place, (key, _) in enumerate(records)}
    # Some of the older records may remain.
    left = [r for place, r in enumerate(records) if last[r[0]] == place or data.draw(st.booleans())]
    stored = TopicModels()
    put(stored, left)
    assert stored.models(NAME, EPOCH)[0] == written[-1]
    assert not stored.broken()


def test_models_of_several_names_and_epochs() -> None:
    stored = TopicModels()
    first, second = (encode(name, snapshot(name.encode() * 20), 16) for name in ("a/0", "a/1"))
    # Processes write at the same time.
    put(stored, [record for pair in zip(first, second, strict=True) for record in pair])
    put(stored, encode("a/0", snapshot(b"of another epoch", epoch="e2"), 16))
    assert stored.names(EPOCH) == ["a/0", "a/1"]
    assert stored.names("e2") == ["a/0"]
    assert stored.models("a/0", EPOCH)[0].content == b"a/0" * 20
    stored.take(b"a/0", None)
    assert stored.names(EPOCH) == ["a/1"]
    assert stored.reached("a/0", EPOCH) == -1


def test_the_newest_base_counts() -> None:
    stored = TopicModels()
    assert stored.base() is None
    put(stored, encode(BASE, snapshot(b"one"), 16))
    put(stored, encode(BASE, snapshot(b"two", epoch="e2"), 16))
    assert stored.base() == snapshot(b"two", epoch="e2")
    put(stored, encode(BASE, snapshot(b"three", epoch="e3"), 2)[1:])
    assert stored.base() == snapshot(b"two", epoch="e2")
    assert BASE in stored.broken()


def _without(number: int) -> Any:
    return lambda records: records[:number] + records[number + 1 :]


def _with_head(**said: Any) -> Any:
    def change(records: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        key, head = records[-1]
        return [*records[:-1], (key, orjson.dumps({**orjson.loads(head), **said}))]

    return change


def _with_chunk(number: int, value: bytes) -> Any:
    return lambda records: [*records[:number], (records[number][0], value), *records[number + 1 :]]


MARK = hashlib.sha256(b"x" * 50).digest()[:16]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_without(0), "0 of 50 bytes are stored"),
        (_without(1), "0 of 50 bytes are stored"),
        (_without(4), "40 of 50 bytes are stored"),
        (lambda records: [records[1], records[0], *records[2:]], "0 of 50 bytes are stored"),
        (_with_chunk(1, MARK + b"y" * 10), "checksum does not match"),
        (_with_chunk(1, MARK + b"x" * 11), "51 of 50 bytes are stored"),
        (_with_chunk(1, b"z" * 26), "0 of 50 bytes are stored"),
        (_with_chunk(1, b""), "0 of 50 bytes are stored"),
        (_with_head(sha256="0" * 64), "checksum does not match"),
        (_with_head(format=2), "format 2, this program reads 1"),
        (_with_head(bytes=10**15), "50 of 1,000,000,000,000,000 bytes are stored"),
        (_with_head(chunks=-1), "-1 is not a non-negative integer"),
        (_with_head(next=1.5), "1.5 is not a non-negative integer"),
        (_with_head(next=2**63), "is not a non-negative integer"),
        (_with_head(epoch=None), "no valid header"),
        (_with_head(epoch="a b"), "no valid header"),
        (_with_head(topic_id=[1]), "no valid header"),
        (_with_head(more=1), "no valid header"),
        (lambda records: [*records[:-1], (b"events/3", b"[" * 4000)], "no valid header"),
        (lambda records: [*records[:-1], (b"events/3", b"x" * 5000)], "no valid header"),
        (lambda records: [*records[:-1], (b"events/3", b"null")], "no valid header"),
    ],
)
def test_a_broken_model_leaves_the_one_before(change: Any, why: str) -> None:
    stored, good = TopicModels(), snapshot(b"good")
    put(stored, encode(NAME, good, 10))
    put(stored, change(encode(NAME, snapshot(b"x" * 50, 9), 10)))
    assert stored.models(NAME, EPOCH) == [good]
    assert why in stored.broken()[NAME]
    newest = snapshot(b"newest", 11)
    put(stored, encode(NAME, newest, 10))
    assert stored.models(NAME, EPOCH) == [newest, good]
    assert not stored.broken()


@given(st.lists(st.tuples(st.none() | st.binary() | st.sampled_from([b"a/0", b"a/0#0", b"a/0#1", b"base"]),
                          st.none() | st.binary(max_size=60)), max_size=30))  # fmt: skip
def test_nothing_that_comes_raises(records: list[tuple[bytes | None, bytes | None]]) -> None:
    stored = TopicModels()
    for key, value in records:
        stored.take(key, value)
    assert stored.base() is None
    assert stored.names(EPOCH) == []


def test_what_has_no_head_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_models, "MOST_BYTES", 1000)
    monkeypatch.setattr(shared_models, "MOST_NAMES", 50)
    stored = TopicModels()
    for name in range(500):
        for number in range(20):
            stored.take(chunk_key(f"t/{name}", number), MARK + bytes(30))
    held = [each.bytes for each in stored._open.values()]
    assert len(held) <= 50
    assert sum(held) <= 1000
