"""The window of neighbours: what it is for, what it leaves out, and what makes no difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamkarma import NeighborsClassifier, NeighborsRegressor
from streamkarma.estimators.persistence import load, save

Stream = list[tuple[dict[str, Any], bool]]


def squares(seed: int, events: int, missing: float = 0.0) -> Stream:
    """Whether a point (a, b) lies on a dark square of a board; another number and a colour are irrelevant."""
    rng = np.random.default_rng(seed)
    made = []
    for a, b, noise in rng.uniform(0.0, 3.0, (events, 3)).tolist():
        x = {"a": a, "b": b, "noise": noise, "colour": "red" if rng.random() < 0.5 else "blue"}
        seen = {name: value for name, value in x.items() if rng.random() >= missing}
        made.append((seen, (int(a) + int(b)) % 2 == 0))
    return made


def errors(model: Any, stream: Stream) -> list[bool]:
    made = []
    for x, y in stream:
        made.append(model.predict_one(x) != y)
        model.learn_one(x, y)
    return made


def test_it_finds_squares_and_follows_when_they_change() -> None:
    stream = squares(100, 3000)
    changed = [(x, not y) for x, y in squares(101, 3000)]
    wrong = errors(NeighborsClassifier(), stream + changed)
    assert np.mean(wrong[1500:3000]) < 0.15
    assert np.mean(wrong[4500:]) < 0.15
    # As fast as at the beginning: events from before the change leave the window of 1,000 at once.
    assert np.mean(wrong[3100:3500]) < np.mean(wrong[100:500]) + 0.05


def test_it_predicts_a_number_that_only_some_attributes_bend() -> None:
    rng = np.random.default_rng(102)
    model, residuals, targets = NeighborsRegressor(), [], []
    for row in rng.uniform(-1.0, 1.0, (3000, 6)):
        x, y = {f"x{i}": float(value) for i, value in enumerate(row)}, float(np.sin(3 * row[0]) + row[1] ** 2)
        residuals.append(y - model.predict_one(x))
        targets.append(y)
        model.learn_one(x, y)
    assert np.var(residuals[1500:]) < 0.05 * np.var(targets)


def test_the_window_grows_unless_its_length_is_given_or_it_is_to_forget() -> None:
    stream = squares(103, 4500)
    models = [NeighborsClassifier(), NeighborsClassifier(window=1000), NeighborsClassifier(forget=5000.0)]
    wrong = [errors(model, stream) for model in models]
    assert [model.summary()["window"] for model in models] == [4500, 1000, 1000]
    assert sum(wrong[0][3000:]) < 0.8 * sum(wrong[1][3000:])


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_the_order_of_keys_never_shows_and_a_saved_model_goes_on(tmp_path: Path, missing: float) -> None:
    one: Any = NeighborsClassifier(window=100)
    two: Any = NeighborsClassifier(window=100)
    for t, (x, y) in enumerate(squares(103, 400, missing)):
        assert one.predict_proba_one(x) == two.predict_proba_one(dict(reversed(x.items())))
        one.learn_one(x, y)
        two.learn_one(dict(reversed(x.items())), y)
        if t == 250:
            save(two, tmp_path / "model")
            two = load(tmp_path / "model")
    assert one.summary() == two.summary()


def test_wide_events_cost_no_memory() -> None:
    model = NeighborsClassifier()
    wide: dict[Any, Any] = {f"x{i}": float(i) for i in range(140)}
    for t in range(20):
        model.learn_one(wide, t % 4 > 0)
    assert model.steps == 20
    assert (model.summary()["window"], model.summary()["bytes"]) == (0, 0)
    assert model.predict_one(wide) is True


def test_a_window_of_one_event_has_no_spread(tmp_path: Path) -> None:
    model, rng = NeighborsRegressor(window=1), np.random.default_rng(0)
    for x, y in rng.normal(size=(300, 2)).tolist():
        model.learn_one({"x": x}, y)
        save(model, tmp_path / "model")
    assert load(tmp_path / "model").predict_one({"x": 0.0}) == model.predict_one({"x": 0.0})
