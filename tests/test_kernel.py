from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamkarma.core.kernel import gram, growth
from tests.reference import explicit_features, kernel, stream


@given(st.integers(0, 30), st.integers(1, 6))
def test_growth_is_the_geometric_sum(n: int, gamma: int) -> None:
    assert growth(float(n), gamma) == sum(n**level for level in range(gamma))


@pytest.mark.parametrize("gamma", [1, 2, 3, 4])
def test_gram_is_the_inner_product_of_explicit_features(gamma: int) -> None:
    rows = stream(gamma, 12, 4)
    features = np.array([explicit_features(row, gamma) for row in rows])
    expected = features @ features.T
    np.testing.assert_allclose(gram(rows, gamma=gamma), expected, rtol=1e-12, atol=1e-12)
    norms = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(
        gram(rows, gamma=gamma, normalize=True), expected / np.outer(norms, norms), atol=1e-12
    )


@given(st.integers(0, 1000), st.integers(1, 4), st.booleans())
def test_gram_is_positive_semidefinite(seed: int, gamma: int, normalize: bool) -> None:
    matrix = gram(stream(seed, 15, 5), gamma=gamma, normalize=normalize)
    assert np.linalg.eigvalsh(matrix).min() > -1e-9 * max(1.0, np.abs(matrix).max())


def test_gram_of_two_sets_of_rows() -> None:
    left, right = stream(1, 6, 4), stream(2, 5, 4)
    expected = [[kernel(x, z, 3) for z in right] for x in left]
    np.testing.assert_allclose(gram(left, right, gamma=3), expected, rtol=1e-12)


def test_rows_that_share_nothing_and_rows_of_nothing() -> None:
    nan = np.nan
    assert gram([[1.0, nan]], [[nan, 1.0]])[0, 0] == 0.0
    assert gram([[nan, nan], [0.0, nan]], gamma=2, normalize=True).tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("gamma", [0, -1, 1.5, True])
def test_gamma_is_a_positive_integer(gamma: int) -> None:
    with pytest.raises(ValueError, match="gamma must be an integer of 1 or more"):
        gram([[1.0]], gamma=gamma)


def test_bad_arrays_are_refused() -> None:
    with pytest.raises(ValueError, match="two dimensions"):
        gram([1.0, 2.0])
    with pytest.raises(ValueError, match="infinite"):
        gram([[np.inf]])
    with pytest.raises(ValueError, match="X has 1 columns, Z has 2"):
        gram([[1.0]], [[1.0, 2.0]])
