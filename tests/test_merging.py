"""Models that learned separately are one model after merging."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from copy import deepcopy
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamkarma import ExplicitKARMAClassifier, KARMAMixtureClassifier, SubspaceRegressor, load, merge, save
from streamkarma.errors import UsageError
from streamkarma.estimators.learners import LEARNERS, Model, create
from streamkarma.estimators.persistence import from_bytes, load_with_run, to_bytes
from tests.conftest import Program

TASKS = ("binary", "multiclass", "regression")
Event = tuple[dict[str, Any], Any]


def stream(task: str, events: int, seed: int = 0) -> list[Event]:
    """Events of numbers in ±1 and a category, some of them missing, with labels that depend on them."""
    rng = random.Random(seed)
    made = []
    for _ in range(events):
        full: dict[str, Any] = {name: rng.uniform(-1.0, 1.0) for name in "abcd"}
        full["kind"] = rng.choice("xyz")
        score = 2.0 * full["a"] - full["b"] + (full["kind"] == "x") + rng.gauss(0.0, 0.1)
        labels = {
            "binary": score > 0.3,
            "multiclass": str(int(score * 1.2) % 3),
            "regression": 10.0 * score + 5.0,
        }
        made.append(({name: value for name, value in full.items() if rng.random() < 0.7}, labels[task]))
    return made


def learned(model: Model, events: Iterable[Event]) -> Model:
    """The model, after it has learned the events."""
    for x, y in events:
        model.learn_one(x, y)
    return model


def new(learner: str, task: str, **options: Any) -> Model:
    return create(learner, options, task == "regression")


def assert_same(one: Model, other: Model, tolerance: float = 1e-12) -> None:
    """Two models have learned the same, up to a tolerance relative to the largest number."""
    (header, arrays), (other_header, others) = one.state(), other.state()
    assert header.keys() - {"merged_from"} == other_header.keys() - {"merged_from"}
    for name in header.keys() - {"merged_from"}:
        assert header[name] == other_header[name], name
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        assert array.shape == others[name].shape, name
        largest = np.abs(array.astype(float)).max(initial=1.0)
        if name.endswith("window_metric"):
            tolerance = 1e-6  # kept in single precision
        np.testing.assert_allclose(
            array.astype(float), others[name].astype(float), rtol=0, atol=tolerance * largest, err_msg=name
        )


def answers(model: Any, events: Sequence[Event]) -> list[Any]:
    """What a model predicts, as numbers in the order of the classes' names."""
    if hasattr(model, "predict_proba_one"):
        return [[p for _, p in sorted(model.predict_proba_one(x).items())] for x, _ in events]
    return [[model.predict_one(x)] for x, _ in events]


def cases() -> list[Any]:
    return [pytest.param(learner, task, id=f"{learner}-{task}") for learner in LEARNERS for task in TASKS]


@pytest.mark.parametrize(("learner", "task"), cases())
def test_the_order_of_the_models_does_not_show(learner: str, task: str) -> None:
    parts = [learned(new(learner, task), stream(task, 60, seed)) for seed in range(3)]
    first = merge(parts)
    for order in permutations(parts):
        assert_same(merge(order), first)


@pytest.mark.parametrize(("learner", "task"), cases())
def test_models_can_be_merged_in_a_tree(learner: str, task: str) -> None:
    base = learned(new(learner, task, scale=False), stream(task, 60, 9))
    parts = [learned(deepcopy(base), stream(task, 50, seed)) for seed in range(4)]
    tree = merge([merge(parts[:2], base), merge(parts[2:], base)], base)
    assert_same(tree, merge(parts, base))


@pytest.mark.parametrize(("learner", "task"), cases())
def test_a_model_merged_with_one_that_learned_nothing_is_itself(learner: str, task: str) -> None:
    events = stream(task, 80)
    model = learned(new(learner, task), events)
    merged = merge([model, new(learner, task)])
    np.testing.assert_allclose(answers(merged, events), answers(model, events), atol=1e-9)
    assert merged.steps == model.steps


@pytest.mark.parametrize(("learner", "task"), cases())
def test_what_all_began_with_counts_once(learner: str, task: str) -> None:
    base = learned(new(learner, task), stream(task, 80))
    events = stream(task, 30, 2)
    merged = merge([deepcopy(base), deepcopy(base)], base)
    np.testing.assert_allclose(answers(merged, events), answers(base, events), atol=1e-9)
    assert merged.steps == base.steps
    went_on = learned(deepcopy(base), stream(task, 40, 1))
    merged = merge([base, went_on, base], base)
    np.testing.assert_allclose(answers(merged, events), answers(went_on, events), atol=1e-9)
    assert merged.steps == went_on.steps


