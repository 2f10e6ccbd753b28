"""Names, categories and labels of any length: what is kept of them is bounded, and the user is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streamkarma import ExplicitKARMAClassifier, KARMAClassifier, SubspaceImputer, load, save
from streamkarma.checkpoint import from_json_lines
from streamkarma.errors import RecordError, UsageError
from streamkarma.estimators.learners import KINDS
from streamkarma.events.flatten import flatten
from streamkarma.events.labels import Labels
from streamkarma.runtime.describe import describe
from tests.conftest import Program
from tests.encoding import encoded, encoder, items, restored
from tests.loops import run_of

LONG = "x" * 1025
#: 1,024 and 1,026 bytes in 512 and 513 characters.
WIDE, TOO_WIDE = "é" * 512, "é" * 513
TOO_MANY = "is ignored in events with more than 2 attributes (--max-attributes)"


@pytest.mark.parametrize(
    ("name", "fits"), [("x" * 1024, True), (LONG, False), (WIDE, True), (TOO_WIDE, False)]
)
def test_a_name_and_a_category_have_so_many_bytes(name: str, fits: bool) -> None:
    for record in ({name: 1.0}, {"a": name}):
        v = encoder()
        assert len(items(v, record, learned=False)) == fits
        assert len(items(v, record)) == fits
        assert v.ignored == (not fits)
        assert v.coordinate_count == 1 + fits


def test_all_names_together_have_so_many_bytes() -> None:
    v = encoder(all_bytes=20)
    # The name counts with each category: 1 + 9, then 1 + 8.
    assert len(items(v, {"a": "x" * 9})) == 1
    assert len(items(v, {"a": "y" * 8, "b": 1.0, "c": 1.0}, learned=False)) == 3
    assert len(items(v, {"a": "y" * 8, "b": 1.0, "c": 1.0})) == 3
    assert (v.ignored, v.evicted) == (0, 1)
    # 1 + 9, 1 + 9 and 1 are too much for one event.
    assert len(items(v, {"a": "x" * 9, "b": "x" * 9, "c": "x"}, learned=False)) == 2
    assert len(items(v, {"a": "x" * 9, "b": "x" * 9, "c": "x"})) == 2
    assert v.ignored == 1
    again = restored(v, encoder(all_bytes=20))
    assert len(items(again, {"e": 1.0})) == 1


def test_categories_share_the_name_of_their_attribute() -> None:
    v = encoder()
    for i in range(3):
        encoded(v, [{"".join(["na", "me"]): f"c{i}"}])
    assert len({id(name) for name, _ in v.entries()}) == 1


def test_attributes_are_named_once_and_few_of_them() -> None:
    v = encoder(max_attributes=2, max_coordinates=4)
    encoded(v, [{"a": "1"}])
    for i in range(3):
        encoded(v, [{"a": f"{i}", "b": 1.0, LONG: 2.0}])
        encoded(v, [{"a": LONG, "\x1b[31m\n": 1.0}])
    told = v.notices()
    assert told == [
        f"attribute b {TOO_MANY}",
        f"attribute {LONG[:60]}… is ignored: its name is longer than 1,024 bytes (--max-name-bytes)",
        f"attribute �[31m� {TOO_MANY}",
        "attribute a: categories longer than 1,024 bytes are ignored (--max-name-bytes)",
    ]
    for i in range(10):
        encoded(v, [{f"c{i}": 1.0, f"d{i}": 1.0}])
    told = v.notices()
    assert told[0].startswith("the limit of 2 attributes (--max-attributes) is reached")
    assert told[1].startswith("attribute d0 is ignored in events with more")
    assert told[2:] == ["values of more attributes are ignored; they are counted but not named here"]
    assert v.notices() == []
    encoded(v, [{"a": "9"}])
    assert v.notices() == []


def test_a_label_is_no_longer_than_a_name() -> None:
    labels = Labels(most=3)
    assert labels.check("x" * 1024)
    with pytest.raises(RecordError, match=r"^the label 'x+\.\.\.x+' is longer than 1,024 bytes$"):
        labels.check(LONG)
    with pytest.raises(RecordError, match="longer than 3 bytes"):
        KARMAClassifier(max_name_bytes=3).learn_one({}, "four")


def test_nested_names_do_not_multiply() -> None:
    with pytest.raises(RecordError, match="nested names are too long once they are joined"):
        flatten({"x" * 100_000: [1] * 1000})
    assert len(flatten({"x" * 10_000: [1] * 1000})) == 1000


@pytest.mark.parametrize("kind", [*KINDS.values(), SubspaceImputer])
def test_every_estimator_has_the_bounds_that_the_documentation_says(kind: Any) -> None:
    model = kind()
    assert (model.max_attributes, model.max_coordinates, model.max_name_bytes) == (16384, 16384, 1024)
    for name in ("max_attributes", "max_coordinates", "max_name_bytes"):
        for value in (0, -1, 1 << 40, 1.5, "16", True, None):
            with pytest.raises(UsageError, match=f"{name} must be an integer from 1 to"):
                kind(**{name: value})


def test_a_longer_bound_is_kept_with_the_model(tmp_path: Path) -> None:
    model = ExplicitKARMAClassifier(max_name_bytes=2000)
    model.learn_one({LONG: 1.0}, True)
    save(model, tmp_path / "model")
    assert list(load(tmp_path / "model").vocabulary.attributes) == [LONG]


@pytest.mark.parametrize("unlabelled", ["learn", "ignore"])
def test_events_that_wait_keep_nothing_that_is_too_long(tmp_path: Path, unlabelled: str) -> None:
    lines = [
        {"id": 1, "a": 1.5, LONG: 1.0, "b": LONG, "nested": {LONG: 2.0, "c": 3.0}},
        {"id": LONG, "a": 1.0},
    ]
    (tmp_path / "in").write_text("".join(json.dumps(line) + "\n" for line in lines))
    path = str(tmp_path / "model")
    run = run_of(input=str(tmp_path / "in"), model=path, pending=5, fields={"id": "id"}, predictions=None,
                   quiet=True, learner="explicit", unlabelled=unlabelled)  # fmt: skip
    run.execute()
    # An event that is learned on arrival is kept as it was encoded.
    records = {"learn": [{}], "ignore": [{"a": 1.5, "nested.c": 3.0}]}[unlabelled]
    assert run.session.pending is not None
    assert [event[4] for event in from_json_lines(run.session.pending.arrays()["pending.events"])] == records
    assert run.session.task_model.model.ignored == 3
    assert "an id matched by late labels has at most 1,024 bytes" in str(run.session.loop.first_rejected)
    assert describe(path)["file_bytes"] < 5100


def test_the_command_names_what_it_ignores(streamkarma: Program) -> None:
    records = [{"a": i, "b": f"n{i}", "long": LONG, "y": i % 2} for i in range(9)]
    records[0]["y"] = records[1]["y"] = LONG
    done = streamkarma("learn", "--max-coordinates", "5", "--update", "arow", records=records)
    assert done.code == 0
    told = [line for line in done.stderr.splitlines() if line.startswith("attribute ")]
    assert told == [
        "attribute long: categories longer than 1,024 bytes are ignored (--max-name-bytes)",
    ]
    assert sum("new names and categories replace" in line for line in done.stderr.splitlines()) == 1
    assert all(len(line) < 200 for line in done.stderr.splitlines())
