"""The learner's losses against those of baselines: stats, samples, fits, processes."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import select
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression, LogisticRegressionCV, Ridge
from sklearn.model_selection import cross_val_score

from streamkarma import _engine
from streamkarma.baselines.machines import Machine
from streamkarma.baselines.registry import named
from streamkarma.core.loss import CLASSIFICATION
from streamkarma.errors import UsageError
from streamkarma.events.block import Block
from streamkarma.events.reservoir import Reservoir, ReservoirSnapshot, uniform
from streamkarma.regret.background_fit import BackgroundFit, request
from streamkarma.regret.calibration import Calibration
from streamkarma.regret.competitor import LearnerProfile
from streamkarma.regret.fit import FOLDS, Fit
from streamkarma.regret.hindsight import EventTable, compare_losses, evaluate_baseline, rows_in_turn
from streamkarma.regret.loss_curves import LossCurve, RecentLosses
from streamkarma.regret.losses import STRENGTH, pointwise_loss, wrong
from streamkarma.regret.rows import per_event
from streamkarma.regret.sufficient_stats import SufficientStats
from streamkarma.regret.tracker import FIRST, Tracker, parse_baselines
from streamkarma.regret.worker import answer
from streamkarma.runtime.regret_table import regret_table

Array = NDArray[np.float64]
ROOT = Path(__file__).parents[1]


def block_of(X: Array) -> Block:
    """Rows with NaN as encoded events, the constant in front; column j is attribute j + 1."""
    starts, items = [0], []
    for row in X:
        items.append((0, 1.0))
        items += [(j + 1, value) for j, value in enumerate(row) if not np.isnan(value)]
        starts.append(len(items))
    names = np.array([j for j, _ in items], np.int32)
    return Block(np.array(starts), names, names.copy(), np.array([value for _, value in items]))


def gappy(n: int, d: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, d)) < 0.6, rng.standard_normal((n, d)), np.nan)


def facts_of(y: Array, own: Array | None = None, weights: Array | None = None) -> Array:
    """The facts of events: the learner's loss is 1 each unless given."""
    n = len(y)
    return np.column_stack([y, np.ones(n) if weights is None else weights,
                            np.ones(n) if own is None else own, np.zeros(n)])  # fmt: skip


def table_of(X: Array, y: Array, own: Array | None = None, weights: Array | None = None) -> EventTable:
    reservoir = Reservoir(len(X))
    reservoir.add(block_of(X), np.arange(len(X)), facts_of(y, own, weights))
    return EventTable.of(reservoir.snapshot())


def in_hindsight(name: str, *given: Any) -> dict[str, Any]:
    """A comparison without the held-out fits, which take most of its time."""
    return next(rows_in_turn(name, *given))


class TestLosses:
    @given(st.integers(0, 2**32 - 1), st.sampled_from(["logistic", "hinge"]))
    def test_they_are_the_learners(self, seed: int, loss: str) -> None:
        rng = np.random.default_rng(seed)
        one, y = 5 * rng.standard_normal((8, 1)), rng.integers(0, 2, 8).astype(float)
        expected = _engine.losses(CLASSIFICATION[loss].code, one[:, 0], 2.0 * y - 1.0)
        assert pointwise_loss(loss, one, y) == pytest.approx(expected)
        many, of = 5 * rng.standard_normal((8, 4)), rng.integers(0, 4, 8)
        several = [_engine.multiclass_loss(CLASSIFICATION[loss].code, row, int(c))
                   for row, c in zip(many, of, strict=True)]  # fmt: skip
        assert pointwise_loss(loss, many, of.astype(float)) == pytest.approx(several)
        assert wrong("multiclass", many, of.astype(float)).tolist() == (many.argmax(1) != of).tolist()


class TestMemory:
    @settings(max_examples=30, deadline=None)
    @given(
        st.integers(0, 2**32 - 1), st.integers(1, 40), st.lists(st.integers(1, 15), min_size=1, max_size=8)
    )
    def test_how_events_are_cut_never_shows(self, seed: int, limit: int, sizes: list[int]) -> None:
        X = gappy(sum(sizes), 3, seed)
        block, facts = block_of(X), facts_of(np.arange(len(X), dtype=float))
        whole, cut = Reservoir(limit, seed % 7), Reservoir(limit, seed % 7)
        whole.add(block, np.arange(len(X)), facts)
        for begin, end in itertools.pairwise(np.cumsum([0, *sizes]).tolist()):
            rows = np.arange(begin, end)
            cut.add(block, rows, facts[rows])
            # Saving and restoring in between makes no difference either.
            cut = Reservoir.restored(*cut.state())
        for one, other in zip(whole.snapshot(), cut.snapshot(), strict=True):
            assert np.array_equal(one, other)
        kept = whole.snapshot()
        assert kept.exact == (len(X) <= limit)
        # Events are kept whole.
        for row, first, last in zip(kept.facts[:, 0].astype(int), kept.starts, kept.starts[1:], strict=False):
            seen = np.flatnonzero(~np.isnan(X[row]))
            assert kept.coordinates[first:last].tolist() == (seen + 1).tolist()
            assert kept.values[first:last].tolist() == X[row, seen].tolist()

    def test_the_sample_is_uniform(self) -> None:
        counts = np.zeros(50)
        for seed in range(2000):
            reservoir = Reservoir(10, seed)
            reservoir.add(block_of(np.zeros((50, 1))), np.arange(50), facts_of(np.arange(50.0)))
            counts[reservoir.snapshot().facts[:, 0].astype(int)] += 1
        # 400 each, standard deviation 17.9.
        assert np.abs(counts - 400).max() < 4.5 * 17.9
        assert uniform(np.arange(10_000), 3).mean() == pytest.approx(0.5, abs=0.02)

    def test_a_category_is_observed_in_the_columns_of_its_siblings(self) -> None:
        # Attribute 1 has the coordinates 1 and 2 (categories), attribute 2 the coordinate 3.
        block = Block(np.array([0, 2, 3, 4]), np.int32([1, 2, 1, 2]), np.int32([1, 3, 2, 3]),
                      np.array([1.0, 0.5, 1.0, -1.0]))  # fmt: skip
        reservoir = Reservoir(10)
        reservoir.add(block, np.arange(3), facts_of(np.zeros(3)))
        X, attributes, coordinates = reservoir.snapshot().table()
        assert attributes.tolist() == [1, 1, 2]
        assert coordinates.tolist() == [1, 2, 3]
        assert np.array_equal(X, [[1, 0, 0.5], [0, 1, np.nan], [np.nan, np.nan, -1]], equal_nan=True)

    def test_what_contradicts_itself_is_refused(self) -> None:
        reservoir = Reservoir(10)
        reservoir.add(block_of(gappy(5, 2, 0)), np.arange(5), facts_of(np.zeros(5)))
        header, arrays = reservoir.state()
        for name in ("starts", "facts", "values"):
            with pytest.raises(ValueError, match="contradict"):
                Reservoir.restored(header, {**arrays, name: arrays[name][:-1]})


