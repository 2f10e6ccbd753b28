from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, log_loss, r2_score, roc_auc_score

from streamkarma.runtime.metrics import ClassificationMetrics, RegressionMetrics


@given(st.integers(0, 10_000), st.lists(st.integers(0, 200), max_size=4))
def test_classification(seed: int, cuts: list[int]) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal(200) * 3
    targets = (scores + 3 * rng.standard_normal(200) > 0).astype(np.int64)
    chances = 1 / (1 + np.exp(-scores))
    metrics, ends = ClassificationMetrics(), sorted({0, 200, *cuts})
    for begin, end in pairwise(ends):
        part = slice(begin, end)
        metrics.update(targets[part], (scores[part] > 0).astype(np.int64))
        metrics.update_scores(scores[part], targets[part] == 1)
        metrics.update_log_loss(np.where(targets == 1, chances, 1 - chances)[part])
    result = metrics.result()
    assert result["error_rate"] == pytest.approx(np.mean((scores > 0) != targets))
    assert result["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(targets, scores > 0))
    assert result["auc"] == pytest.approx(roc_auc_score(targets, scores), abs=1e-3)
    assert result["log_loss"] == pytest.approx(log_loss(targets, chances))


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
    metrics.update_strangers(1)
    assert metrics.result() == {"error_rate": 0.75, "balanced_accuracy": 0.25}
