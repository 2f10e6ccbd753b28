"""Means over the latest events beside those over all, and drift."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamkarma._engine import Adwin, Encoded
from streamkarma.runtime.drift import BATCH, ErrorDrift, ObservedDrift
from streamkarma.runtime.recent import Recent
from streamkarma.synthetic import StreamSpec
from streamkarma.synthetic import records as synthetic
from tests.conftest import Program
from tests.encoding import encoder


def written(path: Path, records: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def lowrank(events: int, seed: int, observed: float = 0.5) -> list[dict[str, Any]]:
    return list(synthetic(StreamSpec(observed=observed, noise=0.05, seed=seed), events))


@pytest.mark.parametrize("cut", [1, 7, 300])
def test_recent_means_are_those_of_the_latest_however_events_are_cut(cut: int) -> None:
    rng = np.random.default_rng(0)
    losses, errors = rng.random(1000), rng.integers(0, 2, 1000).astype(float)
    recent = Recent(250)
    assert recent.means() is None
    for begin in range(0, 1000, cut):
        recent.add(losses[begin : begin + cut], errors[begin : begin + cut])
    events, loss, error = recent.means() or (0, 0.0, 0.0)
    assert events == 250
    assert loss == pytest.approx(losses[-250:].mean())
    assert error == errors[-250:].mean()


def test_without_a_window_there_are_no_recent_means() -> None:
    recent = Recent(0)
    recent.add(np.ones(9), np.ones(9))
    assert recent.means() is None


@pytest.mark.parametrize("seed", range(10))
def test_errors_that_rise_are_seen_within_500_events(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wrong = np.concatenate([rng.random(20_000) < 0.1, rng.random(2_000) < 0.3]).astype(float)
    found = ErrorDrift().add(wrong, np.arange(len(wrong)))
    assert [drift.attribute for drift in found] == [None]
    assert 20_000 < found[0].event <= 20_500
    assert found[0].before == pytest.approx(0.1, abs=0.02)
    assert found[0].after == pytest.approx(0.3, abs=0.1)


def test_errors_that_fall_are_no_drift() -> None:
    rng = np.random.default_rng(0)
    wrong = (rng.random(20_000) < np.repeat([0.4, 0.1], 10_000)).astype(float)
    assert ErrorDrift().add(wrong, np.arange(20_000)) == []


def presence(shares: Any, events: int, seed: int) -> Encoded:
    """Events with attributes, each observed in its share of them."""
    there = np.random.default_rng(seed).random((events, len(shares))) < shares
    there[:, 0] = True
    starts, attributes = np.concatenate([[0], there.sum(1).cumsum()]), np.nonzero(there)[1].astype(np.int32)
    bounds = (len(shares), len(shares))
    values = np.ones(len(attributes))
    return Encoded.of_arrays(starts, attributes, attributes, values, values, bounds)


@pytest.mark.parametrize("seed", range(5))
def test_an_attribute_that_goes_missing_is_seen_within_500_events(seed: int) -> None:
    watch = ObservedDrift()
    shares = np.array([1.0, 0.5, 0.9, 0.02])
    assert watch.add(presence(shares, 30_000, seed), 1) == []
    shares[2] = 0.6
    [drift] = watch.add(presence(shares, 500, seed + 50), 30_001)
    assert drift.attribute == 2
    assert drift.before == pytest.approx(0.9, abs=0.02)
    assert drift.after == pytest.approx(0.6, abs=0.2)


def test_an_attribute_in_the_place_of_another_is_not_compared_with_it() -> None:
    by, rng, watch = encoder(9, 9), np.random.default_rng(0), ObservedDrift()
    events = [{f"old{i}": 1.0 for i in range(8)}] * 2000
    # Within a few events the new names take the indices of all old ones.
    events += [{f"new{i}": 1.0 for i in range(8) if rng.random() < 0.4} for _ in range(2000)]
    for begin in range(0, 4000, 1000):
        read = Encoded()
        by.read_dicts(events[begin : begin + 1000], [True] * 1000, read)
        assert watch.add(read, begin + 1) == []


@pytest.mark.parametrize("late", [[], ["--pending", "2000"]])
@pytest.mark.parametrize("carry", ["fill", "last", "off"])
def test_what_an_entity_said_before_hides_no_sensor_that_died(
    streamkarma: Program, tmp_path: Path, carry: str, late: list[str]
) -> None:
    rng = np.random.default_rng(0)
    events: list[dict[str, Any]] = []
    for number in range(8000):
        there = rng.random(4) < [0.9, 0.9, 0.9, 0.9 if number < 5000 else 0.0]
        values = zip("abcd", there, rng.standard_normal(4).tolist(), strict=True)
        event: dict[str, Any] = {"id": number, "device": f"n{rng.integers(30)}"}
        event |= {name: value for name, is_there, value in values if is_there}
        label = {"y": int(rng.integers(2))}
        events.append(event if late else event | label)
        if late and number >= 1000:
            events.append({"id": number - 1000, **label})
    path, summary = written(tmp_path / "events", events), tmp_path / "summary"
    done = streamkarma("learn", path, "--learner", "explicit", "--entity", "device", "--carry", carry, *late,
                       "--id", "id", "--no-predictions", "--summary", str(summary))  # fmt: skip
    assert done.code == 0, done.stderr
    # Neither the filling memory nor the rates of newly seen devices are drift.
    observed = json.loads(summary.read_bytes())["drift"]["observed"]
    assert list(observed) == ["d"]
    # A late label has a row of its own.
    begin = 9000 if late else 5000
    assert begin < observed["d"][0] <= begin + 1000
    assert "drift: d was in 90% of the events and now is in " in done.stderr


def test_an_identifier_does_not_drift(streamkarma: Program) -> None:
    # Once it is known as one, encoded events lack it, though all records have it.
    given = [{"id": f"u{i}", "a": i % 7, "y": i % 2} for i in range(1_000)]
    done = streamkarma("learn", "--learner", "explicit", records=given)
    assert "attribute id: nearly every value is new" in done.stderr
    assert "drift:" not in done.stderr


@pytest.mark.parametrize("seed", range(3))
def test_there_is_no_alarm_in_100_000_events_that_stay_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert ErrorDrift().add((rng.random(100_000) < 0.2).astype(float), np.arange(100_000)) == []
    assert ObservedDrift().add(presence(np.full(20, 0.5), 100_000, seed), 1) == []


@pytest.mark.parametrize("cut", [1, BATCH - 1, 1000])
def test_how_events_are_cut_does_not_show(cut: int) -> None:
    rng = np.random.default_rng(3)
    wrong = (rng.random(4_000) < np.repeat([0.1, 0.5], 2_000)).astype(float)
    errors, found = ErrorDrift(), []
    for begin in range(0, 4_000, cut):
        found += errors.add(wrong[begin : begin + cut], np.arange(begin, min(begin + cut, 4_000)))
    assert found == ErrorDrift().add(wrong, np.arange(4_000))
    assert len(found) == 1


def test_the_window_agrees_with_that_of_river() -> None:
    """River's checks every 32 values and drops one bucket at a time; both detect a change soon."""
    from river.drift import ADWIN

    rng = np.random.default_rng(5)
    values = (rng.random(6_000) < np.repeat([0.1, 0.4, 0.1], 2_000)).astype(float)
    ours, theirs = Adwin(0.002), ADWIN(delta=0.002)
    seen: dict[str, list[int]] = {"ours": [], "theirs": []}
    for t, value in enumerate(values.tolist()):
        if ours.update(1, value, value) is not None:
            seen["ours"].append(t)
        theirs.update(value)
        if theirs.drift_detected:
            seen["theirs"].append(t)
    first = {
        name: [next(t for t in at if t >= change) for change in (2_000, 4_000)] for name, at in seen.items()
    }
    for ours_at, theirs_at in zip(first["ours"], first["theirs"], strict=True):
        assert ours_at <= theirs_at < ours_at + 200


