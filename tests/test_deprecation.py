"""Old names of public parameters and methods: they work but warn, and river sees only the new ones."""

from __future__ import annotations

from typing import Any

import pytest
from river import dummy

from streamkarma import KARMAMixtureClassifier, SubspaceClassifier, SubspaceImputer, SubspaceRegressor
from streamkarma.regret import RegretTracker


@pytest.mark.parametrize(
    ("kind", "old", "new", "value"),
    [
        (KARMAMixtureClassifier, "others", "extra_experts", [dummy.PriorClassifier()]),
        (SubspaceClassifier, "max_rank_dim", "max_pairwise_coordinates", 7),
        (SubspaceRegressor, "max_rank_dim", "max_pairwise_coordinates", 7),
        (SubspaceImputer, "max_rank_dim", "max_pairwise_coordinates", 7),
    ],
)
def test_an_old_parameter_sets_the_new_one(kind: Any, old: str, new: str, value: Any) -> None:
    with pytest.warns(DeprecationWarning, match=f"{old} is now called {new}") as caught:
        model = kind(**{old: value})
    assert caught[0].filename == __file__
    assert getattr(model, new) == value
    assert old not in model._get_params()
    assert getattr(model.clone(), old, None) is None
    with pytest.raises(TypeError, match=f"give only {new}"):
        kind(**{old: value, new: value})


def test_beside_wraps() -> None:
    tracker = RegretTracker(baselines="zero")
    with pytest.warns(DeprecationWarning, match="beside is now called wrap"):
        model = tracker.beside(dummy.PriorClassifier())
    assert tracker.metric().works_with(model)


def test_impute_one_transforms() -> None:
    imputer = SubspaceImputer()
    imputer.learn_one({"a": 1.0, "b": 2.0})
    with pytest.warns(DeprecationWarning, match="impute_one is now called transform_one"):
        assert imputer.impute_one({"a": 1.0}) == imputer.transform_one({"a": 1.0})
