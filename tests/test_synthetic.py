from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest

from streamkarma.errors import UsageError
from streamkarma.synthetic import CHUNK, Plan, records


def matrix(plan: Plan, events: int) -> Any:
    rows = list(records(plan, events, full=True))
    names = [f"x{i}" for i in range(plan.attributes)]
    full = np.array([[row["full"][name] for name in names] for row in rows])
    seen = np.array([[name in row for name in names] for row in rows])
    return full, seen, [row["y"] for row in rows]


@pytest.mark.parametrize("missing", ["mcar", "mar", "mnar"])
@pytest.mark.parametrize("blocks", [0, 4])
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_streams(missing: Any, blocks: int, task: Any) -> None:
    plan = Plan(12, 3, 0.5, missing, 0.0, task, 7, blocks)
    full, seen, labels = matrix(plan, 3000)
    assert np.linalg.matrix_rank(full, tol=1e-3) == 3
    assert seen.any(axis=1).all()
    assert abs(seen.mean() - 0.5) < 0.15
    if blocks:
        assert (seen.reshape(-1, 4, 3).std(axis=2) == 0).all()
    if task != "regression":
        assert set(labels) == ({0, 1} if task == "binary" else {"a", "b", "c"})
        # Noiseless labels of two classes are a linear function of the full vector.
        if task == "binary":
            weights = np.linalg.lstsq(full, np.array(labels) - 0.5, rcond=None)[0]
            assert (((full @ weights) > 0) == np.array(labels)).mean() > 0.95
    else:
        weights, *_ = np.linalg.lstsq(full, np.array(labels), rcond=None)
        assert np.abs(full @ weights - labels).max() < 1e-4
        assert np.std(labels) == pytest.approx(1.0, abs=0.1)


def test_mechanisms_do_what_they_say() -> None:
    full, seen, _ = matrix(Plan(missing="mcar"), 4000)
    assert abs(np.corrcoef(full[:, 5], seen[:, 5])[0, 1]) < 0.06
    full, seen, _ = matrix(Plan(missing="mar"), 4000)
    assert seen[:, 0].all()
    assert np.corrcoef(full[:, 0] > 0, seen[:, 5])[0, 1] > 0.5
    full, seen, labels = matrix(Plan(missing="mnar"), 4000)
    assert np.corrcoef(full[:, 5] > 0, seen[:, 5])[0, 1] > 0.2
    assert np.corrcoef(labels, seen[:, 7])[0, 1] > 0.2
    assert np.corrcoef(labels, seen[:, 8])[0, 1] < 0


def test_observed_values_are_those_of_the_full_vector() -> None:
    for row in records(Plan(), 50, full=True):
        assert all(row["full"][name] == value for name, value in row.items() if name[0] == "x")


def test_a_longer_stream_begins_with_the_shorter() -> None:
    for events in (0, 1, CHUNK, CHUNK + 1):
        assert list(records(Plan(), events)) == list(islice(records(Plan(), 1000), events))
    assert list(records(Plan(seed=1), 5)) != list(records(Plan(seed=2), 5))


def test_noise_flips_labels() -> None:
    clean = [row["y"] for row in records(Plan(), 4000)]
    noisy = [row["y"] for row in records(Plan(noise=0.2), 4000)]
    assert 0.17 < np.mean(np.array(clean) != np.array(noisy)) < 0.23


@pytest.mark.parametrize(
    "change",
    [{"rank": 0}, {"rank": 21}, {"observed": 0.0}, {"observed": 1.5}, {"noise": 2.0}, {"blocks": 30}],
)
def test_plans_that_cannot_be(change: Any) -> None:
    with pytest.raises(UsageError):
        next(records(Plan(**change), 1))


def test_everything_observed() -> None:
    assert all(len(row) == 21 for row in records(Plan(observed=1.0), 20))
