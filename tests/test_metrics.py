from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    log_loss,
    r2_score,
    roc_auc_score,
)

from streamkarma.estimators.results import clipped, probabilities
from streamkarma.runtime.evaluator import RunningMetrics
from streamkarma.runtime.metrics import SCORE_BINS, ClassificationMetrics, RegressionMetrics
from tests.loops import run_of


@given(st.integers(0, 10_000), st.lists(st.integers(0, 200), max_size=4))
def test_classification(seed: int, cuts: list[int]) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal(200) * 3
    targets = (scores + 3 * rng.standard_normal(200) > 0).astype(np.int64)
    chances = 1 / (1 + np.exp(-scores))
    metrics, ends = ClassificationMetrics(), sorted({0, 200, *cuts})
    metrics.positive = 1
    for begin, end in pairwise(ends):
        part = slice(begin, end)
        metrics.update(targets[part], (scores[part] > 0).astype(np.int64))
        metrics.update_scores(scores[part], targets[part] == 1)
        metrics.update_log_loss(np.where(targets == 1, chances, 1 - chances)[part])
    result = metrics.result()
    assert result["error_rate"] == pytest.approx(np.mean((scores > 0) != targets))
    assert result["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(targets, scores > 0))
    assert result["auc"] == pytest.approx(roc_auc_score(targets, scores), abs=1e-3)
    assert result["average_precision"] == pytest.approx(average_precision_score(targets, scores), abs=1e-3)
    assert result["f1"] == pytest.approx(f1_score(targets, scores > 0))
    assert result["log_loss"] == pytest.approx(log_loss(targets, chances))


@given(st.integers(0, 10_000), st.floats(0.001, 1.0), st.floats(0.01, 100.0))
def test_rankings_err_by_no_more_than_scores_are_tied(seed: int, rate: float, spread: float) -> None:
    rng = np.random.default_rng(seed)
    positive = rng.random(2000) < rate
    scores = spread * (rng.standard_normal(2000) + positive)
    metrics = ClassificationMetrics()
    metrics.update(positive.astype(np.int64), positive.astype(np.int64))
    metrics.update_scores(scores, positive)
    result = metrics.result()
    if positive.all() or not positive.any():
        assert "average_precision" not in result
        return
    bins = ((scores / (1 + np.abs(scores)) + 1) * (SCORE_BINS / 2)).astype(np.int64)
    assert result["average_precision"] == pytest.approx(average_precision_score(positive, bins))
    assert result["auc"] == pytest.approx(roc_auc_score(positive, bins))
    # Within a bin any order is possible: the best has its positives first, the worst last, one by one.
    best, worst = bins + 0.5 * positive, bins - (0.5 + np.arange(2000) / 1e4) * positive
    bounds = [average_precision_score(positive, order) for order in (worst, best)]
    assert bounds[0] - 1e-9 <= average_precision_score(positive, scores) <= bounds[1] + 1e-9


@given(st.integers(0, 10_000), st.lists(st.integers(0, 50), max_size=4))
def test_regression(seed: int, cuts: list[int]) -> None:
    rng = np.random.default_rng(seed)
    targets = rng.standard_normal(50) + 1000
    predictions = targets + rng.standard_normal(50)
    metrics, ends = RegressionMetrics(), sorted({0, 50, *cuts})
    for begin, end in pairwise(ends):
        metrics.update(targets[begin:end], predictions[begin:end])
    result = metrics.result()
    assert result["mae"] == pytest.approx(np.abs(predictions - targets).mean())
    assert result["rmse"] == pytest.approx(np.sqrt(((predictions - targets) ** 2).mean()))
    assert result["r2"] == pytest.approx(r2_score(targets, predictions), rel=1e-6)


def test_of_nothing_there_are_no_metrics() -> None:
    assert ClassificationMetrics().result() == {}
    assert RegressionMetrics().result() == {}
    metrics = RegressionMetrics()
    metrics.update(np.ones(3), np.ones(3))
    assert metrics.result() == {"mae": 0.0, "rmse": 0.0}


def test_new_classes_and_labels_that_are_none() -> None:
    metrics = ClassificationMetrics()
    metrics.update(np.array([0]), np.array([-1]))
    metrics.update(np.array([5, 5]), np.array([5, 0]))
    metrics.update_unknown(1)
    assert metrics.result() == {"error_rate": 0.75, "balanced_accuracy": 0.25}


def test_what_overflowed_is_left_out_and_says_nothing_on_stderr() -> None:
    """Warnings are errors here."""
    scores = np.array([np.inf, -np.inf, np.nan, 1e308, 0.0])
    chances = probabilities(clipped(scores[:, None]), 2)
    assert chances[:, 1].tolist() == [1.0, 0.0, 0.5, 1.0, 0.5]
    several = probabilities(clipped(np.array([[np.inf, 0.0, -np.inf], [np.nan, 0.0, -np.inf]])), 3)
    assert several.tolist() == [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    metrics = ClassificationMetrics()
    metrics.update(np.array([1, 0, 1, 1, 0]), np.array([1, 0, 0, 1, 0]))
    metrics.update_scores(scores, np.array([True, False, True, True, False]))
    metrics.update_log_loss(np.array([0.5, np.nan]))
    assert set(metrics.result()) == {"error_rate", "balanced_accuracy", "auc", "average_precision"}
    numbers = RegressionMetrics()
    with np.errstate(all="ignore"):
        numbers.update(np.array([1.0, 2.0]), np.array([1e300, -1e300]))
    assert set(numbers.result()) == {"mae"}


@pytest.mark.parametrize("task", [(True, False), ("a", "b", "c"), (1.5, -2.0, 1e100)])
@pytest.mark.parametrize("options", [{"eta": 500.0}, {"gamma": 32}, {"rho": 1e-12}, {"normalize": False}])
def test_no_stream_makes_a_table_say_nan(task: Any, options: Any, tmp_path: Path,
                                         capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    """Extreme values and extreme parameters; warnings of numpy are errors here, too."""
    rng = np.random.default_rng(0)
    values = [1.7e308, -1.7e308, 5e-324, 0.0, 1e155, 1.0]
    events = [
        {"a": values[rng.integers(6)], "b": values[rng.integers(6)], "c": t % 3,
         "w": [1, 1e300, 0, 5e-324][t % 4], "y": task[t % len(task)]} for t in range(80)
    ]  # fmt: skip
    path, summary = tmp_path / "input", tmp_path / "s"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    for scale in (True, False):
        given = {"scale": scale, "rho": 0.001, **options} if "eta" in options else {"scale": scale, **options}
        run_of(input=str(path), learner="karma", options=given, predictions=str(tmp_path / "rows"),
                 summary=str(summary), fields={"weight": "w"}).execute()  # fmt: skip
        said = capsys.readouterr().err
        assert "Warning" not in said
        assert not re.search(r"\b(nan|inf)\b", said)
        assert None not in json.loads(summary.read_text())["metrics"].values()
        rows = (tmp_path / "rows").read_text().splitlines()
        assert len(rows) == 80
        for row in rows:
            assert all(value is not None for name, value in json.loads(row).items() if name != "prediction")


@given(st.integers(0, 10_000), st.lists(st.integers(0, 300), max_size=5))
def test_parts_of_a_run_add_up_to_the_whole(seed: int, cuts: list[int]) -> None:
    rng = np.random.default_rng(seed)
    classes, predicted = rng.integers(0, 3, (2, 300))
    scores, targets, answers = rng.standard_normal((3, 300))

    def count(part: slice) -> RunningMetrics:
        metrics = RunningMetrics()
        metrics.add_losses(np.abs(scores[part]))
        metrics.classification.update(classes[part], predicted[part])
        metrics.classification.update_scores(scores[part], classes[part] == 1)
        metrics.classification.update_log_loss(1 / (1 + np.exp(scores[part])))
        metrics.classification.update_unknown(len(targets[part]) // 7)
        metrics.regression.update(targets[part], answers[part])
        ends = np.column_stack([answers - 1, answers + 1])
        metrics.coverage.add_intervals(ends[part], targets[part], {})
        return metrics

    ends = sorted({0, 300, *cuts})
    parts = [count(slice(*pair)) for pair in pairwise(ends)]
    whole, summed = count(slice(0, 300)), RunningMetrics()
    whole.classification._unknown = sum(part.classification._unknown for part in parts)
    for part in parts:
        summed.add({name: array.copy() for name, array in part.arrays().items()})
    for kind in ("classification", "regression", "coverage"):
        assert getattr(summed, kind).result() == pytest.approx(getattr(whole, kind).result())
    assert (summed.loss_events, summed.loss_total) == (300, pytest.approx(whole.loss_total))
