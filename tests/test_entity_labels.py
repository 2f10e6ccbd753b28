"""Earlier labels of entities as attributes of their next events."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from streamkarma import (
    ExplicitKARMAClassifier,
    ExplicitKARMARegressor,
    KARMAMixtureClassifier,
    load,
    merge,
    save,
)
from streamkarma.estimators.outcomes import read_whole, whole
from tests.conftest import Program

Pair = tuple[dict[str, Any], Any]

WAYS = {
    "two": (ExplicitKARMAClassifier, [True, False]),
    "texts": (ExplicitKARMAClassifier, ["ham", "spam"]),
    "three": (ExplicitKARMAClassifier, ["a", "b", "c"]),
    "numbers": (ExplicitKARMARegressor, [1.5, -2.0, 4.0, 0.25]),
}


def shops(labels: list[Any], count: int = 120, seed: int = 0) -> list[Pair]:
    """Events of five shops, each of which mostly keeps its label."""
    rng = np.random.default_rng(seed)
    state = {f"s{n}": labels[n % len(labels)] for n in range(5)}
    pairs = []
    for _ in range(count):
        shop = f"s{rng.integers(5)}"
        if rng.random() < 0.1:
            state[shop] = labels[int(rng.integers(len(labels)))]
        pairs.append(({"shop": shop, "x": float(rng.normal())}, state[shop]))
    return pairs


def carried(model: Any, event: dict[str, Any]) -> dict[str, Any]:
    """The labels carried into an event."""
    model.predict_one(event)
    found: dict[str, Any] = model.vocabulary.carried()
    return {name: value for name, value in found.items() if name.startswith("label.")}


def test_a_label_of_negative_zero_is_zero(tmp_path: Path) -> None:
    model = ExplicitKARMARegressor(entity="shop")
    for y in (0.0, -0.0, 1.5) * 3:
        model.learn_one({"shop": "s"}, y)
    save(model, tmp_path / "m")
    assert load(tmp_path / "m").predict_one({"shop": "s"}) == model.predict_one({"shop": "s"})


@pytest.mark.parametrize("way", WAYS)
def test_labels_are_remembered_whichever_way_events_come(way: str) -> None:
    model, labels = WAYS[way]
    pairs = shops(labels)
    single, many, framed = (model(entity="shop") for _ in range(3))
    for x, y in pairs:
        single.learn_one(x, y)
    events, given = [x for x, _ in pairs], [y for _, y in pairs]
    many.learn_many(events, given)
    framed.learn_many(pd.DataFrame(events), given)
    for n in range(5):
        event = {"shop": f"s{n}", "x": 0.5}
        last = [y for x, y in pairs if x["shop"] == f"s{n}"][-1]
        assert carried(single, event)["label.last"] == last
        assert carried(single, event) == carried(many, event) == carried(framed, event)
        assert single.predict_one(event) == many.predict_one(event) == framed.predict_one(event)


def test_a_frame_of_numbers_is_read_like_dicts() -> None:
    pairs = [({"shop": n % 3, "x": float(n)}, float(n % 3)) for n in range(30)]
    single, framed = (ExplicitKARMARegressor(entity="shop") for _ in range(2))
    for x, y in pairs:
        single.learn_one(x, y)
    framed.learn_many(pd.DataFrame([x for x, _ in pairs]), [y for _, y in pairs])
    assert (
        carried(framed, {"shop": 2}) == carried(single, {"shop": 2}) == {"label.last": 2.0, "label.mean": 2.0}
    )


def test_what_is_not_learned_is_no_label_to_remember() -> None:
    model = ExplicitKARMAClassifier(entity="shop")
    model.learn_one({"shop": "a", "x": 1.0}, True)
    model.learn_one({"shop": "b", "x": 1.0}, False)
    model.learn_one({"shop": "a", "x": 2.0}, False, w=0.0)
    model.learn_one({"shop": "a", "x": 3.0}, None)
    assert carried(model, {"shop": "a"}) == {"label.last": 1.0, "label.mean": 1.0}
    assert carried(model, {"shop": "c"}) == {}


def test_an_event_never_has_its_own_label() -> None:
    pairs = shops([True, False], 60)
    models = [KARMAMixtureClassifier(entity="shop") for _ in range(2)]
    for t, (x, y) in enumerate(pairs):
        for model in models:
            # A different last label does not change the prediction before it.
            other = (not y) if t == len(pairs) - 1 and model is models[1] else y
            before = model.predict_proba_one(x)
            model.learn_one(x, other)
            if model is models[0]:
                expected = before
        assert before == expected


def test_they_can_be_left_out() -> None:
    pairs = shops([True, False])
    without = ExplicitKARMAClassifier(entity="shop", carry_labels=False)
    alone = ExplicitKARMAClassifier(entity="shop", carry="off")
    for x, y in pairs:
        without.learn_one(x, y)
        alone.learn_one(x, y)
    assert carried(without, {"shop": "s1"}) == {}
    assert set(without.vocabulary.attributes) == {"shop", "x"}
    alone.predict_one({"shop": "s1"})
    assert set(alone.vocabulary.carried()) == {"label.last", "label.mean"}


def test_they_age_like_values() -> None:
    model = ExplicitKARMAClassifier(entity="shop", time="at", carry_for=10.0)
    model.learn_one({"shop": "a", "at": 0.0, "x": 1.0}, True)
    model.learn_one({"shop": "b", "at": 5.0, "x": 1.0}, False)
    assert carried(model, {"shop": "a", "at": 10.0}) == {"label.last": 1.0, "label.mean": 1.0}
    assert carried(model, {"shop": "a", "at": 10.5}) == {}
    assert carried(model, {"shop": "b", "at": 10.5}) == {"label.last": 0.0, "label.mean": 0.0}


def test_an_event_may_have_attributes_of_these_names() -> None:
    model = ExplicitKARMAClassifier(entity="shop")
    for n in range(20):
        model.learn_one({"shop": "a", "label.last": float(n)}, n % 2 == 0)
    assert carried(model, {"shop": "a", "label.last": 3.0}) == {}
    # It is carried like any other value of an entity.
    assert carried(model, {"shop": "a"}) == {"label.last": 3.0}


def test_a_model_that_was_saved_or_copied_remembers_them(tmp_path: Path) -> None:
    model = ExplicitKARMAClassifier(entity="shop")
    for x, y in shops(["a", "b", "c"]):
        model.learn_one(x, y)
    save(model, tmp_path / "m")
    for again in (load(tmp_path / "m"), copy.deepcopy(model)):
        for n in range(5):
            assert carried(again, {"shop": f"s{n}"}) == carried(model, {"shop": f"s{n}"}) != {}


def test_a_merged_model_has_the_newest_of_each_entity() -> None:
    base = ExplicitKARMAClassifier(entity="shop")
    for n in range(10):
        base.learn_one({"shop": "ab"[n % 2], "x": float(n)}, n % 2 == 0)
    one, other = copy.deepcopy(base), copy.deepcopy(base)
    one.learn_one({"shop": "a", "x": 1.0}, False)
    other.learn_one({"shop": "c", "x": 1.0}, True)
    for parts in ([one, other], [other, one]):
        merged = merge(parts, base=base)
        assert carried(merged, {"shop": "a"}) == carried(one, {"shop": "a"})
        assert carried(merged, {"shop": "b"}) == carried(base, {"shop": "b"})
        assert carried(merged, {"shop": "c"}) == {"label.last": 1.0, "label.mean": 1.0}


def test_they_need_not_be_asked_for() -> None:
    model = KARMAMixtureClassifier(entity="shop")
    for x, y in shops([True, False]):
        model.learn_one(x, y)
    assert not {"label.last", "label.mean"} & set(model.explain_one({"shop": "new"}).missing)
    assert {"label.last", "label.mean"} <= set(model.explain_one({"shop": "s1"}).contributions)


def rows(done: Any) -> list[float]:
    assert done.code == 0, done.stderr
    return [row.get("score") for row in done.rows]


@pytest.mark.parametrize("way", WAYS)
def test_the_command_line_is_as_the_estimators(streamkarma: Program, tmp_path: Path, way: str) -> None:
    model, labels = WAYS[way]
    pairs = shops(labels)
    ours = model(entity="shop")
    ours.learn_many([x for x, _ in pairs], [y for _, y in pairs])
    task = ["--task", "regression"] if way == "numbers" else []
    options = ["--learner", "explicit", "--entity", "shop", "--model", "m", *task]
    records = [{**x, "y": y} for x, y in pairs]
    whole = rows(streamkarma("learn", *options, records=records))
    theirs = load(tmp_path / "m")
    for n in range(5):
        assert carried(theirs, {"shop": f"s{n}"}) == carried(ours, {"shop": f"s{n}"}) != {}
    (tmp_path / "m").unlink()
    parts = [rows(streamkarma("learn", *options, records=part)) for part in (records[:50], records[50:])]
    assert parts[0] + parts[1] == whole


def test_predicting_changes_none_of_them(streamkarma: Program) -> None:
    records = [{**x, "y": y} for x, y in shops([True, False])]
    streamkarma("learn", "--learner", "explicit", "--entity", "shop", "--model", "m", records=records)
    event = {"shop": "s1", "x": 0.0}
    alone = rows(streamkarma("predict", "m", records=[event]))
    # The labels of scored events are only compared with.
    scored = [{**event, "y": True}, {**event, "y": False}, event]
    assert rows(streamkarma("predict", "m", records=scored)) == 3 * alone


def test_a_late_label_is_remembered_when_it_comes(streamkarma: Program, tmp_path: Path) -> None:
    records = [
        {"id": 1, "shop": "a", "x": 1.0},
        {"id": 2, "shop": "a", "x": 2.0},
        {"id": 3, "shop": "b", "x": 3.0},
        {"id": 3, "y": 0},
        {"id": 1, "y": 1},
        {"id": 4, "shop": "a", "x": 4.0},
    ]
    options = ["--learner", "explicit", "--entity", "shop", "--id", "id", "--pending", "9", "--model", "m"]
    rows(streamkarma("learn", *options, records=records))
    model = load(tmp_path / "m")
    assert carried(model, {"shop": "a"}) == {"label.last": 1.0, "label.mean": 1.0}
    assert carried(model, {"shop": "b"}) == {"label.last": 0.0, "label.mean": 0.0}
    # One by one, or all at once.
    (tmp_path / "m").unlink()
    for record in records:
        rows(streamkarma("learn", *options, records=[record]))
    again = load(tmp_path / "m")
    assert [carried(again, {"shop": shop}) for shop in "ab"] == [
        carried(model, {"shop": shop}) for shop in "ab"
    ]
    assert json.loads(streamkarma("inspect", "m", "--json").stdout)["model"]["entities"] == 2


def test_a_label_of_several_events_counts_once(streamkarma: Program, tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [{"stay": s, "x": float(n)} for s in "pq" for n in range(4)]
    records += [{"stay": "p", "y": 1}, {"stay": "q", "y": 0}, {"stay": "p", "x": 9.0}, {"stay": "p", "y": 0}]
    streamkarma("learn", "--entity", "stay", "--pending", "99", "--learner", "explicit", "--model", "m",
                records=records)  # fmt: skip
    assert carried(load(tmp_path / "m"), {"stay": "p"}) == {"label.last": 0.0, "label.mean": 0.5}


@pytest.mark.parametrize(
    "labels",
    [
        ["NA", "none"],
        ["2024-01-01", "2024-02-01"],
        ["", "a"],
        ["3", "a"],
        ["1", "2"],
        ["a b c d e f g h " * 3, "x"],
    ],
    ids=["nothing", "times", "empty", "some spelled", "spelled", "prose"],
)
def test_whatever_they_spell_strings_are_labels(labels: list[str]) -> None:
    plain, odd = (KARMAMixtureClassifier(entity="shop") for _ in range(2))
    for (x, y), (_, other) in zip(shops(["p", "q"]), shops(labels), strict=True):
        plain.learn_one(x, y)
        odd.learn_one(x, other)
    event = {"shop": "s1", "x": 0.5}
    assert odd.decision_one(event) == pytest.approx(
        plain.decision_one(event) * (-1) ** (labels != sorted(labels))
    )
    known = carried(odd, event)
    assert set(known) == {"label.last"} | {f"label.mean.{label}" for label in labels}
    # An event that is read again with its carried values is the same.
    again = read_whole(odd, [whole(odd, event)])
    for one, other in zip(again.arrays(), odd.read([event], [False]).arrays(), strict=True):
        assert np.array_equal(one, other, equal_nan=True)


def test_numbers_that_look_like_times_are_labels_too() -> None:
    model = ExplicitKARMARegressor(entity="shop", kinds={"label.last": "category"})
    for n in range(20):
        model.learn_one({"shop": "a", "x": float(n)}, 1.7e9 + n)
    model.predict_one({"shop": "a", "x": 1.0})
    again = read_whole(model, [whole(model, {"shop": "a", "x": 1.0})])
    for one, other in zip(
        again.arrays(), model.read([{"shop": "a", "x": 1.0}], [False]).arrays(), strict=True
    ):
        assert np.array_equal(one, other)


def test_many_different_strings_have_no_shares() -> None:
    model = ExplicitKARMAClassifier(entity="shop")
    for n in range(3000):
        model.learn_one({"shop": f"s{n % 7}", "x": 1.0}, f"class {n % 50}")
    assert set(carried(model, {"shop": "s1"})) == {"label.last"}
    assert sum(name.startswith("label.mean.") for name in model.vocabulary.attributes) < 40


def test_the_names_of_shares_may_be_those_of_attributes() -> None:
    model = ExplicitKARMAClassifier(entity="shop", carry="off")
    for n in range(50):
        model.learn_one({"shop": "a", "label.mean.spam": 7.0}, ["spam", "ham"][n % 2])
    assert carried(model, {"shop": "a", "label.mean.spam": 7.0}) == {}
    place = model.vocabulary.attributes.index("label.mean.spam")
    assert model.vocabulary.tallies()[1 + place, 0] == 50


def test_the_last_value_of_an_attribute_called_label_gives_way() -> None:
    model = ExplicitKARMAClassifier(entity="shop", carry="last")
    for n in range(20):
        model.learn_one({"shop": "a", "label": 5.0}, n % 2 == 0)
    model.predict_one({"shop": "a", "x": 1.0})
    again = model.read([{"shop": "a", "x": 1.0}], [False])
    assert len(again.arrays()[1]) == len(set(again.arrays()[2].tolist()))
    assert carried(model, {"shop": "a"})["label.last"] == 0.0


def test_of_labels_whose_times_go_backwards_the_latest_time_counts() -> None:
    model = ExplicitKARMAClassifier(entity="shop", time="at", carry_for=50.0)
    model.learn_one({"shop": "a", "at": 100.0, "x": 1.0}, True)
    model.learn_one({"shop": "a", "at": 40.0, "x": 1.0}, False)
    assert carried(model, {"shop": "a", "at": 100.0}) == {"label.last": 0.0, "label.mean": 0.5}


def test_attributes_of_these_names_are_asked_for_where_nothing_is_carried() -> None:
    model = KARMAMixtureClassifier(entity="shop", carry_labels=False)
    for n in range(60):
        model.learn_one({"shop": f"s{n % 3}", "label.last": float(n % 2), "z": float(n % 5)}, n % 2)
    assert "label.last" in model.explain_one({"shop": "new"}).missing


def test_the_name_of_an_entity_is_not_asked_for() -> None:
    model = KARMAMixtureClassifier(entity="shop")
    for n in range(60):
        model.learn_one({"shop": f"s{n % 3}", "z": float(n % 5), "a": float(n % 7)}, n % 3 == 0)
    assert set(model.explain_one({"a": 1.0}).missing) == {"z"}


@pytest.mark.parametrize("late", [True, False])
def test_a_label_of_weight_0_is_not_remembered(streamkarma: Program, tmp_path: Path, late: bool) -> None:
    records: list[dict[str, Any]] = [{"id": 1, "shop": "a", "x": 1.0, "y": 1}, {"id": 2, "shop": "b", "y": 0}]
    last = {"id": 3, "shop": "a", "x": 1.0, "w": 0}
    records += [last, {"id": 3, "y": 0}] if late else [{**last, "y": 0}]
    options = ["--entity", "shop", "--id", "id", "--pending", "9", "--weight", "w", "--learner", "explicit"]
    rows(streamkarma("learn", *options, "--model", "m", records=records))
    assert carried(load(tmp_path / "m"), {"shop": "a"}) == {"label.last": 1.0, "label.mean": 1.0}


def test_late_labels_teach_what_was_predicted(streamkarma: Program) -> None:
    def losses(labels: list[str], *options: str) -> list[float]:
        records: list[dict[str, Any]] = []
        for n, (x, y) in enumerate(shops(labels, 300)):
            records += [{**x, "id": n}, {"id": n, "y": y}]
        options = ("--entity", "shop", "--id", "id", "--pending", "9", "--unlabelled", "ignore", *options)
        done = streamkarma("learn", "--learner", "explicit", *options, records=records)
        return [row["loss"] for row in done.rows if "loss" in row][5:]

    words = ("--na", "-")  # so that the others are classes
    assert losses(["NA", "none"], *words) == losses(["p", "q"], *words)
