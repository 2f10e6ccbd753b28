"""Baselines that use a linear model: imputers, densities, subspaces, margins, completion."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from streamkarma.baselines import (
    GaussImputer,
    MissingValueTreesClassifier,
    ProjectionClassifier,
    RegressionImputer,
    SVDImputer,
    named,
)
from streamkarma.baselines.density import Gauss, SphericalMixture
from streamkarma.baselines.hinge import linear_svm
from streamkarma.baselines.matrix_completion import Problem, complete
from streamkarma.baselines.neighbors import dissimilarities
from streamkarma.baselines.projection import projected
from streamkarma.baselines.tables import patterns

Array = NDArray[np.float64]


def low_rank(n: int, d: int, rank: int, share: float, seed: int) -> tuple[Array, Array]:
    """A table of that rank, and the same with a fraction ``share`` observed."""
    rng = np.random.default_rng(seed)
    whole = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    return whole, np.where(rng.random((n, d)) < share, whole, np.nan)


def gappy(n: int, d: int, seed: int) -> Array:
    """Correlated Gaussian rows, a third of the values missing, and one row without values."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 3.0
    rows[rng.random((n, d)) < 1 / 3] = np.nan
    rows[0] = np.nan
    return rows


class TestPatterns:
    @given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 20))
    def test_they_are_the_distinct_sets(self, seed: int, n: int, d: int) -> None:
        rng = np.random.default_rng(seed)
        X = np.where(rng.random((n, d)) < 0.5, np.nan, 1.0)
        found = patterns(X)
        assert np.array_equal(found.observed[found.of], ~np.isnan(X))
        assert len(np.unique(found.observed, axis=0)) == len(found.observed)
        for number, rows in enumerate(found.rows()):
            assert rows.tolist() == np.flatnonzero(found.of == number).tolist()


def hinge_objective(Z: Array, y: Array, C: Any, w: Array, b: float) -> float:
    return float(0.5 * w @ w + (C * np.maximum(0, 1 - y * (Z @ w + b))).sum())


class TestLinearSVM:
    @settings(max_examples=60)
    @given(
        st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 50), st.sampled_from([0.01, 1.0, 1e4])
    )
    def test_it_is_never_worse_than_libsvm(self, seed: int, n: int, d: int, C: float) -> None:
        rng = np.random.default_rng(seed)
        Z = rng.standard_normal((n, d)) * rng.choice([0.1, 1.0, 30.0], size=(n, 1))
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        y[:2] = 1.0, -1.0
        found = linear_svm(Z, y, C)
        assert found.objective == pytest.approx(
            hinge_objective(Z, y, C, found.w, found.b), rel=1e-6, abs=1e-9
        )
        with warnings.catch_warnings():
            # libsvm does not converge here, which is why the package has its own solver.
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine = SVC(kernel="linear", C=C, tol=1e-6, max_iter=100_000).fit(Z, y)
        libsvms = hinge_objective(Z, y, C, machine.coef_[0], float(machine.intercept_[0]))
        assert found.objective <= libsvms * (1 + 1e-5) + 1e-8

    def test_a_weight_is_as_many_rows(self) -> None:
        rng = np.random.default_rng(1)
        Z, y = rng.standard_normal((20, 3)), np.where(rng.random(20) < 0.5, 1.0, -1.0)
        times = rng.integers(1, 4, 20)
        weighted, repeated = (
            linear_svm(Z, y, times * 0.5),
            linear_svm(Z.repeat(times, 0), y.repeat(times), 0.5),
        )
        assert weighted.w == pytest.approx(repeated.w, abs=1e-6)
        assert weighted.objective == pytest.approx(repeated.objective)

    def test_columns_of_zeros_and_rows_that_are_the_same(self) -> None:
        found = linear_svm(np.zeros((4, 2)), np.array([1.0, 1.0, 1.0, -1.0]), 1.0)
        assert found.w.tolist() == [0.0, 0.0]
        assert found.objective == pytest.approx(2.0)
        assert found.b == pytest.approx(1.0)


