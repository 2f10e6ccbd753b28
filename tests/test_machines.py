"""The machines of the offline methods, against references of a few lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from streamkarma.baselines import (
    BatchKARMAClassifier,
    FullDataClassifier,
    GenRBFClassifier,
    GeometricMarginClassifier,
    ImputedClassifier,
    ImputedRegressor,
    ProjectionClassifier,
)
from streamkarma.baselines.crammer_singer import crammer_singer, crammer_singer_kernel
from streamkarma.baselines.hinge import kernel_svm, linear_svm
from streamkarma.baselines.machines import Machine
from streamkarma.baselines.progress import Progress
from streamkarma.baselines.tuning import HAZAN_C, SMIEJA_C, SMIEJA_WIDTH, Holdout, candidates

Array = NDArray[np.float64]


def points(seed: int, n: int, d: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return rng.standard_normal((n, d)) + 0.5 * y[:, np.newaxis], y


def smooth_minimum(Z: Array, y: Array, C: float) -> float:
    """The minimum of ½‖w‖² + C Σ max(0, 1 - y w·z), with slack variables, by a general solver."""
    n, d = Z.shape
    constraints = [
        {"type": "ineq", "fun": lambda v: y * (Z @ v[:d]) - 1 + v[d:]},
        {"type": "ineq", "fun": lambda v: v[d:]},
    ]
    start = np.append(np.zeros(d), np.ones(n))
    found = minimize(
        lambda v: (0.5 * v[:d] @ v[:d] + C * v[d:].sum(), np.append(v[:d], np.full(n, C))),
        start, jac=True, constraints=constraints, method="SLSQP", options={"maxiter": 500, "ftol": 1e-12},
    )  # fmt: skip
    return float(found.fun)


class TestHinge:
    @pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
    def test_without_an_intercept_it_is_the_minimum_through_the_origin(self, C: float) -> None:
        Z, y = points(1, 15, 3)
        found = linear_svm(Z, y, C, intercept=False)
        assert found.b == 0.0
        assert found.objective == pytest.approx(smooth_minimum(Z, y, C), rel=1e-5)

    @settings(max_examples=40)
    @given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(1, 40), st.booleans(),
           st.sampled_from([0.01, 1.0, 1e4]))  # fmt: skip
    def test_on_a_kernel_matrix_it_is_the_same(self, seed: int, n: int, d: int, free: bool, C: float) -> None:
        Z, y = points(seed, n, d)
        linear, kernel = linear_svm(Z, y, C, free), kernel_svm(Z @ Z.T, y, C, free)
        assert kernel.objective == pytest.approx(linear.objective, rel=1e-6)
        assert Z.T @ kernel.w == pytest.approx(linear.w, abs=1e-3 * max(1.0, np.abs(linear.w).max()))


def multiclass_objective(W: Array, Z: Array, codes: NDArray[np.intp], C: float) -> float:
    scores = Z @ W
    own = scores[np.arange(len(Z)), codes].copy()
    scores[np.arange(len(Z)), codes] -= 1.0
    return float(0.5 * (W**2).sum() + C * (scores.max(axis=1) + 1.0 - own).sum())


class TestCrammerSinger:
    @settings(max_examples=25)
    @given(st.integers(0, 2**32 - 1), st.integers(3, 4), st.sampled_from([0.05, 1.0, 10.0]))
    def test_nothing_near_it_is_better(self, seed: int, classes: int, C: float) -> None:
        rng = np.random.default_rng(seed)
        Z, codes = (
            rng.standard_normal((30, 3)),
            np.append(np.arange(classes), rng.integers(0, classes, 30 - classes)),
        )
        W = crammer_singer(Z, codes, classes, C)
        # The problem is convex: a minimum among steps of every size is the minimum.
        least = multiclass_objective(W, Z, codes, C)
        for size in (1e-3, 1e-2, 0.1, 1.0):
            for _ in range(30):
                moved = W + size * rng.standard_normal(W.shape)
                assert multiclass_objective(moved, Z, codes, C) >= least - 1e-3 * max(1.0, least) * size

    def test_on_a_kernel_matrix_it_is_the_same(self) -> None:
        rng = np.random.default_rng(0)
        Z, codes = rng.standard_normal((40, 5)), rng.integers(0, 3, 40)
        W, A = crammer_singer(Z, codes, 3, 0.7), crammer_singer_kernel(Z @ Z.T, codes, 3, 0.7)
        assert pytest.approx(Z @ W, abs=1e-3) == Z @ Z.T @ A

    def test_a_weight_is_as_many_rows_and_a_class_without_any_has_no_weights(self) -> None:
        rng = np.random.default_rng(0)
        Z, codes, times = rng.standard_normal((40, 5)), rng.integers(0, 3, 40), rng.integers(1, 4, 40)
        weighted = crammer_singer(Z, codes, 4, 0.7, times.astype(float))
        repeated = crammer_singer(Z.repeat(times, 0), codes.repeat(times), 4, 0.7)
        assert weighted == pytest.approx(repeated, abs=1e-3)
        assert not weighted[:, 3].any()

    def test_with_two_classes_it_is_half_the_hinge(self) -> None:
        Z, y = points(3, 40, 3)
        W = crammer_singer(np.vstack([Z, Z]), np.tile(y > 0, 2).astype(np.intp), 2, 0.25)
        # ½(‖w‖² + ‖-w‖²) + C Σ max(0, 1 - 2yw·z): the hinge at 2w with twice the C.
        assert 2 * W[:, 1] == pytest.approx(linear_svm(Z, y, 1.0, intercept=False).w, abs=1e-3)


class TestSettings:
    def test_the_grids_of_the_papers(self) -> None:
        assert (HAZAN_C[0], HAZAN_C[-1], len(HAZAN_C)) == (pytest.approx(1e-5), pytest.approx(1e5), 11)
        assert (SMIEJA_C[0], SMIEJA_C[-1], len(SMIEJA_C)) == (2**-5, 2**9, 8)
        assert (SMIEJA_WIDTH[0], SMIEJA_WIDTH[-1], len(SMIEJA_WIDTH)) == (2**-5, 2**15, 11)

    @pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan"), float("inf"), [], [1.0, 0.0]])
    def test_what_is_no_choice(self, wrong: Any) -> None:
        with pytest.raises(ValueError, match="^width must be a number above 0, a sequence of them, or None"):
            candidates("width", wrong, (1.0,))

    def test_widths_and_cs_are_chosen_from_what_is_given(self) -> None:
        X, y = ring()
        for model in (
            ImputedClassifier("mean", machine="rbf-svm", C=[1.0, 8.0], width=[1e-3, 2.0]),
            GenRBFClassifier(C=[1.0, 8.0], width=[1e-3, 2.0]),
            GeometricMarginClassifier(C=[1.0, 8.0], kernel="rbf", width=[1e-3, 2.0]),
            ProjectionClassifier(rank=2, machine="rbf-svm", C=[1.0, 8.0], width=[1e-3, 2.0]),
        ):
            model.fit(X, y)
            machine = getattr(model, "machine_", None)
            assert (machine.width or model.width_ if machine else model.width_) == 2.0
            assert model.score(X, y) > 0.85

    def test_a_width_that_is_given_is_the_kernels(self) -> None:
        X, y = ring()
        X = np.nan_to_num(X)
        model = FullDataClassifier(machine="rbf-svm", C=3.0, width=0.4, scale=False).fit(X, y)
        machine = Machine("rbf-svm", 3.0, 0.4).fit(X, np.where(y, 1.0, -1.0)[:, np.newaxis])
        assert model.decision_function(X) == pytest.approx(machine.scores(X)[:, 0])

    def test_the_error_of_a_held_out_row_counts_as_its_weight(self) -> None:
        # Settings 0 and 1 are right on one half each; the second half weighs more.
        Y = np.where(np.arange(80) % 2, 1.0, -1.0)[:, np.newaxis]
        weights = np.where(np.arange(80) < 40, 1.0, 1.5)
        holdout = Holdout(Y, False, np.random.RandomState(0), weights)

        def trial(setting: int, rest: NDArray[Any], quarter: NDArray[Any]) -> Array:
            return np.where((quarter < 40)[:, np.newaxis] == (setting == 0), Y[quarter], -Y[quarter])

        assert holdout.best([0, 1], 0, trial) == 1


def ring(n: int = 120) -> tuple[Array, NDArray[np.bool_]]:
    """Inside against outside, which no linear machine separates; a twentieth of the values missing."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((n, 2))
    y = (X**2).sum(axis=1) < 1.2
    return np.where(rng.random(X.shape) < 0.05, np.nan, X), y


