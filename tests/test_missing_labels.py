"""Texts that stand for no label, in JSON lines and tables alike."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Program

CLASSES = ["yes", "no", "", "  ", "NA", "none", "-", "yes", "no"]


def lines_of(labels: list[Any]) -> bytes:
    return b"".join(json.dumps({"a": i, "x": i % 3, "y": y}).encode() + b"\n" for i, y in enumerate(labels))


def csv_of(labels: list[Any]) -> bytes:
    return "".join(["a,x,y\n", *(f"{i},{i % 3},{y}\n" for i, y in enumerate(labels))]).encode()


def targets(streamkarma: Program, content: bytes, *args: str) -> list[Any]:
    done = streamkarma("learn", "--learner", "explicit", *args, text=content)
    assert done.code == 0, done.stderr
    return [row.get("target") for row in done.rows]


@pytest.mark.parametrize("format", ["json", "csv"])
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ["yes", "no", None, None, None, "none", "-", "yes", "no"]),
        (["na"], ["yes", "no", None, None, None, "none", "-", "yes", "no"]),
        (["NONE", "no", "-"], ["yes", None, None, None, "NA", None, None, "yes", None]),
    ],
)
@pytest.mark.parametrize("more", [[], ["--pending", "9", "--id", "a"]], ids=["", "pending"])
def test_which_texts_are_no_class(
    streamkarma: Program, format: str, words: list[str], expected: list[Any], more: list[str]
) -> None:
    content = (csv_of if format == "csv" else lines_of)(CLASSES)
    options = [each for word in words for each in ("--na", word)]
    assert targets(streamkarma, content, "--format", format, *options, *more) == expected


@pytest.mark.parametrize("format", ["json", "csv"])
@pytest.mark.parametrize(
    ("labels", "task"), [([1.5, 2.5], "regression"), ([0, 1], "binary"), ([3, 4], "multiclass")]
)
def test_beside_numbers_the_usual_words_are_no_label(
    streamkarma: Program, format: str, labels: list[Any], task: str
) -> None:
    given = [*labels, "", "NA", " ? ", "null", "-", *labels]
    content = (csv_of if format == "csv" else lines_of)(given)
    found = targets(streamkarma, content, "--format", format, "--task", task)
    assert found == [*labels, None, None, None, None, None, *labels]


def test_a_word_that_becomes_a_class_is_announced_once(streamkarma: Program) -> None:
    done = streamkarma("learn", text=lines_of(["yes", "?", "None", "-", "no", "None", "n/a", "-"]))
    said = [line for line in done.stderr.splitlines() if line.startswith("label ")]
    assert said == [
        f"label '{word}': a class; with --na {word} it stands for no label" for word in ("None", "-")
    ]


def test_plus_and_minus_are_two_classes(streamkarma: Program) -> None:
    content = lines_of(["-", "+", "-", "+", ""])
    assert targets(streamkarma, content) == ["-", "+", "-", "+", None]
    assert targets(streamkarma, content, "--na", "-") == [None, "+", None, "+", None]


@pytest.mark.parametrize("word", ["none", "-"])
def test_a_column_of_labels_that_begins_with_such_words(streamkarma: Program, word: str) -> None:
    labels = [word] * 1100 + ["fraud", word, ""]
    found = targets(streamkarma, csv_of(labels), "--format", "csv")
    assert found == targets(streamkarma, lines_of(labels)) == [*labels[:-1], None]


@pytest.mark.parametrize("more", [[], ["--entity", "shop"]], ids=["", "entity"])
def test_an_empty_label_is_as_good_as_none_at_all(
    streamkarma: Program, tmp_path: Path, more: list[str]
) -> None:
    rng = random.Random(0)
    rows = [{"a": rng.random(), "b": rng.random(), "shop": i % 7} for i in range(600)]
    labels = ["y" if row["a"] > 0.5 else "n" for row in rows]
    labelled = [{**row, "y": labels[i]} if i % 3 else row for i, row in enumerate(rows)]
    empty = [{"y": ["", "NA"][i % 2], **row} for i, row in enumerate(labelled)]
    models = []
    for name, stream in (("without", labelled), ("empty", empty)):
        files = ["--model", name, "--predictions", f"{name}.jsonl"]
        done = streamkarma("learn", *files, *more, records=stream)
        assert done.code == 0
        models.append((tmp_path / f"{name}.jsonl").read_bytes())
    assert models[0] == models[1]


@pytest.mark.parametrize("format", ["json", "csv"])
def test_a_profile_has_the_labels_that_are_learned(streamkarma: Program, format: str) -> None:
    content = (csv_of if format == "csv" else lines_of)(CLASSES * 20)
    for words, classes in (
        ([], {"yes", "no", "none", "-"}),
        (["--na", "none"], {"yes", "no", "NA", "-"}),
    ):
        done = streamkarma("profile", "--format", format, *words, "--json", text=content)
        label = json.loads(done.stdout)["label"]
        assert {value for value, _ in label["values"]} == classes
    numbers = streamkarma("profile", "--json", text=lines_of([1, 2, "NA", ""] * 20))
    assert json.loads(numbers.stdout)["label"]["share"] == 0.5
