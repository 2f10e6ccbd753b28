"""Weights of classes when labels are learned, and a threshold when a class is chosen."""

from __future__ import annotations

import copy
import json
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, balanced_accuracy_score, f1_score
from sklearn.utils.class_weight import compute_class_weight

from streamkarma import (
    ExplicitKARMAClassifier,
    ForestClassifier,
    KARMAClassifier,
    KARMAMixtureClassifier,
    load,
    save,
)
from streamkarma.errors import ModelFileError, UsageError
from streamkarma.estimators import persistence
from streamkarma.estimators.costs import decide
from streamkarma.estimators.label_shares import PRIOR, RAMP, LabelShares
from streamkarma.estimators.learners import LEARNERS
from streamkarma.estimators.persistence import to_bytes
from streamkarma.estimators.pipeline import HEAVIEST
from tests.conftest import Program

CLASSIFIERS = [classifier for classifier, _ in LEARNERS.values()]
CHOICES: list[dict[str, Any]] = [
    {"class_weight": "balanced"},
    {"class_weight": {"a": 7.5}, "threshold": "balanced"},
    {"threshold": "balanced", "forget": 30},
    {"class_weight": "balanced", "threshold": "balanced", "forget": 100},
]


def stream(seed: int, count: int, labels: str = "abc") -> tuple[list[dict[str, float]], list[Any]]:
    """Events and labels, of which the first class is rare."""
    rng = np.random.default_rng(seed)
    rows = [{f"x{i}": float(v) for i, v in enumerate(rng.standard_normal(4)) if v < 1} for _ in range(count)]
    scores = np.array([row.get("x0", 0.0) for row in rows]) + rng.standard_normal(count)
    places = np.searchsorted([-1.5, 0.7], scores).clip(0, len(labels) - 1)
    return rows, [labels[place] for place in places]


def run(model: Any, rows: Any, labels: Any, weights: Any) -> Any:
    learned = [y is not None and w > 0 for y, w in zip(labels, weights, strict=True)]
    return model.run(model.read(rows, learned), labels, weights)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(0.01, 100.0)), max_size=60),
    st.sampled_from([1.5, 20.0, np.inf]),
)
def test_shares_are_those_of_the_weights_so_far(labels: list[tuple[int, float]], window: float) -> None:
    shares = LabelShares(window)
    for index, weight in labels:
        shares.add(index, weight)
    age = len(labels) - 1 - np.arange(len(labels))
    faded = np.array([w for _, w in labels]) * (1 - 1 / window) ** age
    counts = PRIOR + np.array([faded[[i == c for i, _ in labels]].sum() for c in range(4)])
    assert shares.of_all(4) == pytest.approx(counts / counts.sum())


@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(0.01, 100.0)), max_size=60),
    st.sampled_from([1.5, 20.0, np.inf]),
    st.permutations(range(3)),
)
def test_shares_that_are_merged_have_the_base_once(
    labels: list[tuple[int, float]], window: float, order: list[int]
) -> None:
    base = counted(LabelShares(window), labels[:10])
    parts = [counted(copy.deepcopy(base), part) for part in (labels[10:25], labels[25:30], labels[30:])]
    one = merged(base, parts)
    tree = merged(base, [parts[order[0]], merged(base, [parts[i] for i in order[1:]])])
    assert_near(tree, one)
    # The base faded by all labels, and what the labels of each part add.
    keep, numbers = 1 - 1 / window, [len(part) for part in (labels[10:25], labels[25:30], labels[30:])]
    faded = np.array(base._padded(4)) / base.unit
    expected = faded * keep ** sum(numbers) + sum(
        np.array(part._padded(4)) / part.unit - faded * keep**n
        for part, n in zip(parts, numbers, strict=True)
    )
    assert np.array(one._padded(4)) / one.unit == pytest.approx(expected)
    assert_near(merged(base, [base, parts[0]]), parts[0])


def assert_near(one: LabelShares, other: LabelShares) -> None:
    numbers = [[*each._padded(4), each.total, each.unit] for each in (one, other)]
    assert numbers[0] == pytest.approx(numbers[1])