class TestWeights:
    @pytest.mark.parametrize(
        "model",
        [
            BatchKARMAClassifier(gamma=2, C=1.0),
            ImputedClassifier("zero", C=1.0),
            ImputedClassifier("median", machine="logistic", C=1.0),
            ImputedClassifier("median", machine="rbf-svm", C=1.0, width=0.3),
            GeometricMarginClassifier(C=1.0, scale=False),
            GeometricMarginClassifier(C=1.0, kernel="rbf", width=0.3),
        ],
        ids=lambda model: f"{type(model).__name__}-{model.get_params().get('machine')}",
    )
    def test_a_weight_is_as_many_rows(self, model: Any) -> None:
        X, y = ring(50)
        times = np.random.default_rng(0).integers(0, 3, 50)
        # The median ignores weights, so models with an imputer get rows without missing values.
        X = np.where(np.isnan(X), np.nan, X) if "imputer" not in model.get_params() else np.nan_to_num(X)
        weighted = model.fit(X, y, sample_weight=times).decision_function(X)
        repeated = model.fit(X.repeat(times, 0), y.repeat(times)).decision_function(X)
        assert weighted == pytest.approx(repeated, abs=2e-3)

    @pytest.mark.parametrize("weights", [-np.ones(50), np.full(50, np.nan), np.ones(49), np.zeros(50)])
    def test_what_is_no_weight(self, weights: Array) -> None:
        X, y = ring(50)
        with pytest.raises(ValueError, match="^sample_weight"):
            ImputedClassifier(C=1.0).fit(X, y, weights)

    def test_a_regression_is_weighted_too(self) -> None:
        X = np.array([[0.0], [1.0], [2.0], [3.0]])
        model = ImputedRegressor(C=1e8, scale=False).fit(X, [0.0, 1.0, 2.0, 99.0], [1.0, 1.0, 1.0, 0.0])
        assert model.predict([[4.0]]) == pytest.approx([4.0], abs=1e-4)


def test_progress_says_how_much_is_left() -> None:
    said: list[str] = []
    progress = Progress(said.append, 4, "things done")
    progress._printed_at -= 2.0
    progress.step("and more")
    progress.step()
    assert len(said) == 1
    assert said[0].startswith("1 of 4 things done, about ")
    assert said[0].endswith("s left; and more")
