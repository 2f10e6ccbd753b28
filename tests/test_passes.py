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
    keeper,
    least,
    meet,
    product,
    raise_gains,
    rank,
    share_out,
    share_unit,
    shared,
    whole_tiles,
)

used_and_seed = st.tuples(st.integers(1, 300), st.integers(0, 10_000))


def model(used: int, seed: int, attributes: int = 12) -> tuple[Any, NDArray[np.uint8], int]:
    """A generator, the observed sets of the slots in use, and their span."""
    rng, span = np.random.default_rng(seed), whole_tiles(used)
    mask = np.zeros((attributes, span), np.uint8)
    mask[:, :used] = rng.random((attributes, used)) < 0.5
    return rng, mask, span


def meet_all(mask: NDArray[np.uint8], attributes: NDArray[np.int32], gamma: int,
             kind: Any = np.float64) -> tuple[Any, Any, Any, int]:  # fmt: skip
    """What an event of those attributes, all of equal squares, has in common with each slot.

    Its values are 2, and those of a slot 1 where it has the attribute. Also returns the slot of its set.
    """
    size, span = attributes.size, mask.shape[1]
    gain, ranks = np.full(span, np.nan, kind), np.full(span, np.nan, np.float32)
    units = np.full(size, FULL / max(size, 1)).astype(np.uint16)
    values, sizes = mask[:, None, :].astype(kind), mask.sum(axis=0, dtype=np.int32)
    inverse = np.array([1.0 / growth(float(n), gamma) for n in sizes], kind)
    score, same = meet(values, attributes, np.full(size, 2.0, kind), mask, attributes, units, size, span,
                       gamma, sizes, inverse, gain, ranks)  # fmt: skip
    return score, gain, ranks / FULL, same


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@settings(deadline=None, max_examples=40)
@given(used_and_seed, st.integers(1, 4), st.integers(0, 12))
def test_an_event_meets_every_slot_by_the_kernel(
    kind: Any, case: tuple[int, int], gamma: int, size: int
) -> None:
    rng, mask, span = model(*case)
    attributes = np.sort(rng.permutation(12)[:size]).astype(np.int32)
    overlap = mask[attributes].sum(axis=0)
    gains = np.array([growth(float(n), gamma) for n in overlap])
    score, gain, ranks, _ = meet_all(mask, attributes, gamma, kind)
    assert gain.tolist() == gains.tolist()
    assert score == pytest.approx(float(gains @ (2.0 * overlap)), rel=10 * float(np.finfo(kind).eps))
    wholes = np.array([growth(float(n), gamma) for n in mask.sum(axis=0)])
    kept = overlap / max(size, 1) * gains**2 / wholes / growth(float(size), gamma)
    np.testing.assert_allclose(ranks, kept, rtol=2e-3)
    assert [shared(mask, attributes, size, slot) for slot in range(span)] == overlap.tolist()
    again = np.empty(span)
    raise_gains(mask, attributes, size, span, gamma, again)
    assert again.tolist() == gains.tolist()


def test_more_attributes_than_a_byte_can_count_are_counted() -> None:
    _, mask, span = model(70, 1, 1000)
    mask[:, 5], mask[:, 66] = np.arange(1000) < 256, np.arange(1000) % 2 == 0
    for attributes in (np.arange(1000, dtype=np.int32), np.arange(0, 1000, 2, dtype=np.int32)):
        overlap = mask[attributes].sum(axis=0, dtype=float)
        _, gain, _, same = meet_all(mask, attributes, 2)
        assert gain.tolist() == (1.0 + overlap).tolist()
        assert same == (66 if attributes.size == 500 else -1)
        raise_gains(mask, attributes, attributes.size, span, 3, gain)
        assert gain.tolist() == (1.0 + overlap + overlap**2).tolist()


@settings(deadline=None, max_examples=60)
@given(used_and_seed, st.integers(1, 5))
def test_only_the_very_same_observed_set_is_found(case: tuple[int, int], size: int) -> None:
    rng, mask, _ = model(case[0], case[1], attributes=5)
    # No two slots have the same set.
    first = np.unique(mask, axis=1, return_index=True)[1]
    mask[:, np.setdiff1d(np.arange(mask.shape[1]), first)] = 0
    attributes = np.sort(rng.permutation(5)[:size]).astype(np.int32)
    wanted = np.zeros(5, np.uint8)
    wanted[attributes] = 1
    same = np.flatnonzero((mask == wanted[:, None]).all(axis=0))
    assert meet_all(mask, attributes, 2)[3] == (same[0] if same.size else -1)


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
        single = (each.astype(np.float32) for each in (values, x, gain))
        light_values, light_x, light_gain = single
        rounded = product(light_values, c, rows, light_x, size, span, light_gain)
        assert rounded == pytest.approx(expected, rel=1e-3, abs=1e-3)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=300), st.integers(1, 300))
def test_of_equal_least_values_the_first_is_found(drawn: list[int], used: int) -> None:
    used = min(used, len(drawn))
    values = np.array(drawn, np.float64)
    assert least(values, used) == int(values[:used].argmin())


def test_the_least_of_what_is_no_number_is_a_slot_in_use() -> None:
    assert 0 <= least(np.full(128, np.nan), 70) < 70
    assert 0 <= least(np.full(128, np.inf), 70) < 70


@settings(deadline=None, max_examples=40)
@given(used_and_seed, st.integers(0, 12), st.sampled_from([1, 2, 3, 40, 150]))
def test_what_a_projection_keeps_is_ranked_to_about_four_digits(
    case: tuple[int, int], length: int, gamma: int
) -> None:
    rng, mask, span = model(*case)
    owners, amounts = np.sort(rng.permutation(12)[:length]).astype(np.int32), rng.random(length)
    units, gain, ranks = np.empty(length, np.uint16), np.empty(span), np.empty(span, np.float32)
    share_out(amounts, length, units)
    raise_gains(mask, owners, length, span, gamma, gain)
    wholes = np.array([growth(float(n), gamma) for n in mask.sum(axis=0)])
    most = growth(float(length), gamma)
    rank(mask, owners, units, length, span, most, 1.0 / wholes, gain, ranks)
    parts = amounts @ mask[owners] / amounts.sum() if length else np.zeros(span)
    kept = parts * (gain / wholes) * (gain / most)
    np.testing.assert_allclose(ranks / FULL, kept, rtol=2e-3, atol=13 / FULL)
    assert keeper(ranks, span) == (int(ranks.argmax()) if ranks.max() > 0 else -1)


def test_of_equal_patterns_the_first_is_taken_and_none_if_nothing_is_kept() -> None:
    ranks = np.zeros(192, np.float32)
    assert keeper(ranks, 192) == -1
    ranks[[70, 90, 130]] = 7
    assert keeper(ranks, 192) == 70


@pytest.mark.parametrize("total", [0.0, 5e-324, 1e-301])
def test_amounts_too_small_to_be_divided_by_have_no_shares(total: float) -> None:
    assert share_unit(total) == 0.0