def counted(shares: LabelShares, labels: list[tuple[int, float]]) -> LabelShares:
    for index, weight in labels:
        shares.add(index, weight)
    return shares


def merged(base: LabelShares, parts: list[LabelShares]) -> LabelShares:
    made = copy.deepcopy(base)
    made.merge(parts)
    return made


def test_shares_follow_the_numbers_of_the_classes() -> None:
    shares = counted(LabelShares(np.inf), [(0, 1.0), (1, 2.0)])
    shares.relabel([2, 0, 1])
    assert shares.of_all(3) == [3 / 6, 1 / 6, 2 / 6]
    # Counts that were rescaled contain nothing of earlier ones.
    base, part = counted(LabelShares(1.5), [(0, 1.0)]), counted(LabelShares(1.5), [(1, 1.0)] * 230)
    assert part.unit < 1e100
    assert merged(base, [part, part]).of_all(2)[1] > 0.79


@given(st.lists(st.integers(0, 2), min_size=1, max_size=200))
def test_balanced_weights_are_those_of_scikit_learn_but_for_the_first_labels(labels: list[int]) -> None:
    shares, classes = LabelShares(np.inf), len(set(labels))
    for index in labels[:-1]:
        shares.add(index, 1.0)
    mine = shares.balanced(labels[-1], 1.0, classes)
    count = Counter(labels)[labels[-1]]
    assert 0.0 < mine <= max(1.0, RAMP * count)
    # One more label of each class.
    padded = [*labels, *set(labels)]
    [*_, theirs] = compute_class_weight(
        "balanced", classes=np.array([*{*labels} - {labels[-1]}, labels[-1]]), y=padded
    )
    assert mine == pytest.approx(min(theirs, max(1.0, RAMP * count)))


def test_counts_stay_finite_however_long_labels_fade() -> None:
    shares = LabelShares(1.5)
    for index in [0] * 10 + [1] * 5000:
        shares.add(index, 1e15)
    assert shares.of_all(2) == pytest.approx([0.0, 1.0])
    assert min(shares.of_all(2)) > 0.0
    assert shares.balanced(0, 1.0, 2) == RAMP


@given(st.integers(0, 1000), st.floats(0, 1), st.integers(0, 1))
def test_a_number_is_the_probability_from_which_a_class_is_predicted(
    seed: int, threshold: float, positive: int
) -> None:
    chances = np.random.default_rng(seed).random(20)
    both = np.column_stack([1 - chances, chances])
    known, which = np.full(20, 2), np.full(20, positive)
    found = decide(both, known, threshold, np.ones((20, 0)), which)
    assert ((found == positive) == (both[:, positive] >= threshold)).all()
    assert decide(both, known - 1, threshold, np.ones((20, 0)), which).tolist() == [0] * 20


