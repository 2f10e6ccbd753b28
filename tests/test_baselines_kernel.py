"""Baselines with a kernel behind: KARMA in batches, genRBF, MeanFeat, infinite imputations."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from streamkarma.baselines import (
    BatchKARMAClassifier,
    BatchKARMARegressor,
    GenRBFClassifier,
    InfiniteImputationsClassifier,
    InfiniteImputationsRegressor,
)
from streamkarma.baselines.density import Gauss
from streamkarma.baselines.genrbf import Gaussians, gram
from streamkarma.baselines.priors import PRIORS, MeanFeat, prior_named
from streamkarma.baselines.wii import Search
from tests.reference import explicit_features, stream

Array = NDArray[np.float64]


def near_line(n: int, d: int, seed: int) -> tuple[Array, Array]:
    """Rows near a line with a third missing, scaled, and the side of zero they are on."""
    rng = np.random.default_rng(seed)
    along = rng.standard_normal(n)
    X = along[:, None] * rng.choice([-1.0, 1.0], d) + 0.3 * rng.standard_normal((n, d))
    X[rng.random((n, d)) < 1 / 3] = np.nan
    return X, np.where(along > 0, 1.0, -1.0)


def is_psd(K: Array) -> bool:
    return bool(np.linalg.eigvalsh((K + K.T) / 2).min() >= -1e-9 * max(1.0, np.abs(K).max()))


class TestBatchKARMA:
    @settings(deadline=None, max_examples=20)
    @given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.booleans())
    def test_its_kernel_is_that_of_the_explicit_features(
        self, seed: int, gamma: int, normalize: bool
    ) -> None:
        X, y = stream(seed, 12, 4), np.tile([0, 1], 6)
        model = BatchKARMAClassifier(gamma=gamma, C=1.0, normalize=normalize, bias=False, scale=False).fit(
            X, y
        )
        features = np.array([explicit_features(row, gamma) for row in X])
        norms = np.linalg.norm(features, axis=1)
        K = features @ features.T
        K = (
            K / np.where(np.outer(norms, norms) > 0, np.outer(norms, norms), 1.0)
            if normalize
            else K / (norms**2).mean()
        )
        found = model._kernel(*model._pairs(*model._described(X)), gamma, X)
        assert found == pytest.approx(K, abs=1e-9)
        assert is_psd(found)

    def test_of_order_one_it_is_zero_imputation(self) -> None:
        X, y = near_line(60, 4, 0)
        model = BatchKARMARegressor(gamma=1, C=1e4, bias=False, scale=False).fit(X, y)
        filled = np.nan_to_num(X)
        off = y - y.mean()
        squares = (filled**2).sum(axis=1).mean()  # the kernel is divided by its mean
        w = np.linalg.solve(filled.T @ filled + np.eye(4) * squares * 0.5e-4, filled.T @ off)
        assert model.predict(X) == pytest.approx(filled @ w + y.mean(), abs=1e-6)

    def test_gamma_and_c_are_chosen_and_kept(self) -> None:
        X, y = near_line(80, 4, 1)
        model = BatchKARMAClassifier().fit(X, y)
        assert model.gamma_ in (1, 2, 3, 4)
        assert model.C_ in (0.01, 0.1, 1.0, 10.0, 100.0)
        assert model.score(X, y) > 0.85


class TestGenRBF:
    def test_for_points_it_is_the_rbf_kernel(self) -> None:
        X = np.random.default_rng(0).standard_normal((20, 3))
        points = Gaussians(X, np.zeros(20, dtype=np.intp), np.zeros((1, 3, 3)))
        assert gram(points, width=0.7) == pytest.approx(rbf_kernel(X, gamma=0.7))
        y = np.tile([0, 1], 10)
        machine = SVC(kernel="rbf", gamma=0.7, C=1.0).fit(X, y)
        model = GenRBFClassifier(width=0.7, C=1.0, scale=False).fit(X, y)
        assert model.decision_function(X) == pytest.approx(machine.decision_function(X), abs=1e-6)

    @pytest.mark.parametrize("width", [0.2, 1.0])
    def test_it_is_the_scalar_product_of_blurred_densities(self, width: float) -> None:
        rng = np.random.default_rng(1)
        X = rng.standard_normal((6, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])
        X[[0, 1], [0, 1]] = np.nan
        X[2] = np.nan
        model = GenRBFClassifier(width=width, C=1.0, scale=False).fit(X, [0, 1] * 3)
        points = model._described(X)
        K = gram(points, width=width)
        # On a grid: N(mean, covariance + I / (4 width)), products summed.
        axis = np.linspace(-12, 12, 481)
        at = np.array(list(product(axis, axis)))
        densities = []
        for mean, number in zip(points.means, points.of, strict=True):
            S = points.covariances[number] + np.eye(2) / (4 * width)
            away = at - mean
            densities.append(np.exp(-0.5 * (away @ np.linalg.inv(S) * away).sum(axis=1)))
        D = np.array(densities)
        D /= np.linalg.norm(D, axis=1, keepdims=True)
        assert pytest.approx(D @ D.T, abs=1e-6) == K

    @settings(deadline=None, max_examples=15)
    @given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.booleans())
    def test_every_gram_matrix_is_positive_semidefinite(self, seed: int, d: int, whiten: bool) -> None:
        X, y = near_line(25, d, seed)
        y[:2] = 1.0, -1.0
        model = GenRBFClassifier(width=0.5, C=1.0, whiten=whiten, scale=False).fit(X, y)
        K = gram(model._points, width=0.5)
        assert np.diag(K) == pytest.approx(np.ones(25))
        assert np.array_equal(K, K.T)
        assert is_psd(K)
        assert gram(model._points, model._points, width=0.5) == pytest.approx(K)

    def test_whitened_it_does_not_see_a_change_of_basis(self) -> None:
        rng = np.random.default_rng(2)
        X, y = rng.standard_normal((40, 3)), np.tile([0, 1], 20)
        B = rng.standard_normal((3, 3))
        model = GenRBFClassifier(width=0.5, C=1.0, whiten=True, scale=False)
        scores = [model.fit(rows, y).decision_function(rows) for rows in (X, X @ B)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-2)


class TestMeanFeat:
    def test_it_is_the_mean_over_all_draws(self) -> None:
        X = np.array([[0.0, np.nan, 1.0], [1.0, 2.0, np.nan], [np.nan, np.nan, -1.0], [0.5, 1.0, 0.0]])
        width, prior = 0.4, MeanFeat(X, 0.4)
        columns = [column[~np.isnan(column)] for column in X.T]

        def draws(row: Array) -> Array:
            options = [[value] if not np.isnan(value) else columns[j] for j, value in enumerate(row)]
            return np.array(list(product(*options)))

        expected = np.array([[rbf_kernel(draws(a), draws(b), gamma=width).mean() for b in X] for a in X])
        assert prior.between(X, X) == pytest.approx(expected)
        assert prior.norms(X) == pytest.approx(np.diag(expected))
        Z = np.where(np.isnan(X), 0.3, X)
        one_sided = np.array([[rbf_kernel(draws(a), b[None], gamma=width).mean() for b in Z] for a in X])
        assert prior.kernel(X, Z) == pytest.approx(one_sided)
        assert prior.near(X, Z)[0] == pytest.approx(np.diag(one_sided))
        assert is_psd(prior.between(X, X))


def test_quantiles_stand_for_many_values() -> None:
    X = np.random.default_rng(0).standard_normal((3000, 2))
    X[0] = np.nan
    few, at = MeanFeat(X, 0.5), np.array([[0.3, -1.0]])
    expected = np.prod(np.exp(-0.5 * (at - X[1:]) ** 2).mean(axis=0))
    assert few.kernel(X[:1], at)[0, 0] == pytest.approx(expected, abs=2e-3)


def search(X: Array, y: Array, prior: str, squared: bool, gamma: float = 1.0, C: float = 1.0) -> Search:
    made = prior_named(prior, X, 0.3, 0)
    rng = np.random.RandomState(0)
    return Search(X, y, made, squared=squared, C=C, gamma=gamma, width=0.3, rng=rng)


class TestInfiniteImputations:
    @pytest.mark.parametrize("prior", PRIORS)
    @pytest.mark.parametrize("squared", [False, True])
    def test_the_objective_falls_and_is_what_the_weights_say(self, prior: str, squared: bool) -> None:
        X, y = near_line(25, 3, 3)
        found = search(X, y, prior, squared, gamma=0.1)
        result = found.run(8, 1, 1e-6, lambda text: None)
        assert len(result.objectives) > 1
        assert (np.diff(result.objectives) < 0).all()
        assert result.weights.sum() == pytest.approx(1.0)
        seen = ~np.isnan(X)
        for table in result.tables:
            assert np.array_equal(table[seen], X[seen])
        # The last objective, from its definition.
        K = sum(w * rbf_kernel(t, gamma=0.3) for w, t in zip(result.weights, result.tables, strict=True))
        scores = K @ result.c + result.b
        losses = (y - scores) ** 2 if squared else np.maximum(0, 1 - y * scores)
        Q = sum(
            w * (1 - 2 * np.diag(found.prior.kernel(X, t)) + found.prior.norms(X)).sum()
            for w, t in zip(result.weights, result.tables, strict=True)
        )
        value = 0.5 * result.c @ K @ result.c + losses.sum() + 0.1 * Q
        assert result.objectives[-1] == pytest.approx(float(value), rel=1e-4)

    @pytest.mark.parametrize("prior", PRIORS)
    def test_slopes_are_those_of_the_gain(self, prior: str) -> None:
        X, y = near_line(10, 3, 4)
        found = search(X, y, prior, False, gamma=0.7)
        rng = np.random.default_rng(0)
        c, table = rng.standard_normal(10), np.where(np.isnan(X), rng.standard_normal((10, 3)), X)
        _, slope = found._gain(c, table)
        assert not slope[~np.isnan(X)].any()
        for i, j in np.argwhere(np.isnan(X)):
            step = np.zeros_like(table)
            step[i, j] = 1e-6
            numeric = (found._gain(c, table + step)[0] - found._gain(c, table - step)[0]) / 2e-6
            assert slope[i, j] == pytest.approx(numeric, abs=1e-5)

    def test_the_line_search_is_exact(self) -> None:
        X, y = near_line(20, 3, 5)
        found = search(X, y, "mean", True)
        rng = np.random.default_rng(1)
        one, two = (np.where(np.isnan(X), rng.standard_normal(X.shape), X) for _ in range(2))
        K, L, Q, R = found._kernel(one), found._kernel(two), found._distance(one), found._distance(two)

        def value(beta: float) -> float:
            return found._machine((1 - beta) * K + beta * L).value + (1 - beta) * Q + beta * R

        grid = np.linspace(0, 1, 201)
        values = [value(beta) for beta in grid]
        assert value(found._line(K, L, Q, R)) <= min(values) + 1e-6

    @pytest.mark.parametrize("prior", ["mean", "gauss"])
    def test_as_gamma_grows_it_is_the_single_imputation(self, prior: str) -> None:
        X, y = near_line(30, 3, 6)
        model = InfiniteImputationsClassifier(prior, C=1.0, gamma=1e6, width=0.3, scale=False).fit(X, y)
        points = prior_named(prior, X, 0.3, 0).points(X)
        machine = SVC(kernel="rbf", gamma=0.3, C=1.0).fit(points, y)
        assert model.decision_function(X) == pytest.approx(machine.decision_function(points), abs=2e-3)
        assert len(model.imputations_[0].tables) <= 2

    @pytest.mark.parametrize("squared", [False, True])
    def test_at_most_two_more_completions_than_rows_have_weight(self, squared: bool) -> None:
        X, y = near_line(4, 3, 8)
        y[:2] = 1.0, -1.0
        found = search(X, y, "mean", squared, gamma=0.01, C=10.0)
        rng = np.random.default_rng(0)
        tables = [np.where(np.isnan(X), rng.standard_normal(X.shape), X) for _ in range(15)]
        weights = rng.dirichlet(np.ones(15))
        c = rng.standard_normal(4)
        kept, left = found._reduced(tables, weights, c)
        assert len(kept) <= 6
        assert (left > 0).all()
        for measure in (
            lambda table: found._kernel(table) @ c,
            lambda table: np.array([found._distance(table)]),
        ):
            before = sum(w * measure(table) for w, table in zip(weights, tables, strict=True))
            after = sum(w * measure(table) for w, table in zip(left, kept, strict=True))
            assert after == pytest.approx(before)
        assert len(found.run(30, 2, 0.0, lambda text: None).tables) <= 6

    def test_nothing_missing_is_the_plain_machine(self) -> None:
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((20, 2)), rng.standard_normal(20)
        model = InfiniteImputationsRegressor("gauss", C=1.0, width=0.5, scale=False).fit(X, y)
        K = rbf_kernel(X, gamma=0.5)
        expected = K @ np.linalg.solve(K + 0.5 * np.eye(20), y - y.mean()) + y.mean()
        assert model.predict(X) == pytest.approx(expected)
        assert len(model.imputations_[0].tables) == 1


def test_density_and_kernel_agree_on_what_a_pattern_lacks() -> None:
    X, _ = near_line(30, 4, 9)
    density = Gauss().fit(X)
    spreads = density.spreads(~np.isnan(X))
    for row, spread in zip(X, spreads, strict=True):
        assert np.linalg.matrix_rank(spread, tol=1e-9) == np.isnan(row).sum()
