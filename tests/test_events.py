from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from streamkarma.errors import RecordError
from streamkarma.events.batch import Batch
from streamkarma.events.flatten import MAX_DEPTH, flatten
from streamkarma.events.labels import NEW, NONE, Labels
from streamkarma.events.vocabulary import PASSING, Vocabulary


def vocabulary(**bounds: int) -> Vocabulary:
    return Vocabulary(**{"max_attributes": 100, "max_coordinates": 100, **bounds})


def test_flatten_refuses_names_that_collide() -> None:
    with pytest.raises(RecordError, match=r"'a\.b' occurs twice"):
        flatten({"a.b": 1, "a": {"b": 2}})


def test_flatten_refuses_depth() -> None:
    record: dict[str, Any] = {"x": 1}
    for _ in range(MAX_DEPTH - 1):
        record = {"x": record}
    assert list(flatten(record).values()) == [1]
    with pytest.raises(RecordError, match="nested deeper than 32 levels"):
        flatten({"x": record})


def test_empty_objects_and_arrays_observe_nothing() -> None:
    assert flatten({"a": {}, "b": [], "c": 1}) == {"c": 1}


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan])
def test_what_is_missing(missing: Any) -> None:
    assert vocabulary().add({"a": missing, "b": 2}) == [(1, 2.0)]


def test_kinds_of_values() -> None:
    v = vocabulary()
    items = v.add(
        {"a": True, "b": np.float32(0.5), "c": Decimal("1.5"), "d": np.int64(3), "e": "x", "f": False}
    )
    assert items == [(1, 1.0), (2, 0.5), (3, 1.5), (4, 3.0), (5, 1.0), (6, 0.0)]
    assert v.numbers.tolist() == [False, True, True, True, True, False, True]


def test_an_attribute_may_be_a_number_and_a_category() -> None:
    v = vocabulary()
    v.add({"a": 1})
    v.add({"a": "x"})
    assert v.attribute_count == 2
    assert v.owners_of(np.int32([1, 2])).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("inf"), "attribute 'a' is infinite"),
        (10**400, "attribute 'a' is infinite"),
        ([1], "attribute 'a' holds a list"),
        ({"b": 1}, "attribute 'a' holds a dict"),
        (1j, "attribute 'a' holds a complex"),
        (b"x", "attribute 'a' holds a bytes"),
    ],
)
def test_values_that_are_none(value: Any, reason: str) -> None:
    v = vocabulary()
    with pytest.raises(RecordError, match=reason):
        v.add({"b": 1, "a": value})
    assert v.coordinate_count == 1
    with pytest.raises(RecordError, match=reason):
        v.peek({"a": value}, True)


def test_the_order_of_keys_does_not_show() -> None:
    record = {"b": 1.0, "a": "x", "c": 2.0, 7: 3.0}
    seen = set()
    for order in itertools.permutations(record):
        v = vocabulary()
        v.add({name: record[name] for name in order})
        seen.add(tuple(map(str, v.entries())))
    assert len(seen) == 1


def test_past_the_bounds_values_are_ignored_and_counted() -> None:
    v = vocabulary(max_attributes=3, max_coordinates=5)
    assert v.add({"a": 1, "b": 2, "c": 3}) == [(1, 1.0), (2, 2.0)]
    assert v.add({"a": "x"}) == [(3, 1.0)]
    assert v.add({"a": "y"}) == [(4, 1.0)]
    assert v.add({"a": "z", "d": 1}) == []
    assert (v.ignored, v.coordinate_count, v.attribute_count) == (3, 5, 3)


def test_a_hundred_thousand_names_are_bounded() -> None:
    v = vocabulary(max_attributes=1000, max_coordinates=1000)
    for i in range(0, 100_000, 100):
        v.add({f"n{j}": 1.0 for j in range(i, i + 100)})
    assert (v.attribute_count, v.ignored) == (1000, 99_001)


