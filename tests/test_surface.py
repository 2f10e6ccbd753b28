"""What one sees of the library in a REPL."""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import Any

import numpy as np
import pytest
from river import datasets, evaluate, metrics

import streamkarma
from streamkarma import ExplicitKARMAClassifier, ExplicitKARMARegressor
from streamkarma.baselines import mcar_test
from streamkarma.errors import UsageError
from streamkarma.regret import RegressionRegretMetric, RegretMetric, RegretTracker


@pytest.mark.parametrize("name", ["streamkarma", "streamkarma.baselines", "streamkarma.regret"])
def test_public_names_are_listed_and_there(name: str) -> None:
    module = importlib.import_module(name)
    assert set(module.__all__) <= set(dir(module))
    assert all(getattr(module, each) is not None for each in dir(module))


def test_the_engine_has_the_version_of_the_package() -> None:
    assert importlib.metadata.version("streamkarma") == streamkarma.__version__


def test_a_test_for_mcar_is_shown_in_a_line() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    X[rng.random(X.shape) < 0.3] = np.nan
    found = mcar_test(X, rng.integers(0, 2, 60))
    assert len(found.permuted) == 999
    assert repr(found) == str(found)
    assert "\n" not in repr(found)
    assert len(repr(found)) < 100


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_regret_is_a_metric_like_any_of_rivers(task: Any, capsys: pytest.CaptureFixture[str]) -> None:
    classes = task == "classification"
    tracker = RegretTracker(task, baselines="mean")
    model = tracker.wrap(ExplicitKARMAClassifier() if classes else ExplicitKARMARegressor())
    data = (datasets.Phishing if classes else datasets.TrumpApproval)().take(80)
    other = metrics.Accuracy if classes else metrics.MAE
    metric = tracker.metric()
    name = "RegretMetric" if classes else "RegressionRegretMetric"
    # In a REPL, before there is any result.
    assert (repr(metric), str(metric), f"{metric}") == (f"{name}: 0.",) * 3
    for both in (metric + other(), other() + metric, other() + other() + metric):
        assert repr(both).count(name) == 1
        assert both.works_with(model)
    shown = evaluate.progressive_val_score(data, model, other() + metric, print_every=40, show_time=True)
    assert capsys.readouterr().out.count(name) == 2
    tracker.finish()
    regret = tracker.summary()["mean"]["regret_per_event"]
    assert shown[1].get() == metric.get() == regret
    assert repr(metric) == f"{name}: {regret:,.6f}".rstrip("0")
    assert metric.clone().get() == regret
    assert not metric.bigger_is_better
    assert not metric.is_better_than(metric)
    assert tracker.metric("mean").get() == regret
    with pytest.raises(UsageError, match="baseline must be one of mean, not 'svd'"):
        tracker.metric("svd")
    assert not metric.works_with(ExplicitKARMAClassifier())
    metric.revert(1, 1)
    wrong = RegressionRegretMetric if classes else RegretMetric
    with pytest.raises(UsageError, match="use tracker.metric"):
        wrong(tracker)
    tracker.close()