def brute_force(Z: Array, y: Array, loss: str) -> float:
    """The loss at the minimum of ``loss + ‖w‖² / (2 STRENGTH)``, by a general solver."""
    n, d = Z.shape
    target = (y if loss == "squared" else np.where(y == 1, 1.0, -1.0)).astype(float)

    def scores(p: Array) -> Array:
        return Z @ p[:d] + p[d]

    if loss == "hinge":
        # With slacks it is smooth, and a quadratic programme.
        found = minimize(
            lambda p: p[:d] @ p[:d] / (2 * STRENGTH) + p[d + 1 :].sum(),
            np.concatenate([np.zeros(d + 1), np.ones(n)]),
            jac=lambda p: np.concatenate([p[:d] / STRENGTH, [0.0], np.ones(n)]),
            constraints={"type": "ineq", "fun": lambda p: target * scores(p) - 1 + p[d + 1 :]},
            bounds=[(None, None)] * (d + 1) + [(0, None)] * n,
            method="SLSQP", options={"ftol": 1e-13, "maxiter": 2000},
        )  # fmt: skip
        return float(np.maximum(0, 1 - target * scores(found.x)).sum())

    def total(p: Array) -> float:
        f = scores(p)
        each = (f - target) ** 2 if loss == "squared" else np.logaddexp(0, -target * f)
        return float(each.sum() + p[:d] @ p[:d] / (2 * STRENGTH))

    best = minimize(total, np.zeros(d + 1), method="BFGS", options={"gtol": 1e-9}).x
    return total(best) - float(best[:d] @ best[:d] / (2 * STRENGTH))


