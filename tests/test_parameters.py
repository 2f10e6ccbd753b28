"""The table of parameters, and what is derived from it: options, ranges, and the estimators' defaults."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from fractions import Fraction
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click
import numpy as np
import pandas as pd
import pytest
from river.linear_model import LogisticRegression

from streamkarma import KARMAClassifier, SubspaceImputer, merge
from streamkarma.cli import cli
from streamkarma.core.explicit import UPDATES
from streamkarma.core.loss import CLASSIFICATION, REGRESSION
from streamkarma.core.support import PRUNING
from streamkarma.core.theory import DEFAULT_REGULARITY
from streamkarma.errors import RecordError, UsageError
from streamkarma.estimators.learners import LEARNERS
from streamkarma.estimators.persistence import from_bytes, to_bytes
from streamkarma.parameters.base import PerTask
from streamkarma.parameters.kinds import Integer, Number
from streamkarma.parameters.learning import LEARNING, parameters_of
from streamkarma.parameters.running import RUNNING
from streamkarma.parameters.words import LEARNER_NAMES
from streamkarma.regret import RegretTracker
from streamkarma.regret.tracker import Tracker
from streamkarma.synthetic import StreamSpec
from streamkarma.synthetic.devices import DeviceSpec
from streamkarma.synthetic.events import EventSpec

#: Parameters of estimators that are no options of the command line.
ONLY_IN_PYTHON = {"average", "max_classes", "extra_experts", "max_pairwise_coordinates", "rank", "shrink"}

every_estimator = pytest.mark.parametrize(
    ("learner", "regression"), [(name, kind) for name in LEARNER_NAMES for kind in (False, True)]
)


@every_estimator
def test_an_estimator_has_the_declared_parameters_and_defaults(learner: str, regression: bool) -> None:
    own = {
        name: parameter.default
        for name, parameter in signature(LEARNERS[learner][regression]).parameters.items()
        if name not in ONLY_IN_PYTHON
    }
    declared = {
        name: LEARNING[name].defaults[learner]
        for name in parameters_of(learner)
        if not (regression and LEARNING[name].classification)
    }
    assert own == {
        name: default[regression] if isinstance(default, PerTask) else default
        for name, default in declared.items()
        if not (isinstance(default, PerTask) and default[regression] is None)
    }


def beyond(kind: Integer | Number) -> Iterator[Any]:
    """Values just outside a range, and some of other types."""
    if isinstance(kind, Integer):
        assert kind.most is not None
        yield from (kind.least - 1, kind.most + 1, kind.least + 0.5, float(kind.least))
    else:
        yield from (math.nextafter(kind.least, -math.inf), math.nextafter(kind.most, math.inf), math.nan)
    yield from (True, "1", [kind.least])


#: Other parameters that have to be given for a parameter to have a meaning.
BESIDE: dict[tuple[str, str], dict[str, Any]] = {
    ("karma", "horizon"): {"rho": "auto"},
    ("karma", "regularity"): {"rho": "auto", "gamma": "auto"},
    ("explicit", "rho"): {"update": "sgd"},
    ("explicit", "eta"): {"update": "sgd"},
    **{(learner, "carry_for"): {"entity": "device"} for learner in LEARNER_NAMES},
}


@every_estimator
def test_an_estimator_takes_the_declared_range_and_nothing_beyond(learner: str, regression: bool) -> None:
    kind_of = LEARNERS[learner][regression]
    for name in parameters_of(learner):
        kind, beside = LEARNING[name].kind, BESIDE.get((learner, name), {})
        if not isinstance(kind, Integer | Number):
            continue
        if learner == "karma" and regression:
            beside = {**beside, "loss": "absolute"}
        for value in beyond(kind):
            with pytest.raises(UsageError, match=name):
                kind_of(**beside, **{name: value})
        assert getattr(kind_of(**beside, **{name: kind.least}), name) == kind.least


#: The same parameters in several forms, the plain one first.
FORMS: dict[str, list[Any]] = {
    "na": [
        ["-", "none"],
        ("-", "none"),
        {"none", "-"},
        frozenset({"none", "-"}),
        {"-": 1, "none": 2}.keys(),
        pd.Series(["-", "none"]),
    ],
    "kinds": [{"user": "category"}, MappingProxyType({"user": "category"})],
    "sentinel": [{"a": [-1.0]}, MappingProxyType({"a": (-1,)}), {"a": -1}, {"a": np.array([-1])}],
    "forget": [100.5, np.float32(100.5), np.float64(100.5), Fraction(201, 2)],
    "max_attributes": [50, np.int64(50)],
    "coverage": [0.5, np.float32(0.5), Fraction(1, 2)],
    "class_weight": [{"true": 10.0}, {True: 10}, MappingProxyType({np.bool_(True): np.float32(10)})],
    "threshold": [0.25, np.float32(0.25), Fraction(1, 4)],
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("learner", LEARNER_NAMES)
def test_the_form_of_a_parameter_does_not_show(learner: str, name: str) -> None:
    models = [LEARNERS[learner][0](**{name: form}) for form in FORMS[name]]
    for model in models:
        for t in range(20):
            model.learn_one({"a": t % 3 - 1.0, "user": t % 5, "b": 0.1 * t}, t % 3 > 1)
    for form, model in zip(FORMS[name], models, strict=True):
        assert type(getattr(model, name)) is type(FORMS[name][0])
        assert model.predict_proba_one({"a": 1.0}) == models[0].predict_proba_one({"a": 1.0})
        again = model.clone()
        assert getattr(again, name) == getattr(models[0], name) == FORMS[name][0]
        assert getattr(type(model)(**{name: form}), name) == FORMS[name][0]
        # A copy loaded from a file has the same parameters, and behaves the same.
        loaded, _, _ = from_bytes(to_bytes(model), "it")
        assert merge([model, loaded]).steps == 2 * model.steps
        assert loaded.predict_proba_one({"a": 1.0}) == model.predict_proba_one({"a": 1.0})


def test_what_a_user_passed_stays_as_it_is() -> None:
    given = {"sentinel": {"a": -1}, "class_weight": {True: 10}, "kinds": {"b": "category"}, "na": {"-"}}
    before = copy.deepcopy(given)
    model = KARMAClassifier(**given)
    model.kinds["c"] = "category"
    assert given == before


@pytest.mark.parametrize("half_life", [np.float32(100), np.float64(100), Fraction(100)])
def test_the_imputer_forgets_by_any_number(half_life: Any) -> None:
    imputers = [SubspaceImputer(forget=100), SubspaceImputer(forget=half_life)]
    for imputer in imputers:
        for t in range(300):
            imputer.learn_one({"a": t % 7, "b": 2.0 * (t % 7) + (t > 200)})
    assert imputers[0].transform_one({"a": 3}) == imputers[1].transform_one({"a": 3})


def test_a_class_has_one_weight() -> None:
    with pytest.raises(UsageError, match="^class_weight names the class '1' twice; give it one weight$"):
        KARMAClassifier(class_weight={1: 2, "1": 3})


#: Values that hardly any parameter of a learner accepts.
WRONG: dict[str, Any] = {
    "large": 10**400,
    "larger": -(10**5000),
    "fraction": Fraction(10**400),
    "list": ["squared"],
    "empty": {},
    "dict": {"a": 10**400},
    "array": np.array([1.0, 2.0]),
    "rows": np.array([["auto"], ["merge"]]),
    "model": LogisticRegression(),
    "object": object(),
}
#: Exceptions: any words for ``na``, and empty mappings of names.
ALLOWED = {
    "na": {"list", "empty", "dict"},
    "sentinel": {"empty"},
    "kinds": {"empty"},
    "class_weight": {"empty"},
}


@every_estimator
def test_what_is_no_parameter_at_all_is_refused_in_one_line(learner: str, regression: bool) -> None:
    kind_of = LEARNERS[learner][regression]
    loss = {"loss": "absolute"} if learner == "karma" and regression else {}
    for name in signature(kind_of).parameters:
        for what in WRONG.keys() - ALLOWED.get(name, set()):
            given = {**loss, **BESIDE.get((learner, name), {}), name: WRONG[what]}
            with pytest.raises(UsageError, match="^[^\n]{10,250}$"):
                kind_of(**given)


def test_a_tracker_takes_a_list_of_names_and_says_what_it_does_not_take() -> None:
    assert RegretTracker(baselines=["mean", " trees "]).baselines == ["mean", "trees"]
    assert RegretTracker(baselines="mean, zero").baselines == ["mean", "zero"]
    for wrong in ("meen", ["mean", "tree"], [], "", [3], None, 10**400, {}):
        with pytest.raises(UsageError, match="^baselines [^\n]*there are all, fast, none, "):
            RegretTracker(baselines=wrong)
    for name in ("task", "loss", "memory", "seconds", "seed", "scale"):
        with pytest.raises(UsageError, match=f"^{name} [^\n]{{0,200}}$"):
            RegretTracker(**{name: -(10**400)})


@pytest.mark.parametrize("weight", [-(10**400), LogisticRegression(), ["heavy"] * 100])
def test_a_weight_that_is_none_is_refused_in_one_line(weight: Any) -> None:
    with pytest.raises(RecordError, match="^the weight must be [^\n]{10,120}$"):
        KARMAClassifier().learn_one({"a": 1.0}, True, weight)


def test_a_range_takes_the_integers_of_numpy() -> None:
    assert Integer(1, 8).holds(np.int32(8))
    assert not Integer(1, 8).holds(np.int64(9))
    assert not Integer(1, 8).holds(np.bool_(True))


def test_a_range_takes_the_numbers_of_numpy() -> None:
    for number in (np.float32(0.5), np.float64(0.5), np.int64(1)):
        assert Number(0.0, 1.0).holds(number)
    for other in (np.float32(1.5), np.float32("nan"), np.bool_(True), np.str_("0.5"), 0.5j):
        assert not Number(0.0, 1.0).holds(other)


def test_words_and_constants_are_those_of_the_core() -> None:
    assert set(UPDATES) == set(LEARNING["update"].kind)
    assert LEARNING["pruning"].kind == PRUNING
    assert all(name in LEARNING["loss"].help for name in {**CLASSIFICATION, **REGRESSION})
    assert LEARNING["regularity"].default_text == str(DEFAULT_REGULARITY)
    assert set(LEARNERS) == set(LEARNER_NAMES)


@pytest.mark.parametrize("learner", LEARNER_NAMES)
def test_both_kinds_of_a_learner_have_their_parameters_in_the_same_order(learner: str) -> None:
    classifier, regressor = (list(signature(kind).parameters) for kind in LEARNERS[learner])
    assert [name for name in classifier if name in regressor] == [
        name for name in regressor if name in classifier
    ]


@pytest.mark.parametrize("kind", [RegretTracker, Tracker])
def test_a_tracker_has_the_defaults_of_the_command_line(kind: Any) -> None:
    own = signature(kind).parameters
    assert own["memory"].default == RUNNING["regret_memory"].default
    assert own["seconds"].default == RUNNING["regret_seconds"].default


@pytest.mark.parametrize("spec", [StreamSpec, EventSpec, DeviceSpec])
def test_generate_has_the_defaults_of_the_plan_it_makes(spec: Any) -> None:
    options = cli.commands["generate"].make_context("generate", ["lowrank"]).params
    own = {name: parameter.default for name, parameter in signature(spec).parameters.items()}
    # Defaults that differ between kinds are None on the command line.
    assert all(options[name] in (None, default) for name, default in own.items())
    assert {name for name in own if options[name] is None} <= {"blocks", "drift"}


@pytest.mark.parametrize("command", ["learn", "attach", "regret"])
def test_every_parameter_of_a_learner_is_an_option(command: str) -> None:
    options = {parameter.name: parameter for parameter in cli.commands[command].params}
    names = [each.flag or each.name for each in LEARNING.values()]
    assert names == [name for name in options if name in names]
    # A model file may hold their values: an option that is not given is not the same as its default.
    assert all(options[name].default is None for name in names)


def parsed(tmp_path: Path, way: str, name: str, value: Any, patch: pytest.MonkeyPatch) -> Any:
    """An option of learn, given on the command line, in the environment or in a config file."""
    arguments = []
    if way == "arguments":
        arguments = [f"--{name.replace('_', '-')}={value}"]
    elif way == "environment":
        patch.setenv(f"STREAMKARMA_LEARN_{name.upper()}", str(value))
    else:
        (tmp_path / "c.toml").write_text(f"[learn]\n{name.replace('_', '-')} = {value!r}\n")
        arguments = ["--config", str(tmp_path / "c.toml")]
    with cli.commands["learn"].make_context(
        "learn", arguments, auto_envvar_prefix="STREAMKARMA_LEARN"
    ) as context:
        return context.params[name]


@pytest.mark.parametrize("way", ["arguments", "environment", "config"])
@pytest.mark.parametrize("name", [n for n, p in LEARNING.items() if isinstance(p.kind, Integer | Number)])
def test_an_option_takes_the_declared_range_wherever_it_is_given(
    tmp_path: Path, way: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = LEARNING[name].kind
    assert isinstance(kind, Integer | Number)
    for value in (kind.least, kind.most):
        assert parsed(tmp_path, way, name, value, monkeypatch) == value
    below = -1 if LEARNING[name].or_none else kind.least / 2 if isinstance(kind, Number) else kind.least - 1
    for value in (below, kind.most * 2):
        with pytest.raises(click.BadParameter, match="not in the range"):
            parsed(tmp_path, way, name, value, monkeypatch)
