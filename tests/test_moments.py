from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma.core.moments import encode, encode_targets
from streamkarma.core.scale import CLIP, CUT, FAR, START, nothing
from streamkarma.events.block import Block

#: Near enough to each other for a mean and a deviation of all of them.
ordinary = st.integers(1000, 2000).map(lambda i: i / 100)


def column(values: list[float]) -> Block:
    """One attribute, 1, with a value in every event."""
    n = len(values)
    return Block(np.arange(n + 1), np.ones(n, np.int32), np.ones(n, np.int32), np.array(values))


def encoded(values: list[float], learned: list[bool] | None = None,
            longest: float = np.inf) -> list[float]:  # fmt: skip
    flags = np.ones(len(values), np.bool_) if learned is None else np.array(learned)
    block = encode(column(values), np.array([False, True]), nothing(2), flags, True, False, longest)
    return block.values.tolist()


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_standardised_by_all_so_far_itself_included(seed: int) -> None:
    values = np.random.default_rng(seed).uniform(1.0, 2.0, 60)
    for t, standard in list(enumerate(encoded(values.tolist())))[START:]:
        before, so_far = values[:t], values[: t + 1]
        if abs(values[t] - before.mean()) > 0.9 * CUT * before.std():
            break  # counted as lying at the edge, here or by a value after it
        expected = np.clip((so_far[-1] - so_far.mean()) / so_far.std(), -CLIP, CLIP)
        assert standard == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_constants_are_zero() -> None:
    assert encoded([0.1] * 5) == [0.0] * 5


def test_events_not_learned_leave_no_trace() -> None:
    with_guests = encoded([1.0, 50.0, 3.0, -7.0, 2.0], [True, False, True, False, True])
    assert [with_guests[i] for i in (0, 2, 4)] == encoded([1.0, 3.0, 2.0])


@pytest.mark.parametrize("huge", [1e300, -1e300, 1.7e308])
def test_huge_values_stay_finite(huge: float) -> None:
    assert np.isfinite(encoded([1.0, huge, 2.0, -huge, 1.0])).all()


def test_order_and_missing() -> None:
    raw = Block(np.array([0, 3]), np.int32([3, 1, 2]), np.int32([3, 1, 2]), np.array([3.0, np.nan, 2.0]))
    block = encode(raw, np.zeros(4, np.bool_), nothing(4), np.array([True]), True, True, np.inf)
    assert block.attributes.tolist() == [0, 2, 3]
    assert block.values.tolist() == [1.0, 2.0, 3.0]


@settings(deadline=None)
@given(
    st.lists(st.integers(1, 90), unique=True, max_size=40) | st.permutations(range(1, 64)),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_items_ascend_whatever_their_order_and_number(attributes: list[int], seed: int, bias: bool) -> None:
    rng = np.random.default_rng(seed)
    values = np.where(rng.random(len(attributes)) < 0.2, np.nan, rng.standard_normal(len(attributes)))
    names, places = np.array(attributes, np.int32), np.array(attributes, np.int32) + 100
    # An event before and one after, that must not mix with it.
    starts = np.array([0, 1, 1 + len(attributes), 2 + len(attributes)])
    one = np.array([5], np.int32)
    raw = Block(starts, np.concatenate([one, names, one]), np.concatenate([one, places, one]),
                np.concatenate([[7.0], values, [8.0]]))  # fmt: skip
    block = encode(raw, np.zeros(0, np.bool_), nothing(0), np.ones(3, np.bool_), True, bias, np.inf)
    event = slice(block.starts[1], block.starts[2])
    expected = [(0, 0, 1.0)] if bias else []
    expected += sorted((a, a + 100, v) for a, v in zip(attributes, values.tolist(), strict=True) if v == v)
    found = zip(*(each[event].tolist() for each in block[1:]), strict=True)
    assert list(found) == expected
    assert block.values[[block.starts[1] - 1, -1]].tolist() == [7.0, 8.0]


def test_targets_are_turned_back_by_what_was_known_before() -> None:
    targets = np.array([10.0, 20.0, np.nan, 40.0])
    centres, spreads = np.empty(4), np.empty(4)
    standard = encode_targets(targets, np.ones(4), nothing(1)[0], True, np.inf, centres, spreads)
    assert centres.tolist() == [0.0, 10.0, 15.0, 15.0]
    assert spreads.tolist() == [1.0, 1.0, 5.0, 5.0]
    assert standard[0] == 0.0
    assert standard[1] == 1.0
    assert np.isnan(standard[2])


def test_what_fades_is_an_average_with_weights_that_do() -> None:
    longest, weights = 20.0, list[float]()
    values = np.random.default_rng(0).uniform(10.0, 20.0, 200)
    for t, standard in enumerate(encoded(values.tolist(), longest=longest)):
        # Until there are so many, all count the same; then each newcomer takes its part of the whole.
        count = min(len(weights) + 1, longest)
        weights = [weight * (1 - 1 / count) for weight in weights] + [1 / count]
        if t < 16:
            continue
        mean = float(np.average(values[: t + 1], weights=weights))
        deviation = float(np.sqrt(np.average((values[: t + 1] - mean) ** 2, weights=weights)))
        assert standard == pytest.approx((values[t] - mean) / deviation, rel=1e-9)


@settings(deadline=None)
@given(st.lists(ordinary, min_size=20, max_size=40, unique=True), st.floats(1e5, 1e99), st.booleans())
def test_what_is_no_measurement_counts_as_the_mean(values: list[float], wild: float, below: bool) -> None:
    assert encoded([*values, -wild if below else wild])[-1] == 0.0


def test_what_lies_far_out_is_cut() -> None:
    values = [float(i % 10) for i in range(1000)]
    standard = [encoded([*values, value])[-1] for value in (4.5 + 2.9 * 10, 4.5 - 2.9 * 0.9 * FAR)]
    assert standard == [CLIP, -CLIP]
