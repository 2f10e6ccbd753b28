"""What the theorems state about λ, the order and the size of a sample."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma.errors import UsageError
from streamkarma.regret import feature_dimension, sample_size, sufficient_order, truncation_error
from streamkarma.regret.bound import regularity
from tests.reference import Array, explicit_features

some = settings(deadline=None, max_examples=60)
regularities = st.floats(0.01, 1.0)
positive = st.floats(1e-3, 10.0)


def cut_off(Q: Array, o: Any, gamma: int, w: Array, x: Array) -> float:
    """|f^γ_{w,I-Q}(x_o) - f_{w,Q}(x_o)| by their definitions; ``w`` and ``x`` are those on o."""
    rest = (np.eye(len(Q)) - Q)[np.ix_(o, o)]
    series = sum(np.linalg.matrix_power(rest, power) for power in range(gamma))
    return float(abs(w @ (series - np.linalg.pinv(Q[np.ix_(o, o)], rcond=1e-9, hermitian=True)) @ x))


def test_the_lemma_does_not_hold_for_singular_values() -> None:
    sigma, gamma = 0.5, 2
    line = np.array([sigma, math.sqrt(1 - sigma**2)])
    Q, o = np.outer(line, line), np.array([True, False])
    # The singular value of P_o P_E, as the paper defines λ, and the eigenvalue of Q_oo.
    assert np.linalg.svd(Q[o], compute_uv=False) == pytest.approx([sigma])
    assert regularity(Q, o[np.newaxis]) == pytest.approx(sigma**2)
    error = cut_off(Q, o, gamma, np.ones(1), np.ones(1))
    assert error == pytest.approx(truncation_error(sigma**2, gamma)) == pytest.approx(2.25)
    assert truncation_error(sigma, gamma) == 0.5


def test_the_lemma_holds_for_eigenvalues() -> None:
    rng = np.random.default_rng(0)
    above = {"eigenvalues": 0, "singular values": 0}
    for _ in range(2000):
        d = int(rng.integers(2, 7))
        rank = int(rng.integers(1, d))
        basis = np.linalg.qr(rng.standard_normal((d, rank)))[0]
        # At least as many as dimensions preserve the kernel, almost surely.
        o = np.sort(rng.permutation(d)[: rng.integers(rank, d + 1)])
        gamma = int(rng.integers(1, 6))
        x = basis[o] @ rng.standard_normal(rank)
        w = rng.standard_normal(len(o))
        error = cut_off(basis @ basis.T, o, gamma, w / np.linalg.norm(w), x / np.linalg.norm(x))
        lam = regularity(basis @ basis.T, np.isin(np.arange(d), o)[np.newaxis])
        above["eigenvalues"] += error > truncation_error(min(lam, 1.0), gamma) * (1 + 1e-6) + 1e-9
        above["singular values"] += error > truncation_error(min(lam, 1.0) ** 0.5, gamma) * (1 + 1e-6) + 1e-9
    assert above["eigenvalues"] == 0
    assert above["singular values"] > 100


@some
@given(positive, positive, regularities)
def test_the_order_is_sufficient_and_the_least_of_the_theorem(epsilon: float, L: float, lam: float) -> None:
    gamma = sufficient_order(epsilon, L, lam)
    assert truncation_error(lam, gamma) <= epsilon / (2 * L) * (1 + 1e-9)
    wanted = math.log(2 * L / (lam * epsilon)) / lam
    assert gamma >= wanted
    assert gamma == 1 or gamma - 1 < wanted


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("gamma", [1, 2, 3, 4])
def test_the_dimension_is_the_number_of_features(d: int, gamma: int) -> None:
    assert feature_dimension(d, gamma) == len(explicit_features(np.ones(d), gamma))
    assert feature_dimension(np.int64(1000), gamma * 40) == sum(1000**k for k in range(1, 40 * gamma + 1))


@some
@given(st.floats(0.05, 1.0), st.floats(1e-6, 0.9), st.integers(1, 300), positive, st.floats(0.2, 1.0))
def test_the_size_of_a_sample(epsilon: float, delta: float, d: int, L: float, lam: float) -> None:
    size = sample_size(epsilon, delta, d, L, lam)
    features = sum(d**k for k in range(1, sufficient_order(epsilon, L, lam) + 1))
    exact = Fraction(L) ** 2 * features**2 * Fraction(math.log(1 / delta)) / Fraction(epsilon) ** 2
    assert type(size) is int
    assert size == pytest.approx(math.ceil(exact), rel=1e-12)
    assert sample_size(epsilon, delta / 2, d, L, lam) >= size >= 1


def test_a_sample_larger_than_any_float() -> None:
    assert sample_size(1e-3, 0.05, 1000, 1.0, 0.05) > 10**400


def test_quotients_beyond_any_float_have_logarithms() -> None:
    for epsilon, L, lam in ((1e-200, 1.0, 1e-200), (1.0, 1e308, 1.0), (5e-324, 1.0, 5e-324)):
        order = sufficient_order(epsilon, L, lam)
        exact = Fraction(2) * Fraction(L) / (Fraction(lam) * Fraction(epsilon))
        logarithm = math.log(exact.numerator) - math.log(exact.denominator)
        assert float(order * Fraction(lam)) == pytest.approx(logarithm, abs=1.0, rel=1e-9)


def test_numbers_may_be_of_any_type() -> None:
    half, size = Fraction(1, 2), sample_size(0.5, 0.05, 20, 1.0, 0.5)
    assert sample_size(np.float32(0.5), 0.05, np.int64(20), 1, half) == size
    assert truncation_error(half, np.int8(2)) == 0.5
    assert truncation_error(0.5, 10**400) == 0.0


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: truncation_error(0.0, 2), "lam must be"),
        (lambda: truncation_error(0.5, 0), "gamma must be"),
        (lambda: sufficient_order(0.0, 1.0, 0.5), "epsilon must be"),
        (lambda: sufficient_order(0.1, math.inf, 0.5), "L must be"),
        (lambda: sufficient_order(0.1, 1.0, 1.1), "lam must be"),
        (lambda: feature_dimension(0, 2), "d must be"),
        (lambda: feature_dimension(3, 1.5), "gamma must be"),
        (lambda: sample_size(0.1, 1.0, 3, 1.0, 0.5), "delta must be"),
        (lambda: truncation_error(0.5, math.inf), "gamma must be"),
        (lambda: truncation_error(0.5, math.nan), "gamma must be"),
        (lambda: truncation_error(0.5, "2"), "gamma must be"),
        (lambda: sufficient_order(10**400, 1.0, 0.5), "epsilon must be"),
        (lambda: sufficient_order(0.1, "1", 0.5), "L must be"),
        (lambda: sample_size(0.1, None, 3, 1.0, 0.5), "delta must be"),
    ],
)
def test_what_is_out_of_range(call: Any, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        call()
