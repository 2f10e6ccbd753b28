"""Baselines that use a kernel: batch KARMA and genRBF."""

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
)
from streamkarma.baselines.density import Gauss
from streamkarma.baselines.genrbf import Gaussians, gram
from tests.reference import explicit_features, stream

Array = NDArray[np.float64]


def near_line(n: int, d: int, seed: int) -> tuple[Array, Array]:
    """Rows near a line, on a unit scale, a third of the values missing, and their side of zero."""
    rng = np.random.default_rng(seed)
    along = rng.standard_normal(n)
    X = along[:, None] * rng.choice([-1.0, 1.0], d) + 0.3 * rng.standard_normal((n, d))
    X[rng.random((n, d)) < 1 / 3] = np.nan
    return X, np.where(along > 0, 1.0, -1.0)


def is_psd(K: Array) -> bool:
    return bool(np.linalg.eigvalsh((K + K.T) / 2).min() >= -1e-9 * max(1.0, np.abs(K).max()))


class TestBatchKARMA:
    @settings(max_examples=20)
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
        model = GenRBFClassifier(width=0.7, C=1.0, whiten=False, scale=False).fit(X, y)
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

    @settings(max_examples=15)
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


def test_density_and_kernel_agree_on_what_a_pattern_lacks() -> None:
    X, _ = near_line(30, 4, 9)
    density = Gauss().fit(X)
    spreads = density.spreads(~np.isnan(X))
    for row, spread in zip(X, spreads, strict=True):
        assert np.linalg.matrix_rank(spread, tol=1e-9) == np.isnan(row).sum()
