from __future__ import annotations

from collections import Counter, defaultdict
from datetime import UTC, datetime
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest

from streamkarma.errors import UsageError
from streamkarma.synthetic import devices as generator
from streamkarma.synthetic.devices import PAUSE, REPORTED, SILENCE, DeviceSpec, device_records
from streamkarma.synthetic.labels import CHUNK

Rows = list[dict[str, Any]]


def made(events: int, full: bool = False, **changes: Any) -> Rows:
    return list(device_records(DeviceSpec(**changes), events, full))


def sensors(row: dict[str, Any]) -> dict[str, float]:
    return {name: value for name, value in row.items() if name not in ("device", "ts", "y", "full", "oracle")}


def moments(rows: Rows) -> list[float]:
    return [datetime.fromisoformat(row["ts"]).timestamp() for row in rows]


def by_device(rows: Rows) -> dict[str, Rows]:
    devices = defaultdict(list)
    for row in rows:
        devices[row["device"]].append(row)
    return devices


def test_a_message_carries_one_to_three_sensors_and_its_time() -> None:
    rows = made(4000)
    assert Counter(len(sensors(row)) for row in rows).keys() == set(range(1, REPORTED + 1))
    assert {name for row in rows for name in sensors(row)} == {f"s{i}" for i in range(10)}
    assert all(row.keys() > {"device", "ts", "y"} for row in rows)
    assert {row["y"] for row in rows} == {0, 1}
    assert all(datetime.fromisoformat(row["ts"]).tzinfo == UTC for row in rows)
    pauses = np.diff(moments(rows))
    assert pauses.min() > 0
    assert pauses.mean() == pytest.approx(PAUSE, rel=0.1)


def test_a_longer_stream_begins_with_the_shorter() -> None:
    plan = DeviceSpec(turnover=1.0, drift=1.0)
    for events in (0, 1, CHUNK, CHUNK + 1):
        assert list(device_records(plan, events)) == list(islice(device_records(plan, 1000), events))
    assert made(5, seed=1) != made(5, seed=2)


def test_what_is_asked_for_beside_changes_nothing_in_the_rest() -> None:
    plain = made(600)
    full = made(600, full=True)
    for row, more in zip(plain, full, strict=True):
        assert row == {name: value for name, value in more.items() if name not in ("full", "oracle")}
        assert more["full"].keys() == {f"s{i}" for i in range(10)}
        assert sensors(row).items() <= more["full"].items()
    noisy = made(600, noise=0.3)
    assert [sensors(row) for row in noisy] == [sensors(row) for row in plain]


def test_what_a_device_said_is_near_what_is_so_and_the_nearer_the_newer() -> None:
    rows = made(30_000, full=True, devices=30, turnover=0.0)
    deviation = {name: np.std([row["full"][name] for row in rows]) for name in rows[0]["full"]}
    misses: dict[str, list[float]] = {"new": [], "old": []}
    spread = []
    last: dict[tuple[str, str], tuple[int, float]] = {}
    for n, row in enumerate(rows):
        device = row["device"]
        for name, value in row["full"].items():
            if name not in row and (device, name) in last:
                then, before = last[device, name]
                misses["new" if n - then < 60 else "old"].append((value - before) / deviation[name])
            elif name in row and (device, name) in last:
                spread.append((value - last[device, name][1]) / deviation[name])
        last |= {(device, name): (n, value) for name, value in sensors(row).items()}
    assert np.std(misses["new"]) < np.std(misses["old"]) < 0.2
    # What is reported is what has moved.
    assert np.std(spread) > 3 * np.std(misses["old"])


