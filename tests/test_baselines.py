"""Every baseline behaves as scikit-learn and its users expect, also on bad input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.utils.estimator_checks import check_estimator

from streamkarma import baselines
from streamkarma.baselines import REGISTRY, EventCoder, named
from streamkarma.errors import RecordError

#: Settings that keep scikit-learn's checks quick; they are about behaviour, not quality.
QUICK: dict[str, dict[str, Any]] = {
    "BatchKARMA": {"gamma": 2, "C": 1.0},
    "ChainedEquations": {"imputations": 2, "max_iter": 1, "C": 1.0},
    "Deleted": {"C": 1.0},
    "FullData": {"C": 1.0},
    "GenRBF": {"C": 1.0, "width": 0.5},
    "GeometricMargin": {"C": 1.0},
    "Imputed": {"C": 1.0},
    "InfiniteImputations": {"C": 1.0, "width": 0.5, "max_iter": 10},
    # With fewer steps, the regressions are not yet good enough for scikit-learn's check.
    "MC1": {"weight": 1.0, "mu": 1e-3, "max_iter": 50},
    "MCB": {"weight": 1.0, "mu": 1e-3, "max_iter": 50},
    "MeanFeat": {"C": 1.0, "width": 0.5},
    "MissingValueTrees": {"trees": 10},
    "Projection": {"C": 1.0},
}
ESTIMATORS = sorted(
    name for name in baselines.__all__ if name.endswith(("Classifier", "Regressor", "Imputer"))
)
TRANSDUCTIVE = {
    "check_methods_subset_invariance": "transductive: rows are completed together with what they come with"
}


#: Baselines where a weight of 2 is not the same as the row twice, and why.
UNEQUAL = {
    "BatchKARMAClassifier": "liblinear stops near the minimum only",
    "ChainedEquations": "the imputations are drawn with all rows alike",
    "GenRBF": "the density is fitted to all rows alike",
    "MissingValueTrees": "a bootstrap sample is drawn from all rows alike",
    "PairwiseNeighbors": "a neighbour with more votes is one neighbour",
    "Projection": "the subspace is fitted to all rows alike",
}


def made(name: str) -> Any:
    stem = name.removesuffix("Classifier").removesuffix("Regressor")
    return getattr(baselines, name)(**QUICK.get(stem, {}))


def expected(estimator: Any) -> dict[str, str]:
    name = type(estimator).__name__
    if name.startswith(("MC1", "MCB")):
        return TRANSDUCTIVE
    reasons = [why for stem, why in UNEQUAL.items() if name.startswith(stem)]
    return {"check_sample_weight_equivalence_on_dense_data": reasons[0]} if reasons else {}


@pytest.mark.filterwarnings("ignore")  # the checks provoke warnings on purpose
@pytest.mark.parametrize("name", ESTIMATORS)
def test_scikit_learns_checks(name: str) -> None:
    estimator = made(name)
    found = check_estimator(estimator, expected_failed_checks=expected(estimator), on_skip=None, on_fail=None)
    failed = [(check["check_name"], check["exception"]) for check in found if check["status"] == "failed"]
    assert not failed
    # Checks with arrays of libraries other than NumPy must be switched on, and are left out.
    assert {check["check_name"] for check in found if check["status"] == "skipped"} <= {
        "check_array_api_input"
    }


def table(n: int = 60, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows near a line, a third of the values missing, and their positions along it."""
    rng = np.random.default_rng(seed)
    along = rng.standard_normal(n)
    X = along[:, None] * np.array([1.0, -1.0, 0.5, 2.0])[:d] + 0.1 * rng.standard_normal((n, d))
    X[rng.random((n, d)) < 1 / 3] = np.nan
    X[: n // 4] = np.where(np.isnan(X[: n // 4]), 0.1, X[: n // 4])
    return X, along


def cheap(name: str, task: str) -> Any:
    """A baseline by its registered name, with quick settings; None if it is not for this task."""
    entry = REGISTRY[name]
    if task not in entry.tasks:
        return None
    return entry.make(task, **QUICK.get(entry.stem, {}))


@pytest.mark.parametrize("name", [name for name, entry in REGISTRY.items() if not entry.oracle])
class TestEveryBaseline:
    def test_every_task_it_claims_is_learned(self, name: str) -> None:
        X, along = table()
        X[:, 0] = np.where(np.isnan(X[:, 0]), along, X[:, 0])  # one complete column, for deletion
        signs, levels = along > 0, np.digitize(along, [-0.5, 0.5])
        for task, y, least in (
            ("binary", signs, 0.8),
            ("multiclass", levels, 0.55),
            ("regression", along, 0.5),
        ):
            model = cheap(name, task)
            if model is not None:
                assert model.fit(X, y).score(X, y) >= least, task
                if task == "multiclass":
                    assert model.decision_function(X).shape == (len(X), 3)

    def test_fitting_again_gives_the_same_and_a_clone_knows_nothing(self, name: str) -> None:
        X, along = table()
        X[:, 0] = np.where(np.isnan(X[:, 0]), along, X[:, 0])
        model = cheap(name, "binary")
        first = model.fit(X, along > 0).decision_function(X)
        assert np.array_equal(clone(model).fit(X, along > 0).decision_function(X), first)
        assert not hasattr(clone(model), "classes_")

    def test_rows_and_columns_without_any_value_and_constant_ones(self, name: str) -> None:
        X, along = table()
        X[:, 1] = np.nan
        X[:, 2] = 7.0
        X[5] = np.nan
        for task in ("binary", "regression"):
            model = cheap(name, task)
            if model is None:
                continue
            y = along > 0 if task == "binary" else along
            if name in ("complete-case", "feature-deletion"):
                with pytest.raises(ValueError, match="is complete"):
                    model.fit(X, y)
                continue
            answers = model.fit(X, y).predict(np.vstack([X, np.full((1, 4), np.nan)]))
            assert len(answers) == 61
            assert np.isfinite(np.asarray(answers, dtype=float)).all()

    def test_the_units_of_the_columns_do_not_matter(self, name: str) -> None:
        X, along = table()
        X[:, 0] = np.where(np.isnan(X[:, 0]), along, X[:, 0])
        own = cheap(name, "binary").fit(X, along > 0).decision_function(X)
        # It takes the table as it is, whose squares may be no numbers.
        extreme = [] if name == "svd" else [2.0**-600, 2.0**600]
        for unit in [2.0**-50, *extreme]:
            others = cheap(name, "binary").fit(X * unit, along > 0).decision_function(X * unit)
            assert others == pytest.approx(own, rel=1e-3, abs=1e-3), unit

    def test_one_class_only_is_always_the_answer(self, name: str) -> None:
        X, _ = table()
        model = cheap(name, "binary").fit(X, np.full(len(X), "yes"))
        assert set(model.predict(X)) == {"yes"}
        assert np.array_equal(model.decision_function(X), np.zeros(len(X)))

    def test_few_rows_many_columns(self, name: str) -> None:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((6, 15))
        y = np.array([0, 1, 0, 1, 0, 1])
        X[:, 0] = y * 2.0 - 1.0
        X[2:, 5:9] = np.nan
        model = cheap(name, "binary").fit(X, y)
        assert model.predict(X).shape == (6,)

    def test_a_single_row(self, name: str) -> None:
        row = np.array([[1.0, 2.0]])
        assert cheap(name, "binary").fit(row, ["a"]).predict(row).tolist() == ["a"]
        model = cheap(name, "regression")
        if model is not None:
            if "intercept" in model.get_params():
                model.set_params(intercept=True)  # without it the prediction is drawn towards 0
            assert model.fit(row, [3.0]).predict(row) == pytest.approx([3.0])

    def test_infinite_values_are_refused_in_one_line(self, name: str) -> None:
        X, along = table()
        X[3, 2] = np.inf
        with pytest.raises(ValueError, match="infinity") as caught:
            cheap(name, "binary").fit(X, along > 0)
        assert "\n" not in str(caught.value).strip()


def test_the_oracle_refuses_what_is_incomplete() -> None:
    X, along = table()
    with pytest.raises(ValueError, match="NaN"):
        named("full").make("binary").fit(X, along > 0)
    whole = np.column_stack([along, -along])
    assert named("full").make("binary").fit(whole, along > 0).score(whole, along > 0) > 0.97
    assert named("full").make("regression").fit(whole, along).score(whole, along) > 0.99


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("mean", {"imputer": "mode"}, "imputer must be one of zero, mean"),
        ("mean", {"machine": "forest"}, "machine must be one of"),
        ("mean", {"C": -1.0}, "C must be a number above 0"),
        ("complete-case", {"drop": "cells"}, "drop must be 'rows' or 'columns'"),
        ("karma-batch", {"gamma": 0}, "gamma must be an integer of 1 or more"),
        ("karma-batch", {"attributes": [0, 1]}, "attributes must have one entry for each of the 4 columns"),
        ("projection", {"subspace": [[1.0]]}, "subspace has one row for each of the 4 columns"),
        ("projection", {"regularity": -0.1}, "regularity must be between 0 and 1"),
        ("geom", {"iterations": 0}, "iterations must be 1 or more"),
        ("mcb", {"mu": 0.0}, "mu must be a number above 0"),
        ("wii-gauss", {"prior": "median"}, "prior must be one of mean"),
        ("wii-gauss", {"gamma": -1.0}, "gamma must be a number of 0 or more"),
        ("genrbf", {"width": 0.0}, "width must be a number above 0"),
        ("mice", {"imputations": 0}, "imputations must be 1 or more"),
        ("knn", {"neighbors": 0}, "neighbors must be 1 or more"),
        ("svd", {"imputer": baselines.SVDImputer(rank=9)}, "rank must be from 1 to the 4 columns"),
    ],
)
def test_wrong_settings_are_named(name: str, settings: dict[str, Any], message: str) -> None:
    X, along = table()
    with pytest.raises(ValueError, match=message):
        named(name).make("binary", **settings).fit(X, along > 0)