def test_peeking_leaves_no_trace_and_counts_what_is_new() -> None:
    v = vocabulary()
    v.add({"a": 1.0})
    items = v.peek({"new": 5.0, "a": 2.0, "b": "x"}, scale=True)
    assert items == [(1, 1, 2.0), (PASSING, PASSING, 1.0), (PASSING + 1, PASSING + 1, 0.0)]
    assert v.peek({"new": 5.0}, scale=False) == [(PASSING, PASSING, 5.0)]
    assert v.coordinate_count == 2


RECORDS = [
    {"a": 1.0, "b": 2.0},
    {"b": 3.0},
    {},
    {"c": 4.0, "a": None},
    {"a": "x"},
    {"b": True, "a": float("nan")},
    {"a": 5, "c": 6.5},
]


def test_a_batch_at_once_is_the_batch_one_by_one() -> None:
    one, other = vocabulary(), vocabulary()
    single, several = Batch(one, True), Batch(other, True)
    learned = [True, True, False, True, True, False, True]
    for record, learn in zip(RECORDS, learned, strict=True):
        single.append(record, learn)
    assert several.extend(RECORDS, learned) == len(RECORDS)
    for left, right in zip(single.block(), several.block(), strict=True):
        assert left.tobytes() == right.tobytes()
    assert one.entries() == other.entries()
    assert single.sizes().tolist() == [2, 1, 0, 1, 1, 1, 2]


def test_numbers_of_numpy_give_no_warning_and_complex_ones_are_refused() -> None:
    v = vocabulary()
    v.add({"a": 1.0, "b": 2.0})
    batch = Batch(v, True)
    batch.append({"a": np.float32(1.5), "b": 1e300}, True)
    batch.append({"a": np.float64(1.5e308), "b": np.float64(1.5e308)}, True)
    batch.append({"a": np.int64(2**62), "b": np.True_}, True)
    assert batch.block().values.tolist() == [1.5, 1e300, 1.5e308, 1.5e308, 2.0**62, 1.0]
    for wrong in (np.complex128(1), np.complex64(1j), np.float64("inf")):
        assert not batch.extend_plain([{"a": 1.0}, {"a": wrong}])
        with pytest.raises(RecordError):
            batch.append({"a": wrong}, True)
    assert len(batch) == 3


def test_a_batch_stops_at_what_is_no_event_and_is_as_it_was() -> None:
    batch = Batch(vocabulary(), True)
    assert batch.extend([{"a": 1.0}, {"a": 1j}, {"a": 2.0}], [True] * 3) == 1
    assert batch.sizes() == [1]
    with pytest.raises(RecordError):
        batch.append({"a": 1.0, "b": float("inf")}, True)
    batch.append({"a": 3.0}, True)
    assert batch.block().values.tolist() == [1.0, 3.0]


def test_labels_in_order_of_appearance() -> None:
    labels = Labels(most=10)
    labels.enter("b")
    labels.enter("a")
    labels.enter("b")
    assert labels.known == ["b", "a"]
    assert labels.indices(["a", None, "c"]).tolist() == [1, NONE, NEW]


def test_the_first_boolean_brings_both() -> None:
    labels = Labels(most=10)
    labels.enter(labels.check(np.bool_(True)))
    assert labels.known == [False, True]


@pytest.mark.parametrize(
    ("known", "label", "reason"),
    [
        ("a", 1, "the label 1 is a number, where labels so far are strings"),
        (1, True, None),
        (1, "1", "the label '1' is a string"),
        (True, "1", "where labels so far are booleans"),
        ("a", None, "not null"),
        ("a", {"b": 1}, "not an object"),
        ("a", [1], "not an array"),
        (1.0, float("nan"), "not finite"),
    ],
)
def test_labels_that_do_not_fit(known: Any, label: Any, reason: str | None) -> None:
    labels = Labels(most=10)
    labels.enter(known)
    if reason is None:
        labels.check(label)  # to Python True is 1, and so it is to river
    else:
        with pytest.raises(RecordError, match=reason):
            labels.check(label)


def test_labels_are_bounded() -> None:
    labels = Labels(most=2)
    for label in "ab":
        labels.enter(labels.check(label))
    with pytest.raises(RecordError, match="would be class 3 of at most 2"):
        labels.check("c")
