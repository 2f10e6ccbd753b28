"""γ and ρ by the theorem, for a known and for an unknown length."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma import KARMAClassifier, KARMARegressor, load, save
from streamkarma.core.loss import HINGE
from streamkarma.core.support import DoublingSupportVectors, Rule
from streamkarma.core.theory import Bound, Schedule, best_rho
from streamkarma.errors import UsageError
from streamkarma.synthetic import StreamSpec, records
from tests.conftest import Program
from tests.reference import algorithm_1, loss_and_slope, stream
from tests.test_support import block_of, same_state

RULE = Rule(2, True, 1.0, 0.0, HINGE, 0.0, 0, "merge")


def model_of(attributes: int, gamma: int | None = None, **changes: Any) -> DoublingSupportVectors:
    return DoublingSupportVectors(RULE._replace(**changes), False, Schedule(gamma, 0.3, None))


def labels_of(seed: int, events: int) -> Any:
    return np.sign(np.random.default_rng(seed).standard_normal(events))


def test_each_epoch_is_algorithm_1_with_settings_of_its_own() -> None:
    rows, labels = stream(1, 100, 4), labels_of(1, 100)
    scores, _ = model_of(4).run(block_of(rows), labels, np.ones(100))
    begin = 0
    for epoch in Schedule(None, 0.3, None).epochs(100):
        part = slice(begin, begin + epoch.events)
        expected = algorithm_1(rows[part], labels[part], epoch.gamma, True, epoch.rho, None,
                               lambda f, y: loss_and_slope(HINGE, f, y)[1])  # fmt: skip
        np.testing.assert_allclose(scores[part], expected, rtol=1e-9, atol=1e-9)
        begin = part.stop
    assert begin == 100


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.lists(st.integers(0, 70), max_size=6), st.integers(0, 9))
def test_how_events_are_cut_and_where_it_is_saved_never_shows(
    seed: int, cuts: list[int], budget: int
) -> None:
    rows, labels = stream(seed, 70, 4), labels_of(seed, 70)
    rng = np.random.default_rng(seed)
    labels[rng.random(70) < 0.2] = np.nan
    weights = (rng.random(70) < 0.8) * 0.5
    whole = model_of(4, budget=budget)
    scores, losses = whole.run(block_of(rows), labels, weights)
    found = model_of(4, budget=budget)
    for begin, end in pairwise([0, *sorted(cuts), 70]):
        part = slice(begin, end)
        again = model_of(4, budget=budget)
        again.restore(found.arrays(), 4, 4)
        found = again
        some, lost = found.run(block_of(rows[part]), labels[part], weights[part])
        assert some.tobytes() == scores[part].tobytes()
        assert lost.tobytes() == losses[part].tobytes()
    assert same_state(found, whole)
    assert whole.steps == np.sum(~np.isnan(labels) & (weights > 0))


@pytest.mark.parametrize("before", [-1, 1, 4, 8, 1 << 62])
def test_an_epoch_that_cannot_be_is_refused(before: int) -> None:
    model = model_of(4)
    model.run(block_of(stream(1, 10, 4)), labels_of(1, 10), np.ones(10))
    arrays = model.arrays()
    assert arrays["before"].tolist() == [7]
    with pytest.raises(ValueError, match="no epoch begins|larger than"):
        model_of(4).restore({**arrays, "before": np.array([before])}, 4, 4)


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 9, 100])
def test_to_go_on_as_after_so_many_steps_is_to_be_in_that_epoch(steps: int) -> None:
    one, other = model_of(2), model_of(2)
    rows = stream(2, steps + 1, 2)
    one.run(block_of(rows[:steps]), labels_of(2, steps), np.ones(steps))
    other.restart(steps)
    assert one.steps == other.steps
    assert one.arrays()["before"] == other.arrays()["before"]


def test_for_a_known_horizon_it_is_the_best_setting() -> None:
    events = list(records(StreamSpec(attributes=4, rank=2), 60))
    chosen = KARMAClassifier("auto", "auto", horizon=100, regularity=0.9, budget=None)
    gamma, rho = Schedule(None, 0.9, 100).settings(100)
    assert rho == best_rho(1.0, 1.0, gamma, 100)
    named = KARMAClassifier(gamma, rho, budget=None)
    for event in events:
        x, y = {name: value for name, value in event.items() if name != "y"}, event["y"]
        assert chosen.decision_one(x) == named.decision_one(x)
        chosen.learn_one(x, y)
        named.learn_one(x, y)

    def total(order: int) -> float:
        least = best_rho(1.0, 1.0, order, 100)
        return Bound(1.0, 1.0, least, order, 0.9, order, 1.0, 1.0, 100).total

    assert gamma == min(range(1, 9), key=total)


def test_a_doubling_model_is_saved_and_goes_on(tmp_path: Path) -> None:
    model, path = KARMARegressor(rho="auto", loss="absolute"), tmp_path / "m.karma"
    for t in range(40):
        model.learn_one({"a": t % 5}, float(t % 5))
    save(model, path)
    again = load(path)
    assert again.steps == 40
    for t in range(40):
        assert again.predict_one({"a": t % 5}) == model.predict_one({"a": t % 5})
        again.learn_one({"a": t % 5}, 1.0)
        model.learn_one({"a": t % 5}, 1.0)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"gamma": "auto"}, "gamma='auto' needs rho='auto'"),
        ({"horizon": 10}, "horizon needs rho"),
        ({"rho": "auto", "regularity": 0.5}, "regularity needs gamma='auto'"),
        ({"rho": "auto", "gamma": "auto", "regularity": 2.0}, "from 1e-12 to 1, not 2.0"),
        ({"rho": "auto", "horizon": 0}, "horizon must be"),
        ({"rho": "auto", "eta": 0.1}, "cannot be combined"),
        ({"rho": "auto", "normalize": False}, "needs normalize"),
        ({"rho": "auto", "loss": "squared_hinge"}, "bounded slope"),
        ({"rho": "automatic"}, "rho must be a number"),
        ({"gamma": "two"}, "gamma must be"),
    ],
)
def test_what_makes_no_sense_is_said(said: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        KARMAClassifier(**said)


@pytest.mark.parametrize("horizon", [[], ["--horizon", "500"]])
def test_the_regret_of_such_a_run_is_under_the_bound_shown(
    streamkarma: Program, tmp_path: Path, horizon: list[str]
) -> None:
    events = list(records(StreamSpec(attributes=4, rank=1, observed=0.9), 500, full=True))
    paper = ["--no-predictions", "--rho", "auto", "--gamma", "auto", *horizon, "--budget", "0"]
    compared = ["--regret", "zero", "--full", "full", "--no-scale"]
    done = streamkarma("learn", *paper, *compared, "--summary", "s.json", records=events)
    assert done.code == 0, done.stderr
    said = json.loads((tmp_path / "s.json").read_text())["bound"]
    assert said["epochs"] == (1 if horizon else 9)
    assert said["T"] == 500
    assert said["deviations"] == ""
    assert said["total"] == pytest.approx(
        sum(said[n] for n in ("estimation", "regularisation", "approximation"))
    )
    assert 0 < said["regret"] < said["total"]
    # Without complete vectors the computable part is shown.
    done = streamkarma("learn", *paper, "--regret", "zero", "--regret-memory", "24", "--ignore", "full",
                       "--summary", "s.json", records=events)  # fmt: skip
    assert done.code == 0
    known = json.loads((tmp_path / "s.json").read_text())["bound"]
    assert (known["gamma"], known["rho"]) == (said["gamma"], said["rho"])


def test_another_horizon_than_the_model_was_made_with_is_refused(streamkarma: Program) -> None:
    events = list(records(StreamSpec(attributes=3, rank=1), 20))
    first = ("learn", "--no-predictions", "--model", "m.karma", "--rho", "auto", "--horizon")
    assert streamkarma(*first, "500", records=events).code == 0
    again = streamkarma(*first, "600", records=events)
    assert again.code == 2
    assert "made with horizon 500, not 600" in again.stderr


def test_a_model_that_had_learned_before_is_outside_of_the_bound(
    streamkarma: Program, tmp_path: Path
) -> None:
    events = list(records(StreamSpec(attributes=3, rank=1), 300))
    begun = ("learn", "--no-predictions", "--model", "m.karma", "--rho", "0.1", "--budget", "0")
    assert streamkarma(*begun, records=events[:100]).code == 0
    done = streamkarma(*begun, "--regret", "zero", "--summary", "s.json", records=events[100:])
    assert done.code == 0
    assert (
        json.loads((tmp_path / "s.json").read_text())["bound"]["deviations"] == "the model had learned before"
    )
