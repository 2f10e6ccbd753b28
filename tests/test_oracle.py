from __future__ import annotations

import pytest

from streamkarma.synthetic.oracle import Oracle


def test_an_oracle_of_a_regression() -> None:
    oracle = Oracle("regression", "full")
    oracle.add([{"y": 1.0, "full": {"mean": 0.0}}])
    oracle.add([{"y": 3.0, "full": {"mean": 5.0}}])
    assert str(oracle) == "oracle: mean absolute error 1.5000, RMSE 1.5811 on 2 events"


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_an_oracle_of_nothing(task: str) -> None:
    assert str(Oracle(task, "oracle")).endswith("on 0 events")
