"""Rows written from columns equal those made from one dict each."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma.connectors.rows import ABSENT, Column, Json, Named, Rows, plain

COUNT = st.shared(st.integers(0, 6), key="rows")
texts = st.one_of(st.text(max_size=5), st.sampled_from(["a,b", "two\nlines", '"', "null", "é"]))
values = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**53), 2**53), texts, st.dictionaries(texts, st.floats(-9, 9))
)
floats = st.floats(allow_nan=True, allow_infinity=True)


def sized(element: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return COUNT.flatmap(lambda n: st.lists(element, min_size=n, max_size=n))


columns: st.SearchStrategy[Column] = st.one_of(
    sized(floats).map(lambda each: np.array(each, np.float64)),
    sized(st.integers(-(2**62), 2**62)).map(lambda each: np.array(each, np.int64)),
    sized(st.booleans()).map(lambda each: np.array(each, np.bool_)),
    sized(st.one_of(values, st.just(ABSENT))),
    sized(values).map(lambda each: Json(list(map(orjson.dumps, each)))),
    sized(st.integers(-1, 1)).map(lambda each: Named(np.array(each, np.int64), ["no", 1, None])),
)


def by_hand(given_columns: dict[str, Column]) -> list[dict[str, Any]]:
    each = {name: plain(column) for name, column in given_columns.items()}
    count = min(map(len, each.values()))
    return [{name: vs[i] for name, vs in each.items() if vs[i] is not ABSENT} for i in range(count)]


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(texts, columns, min_size=1, max_size=5))
def test_rows_are_those_made_one_by_one(given_columns: dict[str, Column]) -> None:
    rows = Rows(given_columns)
    expected = [orjson.dumps(row) for row in by_hand(given_columns)]
    assert len(rows) == len(expected)
    assert rows.lines() == expected
    assert rows.text() == b"".join(line + b"\n" for line in expected)


def test_a_column_in_steps_is_written_too() -> None:
    assert Rows({"a": np.arange(6.0)[::2], "n": np.arange(6)[::-2]}).lines() == [
        b'{"a":0.0,"n":5}',
        b'{"a":2.0,"n":3}',
        b'{"a":4.0,"n":1}',
    ]
