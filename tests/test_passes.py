from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamkarma.core.kernel import growth
from streamkarma.core.passes import (
    FULL,
    count_overlaps,
    find,
    least,
    product,
    raise_gains,
    rank,
    sum_where,
    whole_tiles,
)

used_and_seed = st.tuples(st.integers(1, 300), st.integers(0, 10_000))


def model(used: int, seed: int, attributes: int = 12) -> tuple[Any, NDArray[np.uint8], int]:
    """A generator, the observed sets of the slots in use, and their span."""
    rng, span = np.random.default_rng(seed), whole_tiles(used)
    mask = np.zeros((attributes, span), np.uint8)
    mask[:, :used] = rng.random((attributes, used)) < 0.5
    return rng, mask, span


@settings(deadline=None, max_examples=40)
@given(used_and_seed, st.integers(1, 4), st.integers(0, 12))
def test_overlaps_and_gains_are_those_of_the_kernel(case: tuple[int, int], gamma: int, size: int) -> None:
    rng, mask, span = model(*case)
    attributes = np.sort(rng.permutation(12)[:size]).astype(np.int32)
    overlap, gain = np.full(span, np.nan), np.full(span, np.nan)
    most = count_overlaps(mask, attributes, size, span, np.empty(span, np.uint8), overlap)
    expected = mask[attributes].sum(axis=0)
    assert overlap.tolist() == expected.tolist()
    assert most == expected.max()
    raise_gains(overlap, gamma, span, gain)
    assert gain.tolist() == [growth(float(n), gamma) for n in expected]


def test_more_attributes_than_a_byte_can_count_are_counted() -> None:
    _, mask, span = model(70, 1, 1000)
    overlap = np.empty(span)
    attributes = np.arange(1000, dtype=np.int32)
    most = count_overlaps(mask, attributes, 1000, span, np.empty(span, np.uint8), overlap)
    assert overlap.tolist() == mask.sum(axis=0).tolist()
    assert most == overlap.max() > 255


@settings(deadline=None, max_examples=40)
@given(used_and_seed, st.integers(1, 3), st.integers(0, 12))
def test_the_product_is_the_weighted_sum_over_all_slots(
    case: tuple[int, int], classes: int, size: int
) -> None:
    rng, _, span = model(*case)
    values = np.zeros((12, classes, span))
    values[:, :, : case[0]] = rng.standard_normal((12, classes, case[0]))
    rows, x, gain = rng.permutation(12)[:size].astype(np.int32), rng.standard_normal(size), rng.random(span)
    for c in range(classes):
        expected = float(gain @ (values[rows, c].T @ x))
        assert product(values, c, rows, x, size, span, gain) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=300), st.integers(1, 300))
def test_of_equal_least_values_the_first_is_found(drawn: list[int], used: int) -> None:
    used = min(used, len(drawn))
    values = np.array(drawn, np.float64)
    assert least(values, used) == int(values[:used].argmin())


@settings(deadline=None, max_examples=60)
@given(used_and_seed, st.integers(0, 5))
def test_only_the_very_same_observed_set_is_found(case: tuple[int, int], size: int) -> None:
    rng, mask, _ = model(*case, attributes=5)
    attributes = np.sort(rng.permutation(5)[:size])
    overlap, sizes = mask[attributes].sum(axis=0).astype(float), mask.sum(axis=0).astype(np.int32)
    wanted = np.zeros(5, np.uint8)
    wanted[attributes] = 1
    same = np.flatnonzero((mask[:, : case[0]] == wanted[:, None]).all(axis=0))
    assert find(sizes, overlap, size, case[0]) == (same[0] if same.size else -1)


@settings(deadline=None, max_examples=40)
@given(used_and_seed, st.integers(0, 12))
def test_what_a_projection_keeps_is_ranked_to_about_four_digits(case: tuple[int, int], length: int) -> None:
    rng, mask, span = model(*case)
    owners, amounts = rng.integers(0, 12, length).astype(np.int32), rng.random(length)
    units, kept, ranks = np.empty(length, np.uint16), np.empty(span, np.uint16), np.empty(span)
    sum_where(mask, owners, amounts, length, span, units, kept)
    share = amounts @ mask[owners] / amounts.sum() if length else np.zeros(span)
    np.testing.assert_allclose(kept / FULL, share, atol=13 / FULL)
    gain, inverse = 1.0 + rng.random(span), rng.random(span)
    rank(kept, gain, inverse, span, ranks)
    np.testing.assert_allclose(ranks, -(kept * gain * gain * inverse), rtol=1e-12)