@pytest.mark.parametrize("classifier", CLASSIFIERS)
@pytest.mark.parametrize("options", CHOICES)
def test_blocks_are_single_events_and_predictions_those_of_before(classifier: Any, options: Any) -> None:
    rows, labels = stream(1, 120)
    labels = [None if t % 7 == 0 else label for t, label in enumerate(labels)]
    weights = [[1.0, 0.0, 2.5, 0.1][t % 4] for t in range(120)]
    single, whole, resumed = (classifier(**options) for _ in range(3))
    predicted = []
    for x, y, w in zip(rows, labels, weights, strict=True):
        predicted.append(single.predict_one(x))
        single.learn_one(x, y, w)
    result = run(whole, rows, labels, weights)
    for part in (slice(0, 31), slice(31, 90), slice(90, 120)):
        run(resumed, rows[part], labels[part], weights[part])
        resumed = pickle.loads(pickle.dumps(resumed))
    (header, arrays), *others = (model.state() for model in (whole, resumed))
    for again, other in others:
        assert again == header
        assert all(np.array_equal(arrays[name], other[name], equal_nan=True) for name in arrays)
    assert {**single.state()[0], "ignored": 0} == {**header, "ignored": 0}
    assert len(result.shares) == 120
    assert single.predict_many(pd.DataFrame(rows[:20])).tolist() == [single.predict_one(x) for x in rows[:20]]
    assert len(set(predicted) - {None}) > 1


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_weights_of_classes_multiply_those_of_events(classifier: Any) -> None:
    rows, labels = stream(2, 80, "ab")
    plain, weighed = classifier(), classifier(class_weight={"a": 4.0, "b": 0.5})
    by_hand = run(plain, rows, labels, [{"a": 4.0, "b": 0.5}[y] for y in labels])
    by_class = run(weighed, rows, labels, [1.0] * 80)
    assert np.array_equal(by_hand.scores, by_class.scores)
    # The loss is that of the prediction, whatever the event weighs.
    assert np.array_equal(by_hand.losses, by_class.losses, equal_nan=True)
    one = classifier(class_weight={"a": 4.0, "b": 0.5})
    for x, y in zip(rows, labels, strict=True):
        one.learn_one(x, y)
    assert one.decision_one(rows[0]) == weighed.decision_one(rows[0]) == plain.decision_one(rows[0])


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_a_threshold_changes_no_probability(classifier: Any) -> None:
    rows, labels = stream(3, 100)
    models = [classifier(), classifier(threshold="balanced")]
    found = [run(model, rows, labels, [1.0] * 100) for model in models]
    assert np.array_equal(found[0].scores, found[1].scores)
    assert models[0].predict_proba_one(rows[5]) == models[1].predict_proba_one(rows[5])


def test_rare_classes_gain_by_either() -> None:
    rng = np.random.default_rng(100)
    rows = [
        {f"x{i}": v for i, v in enumerate(rng.standard_normal(5).tolist()) if i != t % 5} for t in range(4000)
    ]
    labels = [sum(row.values()) + rng.standard_normal() > 3.5 for row in rows]
    assert 0.02 < np.mean(labels) < 0.1

    def recalls(**options: Any) -> float:
        model, predicted = ExplicitKARMAClassifier(**options), []
        for x, y in zip(rows, labels, strict=True):
            predicted.append(bool(model.predict_one(x)))
            model.learn_one(x, y)
        return float(balanced_accuracy_score(labels, predicted))

    plain = recalls()
    assert plain < 0.75
    assert min(recalls(class_weight="balanced"), recalls(threshold="balanced")) > plain + 0.1


@pytest.mark.parametrize(
    "options",
    [
        *(
            {"class_weight": each}
            for each in ("auto", 3, {"a": -1}, {"a": 0}, {"a": "2"}, {"a": np.nan}, {(): 1})
        ),
        *({"threshold": each} for each in ("half", 2, -0.1, np.nan, [0.5], True)),
    ],
)
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_what_is_out_of_range_is_refused(classifier: Any, options: Any) -> None:
    [name] = options
    with pytest.raises(UsageError, match=name):
        classifier(**options)


def test_classes_have_the_weights_that_numpy_names(tmp_path: Path) -> None:
    names = (np.bool_(True), True, False), (np.int64(1), 1, 0), (np.str_("a"), "a", "b")
    for label, plain, rival in names:
        named, other = (ExplicitKARMAClassifier(class_weight={each: 3.0}) for each in (label, plain))
        for y in (plain, rival, plain):
            named.learn_one({"x": 1.0}, y)
            other.learn_one({"x": 1.0}, y)
        save(named, tmp_path / "m.karma")
        for model in (named, load(tmp_path / "m.karma")):
            assert model.predict_proba_one({"x": 1.0}) == other.predict_proba_one({"x": 1.0})
            assert model.unmatched_weights == []


