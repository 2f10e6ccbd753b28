from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma._engine import Target
from tests.encoding import encoded, encoder, items

#: As in the engine's scale.rs.
CLIP, CUT, FAR, START = 5.0, 3.0, 50.0, 16

#: Values close enough together for a mean and deviation to describe all of them.
ordinary = st.integers(1000, 2000).map(lambda i: i / 100)


def standardised(values: list[float], learned: list[bool] | bool = True,
                 longest: float = np.inf) -> list[float]:  # fmt: skip
    """The values of one attribute as learners see them."""
    by = encoder(scale=True, longest=longest)
    return encoded(by, [{"a": value} for value in values], learned).values[1::2].tolist()


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_standardised_by_all_so_far_itself_included(seed: int) -> None:
    values = np.random.default_rng(seed).uniform(1.0, 2.0, 60)
    for t, standard in list(enumerate(standardised(values.tolist())))[START:]:
        before, so_far = values[:t], values[: t + 1]
        if abs(values[t] - before.mean()) > 0.9 * CUT * before.std():
            break  # clipped to the edge, here or for later values
        expected = np.clip((so_far[-1] - so_far.mean()) / so_far.std(), -CLIP, CLIP)
        assert standard == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_constants_are_zero() -> None:
    assert standardised([0.1] * 5) == [0.0] * 5


def test_events_not_learned_leave_no_trace() -> None:
    with_guests = standardised([1.0, 50.0, 3.0, -7.0, 2.0], [True, False, True, False, True])
    assert [with_guests[i] for i in (0, 2, 4)] == standardised([1.0, 3.0, 2.0])


@pytest.mark.parametrize("huge", [1e300, -1e300, 1.7e308])
def test_huge_values_stay_finite(huge: float) -> None:
    assert np.isfinite(standardised([1.0, huge, 2.0, -huge, 1.0])).all()


def test_targets_are_turned_back_by_what_was_known_before() -> None:
    targets = np.array([10.0, 20.0, np.nan, 40.0])
    standard, centres, spreads = Target(True, np.inf).encode(targets, np.ones(4))
    assert centres.tolist() == [0.0, 10.0, 15.0, 15.0]
    assert spreads.tolist() == [1.0, 1.0, 5.0, 5.0]
    assert standard[0] == 0.0
    assert standard[1] == 1.0
    assert np.isnan(standard[2])


def test_what_fades_is_an_average_with_weights_that_do() -> None:
    longest, weights = 20.0, list[float]()
    values = np.random.default_rng(0).uniform(10.0, 20.0, 200)
    for t, standard in enumerate(standardised(values.tolist(), longest=longest)):
        # Until there are this many, all have the same weight; then each new value gets a fixed share.
        count = min(len(weights) + 1, longest)
        weights = [weight * (1 - 1 / count) for weight in weights] + [1 / count]
        if t < 16:
            continue
        mean = float(np.average(values[: t + 1], weights=weights))
        deviation = float(np.sqrt(np.average((values[: t + 1] - mean) ** 2, weights=weights)))
        assert standard == pytest.approx((values[t] - mean) / deviation, rel=1e-9)


@settings(deadline=None)
@given(st.lists(ordinary, min_size=20, max_size=40, unique=True), st.floats(1e5, 1e99), st.booleans())
def test_what_is_no_measurement_counts_as_missing(values: list[float], wild: float, below: bool) -> None:
    by = encoder(scale=True)
    encoded(by, [{"a": value} for value in values])
    assert 1 not in dict(items(by, {"a": -wild if below else wild}))


def test_what_lies_far_out_is_cut() -> None:
    values = [float(i % 10) for i in range(1000)]
    standard = [standardised([*values, value])[-1] for value in (4.5 + 2.9 * 10, 4.5 - 2.9 * 0.9 * FAR)]
    assert standard == [CLIP, -CLIP]