@pytest.mark.parametrize(("learner", "task"), cases())
def test_names_and_classes_may_come_in_any_order(learner: str, task: str) -> None:
    """One part first learns an event of each class, with names in reverse order."""
    events = stream(task, 80, 1)
    other = sorted(stream(task, 20, 2), key=lambda event: str(event[1]), reverse=True)
    backwards = [(dict(reversed(x.items())), y) for x, y in [*other[:1], *other[-1:], *other]]
    merged = merge([learned(new(learner, task), events), learned(new(learner, task), backwards)])
    again = merge([learned(new(learner, task), backwards), learned(new(learner, task), events)])
    assert_same(again, merged)
    alone = learned(new(learner, task), events)
    assert answers(merged, events[:1])[0] != answers(alone, events[:1])[0]
    assert np.shape(answers(merged, events)) == np.shape(answers(alone, events))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_merged_model_learns_on_and_is_saved(learner: str, task: str, tmp_path: Path) -> None:
    parts = [learned(new(learner, task), stream(task, 50, seed)) for seed in range(3)]
    merged = merge(parts)
    save(merged, tmp_path / "merged.karma")
    again = load(tmp_path / "merged.karma")
    assert to_bytes(again) == to_bytes(merged)
    assert again.merged_from == [("model 1", 50), ("model 2", 50), ("model 3", 50)]
    events = stream(task, 40, 7)
    assert answers(learned(again, events), events) == answers(learned(merged, events), events)
    assert merged.steps == 190


@pytest.mark.parametrize("task", TASKS)
def test_a_merged_mixture_is_saved_long_after(task: str, tmp_path: Path) -> None:
    parts = [learned(new("auto", task), stream(task, 50, seed)) for seed in range(3)]
    # A mixture reviews what it has learned after every 256 events, and 150 is no multiple of that.
    merged = learned(merge(parts), stream(task, 700, 7))
    save(merged, tmp_path / "merged.karma")
    assert to_bytes(load(tmp_path / "merged.karma")) == to_bytes(merged)


def test_moments_and_precisions_are_those_of_one_pass() -> None:
    events = stream("binary", 300)
    whole = learned(new("explicit", "binary"), events)
    merged = merge([learned(new("explicit", "binary"), events[k::3]) for k in range(3)])
    for name in whole.vocabulary.attributes:
        assert name in merged.vocabulary.attributes
    assert moments(merged) == pytest.approx(moments(whole), rel=1e-10)
    # Without a running scale, features are the same in every part; with squared loss, every event updates.
    numbers = [({"a": 1.0, **x, "kind": None}, y) for x, y in stream("regression", 300)]
    whole = learned(new("explicit", "regression", scale=False), numbers)
    merged = merge([learned(new("explicit", "regression", scale=False), numbers[k::3]) for k in range(3)])
    assert precisions(merged) == pytest.approx(precisions(whole), rel=1e-10)


def moments(model: Model) -> dict[str, float]:
    """Count, mean and sum of squares of each number, by name."""
    encoder, rows = model.vocabulary, model.vocabulary.arrays()["moments"]
    rows = rows.reshape(encoder.coordinate_count, -1)[:, :3]
    named = ((encoder.describe(k), row) for k, row in enumerate(rows[1:], 1))
    return {f"{n} {i}": v for (n, kind), row in named if kind is None for i, v in enumerate(row)}


def precisions(model: Model) -> list[float]:
    """The precisions of AROW, ascending: their positions depend on the order of names."""
    [spread] = [array for name, array in model.state()[1].items() if name.endswith("spread")]
    return sorted((1.0 / spread).ravel().tolist())


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (
            ExplicitKARMAClassifier(gamma=3),
            "model 1 has gamma 2 and model 2 3: models with different options",
        ),
        (
            KARMAMixtureClassifier(),
            "model 1 is of type ExplicitKARMAClassifier and model 2 of type KARMAMixtureClassifier",
        ),
        (learned(ExplicitKARMAClassifier(), [({"a": 1.0}, 1)]), "the label .* but the labels so far are"),
    ],
)
def test_what_does_not_go_together_is_refused(other: Model, why: str) -> None:
    model = learned(ExplicitKARMAClassifier(), [({"a": 1.0}, "yes"), ({"a": 2.0}, "no")])
    with pytest.raises(UsageError, match=why):
        merge([model, other])


