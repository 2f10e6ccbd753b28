from __future__ import annotations

import json
import math
from typing import Any

import pytest

from streamkarma.errors import RecordError, RunError, UsageError
from streamkarma.estimators.regressor import KARMARegressor
from streamkarma.runtime.fields import Fields
from streamkarma.runtime.loop import Loop
from streamkarma.runtime.output import Output
from streamkarma.runtime.report import summarise
from streamkarma.runtime.task import TaskModel
from tests.loops import kept, records_of


def learn(labels: list[Any], task: str = "auto", positive: str | None = None, **options: Any) -> Any:
    """Rows, dead letters, messages, and the task model after some labels."""
    said: list[str] = []
    task_model = TaskModel(task, options, positive, said.append, "karma")
    loop = kept(task_model)
    lines = [json.dumps({"a": i % 5, "b": -i, "y": label}).encode() for i, label in enumerate(labels)]
    loop.feed(lines)
    return loop.rows, loop.dead, said, task_model


@pytest.mark.parametrize(
    ("labels", "task"),
    [
        ([True, False], "binary"),
        (["a", "b"], "binary"),
        (["a", "b", "c"], "multiclass"),
        ([0, 1, 0], "binary"),
        ([0, 0, 0, 1], "binary"),
        ([-1, 1], "binary"),
        ([1.0, 0], "binary"),
        ([0, 0, 2.5], "regression"),
        ([-1, 0], "regression"),
        ([1, 2, 3], "regression"),
        ([3.5], "regression"),
        ([2, 1, 0], "regression"),
    ],
)
def test_the_task_shows_in_the_labels(labels: list[Any], task: str) -> None:
    rows, dead, said, task_model = learn(labels)
    assert (task_model.name, dead, len(rows)) == (task, [], len(labels))
    assert len(said) == 1


def test_a_record_that_is_no_event_settles_nothing() -> None:
    task_model = TaskModel("auto", {}, None, lambda _: None, "karma")
    loop = kept(task_model, printed=False)
    loop.feed([b'{"a": NaN, "b": {"c": [1e999]}, "y": 7.5}', b'{"a": Infinity, "y": 7.5}'])
    assert (task_model.settled, loop.loop.counters.rejected) == (False, 2)


def test_a_single_number_leaves_it_open() -> None:
    _, _, said, task_model = learn([0, 0, 0])
    assert (said, task_model.settled) == ([], False)


@pytest.mark.parametrize("label", [0, 1, -1])
def test_a_late_regression_is_as_if_it_had_been_one_from_the_start(label: float) -> None:
    labels = [label] * 5 + [4.5, 3.0, 2.0, label, 7.0]
    late, _, _, task_model = learn(labels)
    early, _, _, reference = learn(labels, task="regression")
    assert [row["score"] for row in late[6:]] == [row["score"] for row in early[6:]]
    assert [row["prediction"] for row in late[1:5]] == [label] * 4
    one, other = task_model.model.state()[1], reference.model.state()[1]
    assert all(one[name].tobytes() == other[name].tobytes() for name in one)


def counted(labels: list[Any], **more: Any) -> tuple[Any, list[str]]:
    """The loss, the metrics and the recent means after some labels, and messages."""
    said: list[str] = []
    task, weights = more.pop("task", "auto"), more.pop("weights", [1] * len(labels))
    model = TaskModel(task, more, None, said.append, "karma")
    loop = Loop(model, Fields(weight="w"), True, Output(), False, 1, recent=4)
    rows = zip(labels, weights, strict=True)
    lines = [json.dumps({"a": i % 5, "b": -i, "w": w, "y": y}).encode() for i, (y, w) in enumerate(rows)]
    loop.feed(records_of(lines))
    found = summarise(loop, 0, 1.0)
    return {name: found[name] for name in ("loss", "metrics", "recent")}, said


@pytest.mark.parametrize("label", [0, 1, -1])
@pytest.mark.parametrize("repeated", [1, 2, 6])
@pytest.mark.parametrize("weights", [[1, 1, 1], [0.5, 2, 1]])
def test_a_late_regression_counts_as_if_it_had_been_one_from_the_start(
    label: float, repeated: int, weights: list[float]
) -> None:
    labels = [label] * repeated + [4.5, 3.0]
    weights = (weights + [1] * len(labels))[: len(labels)]
    late, _ = counted(labels, weights=weights)
    early, _ = counted(labels, weights=weights, task="regression")
    for part in late:
        assert late[part] == pytest.approx(early[part])


@pytest.mark.parametrize(
    "options",
    [{"scale": False}, {"coverage": 0.9}, {"weights": [0, 1, 1, 1, 1]}, {"weights": [0, 0, 0, 1, 1]}],
)
def test_what_a_regression_would_have_said_is_left_out_where_nobody_knows(options: dict[str, Any]) -> None:
    labels = [1] * 3 + [4.5, 3.0]
    late, said = counted(labels, **options)
    assert late["recent"]["events"] == 2
    assert late["loss"]["mean"] == pytest.approx(late["recent"]["loss"])
    assert late["metrics"]["mae"] == pytest.approx(late["recent"]["mae"])
    assert said[-1] == "loss and metrics cover only events from 4 on"


