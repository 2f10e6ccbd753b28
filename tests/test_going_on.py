"""A loop that continues with another model: so do counts and metrics, whatever the order of its classes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamkarma.connectors.records import Records
from streamkarma.runtime.fields import Fields
from streamkarma.runtime.loop import Loop
from streamkarma.runtime.metrics import ClassificationMetrics
from streamkarma.runtime.output import Output
from streamkarma.runtime.task import TaskModel
from tests.cluster import lines
from tests.conftest import Program


def records(labels: str) -> Records:
    values = [json.dumps({"x": i % 3, "y": label}).encode() for i, label in enumerate(labels)]
    return Records(values, len(values), lambda i: {"line": i + 1})


def task_model(labels: str) -> TaskModel:
    """A model that has seen these classes in this order."""
    made = TaskModel("multiclass", {}, None, print, "explicit")
    Loop(made, Fields(), True, Output(), True, 1).feed(records(labels))
    return made


def test_another_model_goes_on() -> None:
    loop = Loop(task_model("abc"), Fields(), True, Output(), True, 1)
    loop.feed(records("abcabc"))
    before = loop.evaluator.result()
    loop.continue_with(task_model("cadb"))
    after = loop.evaluator.result()
    assert after == pytest.approx(before)
    loop.number_from(101)
    assert loop.feed(records("dcba")) == 4
    assert (loop.counters.events, loop.last) == (10, 104)


labels = st.lists(st.integers(0, 4), min_size=1, max_size=30)


@given(labels, labels, st.permutations(range(5)))
def test_metrics_go_on_with_classes_in_another_order(
    first: list[int], second: list[int], places: list[int]
) -> None:
    told, asked = np.array(first), np.array(first[::-1])
    moved, plain = ClassificationMetrics(), ClassificationMetrics()
    moved.update(told, asked)
    moved.relabel(places)
    plain.update(np.array(places)[told], np.array(places)[asked])
    for metrics in (moved, plain):
        metrics.update(np.array(second), np.array(second[::-1]))
    assert moved.result() == plain.result()


def test_metrics_take_no_more_room_however_often_a_model_is_replaced() -> None:
    metrics = ClassificationMetrics()
    metrics.update(np.array([0, 1]), np.array([2, 1]))
    metrics.relabel([0, 1, 2])
    before = {name: array.shape for name, array in metrics.arrays().items()}
    for _ in range(3):
        metrics.relabel([1, 2, 0])
    assert {name: array.shape for name, array in metrics.arrays().items()} == before


@given(st.text("abc", min_size=1, max_size=9), st.data())
def test_some_of_many_records(labels: str, data: st.DataObject) -> None:
    every = records(labels)
    begin = data.draw(st.integers(0, len(labels) - 1))
    end = data.draw(st.integers(begin + 1, len(labels)))
    some = every.between(begin, end)
    assert some.values == every.values[begin:end]
    assert [some.position(i) for i in range(len(some))] == [every.position(i) for i in range(begin, end)]


def test_a_file_that_the_model_never_wrote_is_not_cut(streamkarma: Program, tmp_path: Path) -> None:
    """Of an empty file, a model knows only the path; every file begins like an empty one."""
    rows = lines([{"a": i, "y": i % 2} for i in range(8)])
    (tmp_path / "k.jsonl").write_bytes(b"".join(line + b"\n" for line in rows[:5]))
    again = ["learn", "--resume-input", "--model", "k", "--learner", "sgd", "k.jsonl"]
    streamkarma(*again, "--predictions", "one", "--dead-letters", "none")
    (tmp_path / "precious").write_text("1\n2\n")
    streamkarma(*again, "--predictions", "two", "--dead-letters", "precious")
    (tmp_path / "k.jsonl").write_bytes(b"".join(line + b"\n" for line in rows))
    streamkarma(*again, "--predictions", "one", "--dead-letters", "precious")
    assert (tmp_path / "precious").read_text() == "1\n2\n"
    assert len((tmp_path / "one").read_text().splitlines()) == 8