@pytest.mark.parametrize("labels", [([0, 1], [False, True]), ([True], [1]), (["a"], [True])])
@pytest.mark.parametrize("with_base", [False, True])
def test_labels_of_several_kinds_do_not_go_together(labels: tuple[list[Any], ...], with_base: bool) -> None:
    def model_of(each: list[Any]) -> Model:
        return learned(ExplicitKARMAClassifier(), [({"a": 1.0}, label) for label in each])

    one, other = map(model_of, labels)
    for parts in ([one, other], [other, one]):
        with pytest.raises(
            UsageError, match=r"^[^\n]* cannot be merged: the label .* but the labels so far are"
        ):
            merge(parts, base=one if with_base else None)


def test_merging_needs_models() -> None:
    with pytest.raises(UsageError, match="at least one model"):
        merge([])


def test_models_stay_as_they_are() -> None:
    parts = [learned(new("auto", "binary"), stream("binary", 50, seed)) for seed in range(2)]
    before = [to_bytes(part) for part in parts]
    assert parts[0].merge(parts[1]).steps == 100
    assert [to_bytes(part) for part in parts] == before


def test_merged_parts_of_a_stream_predict_about_as_well_as_one_pass() -> None:
    events = stream("binary", 4000)
    held_out = stream("binary", 1000, 1)
    whole = learned(new("auto", "binary"), events)
    parts = [learned(new("auto", "binary"), events[k::4]) for k in range(4)]
    merged = merge(parts)
    alone = sum(errors(part, held_out) for part in parts) / 4
    assert errors(merged, held_out) <= alone
    assert errors(merged, held_out) <= errors(whole, held_out) + 0.015 * len(held_out)


def errors(model: Any, events: Sequence[Event]) -> int:
    return sum(model.predict_one(x) != y for x, y in events)


def written(path: Path, events: Iterable[Event]) -> str:
    path.write_text("".join(json.dumps({**x, "y": y}) + "\n" for x, y in events))
    return str(path)


def passing(rng: random.Random, t: int) -> dict[str, Any]:
    """An event with names that come and go, numbers and categories."""
    names = [f"a{t // 6 + rng.randrange(4)}" for _ in range(rng.randint(1, 4))]
    return {name: rng.choice("abcdefghijkl") if rng.random() < 0.6 else rng.gauss(0.0, 3.0) for name in names}


@pytest.mark.parametrize(
    ("learner", "options"),
    [
        ("explicit", {"max_coordinates": 20, "table_bits": 8}),
        ("bins", {"max_coordinates": 40, "max_attributes": 2, "table_bits": 8}),
        ("subspace", {"max_coordinates": 6, "max_attributes": 6}),
    ],
)
def test_what_all_parts_have_given_up_is_gone(learner: str, options: dict[str, Any]) -> None:
    for seed in range(20):
        rng = random.Random(seed)
        before, *after = (
            [(passing(rng, t), rng.gauss(0.0, 1.0)) for t in range(begin, end)]
            for begin, end in ((0, 20), (20, 80), (20, 80))
        )
        base, parts = learned(new(learner, "regression", **options), before), []
        for events in after:
            part = new(learner, "regression", **options)
            part.restore(*base.state())
            parts.append(learned(part, events))
        merged = merge(parts, base)
        loaded = from_bytes(to_bytes(merged), "it")[0]
        for t in range(80, 95):
            x, y = passing(rng, t), rng.gauss(0.0, 1.0)
            assert merged.predict_one(x) == loaded.predict_one(x)
            merged.learn_one(x, y)
            loaded.learn_one(x, y)


def test_what_no_part_knows_any_more_makes_room_for_what_is_new() -> None:
    rng, errors = random.Random(0), []
    base = new("karma", "binary", max_attributes=9, max_coordinates=9)
    for turn in range(12):
        parts = []
        for _ in range(2):
            part = deepcopy(base)
            for _ in range(300):
                # New names every four turns, and no room for two sets of them.
                x = {f"w{turn // 4}_{i}": rng.gauss(0.0, 1.0) for i in range(6)}
                y = x[f"w{turn // 4}_0"] > 0.0
                if turn == 11:
                    errors.append(base.predict_one(x) != y)
                part.learn_one(x, y)
            parts.append(part)
        base = merge(parts, base)
    assert np.mean(errors) < 0.05