def test_a_machine_for_classes_is_none_for_numbers() -> None:
    X, along = table()
    with pytest.raises(ValueError, match=r"ridge, rbf-ridge \(for numbers\), not 'svm'"):
        named("mean").make("regression", machine="svm").fit(X, along)
    with pytest.raises(ValueError, match=r"for classes\), not 'ridge'"):
        named("mice").make("binary", machine="ridge").fit(X, along > 0)


def test_the_registry_knows_what_is_there_and_says_what_is_not() -> None:
    with pytest.raises(ValueError, match=r"no baseline is called 'nought'; there are zero, mean"):
        named("nought")
    with pytest.raises(ValueError, match="geom is for binary, multiclass, not for regression"):
        named("geom").make("regression")
    for entry in REGISTRY.values():
        for task in entry.tasks:
            assert is_classifier(entry.make(task)) == (task != "regression")
    assert {name for name, entry in REGISTRY.items() if entry.transductive} == {"mc1", "mcb"}


def test_the_names_come_without_scikit_learn() -> None:
    code = (
        "import sys, streamkarma.baselines as b; b.named('mean');"
        "assert not {'sklearn', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_long_fit_says_where_it_is_on_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamkarma.baselines.progress.PAUSE", 0.0)
    X, along = table()
    for name, text in (
        ("mcb", "MCBClassifier: mu"),
        ("wii-mean", "completions"),
        ("genrbf", "1 of 2 kernels computed, about "),
        ("mice", "of 5 imputations done"),
        ("geom", "of 5 machines trained"),
        ("karma-batch", "of 60 settings tried, about "),
        ("zero", "of 15 settings tried, about "),
    ):
        named(name).make("binary", verbose=True).fit(X[:24], along[:24] > 0)
        said = capsys.readouterr()
        assert said.out == ""
        assert text in said.err


