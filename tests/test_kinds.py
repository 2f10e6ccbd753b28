"""Kinds of attributes besides numbers and categories: identifiers, points in time."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamkarma import ExplicitKARMAClassifier
from streamkarma._engine import Encoded, Encoder
from streamkarma.estimators.persistence import load, save
from tests.encoding import encoded, encoder, items, restored

#: As in the engine's rare.rs.
FEW, RARE = 32, "(rare)"


def ample(**options: Any) -> Encoder:
    return encoder(10_000, 10_000, 1 << 20, **options)


def categories(by: Encoder, name: str) -> set[str | None]:
    return {category for each, category in by.entries() if each == name}


def test_past_the_first_ones_a_category_gets_a_place_when_it_comes_again() -> None:
    by = ample()
    encoded(by, [{"k": f"first {n}"} for n in range(FEW)])
    assert len(categories(by, "k")) == FEW
    for place in (None, "late"):
        before = items(by, {"k": "late"}, learned=False)
        (coordinate, value) = items(by, {"k": "late"})[0]
        assert by.describe(coordinate) == ("k", place or RARE)
        # An event is predicted as it is learned, except for new places.
        assert value == before[0][1] == 1.0
    assert categories(by, "k") == {f"first {n}" for n in range(FEW)} | {RARE, "late"}


def test_an_identifier_takes_no_places_and_is_named_once() -> None:
    by = ample()
    encoded(by, [{"id": f"u{n:x}", "x": float(n % 7)} for n in range(1000)])
    assert len(categories(by, "id")) == FEW + 1
    news = [line for line in by.notices() if "identifier" in line]
    assert len(news) == 1
    assert news[0].endswith("(--ignore id leaves it out)")
    assert by.ignored == 0


def test_an_identifier_that_all_events_have_is_left_out_and_another_counts_as_present() -> None:
    for gaps, there in ((0, 0), (3, 1)):
        by = ample(rates=1)
        encoded(by, [{"id": f"u{n:x}"} if n % 10 >= gaps else {} for n in range(1000)])
        assert len(items(by, {"id": "new"})) == there
        # A value that recurs is known all the same.
        assert len(items(by, {"id": f"u{9:x}"})) >= 1
        assert by.tallies()[1, 0] == sum(n % 10 >= gaps for n in range(1000)) + 2


@given(st.lists(st.integers(0, 60), max_size=200), st.lists(st.booleans(), min_size=200, max_size=200))
def test_blocks_are_single_events_and_what_is_predicted_leaves_no_trace(
    values: list[int], learned: list[bool]
) -> None:
    records = [{"k": f"c{value}"} for value in values]
    one, other = ample(), ample()
    at_once = encoded(one, records, learned[: len(records)])
    in_turn = [encoded(other, [record], each) for record, each in zip(records, learned, strict=False)]
    assert at_once.coordinates.tolist() == [k for block in in_turn for k in block.coordinates.tolist()]
    assert one.arrays()["once"].tolist() == other.arrays()["once"].tolist()
    third = ample()
    encoded(third, [record for record, each in zip(records, learned, strict=False) if each])
    assert third.entries() == one.entries()


def test_a_model_resumes_with_what_came_once(tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    events = [
        ({"k": f"c{rng.integers(200)}", "t": f"2026-11-22T{n % 24:02}:00"}, n % 3 == 0) for n in range(400)
    ]
    whole, resumed = ExplicitKARMAClassifier(), ExplicitKARMAClassifier()
    for n, (x, y) in enumerate(events):
        if n == 150:
            save(resumed, tmp_path / "m.karma")
            resumed = load(tmp_path / "m.karma")
        whole.learn_one(x, y)
        resumed.learn_one(x, y)
    assert resumed.vocabulary.entries() == whole.vocabulary.entries()
    assert resumed.predict_proba_one({"k": "c7"}) == whole.predict_proba_one({"k": "c7"})


def told_by(by: Encoder, record: dict[str, Any]) -> dict[tuple[str, str | None], float]:
    """The observed values of a record, by name and category."""
    return {by.describe(coordinate): value for coordinate, value in items(by, record)}


@given(
    st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)), st.sampled_from(["", "Z", "+05:30", "-0800"])
)
def test_a_point_in_time_tells_of_its_own_clock_and_calendar(moment: datetime, zone: str) -> None:
    found = told_by(ample(), {"t": moment.isoformat(timespec="seconds") + zone})
    seconds = (moment - datetime(moment.year, moment.month, moment.day)).seconds
    day = moment.timetuple().tm_yday - 1
    circles = {"day": 2 * math.pi * seconds / 86_400, "year": 2 * math.pi * day / 366}
    parts = {f"hour {moment.hour}": 1.0, moment.strftime("weekday %a"): 1.0, f"month {moment.month}": 1.0}
    for name, angle in circles.items():
        parts |= {f"({name} sin)": math.sin(angle), f"({name} cos)": math.cos(angle)}
    # Together they weigh as much as a category.
    expected = {("t", part): value / math.sqrt(5) for part, value in parts.items()}
    assert found == pytest.approx(expected, abs=1e-12)


def test_a_time_is_one_attribute_whatever_it_tells() -> None:
    by, begin = ample(rates=1), datetime(2026, 1, 1)
    encoded(by, [{"t": (begin + timedelta(hours=7 * n)).isoformat()} for n in range(2000)])
    assert by.attributes == ["t"]
    assert len(categories(by, "t") - {None}) == 24 + 7 + 12 + 4
    assert by.kinds() == {1: "time"}
    # A single time among other texts does not make the attribute a time.
    encoded(by, [{"k": "2026-11-22"}, *({"k": f"k{n % 40}"} for n in range(80))])
    assert by.attributes == ["t", "k", "k.rate"]
    assert dict(zip(by.attributes, by.kinds().values(), strict=True))["k"] == "category"


def since(by: Encoder, time: str, learned: bool = True) -> float | None:
    """The seconds since the time before; None if that is missing."""
    found = dict(items(by, {"t": time}, learned))
    place = {entry: at for at, entry in enumerate(by.entries(), 1)}
    value = found.get(place.get(("t", None), 0))
    return value if value is None else math.expm1(value)


def test_the_time_since_the_one_before_heeds_zones() -> None:
    by = ample()
    given = ["12:00:00Z", "12:01:00Z", "14:01:00+02:00", "13:01:00Z", "12:31:00Z", "12:30:00Z"]
    found = [since(by, f"2026-11-22T{time}") for time in given]
    # Times that are equal follow the same one, and of late ones only the time before the latest is known.
    assert found == [None, *(pytest.approx(each) for each in (60, 60, 3600, 1800)), None]


def test_the_time_since_the_one_before_is_the_same_in_learning_and_prediction() -> None:
    by, hours = ample(), [f"2026-11-22T{hour:02}:00:00Z" for hour in range(24)]
    assert [since(by, hour) for hour in hours[:2]] == [None, pytest.approx(3600)]
    for hour in hours[2:10]:
        # Predicting an event first changes nothing.
        assert since(by, hour, learned=False) == since(by, hour)
    assert [since(by, hour, learned=False) for hour in hours[10:20]] == pytest.approx([3600] * 10)
    # Labels that come late teach events with an earlier time.
    again = encoder(10_000, 10_000, 1 << 20)
    restored(again, by)
    assert [since(each, hour) for each in (by, again) for hour in hours[18:21]] == [
        *([None] + [pytest.approx(3600)] * 2) * 2
    ]


@pytest.mark.parametrize(
    "text", ["2026-13-01", "22.11.2026", "2026-11", "12:30", "2026-11-22T25:00", "2026-11-22x"]
)
def test_other_texts_are_categories(text: str) -> None:
    assert told_by(ample(), {"t": text}) == {("t", text): 1.0}


def test_a_record_may_have_a_time_and_a_name_like_one_of_its_parts() -> None:
    for record in ({"t": "2026-11-22", "t.month": 7}, {"t.month": 7, "t": "2026-11-22"}):
        assert told_by(ample(), record).keys() > {("t", "month 11"), ("t.month", None)}


def test_attributes_are_what_they_are_told_to_be() -> None:
    kinds = {"user": "category", "note": "text", "tags": "tags", "at": "time", "key": "identifier",
             "yes": "boolean", "n": "number"}  # fmt: skip
    by = ample(rules=([], {}, True, kinds))
    record = {"user": 7, "note": "ok", "tags": "a, b;c", "at": 1.7e9, "key": 12, "yes": "Y", "n": "02"}
    found = {by.describe(coordinate) for coordinate, _ in items(by, record)}
    clock = {("at", "hour 22"), ("at", "weekday Tue"), ("at", "month 11")}
    assert found >= {("user", "7"), ("note", "ok"), ("tags", "a"), ("tags", "b"), ("tags", "c")} | clock
    assert found >= {("key", RARE), ("yes", None)}
    # "02" spells no number: it is missing, and counted.
    assert "n" not in {name for name, _ in found}
    told = dict(zip(by.attributes, by.kinds().values(), strict=True))
    assert all(told[name] == kinds[name] for name in kinds if name in told)


def test_a_declared_time_may_be_a_date_of_eight_digits_but_no_number_is_one() -> None:
    rules = ([], {}, True, {"at": "time"})
    as_text, as_number = (told_by(ample(rules=rules), {"at": at}) for at in ("20260724", 20260724))
    assert ("at", "month 7") in as_text
    assert ("at", "hour 0") not in as_text
    # Seconds: some 234 days after 1970.
    assert {("at", "month 8"), ("at", "hour 11")} <= set(as_number)


@pytest.mark.parametrize(
    ("kinds", "match"), [({"a": "colour"}, "a kind must be one of"), (["a"], "kinds must be")]
)
def test_other_kinds_are_refused(kinds: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        ExplicitKARMAClassifier(kinds=kinds)


def test_numbers_that_count_from_1970_are_times_where_the_name_says_so() -> None:
    for name, value in (("ts", 1.7e9), ("created_at", 1.7e12), ("order.time", 1_700_000_000),
                        ("date", 1.7e15), ("epoch", 1_700_000_000_000_000_000)):  # fmt: skip
        assert (name, "hour 22") in told_by(ample(), {name: value})
    for name, value in (("ts", 17.0), ("price", 1.7e9), ("ts", 5e13)):
        assert told_by(ample(), {name: value}) == {(name, None): value}


def test_user_is_notified_once_about_times() -> None:
    by = ample()
    encoded(by, [{"t": "1960-01-01"}, {"t": "2026-11-22"}, {"t": "2026-11-23"}])
    (line,) = by.notices()
    assert line.startswith("attribute t: points in time; the hour")
    told = ample(rules=([], {}, True, {"t": "time"}))
    encoded(told, [{"t": 1.7e9}])
    assert told.notices() == []


def test_a_table_is_read_like_dicts() -> None:
    rows = np.array([[5.0, 1.0], [1.7e9, 2.0], [7.0, np.nan], [1.7e9 + 60, 3.0]])
    by, other = ample(), ample()
    events = Encoded()
    by.read_table(["ts", "x"], rows, [True] * 4, events)
    dicts = [{name: x for name, x in zip(["ts", "x"], row, strict=True) if x == x} for row in rows.tolist()]
    assert encoded(other, dicts).coordinates.tolist() == events.block[2].tolist()
    assert by.entries() == other.entries()
    assert ("ts", "hour 22") in by.entries()


def test_dates_and_times_of_python_are_times() -> None:
    when = datetime(2026, 11, 22, 7, 30)
    expected = told_by(ample(), {"t": "2026-11-22T07:30:00"})
    assert told_by(ample(), {"t": when}) == expected
    assert told_by(ample(), {"t": np.datetime64(when)}) == expected
    assert told_by(ample(), {"t": when.date()}) == told_by(ample(), {"t": "2026-11-22"})
    assert told_by(ample(), {"t": np.datetime64("NaT", "s")}) == {}


def exceptions(values: list[float], **options: Any) -> Encoder:
    by = ample(**options)
    encoded(by, [{"gain": value} for value in values])
    return by


def test_exceptions_of_a_number_that_is_nearly_always_the_same_are_categories() -> None:
    values = [float(7298 * (n % 40 == 1) + 15024 * (n % 40 == 2)) for n in range(400)]
    by = exceptions(values, scale=True)
    assert categories(by, "gain") == {None, "7298", "15024"}
    assert [by.describe(k) for k, _ in items(by, {"gain": 7298})] == [("gain", None), ("gain", "7298")]
    assert [by.describe(k) for k, _ in items(by, {"gain": 0})] == [("gain", None)]
    assert by.kinds() == {1: "number"}
    # A new exception is not a category until it recurs.
    assert len(items(by, {"gain": 5})) == 1
    assert len(items(by, {"gain": 5})) == 2


def test_measurements_grades_and_flags_have_none() -> None:
    rng = np.random.default_rng(0)
    measured = exceptions(np.where(rng.random(2000) < 0.1, rng.normal(size=2000), 0.0).tolist())
    grades = exceptions(rng.integers(1, 6, 500).astype(float).tolist())
    flags = exceptions((rng.random(500) < 0.1).astype(float).tolist())
    assert all(by.coordinate_count == 2 for by in (measured, grades, flags))


@given(st.lists(st.sampled_from([0.0] * 12 + [1.0, 2.0, 3.5]), max_size=120), st.integers(0, 120))
def test_exceptions_are_found_however_the_input_is_cut_and_after_a_resume(
    values: list[float], cut: int
) -> None:
    whole, part = exceptions(values), exceptions(values[:cut])
    other = restored(part, ample())
    encoded(other, [{"gain": value} for value in values[cut:]])
    assert other.entries() == whole.entries()
    assert other.arrays()["levels"].tolist() == whole.arrays()["levels"].tolist()