def test_the_command_line(streamkarma: Program, tmp_path: Path) -> None:
    files = []
    for seed in range(3):
        events = written(tmp_path / f"{seed}.jsonl", stream("multiclass", 60, seed))
        files.append(str(tmp_path / f"{seed}.karma"))
        assert streamkarma("learn", events, "--model", files[-1], "--no-predictions", "--quiet").code == 0
    result = streamkarma("merge", *files, "--model", str(tmp_path / "all.karma"))
    assert result.code == 0
    assert "3 models with 180 events learned" in result.stderr
    (tmp_path / "link").symlink_to(files[0])
    for again in (files[0], str(tmp_path / "link")):
        result = streamkarma("merge", files[0], files[1], again, "--model", str(tmp_path / "twice"))
        assert (result.code, (tmp_path / "twice").exists()) == (2, False)
        assert f"{files[0]} and {again} are the same file, which would" in result.stderr
    shown = json.loads(streamkarma("inspect", str(tmp_path / "all.karma"), "--json").stdout)
    assert shown["merged_from"] == [{"name": path, "learned": 60} for path in files]
    assert shown["events"] == 180
    assert shown["task"] == "multiclass"
    listed = streamkarma("inspect", str(tmp_path / "all.karma")).stdout.decode()
    assert ", ".join(f"{path} (60 learned)" for path in files) in listed
    more = written(tmp_path / "more.jsonl", stream("multiclass", 40, 5))
    result = streamkarma("learn", more, "--model", str(tmp_path / "all.karma"))
    assert [row["n"] for row in result.rows][:2] == [181, 182]
    # Two copies continue from there, and are merged again.
    for seed in (6, 7):
        path = tmp_path / f"{seed}.karma"
        path.write_bytes((tmp_path / "all.karma").read_bytes())
        more = written(tmp_path / "more.jsonl", stream("multiclass", 30, seed))
        streamkarma("learn", more, "--model", str(path), "--no-predictions", "--quiet")
    paths = [str(tmp_path / f"{seed}.karma") for seed in (6, 7)]
    result = streamkarma(
        "merge", *paths, "--base", str(tmp_path / "all.karma"), "--model", str(tmp_path / "on.karma")
    )
    assert "2 models with 280 events learned" in result.stderr
    one = streamkarma("learn", "-", "--model", str(tmp_path / "one.karma"), records=[{"a": 1, "y": 1}])
    assert one.code == 0
    result = streamkarma("merge", str(tmp_path / "one.karma"), "--model", str(tmp_path / "same.karma"))
    assert ": 1 model with 1 event learned" in result.stderr


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--learner", "explicit"), "type KARMAMixtureClassifier and .* of type ExplicitKARMAClassifier"),
        (("--target", "kind"), "have different names of the target"),
        (("--forget", "100"), "has forget None and .* 100.0: models with different options"),
    ],
)
def test_the_command_line_refuses_in_one_line(
    streamkarma: Program, tmp_path: Path, options: tuple[str, ...], why: str
) -> None:
    import re

    events = written(tmp_path / "events.jsonl", stream("binary", 20))
    one, two = str(tmp_path / "one.karma"), str(tmp_path / "two.karma")
    streamkarma("learn", events, "--model", one, "--no-predictions")
    streamkarma("learn", events, "--model", two, "--no-predictions", *options)
    result = streamkarma("merge", one, two, "--model", str(tmp_path / "all.karma"))
    assert result.code == 2
    assert len(result.stderr.splitlines()) == 1
    assert re.search(why, result.stderr)
    assert not (tmp_path / "all.karma").exists()


def test_a_model_that_did_not_go_on_from_the_base_is_refused(streamkarma: Program, tmp_path: Path) -> None:
    base, other = (learned(new("explicit", "binary"), stream("binary", n)) for n in (60, 40))
    with pytest.raises(
        UsageError, match="model 2 was not trained from the base model: it has learned 40 events"
    ):
        merge([base, other], base)
    for name, events in (("base", 60), ("other", 40)):
        # Without labels nothing is learned, but events are counted.
        records = [x for x, _ in stream("binary", events)]
        streamkarma("learn", "--no-predictions", "--model", f"{name}.karma", records=records)
    result = streamkarma("merge", "other.karma", "--base", "base.karma", "--model", "both.karma")
    assert result.code == 2
    assert "other.karma was not trained from the base model: it has 40 events, the base 60" in result.stderr
    assert not (tmp_path / "both.karma").exists()


