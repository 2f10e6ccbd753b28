from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import numpy as np
import pytest

from streamkarma.errors import UsageError
from streamkarma.synthetic.events import (
    MISSING,
    NUMBERS,
    SHARES,
    TAGS,
    WORDS,
    EventSpec,
    event_records,
)
from streamkarma.synthetic.labels import CHUNK
from streamkarma.synthetic.population import PERIOD, Population, word_maker

Rows = list[dict[str, Any]]


def made(events: int, full: bool = False, **changes: Any) -> Rows:
    return list(event_records(EventSpec(**changes), events, full))


def without(rows: Rows, *names: str) -> Rows:
    return [{name: value for name, value in row.items() if name not in names} for row in rows]


def share(rows: Rows, name: str) -> float:
    return sum(name in row for row in rows) / len(rows)


def test_events_are_as_production_sends_them() -> None:
    rows = made(4000)
    times = [datetime.fromisoformat(row["ts"]) for row in rows]
    assert all(time.tzinfo == UTC for time in times)
    assert times == sorted(times)
    assert {row["y"] for row in rows} == {0, 1}
    texts = [row["text"].split(" ") for row in rows if "text" in row]
    assert all(len(text) == WORDS and all(word.isalpha() for word in text) for text in texts)
    tags = [row["tags"] for row in rows if "tags" in row]
    assert {len(each) for each in tags} == set(range(1, TAGS + 1))
    assert all(len(set(each)) == len(each) for each in tags)
    for name, (mean, deviation) in NUMBERS.items():
        values = [row[name] for row in rows if name in row]
        assert np.mean(values) == pytest.approx(mean, abs=0.1 * deviation)
        assert np.std(values) == pytest.approx(deviation, rel=0.1)
        assert share(rows, name) == pytest.approx(0.5, abs=0.04)
    assert share(rows, "ts") == share(rows, "y") == 1.0
    for name in ("user", "text", "tags"):
        assert share(rows, name) == pytest.approx(1.0 - MISSING, abs=0.015)


def test_a_longer_stream_begins_with_the_shorter() -> None:
    plan = EventSpec(drift=1.0, junk=2)
    for events in (0, 1, CHUNK, CHUNK + 1):
        assert list(event_records(plan, events)) == list(islice(event_records(plan, 1000), events))
    assert made(5, seed=1) != made(5, seed=2)


def test_what_is_asked_for_beside_changes_nothing_in_the_rest() -> None:
    plain = made(600, observed=1.0)
    assert without(made(600, full=True, observed=1.0), "full") == plain
    assert without(made(600, junk=2, observed=1.0), "event_id", "device", "n0", "n1") == plain
    for row, sparse in zip(plain, made(600, observed=0.3), strict=True):
        assert sparse == {name: value for name, value in row.items() if name in sparse}


def test_junk_comes_with_an_id_of_its_own_for_each_event() -> None:
    rows = made(2000, junk=3, observed=0.4)
    assert next(iter(rows[0])) == "event_id"
    assert len({row["event_id"] for row in rows}) == len(rows)
    assert share(rows, "device") == 1.0
    for name in ("n0", "n1", "n2"):
        assert share(rows, name) == pytest.approx(0.4, abs=0.05)
        noise = [(row[name], row["y"]) for row in rows if name in row]
        assert abs(np.corrcoef(np.array(noise).T)[0, 1]) < 0.12


@pytest.mark.parametrize("seed", range(3))
def test_labels_have_the_probability_that_is_told(seed: int) -> None:
    rows = made(20_000, full=True, seed=seed)
    chance = np.array([row["full"]["probability"] for row in rows])
    label = np.array([row["y"] for row in rows])
    error = (label - chance).mean() / np.sqrt((chance * (1 - chance)).mean() / len(rows))
    assert abs(error) < 4
    # The log-odds are four times a sum of variance 1.
    assert np.std(np.log(chance / (1 - chance))) == pytest.approx(4.0, rel=0.1)
    assert 0.10 < ((chance > 0.5) != label).mean() < 0.15


def test_noise_moves_the_probability() -> None:
    clean, noisy = (
        np.array([row["full"]["probability"] for row in made(500, full=True, noise=noise)])
        for noise in (0.0, 0.2)
    )
    np.testing.assert_allclose(noisy, 0.8 * clean + 0.2 * (1 - clean), atol=2e-6)


def test_a_regression_has_variance_1_and_the_noise_asked_for() -> None:
    rows = made(20_000, full=True, task="regression", noise=0.3)
    mean = np.array([row["full"]["mean"] for row in rows])
    assert np.std(mean) == pytest.approx(1.0, rel=0.1)
    assert np.std(np.array([row["y"] for row in rows]) - mean) == pytest.approx(0.3, rel=0.05)


