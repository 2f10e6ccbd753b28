"""The engine's encoder, which is to become the one way in, gives the bits of today's."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma._engine import Encoder
from streamkarma.core.moments import encode
from streamkarma.core.scale import nothing
from streamkarma.errors import RecordError
from streamkarma.events.batch import Batch
from streamkarma.events.block import Block
from streamkarma.events.vocabulary import Vocabulary

BOUNDS = {"max_attributes": 7, "max_coordinates": 12, "max_name_bytes": 9}

values = st.one_of(
    st.floats(-1e3, 1e3), st.integers(-5, 5), st.booleans(), st.none(), st.just(float("nan")),
    st.sampled_from([1e8, -9999.0, "red", "blue", "1.5", "02139", "", "a long category", 10**30]),
)  # fmt: skip
bad = st.sampled_from([float("inf"), b"bytes", 1j, 10**400])
names = st.sampled_from(["a", "b", "c", "kind", "d.e", "é", "a long name", "x1", "x2"])
nested = st.recursive(
    values, lambda inner: st.dictionaries(names, inner, max_size=3) | st.lists(inner, max_size=3)
)
records = st.dictionaries(names, nested, max_size=6)
streams = st.lists(st.tuples(st.lists(st.tuples(records, st.booleans()), max_size=5)), max_size=6)


class Today:
    """Vocabulary, Batch and encode together."""

    def __init__(self) -> None:
        self.vocabulary, self.moments = Vocabulary(**BOUNDS), nothing(1)

    def encode(self, events: list[Any], learned: list[bool]) -> tuple[Block, tuple[int, str] | None]:
        batch, fault = Batch(self.vocabulary, True), None
        for number, (event, is_learned) in enumerate(zip(events, learned, strict=True)):
            try:
                batch.append(event, is_learned)
            except RecordError as error:
                fault = number, str(error)
                break
        missing = self.vocabulary.coordinate_count - len(self.moments)
        self.moments = np.concatenate([self.moments, nothing(max(missing, 0))])
        marks = np.array(learned[: len(batch)], np.bool_)
        return encode(batch.block(), self.vocabulary.numbers, self.moments, marks, True, True, np.inf), fault


def same(today: Today, encoder: Encoder) -> None:
    vocabulary = today.vocabulary
    assert encoder.entries() == vocabulary.entries()
    assert encoder.ignored == vocabulary.ignored
    assert encoder.moments().tobytes() == today.moments.tobytes()
    assert encoder.owners.tolist() == vocabulary.owners.tolist()
    assert encoder.numbers.tolist() == vocabulary.numbers.tolist()
    assert encoder.news() == vocabulary.news()


@settings(deadline=None, max_examples=150)
@given(streams, st.none() | bad)
def test_dicts_give_the_bits_of_today(stream: list[Any], spoiler: Any) -> None:
    today, encoder = Today(), Encoder(**BOUNDS, scale=True, longest=np.inf)
    for (events,) in stream:
        given_records, learned = [event for event, _ in events], [is_learned for _, is_learned in events]
        if spoiler is not None and given_records:
            given_records[-1] = {**given_records[-1], "a": spoiler}
        block, fault = today.encode(given_records, learned)
        found, _, found_fault = encoder.encode_dicts(given_records, learned)
        assert found_fault == fault
        assert [array.tobytes() for array in found] == [array.tobytes() for array in block]
        same(today, encoder)


def test_a_table_is_its_rows() -> None:
    rng = np.random.default_rng(0)
    table = rng.standard_normal((50, 3))
    table[rng.random(table.shape) < 0.4] = np.nan
    rows = [{name: value for name, value in zip("abc", row, strict=True) if value == value}
            for row in table.tolist()]  # fmt: skip
    learned = (rng.random(50) < 0.7).tolist()
    one, other = (Encoder(**BOUNDS, scale=True, longest=np.inf) for _ in range(2))
    found, _, _ = one.encode_table(list("abc"), table, learned)
    expected, _, _ = other.encode_dicts(rows, learned)
    assert [array.tobytes() for array in found] == [array.tobytes() for array in expected]
    assert one.moments().tobytes() == other.moments().tobytes()


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.dictionaries(names, st.floats(-1e3, 1e3) | st.sampled_from(["red", "7", "", None]), max_size=5)
    )
)
def test_lines_of_json_are_their_dicts(events: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps({**event, "y": t % 2}) + "\n" for t, event in enumerate(events)).encode()
    one, other = (Encoder(**BOUNDS, scale=True, longest=np.inf) for _ in range(2))
    block, _, lines, *_, stop = one.encode_lines(text, 0, 1000, {"y": -1}, [0, 1], True)
    expected, _, _ = other.encode_dicts(events, [True] * len(events))
    assert stop is None
    assert len(lines) == len(events)
    assert [array.tobytes() for array in block] == [array.tobytes() for array in expected]
    same_state = one.entries(), one.moments().tobytes(), one.ignored
    assert same_state == (other.entries(), other.moments().tobytes(), other.ignored)


@pytest.mark.parametrize(
    "entries", [[("a", None), ("a", None)], [(b"a", None)], [("a", 7)], [("a long name", None)]]
)
def test_names_that_cannot_be_are_refused(entries: list[Any]) -> None:
    encoder = Encoder(**BOUNDS, scale=True, longest=np.inf)
    with pytest.raises((ValueError, TypeError)):
        encoder.restore(entries, 0, nothing(len(entries) + 1))