class TestHindsight:
    @pytest.mark.parametrize("loss", ["logistic", "hinge", "squared"])
    @pytest.mark.parametrize("name", ["zero", "mean", "median"])
    def test_it_is_the_minimum(self, name: str, loss: str) -> None:
        for seed in range(3):
            rng = np.random.default_rng(seed)
            X = gappy(24, 3, seed)
            lean = np.nan_to_num(X) @ [1.0, -1.0, 0.5] + 1.5 * rng.standard_normal(24)
            y = lean if loss == "squared" else (lean > 0).astype(float)
            task = "regression" if loss == "squared" else "binary"
            fill = {"zero": np.zeros(3), "mean": np.nanmean(X, 0), "median": np.nanmedian(X, 0)}[name]
            row = in_hindsight(name, table_of(X, y), task, loss)
            expected = brute_force(np.where(np.isnan(X), fill, X), y, loss)
            assert row["baseline_loss"] == pytest.approx(expected, rel=1e-6)
            assert row["exact"]
            assert row["standard_error"] == 0.0
            assert row["regret"] == pytest.approx(24 - expected)

    @pytest.mark.parametrize("name", ["mean", "gmm", "knn"])
    @pytest.mark.parametrize("loss", ["logistic", "hinge"])
    def test_where_a_column_begins_does_not_matter(self, name: str, loss: str) -> None:
        # Without the learner's scale, as with --no-scale: seconds since 1970, for example.
        X = gappy(60, 3, 8)
        y = (np.nan_to_num(X).sum(axis=1) + np.random.default_rng(0).standard_normal(60) > 0).astype(float)
        near, far = (
            evaluate_baseline(name, table_of(X + np.array([shift, 0.0, 0.0]), y), "binary", loss)
            for shift in (0.0, 2.0**30)
        )
        for figure in ("baseline_loss", "held_out_loss"):
            assert far[figure] == pytest.approx(near[figure], rel=1e-3)

    @pytest.mark.parametrize("loss", ["logistic", "hinge", "squared"])
    @pytest.mark.parametrize("name", ["zero", "mean"])
    def test_units_do_not_matter(self, name: str, loss: str) -> None:
        # As above, of a learner with --no-scale.
        X, y = gappy(60, 3, 9), np.random.default_rng(1).standard_normal(60)
        y += np.nan_to_num(X).sum(axis=1)
        task = "regression" if loss == "squared" else "binary"
        y = y if loss == "squared" else (y > 0).astype(float)
        small, large = (
            evaluate_baseline(name, table_of(X * unit, y), task, loss) for unit in (2.0**-14, 2.0**20)
        )
        for figure in ("baseline_loss", "held_out_loss"):
            assert small[figure] == pytest.approx(large[figure], rel=1e-9)

    @pytest.mark.parametrize("name", ["knn", "trees"])
    @pytest.mark.parametrize("n", [100, 400])
    def test_where_nothing_is_known_held_out_is_no_better_than_the_best_constant(
        self, name: str, n: int
    ) -> None:
        y = np.random.default_rng(n).integers(0, 2, n).astype(float)
        share = y.mean()
        entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
        row = evaluate_baseline(name, table_of(np.full((n, 1), np.nan), y), "binary", "logistic")
        # Classes are spread over the folds as evenly as their numbers allow.
        assert row["held_out_loss"] / n >= entropy - 0.2 / n

    def test_a_learner_that_is_the_baseline_has_no_regret(self) -> None:
        X = gappy(60, 3, 1)
        y = (np.nan_to_num(X).sum(axis=1) + np.random.default_rng(0).standard_normal(60) > 0).astype(float)
        scores = Fit(named("zero"), "binary", "logistic", np.arange(3), 1).hindsight(X, y)
        own = pointwise_loss("logistic", scores, y)
        row = in_hindsight("zero", table_of(X, y, own), "binary", "logistic")
        assert row["regret"] == pytest.approx(0, abs=1e-9)

    def test_a_learner_that_is_always_wrong_regrets_linearly(self) -> None:
        X = gappy(96, 3, 2)
        X[:, 0] = np.random.default_rng(0).standard_normal(96)
        y = (X[:, 0] > 0).astype(float)
        regrets = []
        for n in (24, 48, 96):
            own = pointwise_loss("hinge", np.where(y[:n] == 1, -1.0, 1.0)[:, None], y[:n])
            regrets.append(in_hindsight("zero", table_of(X[:n], y[:n], own), "binary", "hinge")["regret"])
        assert np.array(regrets) / [24, 48, 96] == pytest.approx(2.0, abs=0.02)

    @pytest.mark.parametrize("seed", [2, 7])
    def test_folds_whose_scores_differ_in_size_do_not_make_it_certain(self, seed: int) -> None:
        """Each fold chooses its own C; on noise, some choose a tiny one, and their scores are tiny."""
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((60, 3))
        y = rng.standard_normal((60, 3)).argmax(axis=1).astype(float)
        X[rng.random(X.shape) < 0.5] = np.nan
        held_out = Fit(named("geom"), "multiclass", "logistic", np.arange(3), 3).held_out(X, y)
        assert held_out is not None
        assert pointwise_loss("logistic", held_out, y).mean() < 1.5 * np.log(3)

    def test_held_out_is_no_fit_of_the_past(self) -> None:
        rng = np.random.default_rng(3)
        X, y = rng.standard_normal((200, 5)), (rng.random(200) < 0.5).astype(float)
        row = evaluate_baseline("trees", table_of(X, y), "binary", "logistic")
        assert row["error"] == 0.0
        assert row["baseline_loss"] < 1.0
        assert row["held_out_error"] > 0.35
        # Overconfident scores have been calibrated: about the loss of knowing nothing.
        assert row["held_out_loss"] == pytest.approx(200 * np.log(2), rel=0.1)

    @pytest.mark.parametrize(
        ("task", "loss"),
        [("binary", "logistic"), ("multiclass", "logistic"), ("binary", "hinge"),
         ("multiclass", "hinge"), ("regression", "squared"), ("regression", "absolute")],
    )  # fmt: skip
    def test_held_out_fits_are_regularised_by_the_loss_compared(self, task: str, loss: str) -> None:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((150, 30))
        lean = X[:, 0] + 2 * rng.standard_normal(150)
        y = {"binary": (lean > 0) * 1.0, "multiclass": np.digitize(lean, [-1, 1]) * 1.0}.get(task, lean)

        def held_out(choice: dict[str, Any]) -> float:
            fit = Fit(named("mean"), task, loss, np.arange(30), 3 if task == "multiclass" else 1)
            fit.held_out_settings |= choice
            scores = fit.held_out(X, y)
            assert scores is not None
            return float(pointwise_loss(loss, scores, y).mean())

        least = min(held_out({"C": C}) for C in (1e-3, 1e-2, 0.1, 1.0))
        assert held_out({}) < 1.05 * least
        assert held_out({"C": 10.0 if loss == "hinge" else STRENGTH}) > 1.08 * least

    def test_held_out_is_as_good_as_a_regression_that_is_cross_validated(self) -> None:
        rng = np.random.default_rng(1)
        X = rng.standard_normal((200, 40))
        y = (X[:, 0] + rng.standard_normal(200) > 0).astype(float)
        model = LogisticRegressionCV(
            Cs=10, scoring="neg_log_loss", cv=5, l1_ratios=(0,), use_legacy_attributes=False, max_iter=1000
        )
        expected = -cross_val_score(model, X, y, scoring="neg_log_loss").mean()
        row = evaluate_baseline("mean", table_of(X, y), "binary", "logistic")
        assert row["held_out_loss"] / 200 == pytest.approx(expected, rel=0.05)

    def test_many_rows_need_no_more_trials(self, monkeypatch: pytest.MonkeyPatch) -> None:
        sizes, fit_machine = [], Machine.fit

        def counted(self: Machine, Z: Array, *more: Any) -> Machine:
            sizes.append(len(Z))
            return fit_machine(self, Z, *more)

        monkeypatch.setattr(Machine, "fit", counted)
        X = gappy(3000, 2, 0)
        fit = Fit(named("zero"), "regression", "squared", np.arange(2), 1)
        fit.held_out(X, np.nan_to_num(X).sum(axis=1))
        assert sizes == [*[1000] * 8, 2400] * FOLDS

    @pytest.mark.parametrize(("task", "loss"), [("binary", "logistic"), ("regression", "squared")])
    def test_equal_weights_of_any_size_change_no_mean(self, task: str, loss: str) -> None:
        X, rng = gappy(80, 3, 5), np.random.default_rng(6)
        y, own, weights = (X[:, 0] > 0) * 1.0, rng.random(80), rng.choice([1.0, 3.0], 80)
        figures = []
        for unit in (1.0, 2.0**10, 2.0**-20):
            stats, table = SufficientStats(), table_of(X, y, unit * weights * own, unit * weights)
            facts = table.facts
            stats.add(block_of(X), np.arange(80), facts)
            rows = [evaluate_baseline("zero", table, task, loss)]
            rows += [stats.row("zero")] if task == "regression" else []
            curve, recent = LossCurve(), RecentLosses(50)
            for each in (curve, recent):
                each.add(np.column_stack([facts[:, 2], facts[:, 1] * facts[:, 3], facts[:, 1]]))
            names = ("learner_loss", "baseline_loss", "regret", "held_out_loss", "held_out_standard_error")
            figures.append([
                *(per_event(row, name) or 0.0 for row in rows for name in names),
                *(row["regret_per_event"] for row in rows),
                *curve.to_now()[-1],
                *recent.to_now()[-1],
            ])  # fmt: skip
            assert rows[0]["weight"] == unit * weights.sum()
            assert per_event(rows[0], "learner_loss") == pytest.approx(np.average(own, weights=weights))
            assert curve.to_now()[-1][1] == pytest.approx(np.average(own, weights=weights))
            text = regret_table({"zero": rows[0]}, None)
            assert "weighted" in text[3]
        assert figures[0] == pytest.approx(figures[1], rel=1e-9)
        assert figures[0] == pytest.approx(figures[2], rel=1e-9)

    def test_the_errors_are_weighted_as_well(self) -> None:
        y = np.array([0.0, 1.0] * 10)
        row = evaluate_baseline(
            "zero", table_of(np.full((20, 1), np.nan), y, weights=1.0 + 2.0 * y), "binary", "logistic"
        )
        assert row["error"] == row["held_out_error"] == 0.25

    @pytest.mark.parametrize("name", ["zero", "karma-batch", "knn", "trees", "svd"])
    @pytest.mark.parametrize("loss", ["logistic", "hinge"])
    def test_several_classes(self, name: str, loss: str) -> None:
        X = gappy(90, 3, 4)
        y = np.digitize(np.nan_to_num(X).sum(axis=1), [-0.7, 0.7]).astype(float)
        row = evaluate_baseline(name, table_of(X, y, np.full(90, np.log(3))), "multiclass", loss)
        assert row["error"] < 0.45
        assert 0 <= row["baseline_loss"] < 90 * np.log(3)
        assert row["held_out_loss"] > 0

    def test_many_classes_are_calibrated_by_a_slope_and_an_intercept_each(self) -> None:
        rng = np.random.default_rng(6)
        X, y = rng.standard_normal((200, 2)), np.arange(200) % 20.0
        for name in ("trees", "knn"):
            row = evaluate_baseline(name, table_of(X, y), "multiclass", "logistic")
            # There is nothing to learn, and with a full matrix 20 classes would cost far more than that.
            assert row["held_out_loss"] < 200 * np.log(20) * 1.15

    def test_several_classes_are_calibrated_as_well_as_they_can_be(self) -> None:
        rng = np.random.default_rng(7)
        codes, weights = np.arange(120) % 3, rng.choice([1.0, 2.0], 120)
        scores = rng.standard_normal((120, 3)) * [1.0, 50.0, 0.02] + 5.0
        scores[np.arange(120), codes] += np.array([1.0, 30.0, 0.01])[codes]

        def total(p: Array) -> float:
            each = pointwise_loss("logistic", p[:3] * scores + p[3:], codes.astype(float))
            return float(weights @ each)

        start = np.r_[1.0, 0.02, 50.0, -5.0, -0.1, -250.0]
        best = minimize(total, start, method="Nelder-Mead", options={"maxiter": 20000, "xatol": 1e-9,
                        "fatol": 1e-10, "adaptive": True})  # fmt: skip
        found = Calibration(scores, codes, weights)(scores)
        assert weights @ pointwise_loss("logistic", found, codes.astype(float)) <= best.fun * (1 + 1e-4)

    def test_a_class_that_a_fold_has_not_seen(self) -> None:
        X, y = gappy(40, 2, 5), np.r_[np.zeros(20), np.ones(19), 2.0]
        for name in ("zero", "knn", "geom"):
            assert np.isfinite(
                evaluate_baseline(name, table_of(X, y), "multiclass", "logistic")["held_out_loss"]
            )

    @pytest.mark.parametrize("name", ["zero", "mean", "trees", "knn", "geom", "karma-batch"])
    def test_a_rare_class_costs_held_out_what_its_rarity_does(self, name: str) -> None:
        X, n = gappy(100, 2, 5), 100
        X[:, 0] = np.random.default_rng(0).standard_normal(n)
        y = (np.arange(n) == 50).astype(float)
        # About -log(1/81) for the one event, and -log(80/81) for each of the others.
        for task, labels in (("binary", y), ("multiclass", y * 2)):
            row = evaluate_baseline(name, table_of(X, labels), task, "logistic")
            assert 3.0 < row["held_out_loss"] < 12.0

    @pytest.mark.parametrize("label", [0.0, 1.0])
    @pytest.mark.parametrize("name", ["zero", "trees"])
    def test_with_one_class_only_the_best_in_hindsight_has_no_loss(self, name: str, label: float) -> None:
        X, y = gappy(50, 2, 5), np.full(50, label)
        for loss in ("logistic", "hinge"):
            row = evaluate_baseline(name, table_of(X, y), "binary", loss)
            assert row["baseline_loss"] == pytest.approx(0.0, abs=1e-9)
            assert 0.0 <= row["held_out_loss"] < 50 * np.log(1 + 1 / 40)

    @pytest.mark.parametrize("name", ["zero", "mean", "karma-batch", "projection", "gmm", "knn", "trees"])
    def test_without_any_attribute_there_is_the_constant(self, name: str) -> None:
        X, y = np.full((60, 2), np.nan), (np.arange(60) % 3 == 0).astype(float)
        row = in_hindsight(name, table_of(X, y), "binary", "logistic")
        assert row["baseline_loss"] == pytest.approx(60 * np.log(3) - 40 * np.log(2), rel=1e-4)
        row = in_hindsight(name, table_of(X, y), "regression", "squared")
        assert row["baseline_loss"] == pytest.approx(60 * 2 / 9, rel=1e-3)

    def test_the_oracle_needs_complete_vectors(self) -> None:
        X = gappy(50, 2, 6)
        y = (np.arange(50) % 2).astype(float)
        with pytest.raises(ValueError, match=r"complete vectors \(--full NAME\)"):
            evaluate_baseline("full", table_of(X, y), "binary", "logistic")
        reservoir = Reservoir(50)
        vectors: list[Any] = [{"a": 5.0 * label, "b": 1.0} for label in y]
        reservoir.add(block_of(X), np.arange(50), facts_of(y), vectors)
        row = in_hindsight("full", EventTable.of(reservoir.snapshot()), "binary", "logistic")
        assert row["baseline_loss"] < 0.5

    def test_too_wide_a_table_is_not_made(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("streamkarma.events.reservoir.MOST_CELLS", 100)
        with pytest.raises(ValueError, match=r"50 rows and 3 columns is too large"):
            table_of(gappy(50, 3, 0), np.zeros(50))

    def test_estimates_from_a_sample_are_as_good_as_they_say(self) -> None:
        X = gappy(1500, 3, 7)
        rng = np.random.default_rng(1)
        y = (np.nan_to_num(X) @ [1.0, -1.0, 1.0] + rng.standard_normal(1500) > 0).astype(float)
        block, own = block_of(X), rng.exponential(0.6, 1500)
        exact = in_hindsight("zero", table_of(X, y, own), "binary", "logistic")["regret"]
        near = 0
        for seed in range(100):
            reservoir = Reservoir(300, seed)
            reservoir.add(block, np.arange(1500), facts_of(y, own))
            table = EventTable.of(reservoir.snapshot())
            fit = Fit(named("zero"), "binary", "logistic", table.attributes, 1)
            scores = fit.hindsight(table.X, table.facts[:, 0])
            row = compare_losses(table, pointwise_loss("logistic", scores, table.facts[:, 0]))
            assert not row["exact"]
            near += abs(row["regret"] - exact) <= 2 * row["standard_error"]
        assert near >= 90


def whole_stream(n: int, d: int, rank: int, seed: int) -> tuple[Array, Array, Array]:
    """Complete rows of a subspace, their observed values, and labels linear in the complete rows."""
    rng = np.random.default_rng(seed)
    whole = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    w = rng.standard_normal(d)
    return whole, np.where(rng.random((n, d)) < 0.6, whole, np.nan), (whole @ w > 0).astype(float)


class TestOracle:
    def snapshot(self, X: Array, whole: Array, y: Array) -> ReservoirSnapshot:
        d = X.shape[1]
        reservoir = Reservoir(len(X))
        reservoir.name_coordinates = {f"x{j}": j + 1 for j in range(d)}
        vectors: list[Any] = [{f"x{j}": float(v) for j, v in enumerate(row)} for row in whole]
        reservoir.add(block_of(X), np.arange(len(X)), facts_of(y), vectors)
        return reservoir.snapshot()

    def test_complete_vectors_in_other_units_and_another_order(self) -> None:
        whole, X, y = whole_stream(200, 12, 2, 0)
        plain = in_hindsight(
            "projection-full", EventTable.of(self.snapshot(X, whole, y)), "binary", "logistic"
        )
        shift, spread = np.arange(12.0), np.linspace(0.5, 2, 12)
        moved = in_hindsight(
            "projection-full",
            EventTable.of(self.snapshot((X - shift) / spread, whole, y)),
            "binary",
            "logistic",
        )
        assert plain["error"] <= 0.03
        # The subspace changes, and so does the least ‖w‖; what is separable does not.
        assert moved["error"] <= 0.03

    def test_the_bound_is_that_of_the_rival(self) -> None:
        whole, X, y = whole_stream(150, 6, 2, 1)
        learner = LearnerProfile(2, 0.1, False, "")
        table = EventTable.of(self.snapshot(X, whole, y))
        row = in_hindsight("projection-full", table, "binary", "hinge", learner)
        bound = row["bound"]
        assert bound["total"] == pytest.approx(
            bound["estimation"] + bound["regularisation"] + bound["approximation"]
        )
        assert (bound["T"], bound["rho"], bound["gamma"], bound["L"]) == (150, 0.1, 2, 1.0)
        assert bound["w_norm"] ** 2 <= bound["B"] <= 2 * bound["w_norm"] ** 2
        assert 0 < bound["lam"] <= 1
        assert row["regret"] <= bound["total"]
        assert "bound" not in in_hindsight("projection-full", table, "regression", "squared", learner)

    def test_vectors_of_other_attributes_will_not_do(self) -> None:
        whole, X, y = whole_stream(40, 4, 2, 2)
        snapshot = self.snapshot(X, whole, y)._replace(name_coordinates=np.array([1, 2, 3, -1]))
        with pytest.raises(ValueError, match="the same attributes as the events"):
            evaluate_baseline("projection-full", EventTable.of(snapshot), "binary", "logistic")


class TestSums:
    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 2**32 - 1), st.integers(6, 40), st.sampled_from(["zero", "mean"]))
    def test_they_know_the_best_predictor_at_every_event(self, seed: int, n: int, name: str) -> None:
        rng = np.random.default_rng(seed)
        X = gappy(n, 4, seed)
        X[: n // 2, 3] = np.nan  # an attribute that comes later
        y, weights = 100 + 10 * rng.standard_normal(n), rng.choice([1.0, 2.0], n)
        block, stats = block_of(X), SufficientStats()
        for end in range(n):
            stats.add(block, np.array([end]), facts_of(y[[end]], weights=weights[[end]]))
        seen = ~np.isnan(X).all(axis=0)
        Z = X[:, seen]
        fill = np.zeros(Z.shape[1])
        if name == "mean":
            fill = (weights @ np.nan_to_num(Z)) / (weights @ ~np.isnan(Z))
        Z = np.where(np.isnan(Z), fill, Z)
        losses = [
            float(weights @ (y - model.fit(Z, y, sample_weight=weights / weights.mean()).predict(Z)) ** 2)
            for model in (LinearRegression(), Ridge(alpha=0.5 / STRENGTH))
        ]
        # Columns that hardly vary are penalised less than by ridge regression.
        assert losses[0] * (1 - 1e-5) - 1e-5 <= stats.best(name) <= losses[1] * (1 + 1e-5) + 1e-5
        again = SufficientStats.restored(*stats.state())
        assert again.best(name) == stats.best(name)

    def test_with_too_many_coordinates_nothing_is_left_of_the_earlier_ones(self) -> None:
        block = Block(np.array([0, 1, 2]), np.int32([1, 2]), np.int32([1, 1 << 30]), np.ones(2))
        one, two, facts = SufficientStats(), SufficientStats(), facts_of(np.arange(2.0))
        one.add(block, np.array([0, 1]), facts)
        for row in range(2):
            two.add(block, np.array([row]), facts[[row]])
        assert two.closed
        assert repr(one.state()) == repr(two.state())
        assert SufficientStats.restored(*two.state()).closed

    @pytest.mark.parametrize("size", [1, 3, 20])
    @pytest.mark.parametrize("far", [0.0, 1.7e9, -1e9])
    def test_they_agree_with_the_stored_events(self, size: int, far: float) -> None:
        # Means over observed values, with categories and their siblings, also those that appear later.
        block = Block(np.arange(0, 41, 2), np.int32([1, 2] * 20), np.int32([1, 3, 2, 3] * 10),
                      np.random.default_rng(0).standard_normal(40))  # fmt: skip
        y = far + np.random.default_rng(1).standard_normal(20)
        stats, reservoir = SufficientStats(), Reservoir(100)
        for taker in (stats, reservoir):
            for rows in np.split(np.arange(20), range(size, 20, size)):
                taker.add(block, rows, facts_of(y[rows]))
        table = EventTable.of(reservoir.snapshot())
        for name in ("zero", "mean"):
            row = in_hindsight(name, table, "regression", "squared")
            assert stats.row(name)["baseline_loss"] == pytest.approx(row["baseline_loss"], rel=1e-6)
            assert stats.row(name)["learner_loss"] == row["learner_loss"]

    def test_weights_count_alike_in_sums_and_in_fits(self) -> None:
        X, rng = gappy(60, 3, 5), np.random.default_rng(6)
        facts = facts_of(rng.standard_normal(60), weights=np.where(np.arange(60) % 10 == 0, 100.0, 1.0))
        stats, reservoir = SufficientStats(), Reservoir(100)
        for taker in (stats, reservoir):
            taker.add(block_of(X), np.arange(60), facts)
        row = in_hindsight("zero", EventTable.of(reservoir.snapshot()), "regression", "squared")
        assert stats.row("zero")["baseline_loss"] == pytest.approx(row["baseline_loss"], rel=1e-6)

    def test_too_many_coordinates_are_not_summed(self) -> None:
        stats = SufficientStats()
        block = Block(np.array([0, 1]), np.int32([1]), np.int32([5000]), np.array([1.0]))
        stats.add(block, np.array([0]), facts_of(np.zeros(1)))
        assert stats.closed
        assert SufficientStats.restored(*stats.state()).closed


def fed(tracker: Tracker, n: int, cut: int, d: int = 3, task: str = "binary") -> None:
    """A stream in blocks of ``cut`` events."""
    X = gappy(n, d, 0)
    lean = np.nan_to_num(X).sum(axis=1) + np.random.default_rng(1).standard_normal(n)
    y = lean if task == "regression" else (lean > 0).astype(float)
    block, facts = block_of(X), facts_of(y)
    loss = "squared" if task == "regression" else "logistic"
    for begin in range(0, n, cut):
        rows = np.arange(begin, min(begin + cut, n))
        tracker.add(block, rows, facts[rows], task, loss)


def test_a_curve_of_an_older_file_counts_each_event_once() -> None:
    curve = LossCurve.restored({"curve": [[1, 0.5, 0.0], [2, 1.5, 1.0]], "totals": [1.5, 1.0]}, 2)
    assert curve.to_now() == [(1, 0.5, 0.0), (2, 0.75, 0.5)]


class Nobody:
    """A worker that does not exist."""

    is_alive = False

    def end(self) -> None:
        pass


class FitHere:
    """The answers of a worker, computed in this process; tests of processes are below."""

    worker = Nobody()

    def __init__(
        self,
        snapshot: ReservoirSnapshot,
        names: list[str],
        task: str,
        loss: str,
        seconds: float,
        learner: Any,
        _worker: Nobody | None,
    ) -> None:
        answers: list[dict[str, Any]] = []
        with warnings.catch_warnings():
            # As in a worker, which reads the request after its length.
            warnings.simplefilter("ignore")
            answer(request(snapshot, names, task, loss, learner)[8:], answers.append)
        self._found = [(row.pop("name"), row) for row in answers[1:] if row.pop("done")]
        self.done = False

    def poll(self) -> list[tuple[str, dict[str, Any]]]:
        self.done = True
        return self._found

    def close(self) -> None:
        pass


class TestTracker:
    @pytest.fixture(autouse=True)
    def here(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("streamkarma.regret.tracker.BackgroundFit", FitHere)
        # These fits take most of the time, and are the same to the tracker.
        monkeypatch.setattr(Fit, "held_out", lambda *_: None)

    def test_it_asks_at_256_times_powers_of_two_and_at_the_end(self) -> None:
        whole, cut = (Tracker(["zero"], memory=24, patient=True) for _ in range(2))
        fed(whole, 700, 700)
        fed(cut, 700, 33)
        whole.finish("binary", "logistic")
        cut.finish("binary", "logistic")
        rows = [{**row, "seconds": None} for row in whole.rows["zero"]]
        assert [row["events"] for row in rows] == [FIRST, 2 * FIRST, 700]
        assert rows == [{**row, "seconds": None} for row in cut.rows["zero"]]
        assert whole.curve.points == cut.curve.points
        assert [at for at, *_ in whole.curve.points][:4] == [1, 2, 3, 4]

    def test_state_is_all_there_is(self) -> None:
        straight, broken = Tracker(["zero"], memory=24, patient=True), Tracker([], memory=24)
        fed(straight, 600, 50)
        X = gappy(600, 3, 0)
        lean = np.nan_to_num(X).sum(axis=1) + np.random.default_rng(1).standard_normal(600)
        for begin in range(0, 600, 50):
            rows = np.arange(begin, begin + 50)
            broken.add(block_of(X), rows, facts_of((lean > 0).astype(float))[rows], "binary", "logistic")
            broken = Tracker.restored(*broken.state())
        header, arrays = straight.state()
        again, more = broken.state()
        assert header == again
        assert all(np.array_equal(arrays[name], more[name]) for name in arrays)
        broken.compare_with(["zero"], 60.0)
        broken.finish("binary", "logistic")
        straight.finish("binary", "logistic")
        assert broken.latest()["zero"]["regret"] == straight.latest()["zero"]["regret"]

    def test_beyond_the_memory_squared_losses_stay_exact(self) -> None:
        tracker = Tracker(["zero", "mean", "median"], memory=24, patient=True)
        fed(tracker, 900, 90, task="regression")
        tracker.finish("regression", "squared")
        last = tracker.latest()
        assert last["zero"]["exact"]
        assert last["mean"]["exact"]
        assert not last["median"]["exact"]
        all_of_it = Tracker(["zero", "mean"], memory=900, patient=True)
        fed(all_of_it, 900, 90, task="regression")
        all_of_it.finish("regression", "squared")
        for name in ("zero", "mean"):
            assert last[name]["regret"] == pytest.approx(all_of_it.latest()[name]["regret"], rel=1e-6)

    def test_sums_that_missed_the_beginning_are_not_begun(self) -> None:
        tracker = Tracker(["median"], memory=50, patient=True)
        fed(tracker, 100, 100, task="regression")
        tracker = Tracker.restored(*tracker.state())
        tracker.compare_with(["zero"], 60.0)
        fed(tracker, 100, 100, task="regression")
        tracker.finish("regression", "squared")
        assert tracker.latest()["zero"]["events"] == 200
        assert not tracker.latest()["zero"]["exact"]

    def test_while_one_is_on_its_way_no_other_begins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        started = []

        class Slow:
            done = False

            def __init__(self, snapshot: ReservoirSnapshot, *_: Any) -> None:
                started.append(snapshot.events)

            def poll(self) -> list[Any]:
                return []

            def close(self) -> None:
                pass

        monkeypatch.setattr("streamkarma.regret.tracker.BackgroundFit", Slow)
        tracker = Tracker(["zero"])
        fed(tracker, 2100, 100)
        assert started == [256]
        tracker.stopped = iter([False, True]).__next__
        tracker.finish("binary", "logistic")
        assert started == [256, 2100]

    def test_labels_that_turn_out_to_be_numbers(self) -> None:
        tracker = Tracker(["zero"])
        fed(tracker, 20, 20)
        tracker._record([("zero", {"events": 20, "baseline_loss": 1.0})])
        fed(tracker, 30, 30, task="regression")
        assert tracker.reservoir.events == 30
        # Comparisons from when the labels were classes are no results.
        assert not any(tracker.rows.values())

    def test_names(self) -> None:
        assert parse_baselines("all") == list(dict.fromkeys(parse_baselines("all,fast,zero")))
        assert set(parse_baselines("all", full=True)) - set(parse_baselines("all")) == {
            "full",
            "projection-full",
        }
        assert parse_baselines("none", full=True) == []
        with pytest.raises(UsageError, match="--regret nought: no such baseline; there are all, fast"):
            parse_baselines("zero, nought")


class Stuck:
    """A worker that sends a few lines and then nothing."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.lines: SimpleQueue[bytes | None] = SimpleQueue()
        for row in rows:
            self.lines.put(json.dumps(row).encode())

    def ask(self, message: bytes) -> None:
        pass

    def end(self) -> None:
        pass


class TestBackgroundFit:
    def snapshot(self, memory: int = 24) -> ReservoirSnapshot:
        reservoir = Reservoir(memory)
        X = gappy(300, 3, 0)
        reservoir.add(block_of(X), np.arange(300), facts_of((X[:, 0] > 0).astype(float)))
        return reservoir.snapshot()

    def results(self, running: BackgroundFit) -> dict[str, dict[str, Any]]:
        found: list[tuple[str, dict[str, Any]]] = []
        while not running.done:
            found += running.poll()
            # Leave the processor to the fits.
            time.sleep(0.005)
        return dict(found)

    def everything(self, running: BackgroundFit) -> dict[str, dict[str, Any]]:
        found = self.results(running)
        running.close()
        return found

    def test_what_cannot_be_had_is_said_and_stops_nothing(self) -> None:
        found = self.everything(
            BackgroundFit(self.snapshot(), ["feature-deletion", "full", "zero"], "binary", "logistic", 60)
        )
        assert "is complete" in found["feature-deletion"]["problem"]
        assert "complete vectors" in found["full"]["problem"]
        assert found["zero"]["events"] == 300

    def test_what_takes_too_long_is_left_for_the_next(self) -> None:
        found = self.everything(
            BackgroundFit(self.snapshot(300), ["wii-meanfeat", "zero"], "binary", "logistic", 0.9)
        )
        assert found["wii-meanfeat"]["problem"] == "exceeded its 0.9 seconds"
        assert found["zero"]["events"] == 300

    def test_what_was_found_in_hindsight_outlasts_a_fit_that_is_cut_short(self) -> None:
        snapshot = self.snapshot()
        hindsight = in_hindsight("zero", EventTable.of(snapshot), "binary", "logistic")
        assert hindsight["held_out_loss"] is None
        worker = Stuck([{"ready": True}, {"name": "zero", "done": False, **hindsight}])
        running = BackgroundFit(snapshot, ["zero"], "binary", "logistic", 0.0, None, worker)  # type: ignore[arg-type]
        found = self.everything(running)
        assert found == {"zero": {**hindsight, "held_out_problem": "exceeded its 0 seconds"}}
        assert regret_table(found, None)[-1] == "zero: not held out: exceeded its 0 seconds"

    def test_a_held_out_fit_that_fails_leaves_what_was_found_in_hindsight(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fails(*_: Any) -> None:
            raise ValueError("no")

        monkeypatch.setattr(Fit, "held_out", fails)
        found = FitHere(self.snapshot(), ["zero"], "binary", "logistic", 60.0, None, None).poll()
        assert found[0][1]["baseline_loss"] > 0.0
        assert found[0][1]["held_out_problem"] == "no"

    def test_a_process_that_dies_takes_one_baseline_with_it(self) -> None:
        running = BackgroundFit(self.snapshot(), ["mcb", "zero"], "binary", "logistic", 60)
        os.kill(running.worker.process.pid, signal.SIGKILL)
        found = self.everything(running)
        assert found["mcb"]["problem"] == "its process ended with status -9"
        assert found["zero"]["events"] == 300

    def test_a_worker_does_without_pandas(self, tmp_path: Path) -> None:
        probe = "import sys\nimport sklearn.base\ndef main():\n    print('pandas' in sys.modules)\n"
        (tmp_path / "probe.py").write_text(probe)
        command = [sys.executable, "-m", "streamkarma.worker_process", "probe"]
        found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
        assert found.stdout == "False\n"

    def test_a_worker_answers_one_request_after_another(self) -> None:
        first = BackgroundFit(self.snapshot(), ["zero"], "binary", "logistic", 60)
        assert self.results(first)["zero"]["events"] == 300
        again = BackgroundFit(
            self.snapshot(), ["mean", "zero"], "binary", "logistic", 60, worker=first.worker
        )
        found = self.everything(again)
        assert (found["mean"]["events"], found["zero"]["events"]) == (300, 300)
        assert again.worker is first.worker
        assert not again.worker.is_alive

    def test_a_worker_does_not_outlive_who_asked(self) -> None:
        # An asker that is killed outright cannot end it.
        code = (
            "import pickle, sys, time; from streamkarma.regret.background_fit import BackgroundFit;"
            "snapshot = pickle.load(sys.stdin.buffer);"
            "r = BackgroundFit(snapshot, ['wii-meanfeat'], 'binary', 'logistic', 600);"
            "print(r.worker.process.pid, flush=True); time.sleep(600)"
        )
        pipe = subprocess.PIPE
        with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, cwd=ROOT) as asker:
            assert asker.stdin is not None
            assert asker.stdout is not None
            pickle.dump(self.snapshot(300), asker.stdin)
            asker.stdin.flush()
            worker = os.pidfd_open(int(asker.stdout.readline()))
            asker.kill()
        ended, _, _ = select.select([worker], [], [], 60)
        assert ended
        os.close(worker)