class TestGauss:
    @settings(max_examples=25)
    @given(st.integers(0, 2**32 - 1), st.integers(3, 60), st.integers(1, 6), st.sampled_from([0.0, 1e-3]))
    def test_what_it_maximises_never_falls(self, seed: int, n: int, d: int, ridge: float) -> None:
        X = gappy(n + (10 * d if ridge == 0 else 0), d, seed)
        course = np.array(Gauss(ridge=ridge, tol=0.0, max_iter=30).fit(X).log_likelihoods_)
        assert (np.diff(course) >= -1e-8 * np.abs(course[1:])).all()

    def test_the_likelihood_is_that_of_what_is_observed(self) -> None:
        X = gappy(40, 3, 5)
        density = Gauss(ridge=0.0, max_iter=4).fit(X)
        total = 0.0
        for row in X[1:]:
            o = ~np.isnan(row)
            if o.any():
                total += multivariate_normal.logpdf(
                    row[o], density.mean_[o], density.covariance_[np.ix_(o, o)], allow_singular=True
                )
        assert density.log_likelihoods_[-1] == pytest.approx(total)

    def test_on_complete_rows_it_is_mean_and_covariance_at_once(self) -> None:
        X = np.random.default_rng(0).standard_normal((50, 4)) + 1.0
        density = Gauss(ridge=0.0, max_iter=1).fit(X)
        assert density.mean_ == pytest.approx(X.mean(axis=0))
        assert density.covariance_ == pytest.approx(np.cov(X.T, bias=True))

    def test_it_completes_by_the_conditional_mean(self) -> None:
        X = gappy(80, 4, 2)
        density = Gauss().fit(X)
        completed, spreads = density.complete(X), density.spreads(patterns(X).observed)
        for row, whole, pattern in zip(X, completed, patterns(X).of, strict=True):
            o, m = ~np.isnan(row), np.isnan(row)
            S = density.covariance_
            slope = S[np.ix_(m, o)] @ np.linalg.inv(S[np.ix_(o, o)])
            assert whole[m] == pytest.approx(density.mean_[m] + slope @ (row[o] - density.mean_[o]))
            assert spreads[pattern][np.ix_(m, m)] == pytest.approx(S[np.ix_(m, m)] - slope @ S[np.ix_(o, m)])
            assert not spreads[pattern][o].any()


class TestSphericalMixture:
    @settings(max_examples=25)
    @given(st.integers(0, 2**32 - 1), st.integers(3, 60), st.integers(1, 5), st.integers(1, 10))
    def test_what_it_maximises_never_falls(self, seed: int, n: int, d: int, centres: int) -> None:
        course = np.array(
            SphericalMixture(centres, tol=0.0, max_iter=30).fit(gappy(n, d, seed)).log_likelihoods_
        )
        assert (np.diff(course) >= -1e-8 * np.abs(course[1:])).all()

    def test_one_centre_on_complete_rows_is_the_mean_at_once(self) -> None:
        X = np.random.default_rng(0).standard_normal((50, 4)) * 2.0
        mixture = SphericalMixture(1, ridge=0.0, max_iter=1).fit(X)
        assert mixture.centres_[0] == pytest.approx(X.mean(axis=0))
        assert mixture.variances_[0] == pytest.approx(X.var(axis=0).mean())

    def test_its_likelihood_and_its_means_are_those_of_the_densities(self) -> None:
        X = gappy(30, 3, 4)
        mixture = SphericalMixture(3, ridge=0.0, max_iter=5).fit(X)
        total, completed = 0.0, mixture.complete(X)
        for row, whole in zip(X, completed, strict=True):
            o = ~np.isnan(row)
            joint = mixture.weights_ * np.array([
                np.prod(np.exp(-0.5 * (row[o] - centre[o]) ** 2 / v) / np.sqrt(2 * np.pi * v))
                for centre, v in zip(mixture.centres_, mixture.variances_, strict=True)
            ])  # fmt: skip
            total += np.log(joint.sum())
            assert whole == pytest.approx(np.where(o, row, joint @ mixture.centres_ / joint.sum()))
        assert mixture.log_likelihoods_[-1] == pytest.approx(total)


