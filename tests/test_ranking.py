"""Attributes ranked over a window of events: of the input, kept by the model, or drawn from its moments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import streamkarma
from streamkarma.cli import cli
from streamkarma.estimators.learners import LEARNERS
from streamkarma.estimators.windows import window_of
from tests.test_explaining import NAMES, stream, trained

#: The attributes of ``stream``: too few for ``missing`` to leave out any that a row lacks.
ALL = {*NAMES, "kind"}


def invoke(*arguments: str, given: str = "", code: int = 0) -> str:
    """The output of a command, or its error if it fails."""
    result = CliRunner().invoke(cli, list(arguments), given)
    assert result.exit_code == code, (result.output, result.exception)
    return result.stdout if code == 0 else f"{result.output} {result.exception}"


def lines(classes: int, events: int = 60, seed: int = 7, **more: Any) -> str:
    """A stream as JSON lines."""
    return "".join(
        json.dumps({**more, **x, "y": f"c{y}" if classes > 2 else y}) + "\n"
        for x, y in stream(events, classes, seed)
    )


def learned(folder: Path, given: str, *options: str) -> str:
    """The path of a model trained on these lines."""
    path = str(folder / "m.karma")
    invoke("learn", "-", "--model", path, "--no-predictions", "--quiet", *options, given=given)
    return path


def ranking(path: str, *arguments: str, given: str = "") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        invoke("explain", path, *arguments, *(["--quiet"] if given else []), "--json", given=given)
    )
    return found


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("learner", LEARNERS)
def test_every_model_is_ranked_without_input(tmp_path: Path, learner: str, classes: int) -> None:
    path = learned(tmp_path, lines(classes), "--learner", learner)
    found = ranking(path, "--window", "40")
    assert (found["source"], found["events"]) == (
        "kept" if learner in ("auto", "neighbors") else "drawn",
        40,
    )
    rows = found["attributes"]
    assert {row["attribute"] for row in rows} == ALL
    assert [row["contribution"] for row in rows] == sorted(
        (row["contribution"] for row in rows), reverse=True
    )
    for row in rows:
        assert np.isclose(row["contribution"], row["observed"] * row["when_observed"])
        assert 0.0 <= row["absence_share"] <= 1.0
        assert row["deviation"] >= 0.0
    shown = invoke("explain", path, "--window", "40").splitlines()
    assert [line.split()[0] for line in shown[3:]] == [row["attribute"] for row in rows]


@pytest.mark.parametrize(
    ("classes", "options"),
    [(0, []), (2, []), (3, []), (2, ["--entity", "device"]), (2, ["--task", "multiclass"])],
)
def test_over_an_input_means_are_those_of_its_rows(tmp_path: Path, classes: int, options: list[str]) -> None:
    """Over as many of the latest events as the window has, with earlier values of entities."""
    path = learned(tmp_path, lines(classes, device="p"), *options)
    given = lines(classes, 30, seed=9, device="p")
    ignored = [] if "--entity" in options else ["--ignore", "device"]
    rows = [
        json.loads(row)
        for row in invoke("explain", path, "-", "--quiet", *ignored, given=given).splitlines()[-20:]
    ]
    found = ranking(path, "-", "--rank", "--window", "20", *ignored, given=given)
    assert (found["source"], found["events"]) == ("input", 20)
    for row in found["attributes"]:
        name = row["attribute"]
        own = [abs(part) for each in rows for other, part in each["contributions"] if other == name]
        asked = [part for each in rows for other, part in each["missing"] if other == name]
        assert np.isclose(row["contribution"], sum(own) / 20, rtol=1e-6)
        assert np.isclose(row["observed"], len(own) / 20)
        assert row["deviation"] is None if not asked else np.isclose(row["deviation"], np.mean(asked))


@pytest.mark.parametrize(("scale", "near"), [(True, 0.1), (False, 1e-6)])
def test_what_neighbours_keep_are_the_latest_events(scale: bool, near: float) -> None:
    """Standardised numbers are those that the learner saw, by the current scale."""
    model = trained("neighbors", 2, 400, scale=scale, window=40)
    window = window_of(model, 25)
    assert window.source == "kept"
    for record, (x, _) in zip(window.records, stream(400, 2)[-25:], strict=True):
        assert record.pop("kind", None) == x.pop("kind", None)
        assert set(record) == set(x)
        np.testing.assert_allclose([record[name] for name in x], list(x.values()), atol=near)


def test_a_window_that_lacks_events_is_not_used() -> None:
    """Events with very many values are not kept, and the others do not represent them."""
    model, wide = trained("auto", 2, 50), {f"w{i}": float(i) for i in range(140)}
    assert window_of(model, 10).source == "kept"
    model.learn_one(wide, 1)
    model.learn_one({"a": 1.0}, 1)
    assert window_of(model, 10).source == "drawn"


def test_events_are_drawn_as_the_model_knows_them() -> None:
    """Numbers and categories that are correlated, and missing values as often as in the stream."""
    model, random = LEARNERS["subspace"][False](), np.random.default_rng(2)
    for _ in range(2000):
        a = random.normal()
        b, is_x = 10.0 + 0.9 * a + 0.44 * random.normal(), random.random() < 0.7
        x = {"a": a, "b": b, "kind": "x" if is_x else "y"}
        seen = {n: v for n, v in x.items() if random.random() < {"a": 0.9, "b": 0.8, "kind": 0.5}[n]}
        model.learn_one(seen, bool(a > 0))
    records = window_of(model, 600).records
    assert records == window_of(model, 600).records
    shares = {name: np.mean([name in each for each in records]) for name in ("a", "b", "kind")}
    np.testing.assert_allclose(list(shares.values()), [0.9, 0.8, 0.5], atol=0.06)
    pairs = np.array([(each["a"], each["b"]) for each in records if {"a", "b"} <= set(each)])
    np.testing.assert_allclose(pairs.mean(axis=0), [0.0, 10.0], atol=0.15)
    np.testing.assert_allclose(np.cov(pairs.T), [[1.0, 0.9], [0.9, 1.0]], atol=0.2)
    assert np.isclose(np.mean([each["kind"] == "x" for each in records if "kind" in each]), 0.7, atol=0.08)


@pytest.mark.parametrize("learner", ["auto", "explicit"])
def test_an_attribute_whose_absence_is_the_label_tells_by_its_absence(tmp_path: Path, learner: str) -> None:
    random, given = np.random.default_rng(5), ""
    for _ in range(600):
        x = {name: random.normal() for name in "abc" if random.random() < 0.6}
        given += json.dumps({**x, "y": bool("a" not in x)}) + "\n"
    for found in (
        ranking(path := learned(tmp_path, given, "--learner", learner), "--window", "200"),
        ranking(path, "-", "--rank", "--window", "200", given=given),
    ):
        absence = {row["attribute"]: row["absence"] for row in found["attributes"]}
        assert absence["a"] > 5.0 * max(absence["b"], absence["c"])


def test_what_is_not_kept_is_named(tmp_path: Path) -> None:
    given = lines(2, note="cold and wet as ever in these days", at="2024-05-01T10:00:00")
    path = learned(tmp_path, given)
    assert sorted(ranking(path)["left_out"]) == ["at", "note"]
    assert "not in these events: " in invoke("explain", path)
    found = ranking(path, "-", "--rank", given=given)
    assert found["left_out"] == []
    assert {row["attribute"] for row in found["attributes"]} >= {*ALL, "note", "at"}


def test_a_long_table_says_that_there_is_more(tmp_path: Path) -> None:
    x = {f"name{i}": float(i % 3) for i in range(25)}
    path = learned(tmp_path, "".join(json.dumps({**x, "y": bool(t % 2)}) + "\n" for t in range(6)))
    shown = invoke("explain", path)
    assert "… (25 in all; --json lists them)" in shown
    assert len(ranking(path)["attributes"]) == 25


def test_what_cannot_be_ranked_is_said(tmp_path: Path) -> None:
    path = learned(tmp_path, lines(2))
    assert "--window has no meaning" in invoke("explain", path, "-", "--window", "5", code=1)
    assert "--json has no meaning" in invoke("explain", path, "-", "--json", code=1)
    assert "--predictions cannot" in invoke("explain", path, "-", "--rank", "--predictions", "-", code=1)
    assert "- has no event" in invoke("explain", path, "-", "--rank", code=1)
    empty = str(tmp_path / "empty.karma")
    streamkarma.save(streamkarma.KARMAClassifier(), empty)
    assert "empty.karma has learned no event" in invoke("explain", empty, code=1)