def test_the_shares_add_up_and_are_those_of_the_parts() -> None:
    assert sum(SHARES.values()) == pytest.approx(1.0)
    # On average over seeds, the mean of f given the user has the variance of the user's share.
    found = []
    for seed in range(5):
        by_user: dict[str, list[float]] = {}
        for row in made(10_000, full=True, task="regression", users=20, seed=seed):
            by_user.setdefault(row.get("user", ""), []).append(row["full"]["mean"])
        by_user.pop("")
        weights = np.array([len(values) for values in by_user.values()])
        means = np.array([np.mean(values) for values in by_user.values()])
        found.append(np.cov(means, fweights=weights))
    assert np.mean(found) == pytest.approx(SHARES["user"], rel=0.15)


def test_the_hour_and_the_price_of_a_tag_matter() -> None:
    rows = made(40_000, full=True, task="regression", observed=1.0)
    hours = np.array([datetime.fromisoformat(row["ts"]).hour for row in rows])
    mean = np.array([row["full"]["mean"] for row in rows])
    of_hour = [mean[hours == hour].mean() for hour in range(24)]
    assert np.var(of_hour) == pytest.approx(SHARES["hour"], rel=0.35)
    # The slope in the price differs from tag to tag.
    common = [tag for tag, _ in Counter(tag for row in rows for tag in row.get("tags", ())).most_common(5)]
    slopes = [
        np.polyfit(
            *np.array([(row["price"], row["full"]["mean"]) for row in rows if tag in row.get("tags", ())]).T,
            1,
        )[0]
        for tag in common
    ]
    assert np.ptp(slopes) * NUMBERS["price"][1] > 0.1


def test_names_live_and_die() -> None:
    still = made(6000, users=200)
    assert len({row["user"] for row in still if "user" in row}) <= 200
    moving = made(20_000, users=200, drift=1.0)
    early, late = ({row["user"] for row in part if "user" in row} for part in (moving[:2000], moving[-2000:]))
    # After 18,000 events, exp(-1.8) of them are left.
    assert len(early & late) / len(early) == pytest.approx(np.exp(-1.8), abs=0.1)


def test_drift_keeps_the_law_and_replaces_as_many_as_asked() -> None:
    rng = np.random.default_rng(0)
    users = Population(1000, 2, "u{}".format, 0.5, rng)
    for _ in range(PERIOD // 100):
        users.age(100)
    names = set(users.names.tolist())
    assert len(names) == 1000
    newcomers = sum(int(name[1:]) >= 1000 for name in names)
    assert newcomers == pytest.approx(1000 * (1 - np.exp(-0.5)), abs=60)
    counts = np.bincount(users.draw(60_000))
    assert counts[0] / counts[1] == pytest.approx(2.0, rel=0.1)
    assert counts[0] / counts[9] == pytest.approx(10.0, rel=0.15)


def test_places_and_effects_move_together() -> None:
    users = Population(50, 1, "u{}".format, 200.0, np.random.default_rng(1))
    before = dict(zip(users.names.tolist(), users.effects[:, 0].tolist(), strict=True))
    for _ in range(3):
        users.age(5)
    after = dict(zip(users.names.tolist(), users.effects[:, 0].tolist(), strict=True))
    stayed = before.keys() & after.keys()
    assert stayed
    assert stayed != before.keys()
    assert all(before[name] == after[name] for name in stayed)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_small_populations(size: int) -> None:
    rows = made(300, full=True, users=size, words=size, tags=size, drift=1e300)
    assert all(0 < row["full"]["probability"] < 1 for row in rows)


def test_no_two_words_are_alike() -> None:
    word = word_maker(np.random.default_rng(3))
    made_up = [word(number) for number in range(30_000)]
    assert len(set(made_up)) == len(made_up)
    assert all(each.isalpha() and each.islower() for each in made_up)


@pytest.mark.parametrize(
    "change",
    [
        {"users": 0},
        {"words": 0},
        {"tags": -1},
        {"observed": 0.0},
        {"drift": -0.1},
        {"drift": float("nan")},
        {"junk": -1},
        {"noise": 1.1},
        {"task": "multiclass"},
        {"task": "foo"},
        {"task": 0},
        {"task": ["binary"]},
        {"seed": -1},
        {"seed": 1.5},
        {"noise": "much"},
        {"noise": 10**400},
        {"users": 2.5},
    ],
)
def test_plans_that_cannot_be(change: Any) -> None:
    with pytest.raises(UsageError) as raised:
        made(1, **change)
    assert "\n" not in str(raised.value)
