"""Mean imputation in feature space: Definition 1 of [D], and the machines on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from streamkarma.baselines import feature_mean
from streamkarma.baselines.feature_mean import MeanFeatImputer, rbf_mean, rbf_objective
from streamkarma.baselines.meanfeat import MeanFeatClassifier, MeanFeatRegressor

Array = NDArray[np.float64]


def classes(n: int, d: int, seed: int, missing: float = 0.5) -> tuple[Array, NDArray[np.intp]]:
    """Rows of three overlapping classes, and their classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.standard_normal((n, d)) + rng.standard_normal((3, d))[y]
    X[rng.random((n, d)) < missing] = np.nan
    return X, y


def definition(Z: Array, y: NDArray[Any], width: float) -> float:
    """The objective of [D, Definition 1], word for word."""
    total = 0.0
    for v in np.unique(y):
        rows = Z[y == v]
        K = rbf_kernel(rows, gamma=width)
        total += sum(K[i, i] - 2 * K[i, j] + K[j, j] for i in range(len(K)) for j in range(len(K))) / len(K)
    return total


def filled_by(X: Array, y: NDArray[Any]) -> Array:
    """``X`` filled with the means of each class of ``y``."""
    Z = X.copy()
    for v in np.unique(y):
        Z[y == v] = np.where(np.isnan(X[y == v]), np.nanmean(X[y == v], axis=0), X[y == v])
    return Z


