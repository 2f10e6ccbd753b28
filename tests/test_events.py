from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from streamkarma.errors import RecordError
from streamkarma.events.flatten import MAX_DEPTH, flatten
from streamkarma.events.labels import NEW, NONE, Labels
from tests.encoding import encoded, encoder, items


def test_flatten_refuses_names_that_collide() -> None:
    with pytest.raises(RecordError, match=r"two nested names become 'a\.b'"):
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
    assert items(encoder(), {"a": missing, "b": 2}) == [(1, 2.0)]


def test_kinds_of_values() -> None:
    record = {"a": True, "b": np.float32(0.5), "c": Decimal("1.5"), "d": np.int64(3), "e": "x", "f": False}
    by = encoder()
    assert items(by, record) == [(1, 1.0), (2, 0.5), (3, 1.5), (4, 3.0), (5, 1.0), (6, 0.0)]
    assert by.entries()[4:] == [("e", "x"), ("f", None)]


def test_an_attribute_may_be_a_number_and_a_category() -> None:
    by = encoder()
    encoded(by, [{"a": 1}, {"a": "x"}])
    assert by.attribute_count == 2
    assert by.uses()[:, 0].tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("inf"), "attribute 'a' is infinite"),
        (10**400, "attribute 'a' is infinite"),
        ({1}, "attribute 'a' is of type set"),
        (1j, "attribute 'a' is of type complex"),
        (np.complex64(1j), "attribute 'a' is of type complex64"),
        (b"x", "attribute 'a' is of type bytes"),
    ],
)
def test_values_that_are_none(value: Any, reason: str) -> None:
    by = encoder()
    for learned in (True, False):
        with pytest.raises(RecordError, match=reason):
            items(by, {"b": 1, "a": value}, learned)
        with pytest.raises(RecordError, match=reason):
            encoded(by, [{"c": 1.0}, {"b": 1, "a": value}], learned)
    assert by.coordinate_count == 1


def test_the_order_of_keys_does_not_show() -> None:
    record = {"b": 1.0, "a": "x", "c": 2.0, 7: 3.0}
    seen = set()
    for order in itertools.permutations(record):
        by = encoder()
        encoded(by, [{name: record[name] for name in order}])
        seen.add(tuple(map(str, by.entries())))
    assert len(seen) == 1


def test_past_the_bounds_values_are_ignored_or_others_make_room() -> None:
    by = encoder(max_attributes=3, max_coordinates=5)
    assert items(by, {"a": 1, "b": 2, "c": 3}) == [(1, 1.0), (2, 2.0)]
    assert items(by, {"a": "x"}) == [(3, 1.0)]
    assert items(by, {"a": "y"}) == [(4, 1.0)]
    # The numbers of a and b were unseen for longest; b has no coordinate left, so d takes its place.
    assert items(by, {"a": "z", "d": 1}) == [(1, 1.0), (2, 1.0)]
    assert (by.ignored, by.evicted, by.coordinate_count, by.attribute_count) == (1, 2, 5, 3)


def test_a_hundred_thousand_names_are_bounded() -> None:
    by = encoder(max_attributes=1000, max_coordinates=1000)
    for i in range(0, 100_000, 100):
        encoded(by, [{f"n{j}": 1.0 for j in range(i, i + 100)}])
    assert (by.attribute_count, by.coordinate_count, by.ignored) == (1000, 1000, 0)
    assert by.evicted >= 99_001


def test_numbers_of_numpy_are_numbers() -> None:
    by = encoder()
    block = encoded(by, [{"a": np.float32(1.5), "b": 1e300}, {"a": np.int64(2**62), "b": np.True_}])
    # The values are clipped to ±1e100, so that their squares stay finite.
    assert block.values.tolist() == [1.0, 1.5, 1e100, 1.0, 2.0**62, 1.0]


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
        ("a", 1, "the label 1 is a number, but the labels so far are strings"),
        (1, True, "the label True is a boolean, but the labels so far are numbers"),
        (True, 1.0, "the label 1.0 is a number, but the labels so far are booleans"),
        (1, "1", "the label '1' is a string"),
        (True, "1", "but the labels so far are booleans"),
        ("a", None, "not null"),
        ("a", {"b": 1}, "not an object"),
        ("a", [1], "not an array"),
        (1.0, float("nan"), "not finite"),
    ],
)
def test_labels_that_do_not_fit(known: Any, label: Any, reason: str) -> None:
    labels = Labels(most=10)
    labels.enter(known)
    assert labels.index(label) == NEW
    with pytest.raises(RecordError, match=reason):
        labels.check(label)


def test_labels_are_bounded() -> None:
    labels = Labels(most=2)
    for label in "ab":
        labels.enter(labels.check(label))
    with pytest.raises(RecordError, match="would be class 3 of at most 2"):
        labels.check("c")