def test_a_copy_of_a_window_goes_its_own_way() -> None:
    one = Adwin()
    one.update(500, 0.0, 0.0)
    other = copy.deepcopy(one)
    assert other.update(500, 500.0, 500.0) == one.update(500, 500.0, 500.0) == (0.0, 1.0)


def test_drift_is_said_once_and_counted(streamkarma: Program, tmp_path: Path) -> None:
    other = [{**record, "y": 1 - record["y"]} for record in lowrank(2_000, 1, observed=0.9)]
    events = written(tmp_path / "events.jsonl", lowrank(4_000, 1) + other)
    result = streamkarma(
        "learn", events, "--learner", "explicit", "--no-predictions", "--summary", "-", "--recent", "500"
    )
    summary = json.loads(result.stdout)
    said = [line for line in result.stderr.splitlines() if line.startswith("drift:")]
    assert len(said) == 2
    assert any("errors have risen" in line for line in said)
    assert "last 500 labels" in result.stderr
    [event] = summary["drift"]["errors"]
    assert 4_000 < event <= 4_500
    assert len(summary["drift"]["observed"]) == 20
    assert summary["recent"]["events"] == 500
    assert summary["recent"]["error_rate"] != summary["metrics"]["error_rate"]


def test_errors_and_attributes_may_change_at_the_same_event(streamkarma: Program, tmp_path: Path) -> None:
    # In random order: with alternating labels the previous one would tell what b no longer tells.
    labels = np.random.default_rng(4).integers(0, 2, 1_700).tolist()
    before = [{"a": 1, "b": y, "y": y} for y in labels[:1_200]]
    events = written(tmp_path / "events.jsonl", before + [{"a": 1, "y": y} for y in labels[1_200:]])
    result = streamkarma("learn", events, "--no-predictions", "--summary", "-")
    assert result.code == 0
    drift = json.loads(result.stdout)["drift"]
    assert drift["errors"] == drift["observed"]["b"]


def test_both_can_be_left_out(streamkarma: Program, tmp_path: Path) -> None:
    events = written(tmp_path / "events.jsonl", lowrank(500, 1))
    result = streamkarma("learn", events, "--no-predictions", "--summary", "-", "--recent", "0", "--no-drift")
    summary = json.loads(result.stdout)
    assert "recent" not in summary
    assert "drift" not in summary


def test_a_regression_has_recent_means_of_its_own(streamkarma: Program, tmp_path: Path) -> None:
    records = [{"a": t % 7, "y": 2.5 + t % 7} for t in range(400)]
    path = written(tmp_path / "events.jsonl", records)
    result = streamkarma("learn", path, "--no-predictions", "--summary", "-", "--report-every", "200")
    summary = json.loads(result.stdout)
    assert set(summary["recent"]) == {"events", "loss", "mae"}
    assert "last 200: loss" in result.stderr


def test_recent_means_leave_out_labels_without_a_loss() -> None:
    """Those of a class that the model does not know."""
    recent = Recent(10)
    assert recent.means() is None
    recent.add(np.array([1.0, math.nan, 3.0]), np.array([0.0, 1.0, 1.0]))
    assert recent.means() == (3, 2.0, 2 / 3)