class TestObjective:
    def test_it_is_the_definition_and_twice_the_distances_to_the_means(self) -> None:
        X, y = classes(20, 3, 0)
        Z = np.where(np.isnan(X), 0.3, X)
        value, _ = rbf_objective(y, 0.4)(Z)
        assert value == pytest.approx(definition(Z, y, 0.4))
        distances = sum(
            (1 - 2 * K.mean(axis=1) + K.mean()).sum()
            for K in (rbf_kernel(Z[y == v], gamma=0.4) for v in range(3))
        )
        assert value == pytest.approx(2 * distances)

    @pytest.mark.parametrize("block", [10, feature_mean.BLOCK])
    def test_its_slope_is_that_of_finite_differences(
        self, block: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(feature_mean, "BLOCK", block)  # kernel matrices in one part, and in many
        X, y = classes(14, 3, 1)
        Z, objective = np.where(np.isnan(X), 0.2, X), rbf_objective(y, 0.6)
        _, slope = objective(Z)
        for i, j in np.ndindex(*Z.shape):
            step = np.zeros_like(Z)
            step[i, j] = 1e-6
            numeric = (objective(Z + step)[0] - objective(Z - step)[0]) / 2e-6
            assert slope[i, j] == pytest.approx(numeric, abs=1e-6)


class TestMeanFeatImputer:
    def test_both_starts_lead_to_an_objective_below_that_of_class_means(self) -> None:
        X, y = classes(90, 5, 2, missing=0.8)
        missing, objective = np.isnan(X), rbf_objective(y, 0.2)
        found = rbf_mean(X, y, 0.2)
        assert np.array_equal(found.completed[~missing], X[~missing])
        assert found.objective == pytest.approx(definition(found.completed, y, 0.2))
        ends = []
        for start in (filled_by(X, y), filled_by(X, np.zeros(90))):
            assert found.objective < objective(start)[0]

            def of_values(values: Array, Z: Array = start) -> float:
                Z[missing] = values
                return objective(Z)[0]

            def slope(values: Array, Z: Array = start) -> Array:
                Z[missing] = values
                return objective(Z)[1][missing]

            # A different quasi-Newton method from the imputer's.
            ends.append(minimize(of_values, start[missing], jac=slope, method="BFGS").fun)
        assert ends == pytest.approx([found.objective] * 2, abs=1e-4)

    def test_the_linear_kernel_imputes_the_mean_of_the_class(self) -> None:
        X, y = classes(30, 4, 3)
        X = X * [1.0, 10.0, 100.0, 1.0] + 5
        imputer = MeanFeatImputer(kernel="linear")
        completed = imputer.fit_transform(X, y)
        assert completed == pytest.approx(filled_by(X, y))
        scaled = (completed - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
        within = sum(((scaled[y == v] - scaled[y == v].mean(axis=0)) ** 2).sum() for v in range(3))
        assert imputer.objective_ == pytest.approx(2 * within)
        later = np.array([[1.0, np.nan, 2.0, np.nan]])
        assert imputer.transform(later) == pytest.approx(
            np.where(np.isnan(later), completed.mean(axis=0), later)
        )

    def test_a_narrow_kernel_tends_to_the_linear_one(self) -> None:
        X, y = classes(30, 3, 4)
        narrow = MeanFeatImputer(width=1e-5, tol=1e-14).fit_transform(X, y)
        assert narrow == pytest.approx(filled_by(X, y), abs=1e-2)

    def test_later_rows_are_where_the_distance_to_the_means_is_least(self) -> None:
        X, y = classes(60, 3, 5)
        imputer = MeanFeatImputer(width=0.5, scale=False).fit(X, y)
        later = np.array([[0.5, np.nan, -1.0], [np.nan, np.nan, 2.0]])
        found = imputer.transform(later)
        assert np.array_equal(found[~np.isnan(later)], later[~np.isnan(later)])

        def distance(row: Array) -> float:
            """``Σ_v (n_v/n) ‖φ(row) - m_v‖²``."""
            total = 0.0
            for v in range(3):
                of_class = imputer.completed_[y == v]
                near = rbf_kernel(row[None], of_class, gamma=0.5).mean()
                total += (y == v).mean() * (1 - 2 * near + rbf_kernel(of_class, gamma=0.5).mean())
            return total

        grid = [np.array([0.5, value, -1.0]) for value in np.linspace(-4, 4, 81)]
        assert distance(found[0]) <= min(distance(row) for row in grid) + 1e-9
        axis = np.linspace(-4, 4, 17)
        plane = [np.array([a, b, 2.0]) for a in axis for b in axis]
        assert distance(found[1]) <= min(distance(row) for row in plane) + 1e-9

    def test_a_later_row_does_not_depend_on_its_company(self) -> None:
        X, y = classes(60, 4, 6)
        imputer = MeanFeatImputer().fit(X, y)
        together = imputer.transform(X)
        assert together == pytest.approx(np.vstack([imputer.transform(row[None]) for row in X]), abs=1e-6)
        # Nor on its label, unlike the rows that were learned from.
        assert np.abs(together - imputer.completed_).max() > 0.1

    def test_numbers_and_no_labels_are_one_class(self) -> None:
        X, _ = classes(25, 3, 7)
        alone = MeanFeatImputer().fit_transform(X)
        assert np.array_equal(MeanFeatImputer().fit_transform(X, np.linspace(0, 1, 25)), alone)
        assert np.array_equal(MeanFeatImputer().fit_transform(X, np.full(25, "a")), alone)
        assert not np.array_equal(MeanFeatImputer().fit_transform(X, np.arange(25) % 2), alone)

    def test_columns_without_a_value_in_a_class_or_at_all(self) -> None:
        X, y = classes(30, 3, 8)
        X[:, 1], X[y == 2, 0] = np.nan, np.nan
        linear = MeanFeatImputer(kernel="linear").fit_transform(X, y)
        assert linear[y == 2, 0] == pytest.approx(np.nanmean(X[:, 0]))
        assert (linear[:, 1] == 0).all()
        assert np.isfinite(MeanFeatImputer().fit(X, y).transform(np.full((1, 3), np.nan))).all()

    def test_it_is_a_transformer_of_scikit_learn(self) -> None:
        found = check_estimator(MeanFeatImputer(), on_skip=None, on_fail=None)
        assert not [check["check_name"] for check in found if check["status"] == "failed"]
        X, y = classes(20, 2, 9)
        frame = clone(MeanFeatImputer()).set_output(transform="default").fit(X, y)
        assert frame.get_feature_names_out(["a", "b"]).tolist() == ["a", "b"]

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"kernel": "poly"}, "kernel must be rbf or linear, not 'poly'"),
            ({"width": 0.0}, "width must be a number above 0"),
        ],
    )
    def test_wrong_settings_are_named(self, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            MeanFeatImputer(**settings).fit(np.ones((3, 2)))


class TestMachines:
    def test_the_classifier_is_a_machine_on_the_completed_rows(self) -> None:
        X, y = classes(60, 4, 10)
        y = (y > 0).astype(int)
        model = MeanFeatClassifier(C=2.0, width=0.3, scale=False).fit(X, y)
        imputer = MeanFeatImputer(width=0.3, scale=False).fit(X, y)
        machine = SVC(C=2.0, gamma=0.3, tol=1e-5).fit(imputer.completed_, y)
        assert model.decision_function(X) == pytest.approx(
            machine.decision_function(imputer.transform(X)), abs=1e-4
        )

    @pytest.mark.parametrize("intercept", [False, True])
    def test_the_regressor_is_kernel_ridge_regression(self, intercept: bool) -> None:
        X = classes(40, 3, 11)[0]
        y = np.linspace(5, 9, 40)
        off = y.mean() if intercept else 0.0
        model = MeanFeatRegressor(C=2.0, width=0.3, scale=False, intercept=intercept).fit(X, y)
        imputer = MeanFeatImputer(width=0.3, scale=False).fit(X, y)
        machine = KernelRidge(alpha=0.25, kernel="rbf", gamma=0.3).fit(imputer.completed_, y - off)
        assert model.predict(X) == pytest.approx(machine.predict(imputer.transform(X)) + off, abs=1e-6)

    def test_width_and_c_are_chosen_together(self) -> None:
        X, y = classes(80, 3, 12, missing=0.2)
        model = MeanFeatClassifier(C=(0.1, 1.0, 10.0), width=[0.05, 0.5]).fit(X, y)
        assert model.C_ in (0.1, 1.0, 10.0)
        assert model.width_ in (0.05, 0.5)
        # Held-out rows are completed without their labels: a table of noise teaches nothing.
        assert MeanFeatClassifier().fit(X, y).C_ in (0.01, 0.1, 1.0, 10.0, 100.0)