def test_a_base_whose_attributes_a_model_has_not_counted_is_refused(
    streamkarma: Program, tmp_path: Path
) -> None:
    """More events alone do not make a descendant."""
    for name, attribute, events in (("base", "wind", 20), ("other", "temp", 40)):
        records = [{attribute: n, "y": n % 2} for n in range(events)]
        streamkarma("learn", "--no-predictions", "--model", f"{name}.karma", records=records)
    result = streamkarma("merge", "other.karma", "--base", "base.karma", "--model", "both.karma")
    assert result.code == 2
    refusal = "other.karma was not trained from the base model: it has 0 values of 'wind', and the base 20"
    assert result.stderr.splitlines() == [f"streamkarma: {refusal}"]
    assert not (tmp_path / "both.karma").exists()


def test_a_model_that_evicted_the_names_of_its_base_still_descends_from_it() -> None:
    base = learned(new("explicit", "binary", max_attributes=6, max_coordinates=9), stream("binary", 30))
    part = deepcopy(base)
    for n in range(200):
        part.learn_one({f"n{n}": 1.0}, n % 2 == 0)
    assert not base.values.keys() & part.values.keys()
    assert merge([part], base).steps == part.steps


def test_the_order_does_not_show_in_the_positive_class(streamkarma: Program) -> None:
    rows = [{**x, "y": y} for x, y in stream("binary", 60)]
    for name, options in (("named", ["--positive", "false"]), ("default", [])):
        streamkarma("learn", "--no-predictions", "--model", f"{name}.karma", *options, records=rows)
    scores = []
    for at, order in enumerate((["named.karma", "default.karma"], ["default.karma", "named.karma"])):
        assert streamkarma("merge", *order, "--model", f"{at}.karma").code == 0
        scores.append([row["score"] for row in streamkarma("predict", f"{at}.karma", records=rows).rows])
    assert scores[0] == pytest.approx(scores[1], rel=1e-9)


def test_what_waits_for_its_label_is_left_behind_and_said(streamkarma: Program) -> None:
    rows = [{**x, "y": y} for x, y in stream("binary", 30)]
    waiting = [{**x, "id": n} for n, (x, _) in enumerate(stream("binary", 5))]
    labels = [{"id": n, "y": True} for n in range(100, 103)]
    options = ("--id", "id", "--pending", "10", "--no-predictions")
    for name, records in (("one", rows), ("two", rows + waiting), ("three", rows + labels)):
        streamkarma("learn", "--model", f"{name}.karma", *options, records=records)
    result = streamkarma("merge", "one.karma", "two.karma", "three.karma", "--model", "all.karma")
    assert result.code == 0
    left = [line for line in result.stderr.splitlines() if "are dropped" in line]
    assert left == [
        "two.karma: 5 events that wait for their label are dropped",
        "three.karma: 3 labels that wait for their event are dropped",
    ]


@pytest.mark.parametrize("seed", range(3))
def test_attributes_whose_categories_were_all_replaced_count_once(seed: int) -> None:
    """The parts have counted them since the base, whose categories are gone from all of them."""
    drawn = random.Random(seed)

    def event(t: int) -> dict[str, Any]:
        x: dict[str, Any] = {f"n{a}": drawn.gauss(a, 1) for a in range(6) if drawn.random() < 0.6}
        few = 3 + t // 3
        return x | {f"c{a}": f"v{drawn.randrange(few)}" for a in range(4) if drawn.random() < 0.7}

    base = SubspaceRegressor(max_coordinates=40)
    for t in range(240):
        base.learn_one(event(t), drawn.gauss(0, 1))
    parts = [deepcopy(base) for _ in range(2)]
    for t in range(200, 300):
        for number, part in enumerate(parts):
            part.learn_one(event(t + 200 * number), drawn.gauss(0, 1))
    merged = merge(parts, base)
    from_bytes(to_bytes(merged), "it")
    counts = merged._pipeline.learner.arrays()["observed"]
    assert counts.max() <= merged.steps


def test_offsets_in_topics_are_left_behind_and_said(streamkarma: Program, tmp_path: Path) -> None:
    streamkarma(
        "learn", "--model", "a.karma", "--no-predictions", records=[{"a": 1, "y": 1}, {"a": 2, "y": 0}]
    )
    model, kept, arrays = load_with_run(tmp_path / "a.karma")
    save(model, tmp_path / "a.karma", {**kept, "kafka": {"t": {"0": 2}}}, arrays)
    result = streamkarma("merge", "a.karma", "--model", "b.karma")
    assert "a.karma: its offsets in topics are dropped; attach with the merged model begins" in result.stderr
    assert "kafka" not in load_with_run(tmp_path / "b.karma")[1]
