"""The same bits, however lines are cut into blocks and whichever reader reads them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma.connectors.records import Records
from streamkarma.runtime.fields import Fields
from streamkarma.runtime.reading import Reading
from streamkarma.runtime.task import TaskModel
from tests.loops import kept, records_of

numbers = st.integers(-50, 50).map(lambda i: i / 4)
values = st.one_of(numbers, numbers, numbers, st.none(), st.booleans(), st.sampled_from(["red", "blue"]))
attributes = st.dictionaries(st.sampled_from(["a", "b", "c", "d", "e", "f.g"]), values, max_size=6)
plain = st.dictionaries(st.sampled_from(["a", "b", "c"]), numbers, max_size=3)
odd = st.sampled_from(
    [
        b"",
        b"no",
        b"[1]",
        b'{"a": NaN, "y": 1}',
        b'{"a": 1e999}',
        b'{"f": {"g": 1}, "y": 0}',
        b'{"a": [1, 2]}',
        b'{"a": 1, "y": "other kind"}',
        b'{"y": {}}',
        b'{"a": 0.12345678901234567890, "y": 1}',
        b'{"a": 2, "a": 3, "y": 0}',
    ]
)


beside = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from([1, "A-7", 1.5, None, "é", True, -0, [1]]),
        "w": st.sampled_from([1, 0, 2.5, None, -1, "heavy", True]),
        "skip": st.sampled_from(["text", 12, {"a": 1}, None, "é"]),
    },
)


def lines_of(labels: list[Any], ordinary: bool) -> st.SearchStrategy[list[bytes]]:
    """Records of all sorts; or, if ordinary, many that are mostly plain."""
    label = st.sampled_from([*labels, *labels, *labels, None])
    events = plain if ordinary else st.one_of(attributes, plain)
    record = st.builds(
        lambda x, y, more: json.dumps({**x, "y": y, **more}, ensure_ascii=False).encode(),
        events,
        label,
        beside,
    )
    line = st.one_of(*[record] * (30 if ordinary else 3), odd)
    return st.lists(line, min_size=1, max_size=200 if ordinary else 60)


FIELDS = Fields(id="id", weight="w", ignore=("skip",))


def fed(
    lines: list[bytes],
    cuts: list[int],
    printed: bool = True,
    way: str = "",
    may_continue: bool = True,
    **options: Any,
) -> Any:
    """Rows, dead letters, counters and the model's state after feeding the lines in pieces.

    With way ``dicts`` every line is first made a dict, as for late labels; the errors of bad lines may then
    differ. With ``beside`` the reader runs in a thread of its own. Unless it ``may_continue``, the loop stops
    whenever it asks whether to continue, and is then called again.
    """
    task_model = TaskModel("auto", {"budget": 6, **options}, None, lambda _: None, "karma")
    loop = kept(task_model, printed, FIELDS)
    if way == "dicts":
        loop.loop._reading = None
    elif way == "beside":
        loop.loop._reading = Reading(
            task_model, FIELDS.roles() or {}, learn=True, unlabelled=True, strict=False, read_ahead=True
        )
    ends = sorted({0, len(lines), *(cut % (len(lines) + 1) for cut in cuts)})
    pieces = [records_of(lines[begin:end], begin + 1) for begin, end in pairwise(ends)]
    for piece in pieces:
        at = 0
        while at < len(piece):
            at = loop.loop.feed(piece, at, may_continue=lambda: may_continue)
    header, arrays = task_model.model.state()
    state = (header, task_model.state(), {name: array.tobytes() for name, array in arrays.items()})
    dead = [{**letter, "error": ""} if way == "dicts" else letter for letter in loop.dead]
    return loop.rows, dead, loop.loop.counters, state


@contextmanager
def small_parts(events: int) -> Iterator[None]:
    """Make the reader read this many events at a time."""
    sizes = dict.fromkeys(("PART", "_LEAST_AHEAD", "_MOST_AHEAD"), events)
    with (
        patch.multiple("streamkarma.runtime.reading", **sizes),
        patch("streamkarma.runtime.loop.PART", events),
    ):
        yield


def without_reasons(outcome: Any) -> Any:
    """The outcome without the errors of bad lines."""
    rows, dead, counters, state = outcome
    return rows, [{**letter, "error": ""} for letter in dead], counters, state


@pytest.mark.parametrize("labels", [[0, 1], [True, False], ["x", "y", "z"], [0, 1.5, 2.25]])
@pytest.mark.parametrize("scale", [True, False])
@settings(max_examples=25, deadline=None)
@given(data=st.data(), ordinary=st.booleans(), cuts=st.lists(st.integers(0, 200), max_size=10))
def test_how_lines_are_cut_never_shows(
    labels: list[Any], scale: bool, data: Any, ordinary: bool, cuts: list[int]
) -> None:
    lines = data.draw(lines_of(labels, ordinary))
    whole = fed(lines, [], scale=scale)
    assert fed(lines, cuts, scale=scale) == whole
    assert fed(lines, list(range(200)), scale=scale) == whole
    assert fed(lines, cuts, way="dicts", scale=scale) == without_reasons(whole)
    with small_parts(3):
        assert fed(lines, cuts, way="beside", scale=scale) == whole
        assert fed(lines, cuts, way="beside", may_continue=False, scale=scale) == whole
        assert fed(lines, cuts, may_continue=False, scale=scale) == whole
        assert fed(lines, cuts, way="dicts", may_continue=False, scale=scale) == without_reasons(whole)
    assert fed(lines, cuts, printed=False, scale=scale)[1:] == whole[1:]


@pytest.mark.parametrize("seed", range(6))
def test_long_and_mostly_plain(seed: int) -> None:
    rng = random.Random(seed)
    lines = []
    for i in range(600):
        x = {name: round(rng.gauss(0, 1), 4) for name in "abcdef" if rng.random() < 0.5}
        label: Any = int(x.get("a", 0) + rng.gauss(0, 0.3) > 0) if seed % 2 else rng.gauss(0, 1)
        lines.append(json.dumps({**x, "y": label if rng.random() < 0.9 else None}).encode())
        if rng.random() < 0.02:
            lines.append(
                rng.choice([b"no", b'{"a": "red", "y": 1}', b'{"new%d": 1}' % i, b'{"g": 1, "y": 0.0}'])
            )
    whole = fed(lines, [])
    for cuts in ([1, 2, 300], rng.sample(range(600), 40), list(range(600))):
        assert fed(lines, cuts) == whole
        assert fed(lines, cuts, way="dicts") == without_reasons(whole)
        with small_parts(30):
            assert fed(lines, cuts, way="beside") == whole
        assert fed(lines, cuts, printed=False)[1:] == whole[1:]


def test_a_third_class_does_not_show_how_much_room_was_reserved() -> None:
    """Zeros have the same sign, whether or not their room was reserved when the class appeared."""
    names = ["", "abcdef", "acefj", "abdghik", "cdfghikmqr", "adfhkloprstqv"]
    ones = ["", "bd", "acef", "ghik", "cdghik", "adlost"]
    lines = [
        json.dumps({**{name: int(name in there) for name in seen}, "y": label}).encode()
        for seen, there, label in zip(names, ones, "yxxxzx", strict=True)
    ]
    whole = fed(lines, [], scale=False)
    assert fed(lines, list(range(10)), scale=False) == whole


def test_a_newline_inside_of_a_record_does_not_make_two_of_it() -> None:
    loop = kept(TaskModel("binary", {}, None, lambda _: None, "karma"))
    usual = [b'{"a":%d,"y":%d}' % (i % 7, i % 2) for i in range(100)]
    loop.loop.feed(Records(usual, len(usual), lambda i: {"offset": i}))
    odd = [b'{"a":1,"y":0}\n{"a":2,"y":1}', b'{"a":3,"y":1}', b'{"a":4,"y":0}\n', b'{"a":5,"y":1}']
    loop.loop.feed(Records(odd, len(odd), lambda i: {"offset": 100 + i}))
    assert [row["target"] for row in loop.rows[100:]] == [1, 0, 1]
    assert [letter["offset"] for letter in loop.dead] == [100]


def test_the_same_bad_label_ends_a_part_once(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = [b'{"a": 1, "y": [1]}', b'{"a": 1, "y": "three"}', b'{"a": 1, "y": 2.5}']
    lines = [bad[n // 5 % 3] if n % 5 == 0 else b'{"a": %d, "y": %d}' % (n, n % 2) for n in range(300)]
    loop, slowly = (kept(TaskModel("binary", {}, None, lambda _: None, "karma")) for _ in range(2))
    slowly.loop._reading = None
    parts: list[int] = []
    run = loop.loop._run
    monkeypatch.setattr(loop.loop, "_run", lambda batch: (parts.append(len(batch.labels)), run(batch)))
    loop.feed(lines)
    slowly.feed(lines)
    assert (loop.rows, loop.dead) == (slowly.rows, slowly.dead)
    assert len(loop.dead) == 60
    assert len(parts) < 10


def test_labels_that_stand_for_none_stay_with_the_engine() -> None:
    loop = kept(TaskModel("binary", {}, None, lambda _: None, "karma"))
    loop.feed([b'{"y": %s}' % label for label in (b'"a"', b'"NA"', b'""', b'"b"', b'"NA"')])
    assert loop.loop._reading is not None
    assert [row.get("target") for row in loop.rows] == ["a", None, None, "b", None]
    with patch("streamkarma.runtime.reading.MOST_REMEMBERED", 0):
        loop.feed([b'{"y": "?"}', b'{"y": "b"}'])
    assert loop.loop._reading is None
    assert [row.get("target") for row in loop.rows[5:]] == [None, "b"]


@pytest.mark.parametrize(("way", "parts"), [("", 1), ("dicts", 1), ("beside", 2)])
def test_it_asks_after_each_part_whether_to_go_on(way: str, parts: int) -> None:
    lines = [b'{"a": %d, "y": %d}' % (n, n % 2) for n in range(100)]
    loop = kept(TaskModel("binary", {}, None, lambda _: None, "karma"))
    if way == "dicts":
        loop.loop._reading = None
    elif way == "beside":
        loop.loop._reading = Reading(
            loop.loop.task_model, Fields().roles() or {}, True, True, strict=False, read_ahead=True
        )
    loop.feed(lines[:2])  # so that the classes are known
    with small_parts(10):
        asked = iter([True] * (parts - 1))
        # What was read ahead is learned, too.
        assert loop.loop.feed(records_of(lines), may_continue=lambda: next(asked, False)) == 10 * parts
    assert len(loop.rows) == 2 + 10 * parts