class TestEventCoder:
    def test_unseen_categories_and_names(self) -> None:
        coder = EventCoder().fit([{"wind": "N", "t": 1, "ok": True}, {"wind": "S", "gps": {"lat": 2.0}}])
        rows = coder.transform([{"wind": "W"}, {"wind": None, "new": 5.0, "ok": False}, {}])
        named_rows = [dict(zip(coder.names_, row, strict=True)) for row in rows]
        assert named_rows[0][("wind", "N")] == named_rows[0][("wind", "S")] == 0.0
        assert named_rows[1][("ok", None)] == 0.0
        assert np.isnan(rows[1]).sum() == 4
        assert np.isnan(rows[2]).all()

    def test_attributes_count_once_in_karmas_kernel(self) -> None:
        events = [{"a": "x", "b": 1.0}, {"a": "y", "b": -1.0}, {"a": "x"}, {"b": -2.0}]
        coder = EventCoder().fit(events)
        X = coder.transform(events)
        model = baselines.BatchKARMAClassifier(gamma=2, C=1.0, normalize=False, bias=False, scale=False,
                                               attributes=coder.attributes_).fit(X, [1, 0, 1, 0])  # fmt: skip
        values, observed = model._described(X)
        assert observed.tolist() == [[1, 1], [1, 1], [1, 0], [0, 1]]
        assert (observed @ observed.T)[0].tolist() == [2, 2, 1, 1]
        assert values.shape == (4, 3)

    def test_what_is_no_event(self) -> None:
        with pytest.raises(RecordError, match="infinite"):
            EventCoder().fit([{"a": float("inf")}])
        with pytest.raises(ValueError, match="no event has an attribute"):
            EventCoder().fit([{}, {"a": None}])


def test_the_documentation_lists_every_baseline_as_it_is() -> None:
    text = (Path(__file__).parents[1] / "docs" / "offline-methods.md").read_text()
    letters = (("b", "binary"), ("m", "multiclass"), ("r", "regression"))
    for entry in REGISTRY.values():
        tasks = "".join(letter for letter, task in letters if task in entry.tasks)
        row = [line for line in text.splitlines() if line.startswith(f"| `{entry.name}` |")]
        assert len(row) == 1, entry.name
        assert row[0].endswith(f"| {entry.source} | {tasks} | {entry.cost} |")
        assert ("(transductive)" in row[0]) == entry.transductive


def test_a_setting_that_is_given_stands_with_few_rows_as_well() -> None:
    X, along = table(n=12)
    assert baselines.BatchKARMAClassifier(C=7.0).fit(X, along > 0).C_ == 7.0
    assert baselines.BatchKARMAClassifier(gamma=3).fit(X, along > 0).gamma_ == 3
    assert baselines.GenRBFClassifier(C=7.0).fit(X, along > 0).C_ == 7.0
    assert baselines.ProjectionClassifier(C=7.0).fit(X, along > 0).C_ == 7.0
