"""The learner's loss over the stream, and over its latest events."""

from __future__ import annotations

import numpy as np
import pytest

from streamkarma.regret.loss_curves import MOST, LossCurve, RecentLosses

VALUES = np.random.default_rng(0).random((30_000, 3))


@pytest.mark.parametrize("cut", [1, 37, 30_000])
def test_how_events_are_cut_does_not_show(cut: int) -> None:
    curve, recent = LossCurve(), RecentLosses(100)
    for begin in range(0, 3_000, cut):
        for each in (curve, recent):
            each.add(VALUES[begin : min(begin + cut, 3_000)])
    whole, whole_recent = LossCurve(), RecentLosses(100)
    whole.add(VALUES[:3_000])
    whole_recent.add(VALUES[:3_000])
    assert curve.to_now() == whole.to_now()
    assert recent.to_now() == whole_recent.to_now()


def test_recent_losses_are_means_of_the_latest_events() -> None:
    recent = RecentLosses(100)
    recent.add(VALUES[:1_003])
    assert recent.to_now()[-1][0] == 1_003
    for at, loss, error in recent.to_now():
        *sums, weight = VALUES[max(0, at - 100) : at].sum(axis=0)
        assert (loss, error) == pytest.approx(np.array(sums) / weight)


def test_there_are_never_too_many_points_and_they_span_the_stream() -> None:
    recent = RecentLosses(20)
    recent.add(VALUES)
    events = [at for at, _, _ in recent.points]
    assert MOST / 2 <= len(events) <= MOST
    assert len(set(np.diff(events))) == 1
    assert events[-1] > 30_000 - events[0]


def test_without_events_there_are_no_points() -> None:
    assert RecentLosses(5).to_now() == LossCurve().to_now() == []


@pytest.mark.parametrize("header", [
    {"curve": [[1, 0.5, 0.0]], "totals": [9.0, 0.0]},
    {"curve": [[5_000, 0.5, 0.0]], "totals": [9.0, 0.0]},
    {"curve": [[1.5, 0.5, 0.0]], "totals": [9.0, 0.0]},
])  # fmt: skip
def test_a_state_that_does_not_fit_is_refused(header: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="fit|integer"):
        LossCurve.restored(header, 3_000)