def test_labels_that_change_half_way_are_set_aside() -> None:
    rows, dead, _, task_model = learn(["a", "b", 1, True, "a", None, "c"])
    assert [row["line"] for row in dead] == [3, 4]
    assert len(rows) == 5
    assert task_model.name == "multiclass"
    # To Python, True is 1 and False 0; to JSON they are not, whichever came first.
    rows, dead, _, _ = learn([0, 1, True, False, 0.0])
    assert [row["line"] for row in dead] == [3, 4]
    assert dead[0]["error"] == "the label True is a boolean, but the labels so far are numbers"
    rows, dead, _, _ = learn([True, 1, 0, False])
    assert [row["line"] for row in dead] == [2, 3]
    rows, dead, _, _ = learn([1.5, 2.5, "x", True, {"a": 1}, 3.5])
    assert [row["line"] for row in dead] == [3, 4, 5]
    rows, dead, _, _ = learn([1.5, 2.5, 1e101, -1e300, 3.5])
    assert [row["line"] for row in dead] == [3, 4]
    rows, dead, _, _ = learn([0, 1, 2, 1.5, 1])
    assert [row["line"] for row in dead] == [3, 4]


@pytest.mark.parametrize(
    ("labels", "positive", "greater"),
    [([0, 1], None, 1), ([1, 0], None, 1), (["no", "yes"], None, "yes"), (["no", "yes"], "no", "no"),
     ([True, False], "false", False), ([-1, 1], "-1", -1), ([1, 0], "0", 0),
     ([0.0, 1.0], "0", 0.0), ([0, 1], "0.0", 0)],
)  # fmt: skip
def test_a_positive_score_means_the_positive_class(
    labels: list[Any], positive: str | None, greater: Any
) -> None:
    rows, *_ = learn(labels * 30, positive=positive)
    for row in rows[2:]:
        assert (row["score"] > 0) == (row["prediction"] == greater)


def test_a_positive_class_that_is_none() -> None:
    with pytest.raises(RunError, match="the classes are a and b; --positive x is neither"):
        learn(["a", "b"], positive="x")


def test_multiclass_scores_are_by_class() -> None:
    rows, *_ = learn(["a", "b", "c"] * 20)
    assert set(rows[-1]["score"]) == {"a", "b", "c"}
    best = max(rows[-1]["score"], key=rows[-1]["score"].get)
    assert rows[-1]["prediction"] == best
    rows, *_ = learn(["a", "b"] * 20, task="multiclass")
    assert set(rows[-1]["score"]) == {"a", "b"}


def test_a_loss_says_what_the_task_is() -> None:
    _, _, _, task_model = learn([0, 1, 0], loss="absolute")
    assert isinstance(task_model.model, KARMARegressor)
    with pytest.raises(
        UsageError, match="the labels imply regression, but --loss hinge is for classification"
    ):
        learn([2.5], loss="hinge")


def test_a_third_class_where_two_were_asked_for() -> None:
    _, dead, _, _ = learn(["a", "b", "c", "a"], task="binary")
    assert [row["line"] for row in dead] == [3]
    task_model = learn(["a", "b"], task="binary")[3]
    with pytest.raises(RecordError, match="neither of the two classes 'a' and 'b'; start a model"):
        task_model.check("c")
    # There is no --task when only predicting, and a model keeps its own.
    assert dead[0]["error"].endswith("--task multiclass to allow it")
    assert learn([0, 1, 2])[1][0]["error"].endswith("--task multiclass or regression to allow it")


@pytest.mark.parametrize(("label", "other"), [(0, 1), ("b", "a"), (False, True)])
def test_a_class_alone_has_the_probability_that_its_loss_comes_from(label: Any, other: Any) -> None:
    rows = learn([label] * 9 + [other])[0]
    assert "probability" not in rows[0]
    for n, row in enumerate(rows[1:], 1):
        right = row["probability"] if row["target"] == label else 1.0 - row["probability"]
        assert row["prediction"] == label
        assert row["loss"] == pytest.approx(-math.log(right), rel=1e-9)
        assert row["probability"] <= (n + 1) / (n + 2) + 1e-12


def test_probabilities_do_not_depend_on_the_classes_that_come_in_the_same_block() -> None:
    labels = ["a"] * 5 + ["b", "c", "b"]
    assert learn(labels, task="multiclass")[0][:6] == learn(labels[:6], task="multiclass")[0]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_only_the_logistic_loss_prints_probabilities(loss: str) -> None:
    assert "probability" not in learn([0, 1] * 5, loss=loss)[0][-1]
    assert "probability" in learn([0, 1] * 5)[0][-1]