def test_a_number_is_no_threshold_for_three_classes() -> None:
    model = ExplicitKARMAClassifier(threshold=0.3)
    for label in ("a", "b"):
        model.learn_one({"x": 1.0}, label)
    for label in ("c", "c"):
        with pytest.raises(ValueError, match="'c' is a third class"):
            model.learn_one({"x": 1.0}, label)
    assert model.classes == ["a", "b"]
    several = ExplicitKARMAClassifier()
    for label in ("a", "b", "c"):
        several.learn_one({"x": 1.0}, label)
    with pytest.raises(UsageError, match="two classes"):
        several.decide_by(0.5)


def test_a_model_is_saved_with_its_costs(tmp_path: Path) -> None:
    rows, labels = stream(4, 60, "ab")
    booleans = [label == "a" for label in labels]
    for options in (
        {"class_weight": {True: 3, False: 0.5}, "threshold": "balanced"},
        {"class_weight": "balanced"},
    ):
        model = KARMAMixtureClassifier(**options)
        run(model, rows, booleans, [1.0] * 60)
        save(model, tmp_path / "model")
        again = load(tmp_path / "model")
        for each in (model, again):
            run(each, rows, booleans, [1.0] * 60)
        assert again.state()[0] == model.state()[0]
        assert again.predict_one(rows[0]) == model.predict_one(rows[0])


