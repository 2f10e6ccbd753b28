"""A profile against pandas, and against the properties of generated streams."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamkarma.profile.advice import LearnCommand, advice
from streamkarma.profile.alone import Label
from streamkarma.profile.carried import Carried
from streamkarma.profile.changes import ChangeFinder
from streamkarma.profile.profiler import Profiler
from streamkarma.profile.randomness import coded
from streamkarma.profile.sample import Sample
from streamkarma.profile.summaries import Distinct, Frequent, Moments
from streamkarma.profile.table import remembered

FROM = LearnCommand(["streamkarma", "learn", "in.csv"], [])


def profile_of(rows: list[dict[str, Any]], size: int = 700, **how: Any) -> dict[str, Any]:
    profiler = Profiler("y", **how)
    for begin in range(0, len(rows), size):
        profiler.add(rows[begin : begin + size])
    found = {**profiler.profile(), "rejected": 0}
    return found | advice(found, FROM)


def generated(events: int, seed: int = 0) -> list[dict[str, Any]]:
    """Numbers, categories and a boolean that are missing together or on their own."""
    rng = np.random.default_rng(seed)
    rows = []
    for t in range(events):
        a, b = rng.normal(size=2)
        row = {
            "a": a,
            "b": 1e6 + b,
            "whole": int(rng.integers(9)),
            "town": "xyz"[rng.integers(3)],
            "on": a > 1,
        }
        row = {name: value for name, value in row.items() if rng.random() < 0.8}
        if rng.random() < 0.3:
            row.pop("town", None)
            row.pop("whole", None)
        if t > events // 2:
            row["late"] = "v" + str(rng.integers(30))
        rows.append({**row, "y": int(a + b > 0)})
    return rows


@pytest.mark.parametrize("events", [3, 500, 5000])
@pytest.mark.parametrize("size", [1, 700, 9999])
def test_counts_are_those_of_pandas(events: int, size: int) -> None:
    rows = generated(events)
    found, frame = profile_of(rows, size), pd.DataFrame(rows)
    X = frame.drop(columns="y")
    assert list(found["attributes"]) == list(X)
    assert found["missing"] == pytest.approx(X.isna().mean().mean())
    for name, seen in found["attributes"].items():
        column = X[name].dropna()
        assert seen["observed"] == len(column)
        assert not seen["distinct_exact"] or seen["distinct"] == column.nunique()
        assert seen["distinct"] == pytest.approx(column.nunique(), rel=0.15)
        if name in ("a", "b", "whole"):
            assert seen["kind"] == "number"
            numbers = column.astype(float).describe()
            told = seen["numbers"]
            assert [told[n] for n in ("mean", "least", "greatest")] == pytest.approx(
                [numbers["mean"], numbers["min"], numbers["max"]]
            )
            assert told["deviation"] == pytest.approx(0.0 if len(column) < 2 else numbers["std"])
            if events <= found["sample"]:
                assert [told["lower_quartile"], told["median"]] == pytest.approx(
                    [numbers["25%"], numbers["50%"]]
                )
        if name in ("town", "late"):
            assert seen["kind"] == "category"
            assert (
                dict(seen["values"]) == column.value_counts().head(len(seen["values"])).to_dict()
                or events > 5
            )
            assert seen["values"][0][1] == column.value_counts().iloc[0]
    patterns = Counter(tuple(X.columns[gap]) for gap in X.isna().to_numpy())
    told = {tuple(each["missing"]): each["events"] for each in found["patterns"]["commonest"]}
    assert found["patterns"]["error"] == 0
    assert all(patterns[pattern] == count for pattern, count in told.items())
    assert sorted(told.values()) == sorted(patterns.values())[-len(told) :]
    together = X.isna().corr()
    for pair in found["together"]:
        assert pair["correlation"] == pytest.approx(together.loc[*pair["attributes"]])


@given(st.lists(st.lists(st.integers(0, 30), max_size=40), max_size=8), st.integers(1, 12))
def test_frequent_values_are_never_counted_too_high_and_not_far_too_low(blocks: Any, most: int) -> None:
    frequent, exact = Frequent(most), Counter()
    for block in blocks:
        frequent.add(Counter(map(str, block)))
        exact.update(map(str, block))
    told = dict(frequent.top(most))
    for value, count in exact.items():
        assert count - frequent.error <= told.get(value, 0) <= count
    assert frequent.error <= sum(exact.values()) / (most + 1)


@pytest.mark.parametrize("count", [0, 1, 1024, 1025, 100_000])
def test_different_values_are_counted(count: int) -> None:
    distinct = Distinct()
    for _ in range(2):
        distinct.add(map(str, range(count)))
    assert distinct.exact == (count <= 1024)
    assert distinct.count() == pytest.approx(count, rel=0 if distinct.exact else 0.15)


@given(st.lists(st.lists(st.floats(-1e6, 1e6), max_size=20), max_size=6))
def test_moments_do_not_depend_on_the_blocks(blocks: list[list[float]]) -> None:
    moments, every = Moments(), np.array([value for block in blocks for value in block])
    for block in blocks:
        moments.add(np.array(block))
    if len(every) > 1:
        assert moments.mean == pytest.approx(every.mean(), abs=1e-6)
        assert moments.deviation == pytest.approx(every.std(ddof=1), abs=1e-5)


def test_a_sample_is_uniform() -> None:
    counts = np.zeros(100)
    for seed in range(400):
        sample: Sample[int] = Sample(20, seed)
        sample.add(range(30))
        sample.add(range(30, 100))
        assert [at for at, _ in sample.items()] == [item for _, item in sample.items()]
        counts[[item for _, item in sample.items()]] += 1
    assert counts.sum() == 8000
    assert abs(counts - 80).max() < 5 * math.sqrt(80)


@pytest.mark.parametrize(("before", "after"), [(1.0, 0.0), (0.0, 0.3), (0.9, 0.6), (0.2, 0.5)])
@pytest.mark.parametrize("at", [700, 9000])
def test_a_change_is_found_where_it_is(before: float, after: float, at: int) -> None:
    rng = np.random.default_rng(at)
    bits = np.concatenate([rng.random(at) < before, rng.random(4000) < after]).astype(np.uint8)
    finder = ChangeFinder()
    for begin in range(0, len(bits), 4096):
        finder.add(np.arange(begin, min(begin + 4096, len(bits))), bits[begin : begin + 4096])
    (change,) = finder.changes()
    assert abs(change.event - at) < 60
    assert (change.before, change.after) == pytest.approx((before, after), abs=0.05)


def test_zeros_that_were_only_counted_are_zeros_like_all_others() -> None:
    found = 0
    for zeros in range(8, 513, 8):
        rng = np.random.default_rng(zeros)
        later = rng.random(4000) < np.repeat([0.05, 0.08], 2000)
        bits = np.r_[np.zeros(zeros), later].astype(np.uint8)
        whole, counted = ChangeFinder(), ChangeFinder(zeros)
        whole.add(np.arange(len(bits)), bits)
        counted.add(np.arange(zeros, len(bits)), bits[zeros:])
        changes = [[change.event for change in finder.changes()] for finder in (whole, counted)]
        assert len(changes[0]) == len(changes[1])
        found += bool(changes[0])
    assert 10 < found < 60


def test_where_nothing_changes_nothing_is_said() -> None:
    rng = np.random.default_rng(0)
    for share in (0.0, 0.01, 0.3, 0.5, 0.97, 1.0):
        finder = ChangeFinder()
        for begin in range(0, 40_960, 4096):
            finder.add(np.arange(begin, begin + 4096), (rng.random(4096) < share).astype(np.uint8))
        assert finder.changes() == []


def test_changes_of_what_is_observed_and_of_values() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for t in range(6000):
        row = {"x": rng.normal() + 2 * (t >= 4000), "z": rng.normal()}
        if t >= 3000 and rng.random() < 0.5:
            del row["z"]
        if t >= 2000:
            row["new"] = 1.0 * rng.integers(5)
        rows.append({**row, "y": int(rng.integers(2))})
    found = profile_of(rows)["changes"]
    assert {(each["attribute"], each["what"]) for each in found} == {
        ("x", "values"), ("z", "observed"), ("new", "observed"),
    }  # fmt: skip
    true = {"x": 4000, "z": 3000, "new": 2000}
    assert all(abs(each["event"] - true[each["attribute"]]) < 60 for each in found)


def test_what_is_suspicious() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for t in range(2000):
        y = bool(rng.random() < 0.4)
        row = {
            "row": t, "uuid": f"{rng.integers(1 << 60):x}", "user_id": int(rng.integers(1 << 40)),
            "same": "a", "won": "yes" if y else "no", "price": float(rng.normal()),
            "bad": -999.0 if t % 50 == 0 else float(rng.normal()),
            "mixed": "broken" if t % 40 == 0 else t % 7,
            "cents": int(rng.integers(1 << 40)), "town": f"t{rng.integers(40)}",
            "postcode": int(1000 + 37 * rng.integers(200)), "age": int(rng.integers(18, 90)),
        }  # fmt: skip
        if y:
            row["refund"] = 1.5
        if t % 300 == 0:
            row["seldom"] = 1
        rows.append({**row, "y": y})
    found = profile_of(rows)
    assert {(each["attribute"], each["what"]) for each in found["suspicious"]} == {
        ("row", "identifier"), ("uuid", "identifier"), ("user_id", "identifier"), ("same", "constant"),
        ("won", "leaks the label"), ("refund", "leaks the label"), ("bad", "far off"), ("mixed", "mixed"),
        ("seldom", "rare"), ("postcode", "possibly names"),
    }  # fmt: skip
    assert found["command"] == (
        "streamkarma learn in.csv --target y --ignore row --ignore uuid --ignore user_id --ignore same "
        "--ignore won --sentinel bad=-999 --ignore refund"
    )


@pytest.mark.parametrize(
    ("labels", "task", "options"),
    [
        ([0, 1], "classes", ""),
        ([1, 2], "classes", " --task binary"),
        ([1, 2, 3], "classes", " --task multiclass"),
        (["a", "b", "c"], "classes", ""),
        ([True, False], "classes", ""),
        ([0.5, 1.5, 2.0], "regression", ""),
        (list(range(40)), "regression", ""),
    ],
)
def test_the_task_is_told(labels: list[Any], task: str, options: str) -> None:
    rows = [{"x": 1.0 * (t // 100), "y": labels[t % len(labels)]} for t in range(400)]
    found = profile_of(rows)
    assert found["label"]["task"] == task
    assert found["command"] == f"streamkarma learn in.csv --target y{options}"


def test_updates_of_devices_are_taken_for_that() -> None:
    rows = [
        {"device": f"d{t % 9}", "ts": 1.7e9 + t, f"s{t % 5}": float(t % 11), "y": t // 3 % 2}
        for t in range(400)
    ]
    found = profile_of(rows)
    assert found["command"] == "streamkarma learn in.csv --target y --entity device --time ts"


def test_without_its_label_a_stream_is_asked_for_it() -> None:
    assert "--target churn" in profile_of([{"x": t, "churn": t % 2} for t in range(100)])["command"]
    assert "--target NAME" in profile_of([{"x": 1.0}])["command"]
    nothing = profile_of([])
    assert (nothing["events"], nothing["attributes"], nothing["tests"]) == (0, {}, [])


def test_missingness_that_tells_of_the_label_is_found() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(1500):
        y = int(rng.integers(2))
        row = {"a": rng.normal(), "b": rng.normal(), "c": "uv"[rng.integers(2)], "y": y}
        if rng.random() < 0.2 + 0.3 * y:
            del row["a"]
        if rng.random() < 0.4:
            del row["c"]
        rows.append(row)
    tests = {(each["of"], each["beyond"]): each["significant"] for each in profile_of(rows)["tests"]}
    assert tests[("the label", False)]
    assert tests[("the label", True)]
    assert not tests[("b", False)]
    for row in rows:
        row["y"] = int(rng.integers(2))
    assert not any(each["significant"] for each in profile_of(rows)["tests"])


def test_what_an_attribute_alone_tells() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=1000)
    number = Label(y.tolist(), is_number=True)
    assert number.predictive_power((3 * y + 1).tolist()).share > 0.98
    assert number.predictive_power(rng.normal(size=1000).tolist()).share < 0.05
    assert 0.3 < number.predictive_power((y + rng.normal(size=1000)).tolist()).share < 0.6
    classes = Label((y > 0).tolist(), is_number=False)
    assert classes.predictive_power([None if each else "x" for each in y > 0]).errors == 1.0
    assert classes.predictive_power([f"id{t}" for t in range(1000)]).share < 0.05
    skewed = Label([t % 10 == 0 for t in range(1000)], is_number=False)
    assert skewed.predictive_power([None] * 1000).share == 0.0


def test_many_attributes_take_bounded_room() -> None:
    rows = [{f"n{t}": 1, f"m{t % 7}": "v" * 5000, "y": 0} for t in range(3000)]
    profiler = Profiler("y", most=50)
    profiler.add(rows)
    found = profiler.profile()
    assert len(found["attributes"]) == 50
    assert found["values_of_further_attributes"] == 3000 - 43
    assert all(len(value) <= 80 for value, _ in found["attributes"]["m1"]["values"])


def test_values_that_are_equal_are_one() -> None:
    found = profile_of([{"x": value, "y": 0} for value in (1, 1.0, True, 0, -0.0, 0.0, "1")])
    assert found["attributes"]["x"]["values"] == [["0", 3], ["1", 3], ["true", 1]]
    assert found["attributes"]["x"]["distinct"] == 3


def test_rows_are_coded_as_numbers() -> None:
    X, of = coded([{"a": 1, "t": ["x"]}, {"a": True, "c": "u"}], ["a", "t", "c", "none"])
    assert of.tolist() == [0, 1, 2, 3]
    assert np.array_equal(X, [[1, 0, np.nan, np.nan], [1, np.nan, 1, np.nan]], equal_nan=True)


BIG = [1e308, -1e308, 1.7e308, 5e-324, 0.0, 1.0]


@pytest.mark.parametrize("labels", [[0, 1], BIG, [1e308, -1e308]])
def test_the_greatest_numbers_are_as_good_as_others(labels: list[float]) -> None:
    rng = np.random.default_rng(0)
    rows = [
        {"x": rng.choice(BIG), **({"m": rng.choice(BIG)} if t % 3 else {}), "y": labels[t % len(labels)]}
        for t in range(1500)
    ]
    found = profile_of(rows)
    numbers = found["attributes"]["x"]["numbers"]
    assert [numbers[name] for name in ("least", "median", "greatest")] == [-1e308, 0.0, 1.7e308]
    small = [{**row, "m": row["m"] / 2.0**200} if "m" in row else row for row in rows]
    assert [each["statistic"] for each in profile_of(small)["tests"]] == [
        each["statistic"] for each in found["tests"]
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from([None, "a", 1, "b", "c"]), st.lists(st.booleans(), min_size=9, max_size=9)),
        max_size=30,
    ),
    st.integers(1, 4),
    st.integers(1, 8),
)
def test_what_an_entity_had_is_counted(events: list[tuple[Any, list[bool]]], most: int, cut: int) -> None:
    carried = Carried(9, most)
    for begin in range(0, len(events), cut):
        part = events[begin : begin + cut]
        carried.add([name for name, _ in part], np.array([has for _, has in part]))
    expected, had = np.zeros(9, int), dict[Any, Any]()
    for name, has in events:
        if name is not None:
            before = had.pop(name, np.zeros(9, bool))
            expected += before & ~np.array(has)
            had[name] = before | has
            had = dict(list(had.items())[-most:])
    assert carried.counts(9).tolist() == expected.tolist()
    assert carried.events == sum(name is not None for name, _ in events)
    assert carried.distinct.count() == len({name for name, _ in events} - {None})


def test_the_memory_of_entities_is_part_of_the_profile() -> None:
    rows = [{"who": "p", "a": 1, "y": 0}, {"who": "p", "b": 2, "y": 1}, {"who": "q", "y": 0}, {"y": 1}]
    profile = profile_of(rows, entity="who")
    entity = profile["entity"]
    assert entity.pop("missing") == pytest.approx(7 / 12 - 1 / 12)
    assert entity == {"name": "who", "share": 0.75, "distinct": 2, "distinct_exact": True}
    assert [each["carried"] for each in profile["attributes"].values()] == [0.0, 0.25, 0.0]
    assert "--entity who" in profile["command"]
    text = "\n".join(remembered({**profile, "entity": {**entity, "missing": 0.5}}))
    assert "2 entities (who), in 75.0 % of the events: 50.0 % of the values missing instead of 58.3 %" in text
    assert "a: known in 50.0 %, observed in 25.0 %" in text
    assert remembered(profile_of(rows)) == []