class TestImputers:
    @pytest.mark.parametrize(
        "imputer",
        [
            GaussImputer(),
            RegressionImputer(ridge=1e-6, tol=1e-6),
            SVDImputer(rank=2, tol=1e-8, max_iter=3000),
        ],
    )
    def test_what_is_linear_is_found(self, imputer: Any) -> None:
        whole, X = low_rank(200, 6, 2, 0.8, 0)
        # One value missing, and observed values of twice the rank: determined, whatever the method.
        one = np.isnan(X).sum(axis=1) == 1
        off = np.abs(imputer.fit(X).transform(X) - whole)[one]
        assert off.max() < 0.02 * whole.std()

    @pytest.mark.parametrize("imputer", [GaussImputer(), RegressionImputer(), SVDImputer()])
    def test_a_row_is_completed_the_same_alone_as_among_others(self, imputer: Any) -> None:
        _, X = low_rank(60, 5, 2, 0.6, 1)
        together = imputer.fit(X).transform(X)
        alone = np.vstack([imputer.transform(row[np.newaxis]) for row in X])
        assert together == pytest.approx(alone, abs=1e-9)
        seen = ~np.isnan(X)
        assert np.array_equal(together[seen], X[seen])

    def test_the_rank_is_found_where_there_is_one(self) -> None:
        _, X = low_rank(300, 12, 3, 0.7, 2)
        for unit in (1.0, 1e200, 1e-200):
            assert SVDImputer(random_state=0).fit(X * unit).components_.shape == (3, 12)


class TestProjection:
    def test_it_is_the_pseudo_inverse_on_the_observed_block(self) -> None:
        whole, X = low_rank(40, 7, 3, 0.6, 3)
        Q = np.linalg.qr(whole.T[:, :3])[0]
        Q = Q @ Q.T
        features = projected(X, Q, 1e-6)
        for row, got in zip(X, features, strict=True):
            o = ~np.isnan(row)
            inverse = np.linalg.pinv(Q[np.ix_(o, o)], rcond=1e-6, hermitian=True)
            assert got[o] == pytest.approx(inverse @ row[o], abs=1e-6)
            assert not got[~o].any()

    def test_with_the_true_subspace_it_is_the_full_data_classifier(self) -> None:
        whole, X = low_rank(300, 10, 2, 0.6, 4)
        X = X[(~np.isnan(X)).sum(axis=1) >= 2]
        _, _, Vt = np.linalg.svd(whole, full_matrices=False)
        w = Vt[:2].T @ np.array([1.0, -1.0])
        Q = Vt[:2].T @ Vt[:2]
        # (P_o w)·Q_oo† P_o x = w·x for x and w in the subspace, whatever is missing.
        rows = (~np.isnan(low_rank(300, 10, 2, 0.6, 4)[1])).sum(axis=1) >= 2
        assert projected(X, Q, 1e-9) @ w == pytest.approx(whole[rows] @ w, abs=1e-5)
        y = whole[rows] @ w > 0
        model = ProjectionClassifier(subspace=Vt[:2].T, regularity=1e-6, C=100.0).fit(X, y)
        assert model.score(X, y) > 0.98