@pytest.mark.parametrize(
    "spoilt",
    [{}, {"came": {}}, *({"came": {"counts": [3.0, 2.0], "total": 5.0, "unit": 1.0, **each}} for each in (
        {"counts": [5.0, 0.0, 0.0]}, {"counts": [6.0, -1.0]}, {"total": 7.0}, {"unit": 0.0}, {"counts": 3},
        {"total": "5"}, {"counts": [None, 5.0]}))],
)  # fmt: skip
def test_counts_that_no_run_left_are_refused(
    tmp_path: Path, spoilt: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ExplicitKARMAClassifier(class_weight="balanced")
    for t in range(5):
        model.learn_one({"x": float(t)}, t < 3)
    monkeypatch.setattr(model._costs, "state", lambda: spoilt)
    monkeypatch.setattr(persistence.checkpoint.write, "__defaults__", (lambda _: None,))
    header, arrays = model.state()
    with pytest.raises((KeyError, TypeError, ValueError)):
        ExplicitKARMAClassifier(class_weight="balanced").restore(header, dict(arrays))
    with pytest.raises(ModelFileError):
        save(model, tmp_path / "model")


# On the command line.

RARE = [
    {**x, "y": {"a": "yes", "b": "no"}[y], "t": t}
    for t, (x, y) in enumerate(zip(*stream(5, 600, "ab"), strict=True))
]


def summary_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@pytest.mark.parametrize(
    "options", [[], ["--threshold", "0.2"], ["--threshold=balanced", "--class-weight=balanced"]]
)
@pytest.mark.parametrize("positive", ["yes", "no"])
def test_rows_and_summary_follow_the_threshold(
    streamkarma: Program, tmp_path: Path, options: list[str], positive: str
) -> None:
    plan = [
        "learn",
        "--learner",
        "explicit",
        "--summary",
        "s",
        "--positive",
        positive,
        "--ignore",
        "t",
        *options,
    ]
    rows = streamkarma(*plan, records=RARE).rows
    # From the first event on for which both classes are known.
    targets = [row["target"] for row in rows]
    rows = rows[max(targets.index("yes"), targets.index("no")) + 1 :]
    assert options or all(row["probability"] >= 0.5 for row in rows)
    chances = [
        row["probability"] if row["prediction"] == positive else 1.0 - row["probability"] for row in rows
    ]
    if options[:1] == ["--threshold"]:
        assert all(
            (row["prediction"] == positive) == (p >= 0.2) for row, p in zip(rows, chances, strict=True)
        )
    metrics = summary_of(tmp_path / "s")["metrics"]
    labels, predicted = [row["target"] for row in rows], [row["prediction"] for row in rows]
    assert metrics["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(labels, predicted), abs=0.03)
    assert metrics["f1"] == pytest.approx(f1_score(labels, predicted, pos_label=positive), abs=0.03)
    expected = average_precision_score([label == positive for label in labels], chances)
    assert metrics["average_precision"] == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("options", [["--threshold=balanced"], ["--class-weight=balanced", "--threshold=0.3"],
                                     ["--class-weight=yes=3,no=0.5", "--threshold=balanced"]])  # fmt: skip
def test_a_resumed_model_goes_on_as_if_never_stopped(
    streamkarma: Program, tmp_path: Path, options: list[str]
) -> None:
    plan = ["learn", "--learner", "explicit", "--ignore", "t", "--id", "t", *options]
    whole = streamkarma(*plan, "--model", "whole", records=RARE).rows
    first = streamkarma(*plan, "--model", "parts", records=RARE[:217]).rows
    # Options that the model was made with need not be repeated.
    rest = streamkarma("learn", "--model", "parts", records=RARE[217:]).rows
    assert first + rest == whole
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()
    fresh = [{name: value for name, value in record.items() if name != "y"} for record in RARE[:50]]
    by_file = [row["prediction"] for row in streamkarma("predict", "whole", records=fresh).rows]
    model = load(tmp_path / "whole")
    assert by_file == [model.predict_one({k: v for k, v in x.items() if k != "t"}) for x in fresh]


def test_a_label_that_comes_late_changes_no_prediction(streamkarma: Program, tmp_path: Path) -> None:
    asked = [{name: value for name, value in record.items() if name != "y"} for record in RARE]
    told = [{"t": record["t"], "y": record["y"]} for record in RARE]
    order = [each for n in range(0, 600, 50) for each in (*asked[n : n + 50], *told[n : n + 50])]
    plan = ["learn", "--learner", "explicit", "--id", "t", "--pending", "1000", "--threshold", "balanced"]
    done = streamkarma(*plan, "--model", "whole", "--summary", "s", records=order)
    first = {row["id"]: row["prediction"] for row in done.rows if "target" not in row}
    last = {row["id"]: row["prediction"] for row in done.rows if "target" in row}
    assert first == last
    metrics = summary_of(tmp_path / "s")["metrics"]
    assert metrics["error_rate"] == pytest.approx(np.mean([first[each["t"]] != each["y"] for each in told]))
    parts = [row for part in (order[:325], order[325:])
             for row in streamkarma(*plan, "--model", "parts", records=part).rows]  # fmt: skip
    assert parts == done.rows
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_threshold_that_is_a_number_may_change(streamkarma: Program) -> None:
    streamkarma("learn", "--model", "m", "--threshold", "0.4", "--ignore", "t", records=RARE[:300])
    rows = streamkarma("predict", "m", "--threshold", "0", records=RARE[300:]).rows
    assert {row["prediction"] for row in rows} == {"yes"}
    assert len({row["prediction"] for row in streamkarma("predict", "m", records=RARE[300:]).rows}) == 2
    streamkarma("learn", "--model", "m", "--threshold", "1", records=RARE[300:])
    assert {row["prediction"] for row in streamkarma("predict", "m", records=RARE[300:]).rows} == {"no"}
    refused = streamkarma("learn", "--model", "m", "--threshold", "balanced", records=RARE)
    assert (refused.code, len(refused.stderr.splitlines())) == (2, 1)
    refused = streamkarma("learn", "--model", "m", "--class-weight", "balanced", records=RARE)
    streamkarma("learn", "--model", "numbers", "--task", "regression", records=[{"a": 1, "y": 2.5}])
    alien = streamkarma("learn", "--model", "numbers", "--threshold", "balanced", records=RARE)
    assert alien.stderr == "streamkarma: --threshold has no meaning for numbers, a regression; leave it out\n"
    assert "m was made with class-weight none, not balanced; " in refused.stderr


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--class-weight", "yes=abc"], "neither balanced nor NAME=W"),
        (["--class-weight", "even"], "neither balanced nor NAME=W"),
        (["--class-weight", "yes=-1"], "a weight must be a number from 1e-12 to 1e+12"),
        (["--class-weight", "yes=nan"], "a weight must be a number from 1e-12 to 1e+12"),
        (["--class-weight", "yes=1,yes=2"], "names a class twice"),
        (["--class-weight", ""], "neither balanced nor NAME=W"),
        (["--threshold", "2"], "neither balanced nor a number from 0 to 1"),
        (["--threshold", "half"], "neither balanced nor a number from 0 to 1"),
        (["--threshold", "0.3", "--task", "multiclass"], "is for two classes"),
        (["--threshold", "0.3", "--task", "regression"], "--threshold has no meaning in a regression"),
        (["--class-weight", "balanced", "--task", "regression"], "has no meaning in a regression"),
    ],
)
def test_wrong_usage_is_one_line(streamkarma: Program, options: list[str], why: str) -> None:
    refused = streamkarma("learn", *options, records=RARE[:3])
    assert refused.code == 2
    assert len(refused.stderr.splitlines()) == 1
    assert why in refused.stderr