def test_sensors_revert_to_the_level_of_their_device() -> None:
    rows = made(40_000, full=True, devices=20, turnover=0.0)
    values = {
        name: np.array([row["full"]["s0"] for row in of_device])
        for name, of_device in by_device(rows).items()
    }
    whole = np.concatenate(list(values.values()))
    within = np.mean([each.std() for each in values.values()]) / whole.std()
    assert 0.8 < within < 1.0
    halves = np.array([(np.mean(v[: len(v) // 2]), np.mean(v[len(v) // 2 :])) for v in values.values()])
    assert np.corrcoef(halves.T)[0, 1] > 0.4


@pytest.mark.parametrize("seed", range(3))
def test_labels_have_the_probability_that_is_told(seed: int) -> None:
    rows = made(20_000, full=True, seed=seed)
    chance = np.array([row["oracle"]["probability"] for row in rows])
    label = np.array([row["y"] for row in rows])
    error = (label - chance).mean() / np.sqrt((chance * (1 - chance)).mean() / len(rows))
    assert abs(error) < 4
    assert 0.04 < ((chance > 0.5) != label).mean() < 0.07


def test_the_weights_are_those_of_the_complete_state_and_turn_when_asked() -> None:
    def weights(rows: Rows) -> Any:
        states = [(row["full"]["s0"], row["full"]["s1"]) for row in rows]
        found = np.linalg.lstsq(np.array([(1.0, a, b, a * b) for a, b in states]), means(rows))
        return found[0], found[1][0] / len(rows)

    def means(rows: Rows) -> list[float]:
        return [row["oracle"]["mean"] for row in rows]

    still = made(4000, full=True, task="regression", drift=0.0, sensors=2)
    before, rest = weights(still[:2000])
    assert rest < 1e-5
    np.testing.assert_allclose(before, weights(still[2000:])[0], rtol=0.02)
    assert np.std(means(still)) == pytest.approx(1.0, rel=0.15)
    turned = made(4000, full=True, task="regression", drift=5.0, sensors=2)
    assert not np.allclose(weights(turned[:500])[0], weights(turned[-500:])[0], rtol=0.2)


def test_products_of_two_sensors_contribute_their_share() -> None:
    found = []
    for seed in range(4):
        rows = made(10_000, full=True, task="regression", drift=0.0, seed=seed)
        states = np.array([[1.0, *row["full"].values()] for row in rows])
        means = np.array([row["oracle"]["mean"] for row in rows])
        found.append(np.linalg.lstsq(states, means)[1][0] / ((means - means.mean()) ** 2).sum())
    assert np.mean(found) == pytest.approx(generator.PRODUCTS, rel=0.3)


def test_devices_come_and_go() -> None:
    rows = made(20_000, turnover=1.0, devices=100, gaps=0.0)
    early, late = ({row["device"] for row in part} for part in (rows[:2000], rows[-2000:]))
    # After 18,000 events, exp(-1.8) of them are left.
    assert len(early & late) / len(early) == pytest.approx(np.exp(-1.8), abs=0.12)
    # A device that has stopped does not return: at most 100 are active at any time.
    seen = [(row["device"], n) for n, row in enumerate(rows)]
    first, last = dict(reversed(seen)), dict(seen)
    for n in range(0, len(rows), 1000):
        assert sum(first[name] <= n <= last[name] for name in first) <= 100
    assert len({row["device"] for row in made(5000, turnover=0.0, devices=100, gaps=0.0)}) == 100


def longest(rows: Rows) -> float:
    """The mean over devices of the longest pause, in seconds."""
    return float(np.mean([np.diff(moments(of_device)).max() for of_device in by_device(rows).values()]))


def test_devices_are_silent_for_a_while_when_asked() -> None:
    steady, broken = (made(40_000, devices=50, turnover=0.0, gaps=gaps) for gaps in (0.0, 0.4))
    assert longest(steady) < 0.25 * SILENCE
    assert longest(broken) > SILENCE
    pauses = np.concatenate([np.diff(moments(of_device)) for of_device in by_device(broken).values()])
    silent = pauses[pauses > 0.25 * SILENCE].sum() / (50 * np.ptp(moments(broken)))
    # Somewhat less than asked for: pauses cut off by either end of the stream are not counted.
    assert 0.25 < silent < 0.45


def test_some_devices_report_more_often_than_others() -> None:
    counts = sorted(Counter(row["device"] for row in made(20_000, gaps=0.0, turnover=0.0)).values())
    assert counts[-30] > 2 * counts[30]


def test_what_is_remembered_is_worth_much(monkeypatch: pytest.MonkeyPatch) -> None:
    # If nothing moves between reports, reported values are the current ones, to the last digit.
    monkeypatch.setattr(generator, "GLIDE", 0.0)
    said: dict[str, dict[str, float]] = defaultdict(dict)
    for row in made(3000, full=True, devices=5, turnover=0.0):
        said[row["device"]] |= sensors(row)
        assert said[row["device"]].items() <= row["full"].items()


@pytest.mark.parametrize(("devices", "count"), [(1, 1), (2, 1), (3, 2)])
def test_small_streams(devices: int, count: int) -> None:
    rows = made(600, full=True, devices=devices, sensors=count, gaps=0.99, turnover=1e300, drift=1e300)
    assert all(0 < row["oracle"]["probability"] < 1 for row in rows)
    assert all(1 <= len(sensors(row)) <= count for row in rows)
    assert all(before < after for before, after in pairwise(moments(rows)))


@pytest.mark.parametrize(
    "change",
    [
        {"devices": 0},
        {"sensors": 0},
        {"gaps": -0.1},
        {"gaps": 1.0},
        {"gaps": float("nan")},
        {"turnover": -0.1},
        {"drift": float("nan")},
        {"noise": 1.1},
        {"task": "multiclass"},
        {"task": "foo"},
        {"task": 0},
        {"task": ["binary"]},
        {"seed": -1},
        {"seed": 1.5},
        {"noise": "much"},
        {"noise": 10**400},
        {"devices": True},
        {"sensors": 1.5},
    ],
)
def test_plans_that_cannot_be(change: Any) -> None:
    with pytest.raises(UsageError) as raised:
        made(1, **change)
    assert "\n" not in str(raised.value)
