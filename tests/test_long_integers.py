"""Integers beyond 2^53, too long for a float: as entities, categories, labels and ids."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import orjson
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamkarma import ExplicitKARMAClassifier, load, save
from streamkarma._engine import Encoded, Encoder, LineReader, parse, parse_value
from streamkarma.connectors.kafka.records import Metadata
from streamkarma.connectors.tables.arrow import lines_of
from streamkarma.errors import RecordError
from streamkarma.events.labels import Labels
from streamkarma.monitoring.server import _figures
from streamkarma.profile.attribute import _as_text
from streamkarma.spark.predicting import _fitting, _type_of
from tests.cluster import Cluster, Record
from tests.conftest import Program
from tests.encoding import encoded, encoder

#: Neighbours that round to the same float: a snowflake, more than 64 bits, negative, and limits of floats.
PAIRS = [
    (1234567890123456789, 1234567890123456790),
    (2**70, 2**70 + 1),
    (-1234567890123456789, -1234567890123456790),
    (2**53, 2**53 + 1),
    (10**300, 10**300 + 1),
]
pairs = pytest.mark.parametrize("pair", PAIRS)
numbers = st.one_of(
    st.integers(-(10**25), 10**25),
    st.integers(2**53 - 2, 2**53 + 2),
    st.floats(-1e22, 1e22),
    st.sampled_from([0, -0.0, 1, 1.0, 1e16, 10**16, 2**60, 2.0**60, True]),
)


def following(shown: bool = True, **options: Any) -> Encoder:
    by = encoder(1000, 1000, 1 << 20, **options)
    by.follow(("d", shown, None, "fill", True, float("inf"), 100))
    return by


def entities(by: Encoder) -> int:
    counts = by.entity_counts
    assert counts is not None
    return counts[0]


def read(by: Encoder, records: list[dict[str, Any]]) -> Encoder:
    """Read the records as JSON lines."""
    lines = "".join(json.dumps(record) + "\n" for record in records).encode()
    assert LineReader({}, True, True, False).read(by, lines, 0, 1000).count == len(records)
    return by


def spelled(record: dict[str, Any]) -> dict[str, Any]:
    return {name: str(value) if name == "d" else value for name, value in record.items()}


@pairs
@pytest.mark.parametrize("shown", [True, False])
def test_neighbours_are_two_entities_each_of_which_is_also_its_text(
    pair: tuple[int, int], shown: bool
) -> None:
    records = [{"d": each, "x": 1.0} for each in pair]
    both = records + list(map(spelled, records))
    assert entities(read(following(shown), both)) == 2
    by = following(shown)
    encoded(by, both)
    assert entities(by) == 2
    # Also inside an object, where lines are parsed in another way.
    nested = encoder(1000, 1000, 1 << 20)
    nested.follow(("a.d", shown, None, "fill", True, float("inf"), 100))
    assert entities(read(nested, [{"a": {"b": [{"c": 1}], **each}} for each in both])) == 2


@given(st.lists(st.tuples(numbers, st.booleans()), max_size=6))
def test_lines_and_dicts_know_the_same_entities(given_numbers: list[tuple[Any, bool]]) -> None:
    records = [
        {"d": str(number) if is_text else number, "x": float(n)}
        for n, (number, is_text) in enumerate(given_numbers)
    ]
    for shown in (True, False):
        lines, dicts = read(following(shown), records), following(shown)
        encoded(dicts, records)
        assert entities(lines) == entities(dicts)
        assert lines.carried() == dicts.carried()


@given(numbers, numbers)
def test_equal_numbers_are_one_entity_and_others_two(one: Any, other: Any) -> None:
    for by in (read(following(), [{"d": one}, {"d": other}]), following()):
        if not entities(by):
            encoded(by, [{"d": one}, {"d": other}])
        assert entities(by) == 2 - (one == other)


@pytest.mark.parametrize(
    ("one", "other", "shown", "count"),
    [
        (7, "7", True, 1), (7.0, "7", True, 1), (7.0, 7, True, 1), (True, "1", True, 1), (-0.0, 0, True, 1),
        (7, "7", False, 1), (7.0, "7", False, 1), (7.0, 7, False, 1),
        # A string is an entity as it is spelled.
        ("7.0", 7, True, 2), ("7.0", 7, False, 2), ("007", 7, True, 2),
        # A float cannot hold all digits of a longer one.
        ("0.12345678901234567", "0.12345678901234568", True, 2),
    ],
)  # fmt: skip
def test_a_number_and_its_text_are_one_entity(one: Any, other: Any, shown: bool, count: int) -> None:
    assert entities(read(following(shown), [{"d": one}, {"d": other}])) == count
    by = following(shown)
    encoded(by, [{"d": one}, {"d": other}])
    assert entities(by) == count


def categories(by: Encoder, name: str) -> list[str | None]:
    return [category for each, category in by.entries() if each == name]


@pairs
@pytest.mark.parametrize("kind", ["category", "tags", "text"])
def test_neighbours_are_two_categories(pair: tuple[int, int], kind: str) -> None:
    records = [{"d": each} for each in pair]
    # A word has no sign.
    texts = sorted(str(each).removeprefix("-" if kind == "text" else "+") for each in pair)
    lines, dicts = (encoder(1000, 1000, 1 << 20, rules=([], {}, True, {"d": kind})) for _ in range(2))
    read(lines, records)
    encoded(dicts, records + list(map(spelled, records)))
    assert sorted(filter(None, categories(lines, "d"))) == texts
    assert sorted(filter(None, categories(dicts, "d"))) == texts


def test_an_attribute_that_is_a_number_is_the_nearest_float() -> None:
    big = 2**70 + 1
    for kinds in ({}, {"x": "number"}):
        by = encoder(1000, 1000, 1 << 20, scale=False, rules=([], {}, True, kinds))
        events = (
            LineReader({}, True, True, False).read(by, b'{"x":%d}\n{"x":"%d"}\n' % (big, big), 0, 9).events
        )
        assert events.block[3].tolist()[1::2] == [2.0**70] * 2


@pytest.mark.parametrize("form", [np.int64, np.uint64, Decimal, int])
def test_other_integers_of_python_keep_their_digits(form: Any) -> None:
    records = [{"d": form(each), "c": form(each), "x": 1.0} for each in PAIRS[0]]
    model = ExplicitKARMAClassifier(entity="d", kinds={"c": "category"})
    for record, label in zip(records, (True, False), strict=True):
        model.learn_one(record, label)
    assert model.summary()["entities"] == 2
    assert categories(model.vocabulary, "c") == list(map(str, PAIRS[0]))


FRAMES = {
    "int64": lambda columns: pd.DataFrame(columns),
    "uint64": lambda columns: pd.DataFrame(columns).astype({"d": "uint64", "c": "uint64"}),
    "Int64": lambda columns: pd.DataFrame(columns).astype({"d": "Int64", "c": "Int64"}),
    "arrow": lambda columns: pd.DataFrame(columns).astype({"d": "int64[pyarrow]", "c": "int64[pyarrow]"}),
    "polars": lambda columns: pl.DataFrame(columns),
    "decimal": lambda columns: pl.DataFrame(columns).cast({"d": pl.Decimal(38, 0), "c": pl.Decimal(38, 0)}),
}


@pytest.mark.parametrize("library", FRAMES)
def test_frames_keep_the_digits_of_entities_categories_and_labels(library: str) -> None:
    labels = [*PAIRS[0], 5]
    frame = FRAMES[library]({"d": labels, "c": labels, "x": [1.0, 2.0, 3.0]})
    model = ExplicitKARMAClassifier(entity="d", kinds={"c": "category"})
    model.learn_many(frame, pl.Series(labels) if isinstance(frame, pl.DataFrame) else pd.Series(labels))
    assert model.summary()["entities"] == 3
    assert categories(model.vocabulary, "c") == list(map(str, labels))
    assert model.classes == labels


def test_tables_of_small_integers_are_still_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamkarma.estimators.common.records_of", None)
    model = ExplicitKARMAClassifier(entity="d")
    # Only the nearest float of x matters.
    model.learn_many(pd.DataFrame({"d": [7, 8], "x": list(PAIRS[0])}), pd.Series([True, False]))
    assert model.summary()["entities"] == 2


@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]"])
def test_columns_without_any_integer_have_all_digits(kind: str) -> None:
    for entities_given in ([], [None, None], [None, 7]):
        frame = pd.DataFrame(
            {"d": pd.array(entities_given, dtype=kind), "x": [1.0, 2.0][: len(entities_given)]}
        )
        model = ExplicitKARMAClassifier(entity="d")
        model.learn_many(frame, pd.Series([True, False][: len(frame)], dtype=bool))
        assert model.summary()["entities"] == (7 in entities_given)


@pairs
@pytest.mark.parametrize("more", [(), ("--weight", "w"), ("--full", "f")])
def test_labels_are_told_apart_and_shown_as_they_are(
    streamkarma: Program, pair: tuple[int, int], more: tuple[str, ...]
) -> None:
    labels = [pair[n % 2] for n in range(40)]
    events = [{"a": n % 2, "y": label, "f": {"a": n % 2}} for n, label in enumerate(labels)]
    if "--full" not in more:
        events = [{name: value for name, value in each.items() if name != "f"} for each in events]
    done = streamkarma("learn", "--learner", "explicit", "--task", "multiclass", "--model", "m", *more,
                       records=events)  # fmt: skip
    assert done.code == 0, done.stderr
    assert [row["target"] for row in done.rows] == labels
    assert [row["prediction"] for row in done.rows][10:] == labels[10:]
    assert json.loads(streamkarma("inspect", "m", "--json").stdout)["classes"] == list(pair)
    again = streamkarma("predict", "m", *more, records=events).rows
    assert [(row["prediction"], row["target"]) for row in again] == list(zip(labels, labels, strict=True))


def test_a_float_is_the_class_that_it_equals_and_no_other(streamkarma: Program) -> None:
    exact, other = 2**60, 2**60 + 1
    events = [
        {"a": 1, "y": y} for y in (other, exact, float(exact), other, exact, float(exact), 2**53, 2**53 + 1)
    ]
    rows = streamkarma("learn", "--task", "multiclass", "--learner", "explicit", "--model", "m",
                       records=events).rows  # fmt: skip
    assert [row["target"] for row in rows] == [each["y"] for each in events]
    found = json.loads(streamkarma("inspect", "m", "--json").stdout)["classes"]
    assert found == [other, exact, 2**53, 2**53 + 1]
    # A label is inspected once, and known from then on.
    reader = LineReader({"y": -1}, True, True, False)
    reader.know(found)
    lines = "".join(json.dumps(each) + "\n" for each in events).encode()
    assert reader.read(encoder(9, 9, 99), lines, 0, 100).unknown is None


def test_a_number_beyond_all_floats_is_no_label() -> None:
    with pytest.raises(RecordError, match="is not finite"):
        Labels(most=3).check(10**400)


def test_targets_of_a_regression_are_shown_as_they_are(streamkarma: Program) -> None:
    targets = [*PAIRS[0], 2**70 + 1]
    events = [{"a": 1, "y": y} for y in targets]
    rows = streamkarma("learn", "--task", "regression", records=events).rows
    assert [row["target"] for row in rows] == targets


IDS = [each for pair in PAIRS for each in pair]


def test_ids_are_copied_as_they_are(streamkarma: Program) -> None:
    events: list[dict[str, Any]] = [{"id": each, "a": 1, "y": True} for each in [*IDS, {"k": IDS[2]}, 1.5, 0]]
    for more in ((), ("--pending", "9")):
        rows = streamkarma("learn", "--id", "id", *more, records=events).rows
        assert [row["id"] for row in rows] == [each["id"] for each in events]
    refused = streamkarma("learn", "--id", "id", records=[{"id": 10**400, "a": 1}])
    assert "infinite number" in refused.stderr


@pytest.mark.parametrize("stops", [False, True])
def test_a_label_finds_its_event_by_all_digits(streamkarma: Program, stops: bool) -> None:
    events = [{"id": each, "a": n} for n, each in enumerate(IDS)]
    labels = [{"id": each, "y": each} for each in reversed(IDS)]
    options = ("learn", "--id", "id", "--pending", "99", "--task", "multiclass", "--model", "m")
    if stops:
        streamkarma(*options, records=events)
        rows = streamkarma(*options, records=labels).rows
    else:
        rows = streamkarma(*options, records=events + labels).rows[len(events) :]
    assert [(row["id"], row["target"]) for row in rows] == [(each, each) for each in reversed(IDS)]


def test_a_label_finds_the_events_of_its_entity(streamkarma: Program) -> None:
    one, other = PAIRS[1]
    records = [
        {"d": one, "id": 1, "a": 1}, {"d": other, "id": 2, "b": 1}, {"d": str(one), "id": 3, "a": 2},
        {"d": other, "y": 0}, {"d": one, "y": 1},
    ]  # fmt: skip
    rows = streamkarma("learn", "--entity", "d", "--id", "id", "--pending", "9", records=records).rows
    assert [(row["id"], row["target"]) for row in rows[3:]] == [(2, 0), (1, 1), (3, 1)]


def test_a_model_that_was_saved_remembers_its_entities(tmp_path: Path) -> None:
    model = ExplicitKARMAClassifier(entity="d")
    for n, each in enumerate(PAIRS[0]):
        model.learn_one({"d": each, "ab"[n]: 1.0}, bool(n))
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    for n, each in enumerate(PAIRS[0]):
        loaded.predict_one({"d": each})
        assert loaded.vocabulary.carried() == {"ab"[n]: 1.0, "label.last": n, "label.mean": n}


def test_columns_of_arrow_and_of_spark_keep_their_digits(streamkarma: Program, tmp_path: Path) -> None:
    one, other = PAIRS[0]
    arrays = {
        "int64": pa.array([one, None, other], pa.int64()),
        "uint64": pa.array([one, None, other], pa.uint64()),
        "decimal": pa.array([Decimal(one), None, Decimal(other)], pa.decimal128(20, 0)),
        "cents": pa.array([Decimal(one), None, Decimal(other)], pa.decimal128(21, 2)),
    }
    for array in arrays.values():
        batch = pa.RecordBatch.from_pydict({"d": array})
        assert [json.loads(line).get("d") for line in lines_of(batch).splitlines()] == [one, None, other]
        with (
            pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file,
            pa.ipc.new_file(file, batch.schema) as writer,
        ):
            writer.write_batch(batch)
        rows = streamkarma("learn", "--id", "d", "t.arrow").rows
        assert [row["id"] for row in rows] == [one, None, other]
    (tmp_path / "t.csv").write_text(f"d,a\n{one},1\n{other},2\n")
    assert [row["id"] for row in streamkarma("learn", "--id", "d", "t.csv").rows] == [one, other]


def test_frames_of_spark_have_a_type_for_every_label() -> None:
    one, other = PAIRS[1]
    kinds = {"boolean": [True], "bigint": [1, 2**62], "double": [1, 0.5], "string": [one, other]}
    assert {kind: _type_of(classes) for kind, classes in kinds.items()} == {kind: kind for kind in kinds}
    assert _type_of([0.5, 2**53 + 1]) == "string"
    assert _fitting(one, "string") == str(one)
    assert _fitting([one], "array<string>") == [str(one)]
    assert _fitting(one, "bigint") is None


@pairs
def test_keys_and_headers_of_records_keep_their_digits(pair: tuple[int, int]) -> None:
    for each in pair:
        record: Any = SimpleNamespace(key=b"%d" % each, headers=[("h", b"%d" % each)], timestamp=0)
        assert Metadata("k", None, {"h": "g"}).of(record) == {"k": each, "g": each}
    text: Any = SimpleNamespace(key=b"NaN", headers=[], timestamp=0)
    assert Metadata("k").of(text) == {"k": "NaN"}


def test_parsing_keeps_integers_of_any_length() -> None:
    for one, other in pairwise(IDS):
        assert parse(b'{"a":[%d,%d]}' % (one, other)) == {"a": [one, other]}
    assert [parse_value(text) for text in (b" 7 ", b'"7"', b"1e3", b"-0", b"null")] == [
        7,
        "7",
        1000.0,
        0,
        None,
    ]
    for text in (b"", b"7 8", b"NaN", b"[", b"1e999", b"\xff"):
        with pytest.raises(RecordError):
            parse_value(text)


def test_a_profile_tells_neighbours_apart(streamkarma: Program) -> None:
    assert _as_text(PAIRS[0][0]) == str(PAIRS[0][0])
    records = [{"d": PAIRS[0][n % 2], "y": True} for n in range(10)]
    found = json.loads(streamkarma("profile", "--json", records=records).stdout)["attributes"]["d"]
    assert found["distinct"] == 2
    assert sorted(found["values"]) == [[str(each), 5] for each in PAIRS[0]]


def test_a_page_in_a_browser_is_given_long_integers_as_texts() -> None:
    row = {"n": 1, "id": {"k": PAIRS[1][0]}, "prediction": PAIRS[0][0], "set": [PAIRS[0][1], 3]}
    figures = SimpleNamespace(
        _asdict=lambda: {"rows": [row]}, rows=[row], error="error_rate", point=lambda: None
    )
    history = SimpleNamespace(columns=lambda _: {})
    watcher: Any = SimpleNamespace(figures=figures, history=history, unready=None)
    shown = orjson.loads(_figures(watcher).body)["rows"]
    assert shown == [{"n": 1, "id": {"k": str(PAIRS[1][0])}, "prediction": str(PAIRS[0][0]),
                      "set": [str(PAIRS[0][1]), 3]}]  # fmt: skip


def test_a_table_of_floats_is_read_like_dicts() -> None:
    table = np.array([[1e18, 1.0], [2.0**60, 2.0], [1e18, 3.0]])
    by, other = following(), following()
    by.read_table(["d", "x"], table, [True] * 3, Encoded())
    encoded(other, [{"d": int(d), "x": x} for d, x in table.tolist()])
    assert entities(by) == entities(other) == 2


def test_records_of_a_topic_keep_their_digits(cluster: Cluster) -> None:
    source, labels, output = cluster.topic("in"), cluster.topic("labels"), cluster.topic("out")
    cluster.put(
        source, [Record(b'{"a": %d, "d": %d}' % (n, each), key=b"%d" % each) for n, each in enumerate(IDS)]
    )
    cluster.put(labels, [Record(b'{"y": %d}' % each, key=b"%d" % each) for each in reversed(IDS)])
    options = [source, "--label-topic", labels, "--output-topic", output, "--model", "m", "--until-end",
               "--with-key", "key", "--id", "key", "--entity", "d", "--task", "multiclass"]  # fmt: skip
    cluster.attach(*options)
    told = {row["id"]: row["target"] for row in cluster.rows(output) if "target" in row}
    assert told == {each: each for each in IDS}
    assert load(cluster.folder / "m").summary()["entities"] == len(IDS)