def test_a_regression_for_which_a_threshold_has_no_meaning_ends_the_run(streamkarma: Program) -> None:
    refused = streamkarma("learn", "--threshold", "0.3", records=[{"x": 1, "y": y} for y in (1.5, 2.5)])
    assert refused.code == 2
    assert "no meaning in a regression" in refused.stderr.splitlines()[-1]


def test_a_third_class_is_set_aside_where_a_threshold_is_for_two(
    streamkarma: Program, tmp_path: Path
) -> None:
    plan = ["learn", "--threshold", "0.3", "--model", "m", "--dead-letters", "bad.jsonl"]
    done = streamkarma(*plan, records=[{"x": 1, "y": label} for label in "abcb"])
    assert done.code == 0
    assert [row["target"] for row in done.rows] == ["a", "b", "b"]
    [letter] = map(json.loads, (tmp_path / "bad.jsonl").read_text().splitlines())
    assert letter["error"].startswith("the label 'c' is a third class, and the threshold 0.3 is for two")
    assert load(tmp_path / "m").classes == ["a", "b"]


def test_a_weight_for_no_class_is_reported(streamkarma: Program, tmp_path: Path) -> None:
    done = streamkarma("learn", "--class-weight", "yse=3,no=2", records=RARE[:50])
    assert done.stderr.splitlines()[-1] == "warning: --class-weight: these labels did not occur: yse"
    (tmp_path / "c.toml").write_text("[learn.class-weight]\nyes = 3\nno = 2.5\n")
    done = streamkarma("learn", "--config", "c.toml", "--model", "m", records=RARE[:50])
    assert "did not occur" not in done.stderr
    assert load(tmp_path / "m").class_weight == {"yes": 3.0, "no": 2.5}


def test_blocks_sum_the_weights_of_labels_as_single_events_do() -> None:
    singly, in_blocks = (ForestClassifier(class_weight={"no": 3.0}) for _ in range(2))
    for t in range(4):
        singly.learn_one({"x": t}, "no")
        in_blocks.learn_many([{"x": t}], ["no"])
    assert to_bytes(singly) == to_bytes(in_blocks)


def test_balanced_weights_count_whatever_limits_the_step() -> None:
    """The steps of support vectors are capped, and a cap of each event's own would make all weights equal."""
    rng = np.random.default_rng(1)
    model, found = KARMAClassifier(class_weight="balanced"), []
    for _ in range(3000):
        rare = bool(rng.random() < 0.03)
        event = {
            name: float(value) for name, value in zip("abcd", rng.standard_normal(4) + rare, strict=True)
        }
        if rare:
            found.append(model.predict_one(event) is True)
        model.learn_one(event, rare)
    assert np.mean(found[30:]) > 0.55


def test_heavier_events_than_the_heaviest_count_as_that() -> None:
    def state(weight: float) -> bytes:
        model = ExplicitKARMAClassifier(class_weight="balanced", threshold="balanced", forget=3)
        records = [{"a": float(t % 7)} for t in range(400)]
        model.run(model.read(records, [True] * 400), [t % 3 == 0 for t in range(400)], [weight] * 400)
        return to_bytes(model)

    assert state(1e300) == state(HEAVIEST)