class TestCompletion:
    @settings(max_examples=15)
    @given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans(), st.sampled_from([0.05, 1.0, 20.0]))
    def test_the_objective_falls(self, seed: int, ones: bool, squared: bool, weight: float) -> None:
        whole, X = low_rank(30, 6, 2, 0.6, seed)
        y = whole[:, :1] if squared else np.where(whole[:, :1] > 0, 1.0, -1.0)
        y[20:] = np.nan
        for at in complete(Problem(y, X, ones, squared), weight, 1e-4, 1e-5, 300):
            course = np.array(at.objectives)
            # mc1 resets its column of ones after each step, which is not a descent step.
            slack = 1e-3 if ones else 1e-9
            assert (np.diff(course[:-1]) <= slack * np.abs(course[:-2])).all()
            assert course[-1] <= course[0] * (1 + slack)

    def test_a_norm_that_weighs_more_than_the_matrix_is_taken_as_said(self) -> None:
        whole, X = low_rank(30, 6, 2, 0.6, 0)
        labels = np.where(whole[:, :1] > 0, 1.0, -1.0)
        path = complete(Problem(labels, X, False, False), 1.0, 1e3, 1e-5, 200)
        assert [at.mu for at in path] == [1e3]
        assert not path[-1].Z.any()
        model = named("mcb").make("binary", mu=1e3).fit(X, labels[:, 0])
        assert model.mu_ == 1e3

    @pytest.mark.parametrize("ones", [False, True])
    def test_a_noiseless_matrix_of_rank_two_is_found(self, ones: bool) -> None:
        whole, X = low_rank(40, 14, 2, 0.7, 1)
        labels = np.where(whole[:, :1] > 0, 1.0, -1.0)
        at = complete(Problem(labels, X, ones, False), 1e-3, 1e-6, 1e-9, 4000)[-1]
        assert np.linalg.norm(at.Z[:, 1:15] - whole) <= 1e-3 * np.linalg.norm(whole)

    def test_where_completion_loses_the_label_and_karma_does_not(self) -> None:
        # The point of [H, Eq. 1] in our own form: all observed values are 1, so the completion of
        # least rank is 1 throughout and does not distinguish rows; which attributes are
        # observed determines the class. (Complete rows were (1, 1, -1) and (1, -1, 1).)
        y = np.tile([1, 0], 50)
        X = np.where(y[:, None] == 1, [1.0, 1.0, np.nan], [1.0, np.nan, 1.0])
        nothing = np.full((100, 1), np.nan)
        at = complete(Problem(nothing, X, False, False), 1.0, 1e-5, 1e-7, 3000)[-1]
        assert at.Z[:, 1:] == pytest.approx(np.ones((100, 3)), abs=0.01)
        assert held_out_error("karma-batch", X, y) == 0.0
        assert held_out_error("svd", X, y) >= 0.4
        assert held_out_error("gauss", X, y) >= 0.4

    def test_where_completing_labels_as_well_does_not_help(self) -> None:
        # The label is the sign of x_1 where the second attribute is observed, and its opposite
        # where the third is: the labels are not a column of a low-rank matrix.
        rng = np.random.default_rng(1)
        sign, second = rng.choice([-1.0, 1.0], 100), rng.random(100) < 0.5
        X = np.column_stack([sign, np.where(second, 1.0, np.nan), np.where(second, np.nan, 1.0)])
        y = (sign > 0) == second
        assert held_out_error("karma-batch", X, y) == 0.0
        assert held_out_error("mcb", X, y) >= 0.4
        assert held_out_error("mc1", X, y) >= 0.4


def held_out_error(name: str, X: Array, y: NDArray[Any]) -> float:
    """Error of a baseline on the last two fifths, after learning the rest."""
    rest = 3 * len(X) // 5
    model = named(name).make("binary", scale=False).fit(X[:rest], y[:rest])
    return 1.0 - float(model.score(X[rest:], y[rest:]))


class TestOthersOfTheLecture:
    def test_dissimilarity_is_over_what_both_have(self) -> None:
        X = gappy(12, 4, 7)
        found = dissimilarities(X, X)
        for i, j in np.ndindex(12, 12):
            both = ~np.isnan(X[i]) & ~np.isnan(X[j])
            expected = ((X[i] - X[j])[both] ** 2).mean() if both.any() else np.inf
            assert found[i, j] == pytest.approx(expected, abs=1e-9)

    def test_trees_use_that_a_value_is_missing(self) -> None:
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((200, 3)), rng.random(200) < 0.5
        X[y, 1] = np.nan
        model = MissingValueTreesClassifier(trees=20).fit(X[:150], y[:150])
        assert model.score(X[150:], y[150:]) == 1.0

    def test_chained_equations_predict_the_same_whenever_asked(self) -> None:
        _, X = low_rank(80, 5, 2, 0.7, 8)
        model = named("mice").make("regression", imputations=2, C=1.0).fit(X, np.arange(80.0))
        assert np.array_equal(model.predict(X), model.predict(X))
