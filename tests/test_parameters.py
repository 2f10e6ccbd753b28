"""The table of parameters, and what is made of it: options, ranges, and the estimators' own defaults."""

from __future__ import annotations

import math
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from streamkarma.cli import cli
from streamkarma.core.explicit import UPDATES
from streamkarma.core.loss import CLASSIFICATION, REGRESSION
from streamkarma.core.support import PRUNING
from streamkarma.core.theory import DEFAULT_REGULARITY
from streamkarma.errors import UsageError
from streamkarma.estimators.learners import LEARNERS
from streamkarma.parameters.base import PerTask
from streamkarma.parameters.kinds import Integer, Number
from streamkarma.parameters.learning import LEARNING, parameters_of
from streamkarma.parameters.running import RUNNING
from streamkarma.parameters.words import LEARNER_NAMES
from streamkarma.regret import RegretTracker
from streamkarma.regret.tracker import Tracker
from streamkarma.synthetic import StreamSpec
from streamkarma.synthetic_devices import DeviceSpec
from streamkarma.synthetic_events import EventSpec

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
    """Values just outside of a range, and some of another kind."""
    if isinstance(kind, Integer):
        assert kind.most is not None
        yield from (kind.least - 1, kind.most + 1, kind.least + 0.5, float(kind.least))
    else:
        yield from (math.nextafter(kind.least, -math.inf), math.nextafter(kind.most, math.inf), math.nan)
    yield from (True, "1", [kind.least])


#: What else has to be said for a parameter to have a meaning.
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
    assert set(UPDATES) == set(LEARNING["update"].kind)  # type: ignore[arg-type]  # this one has a tuple of choices
    assert LEARNING["pruning"].kind == PRUNING
    assert all(name in LEARNING["loss"].help for name in {**CLASSIFICATION, **REGRESSION})
    assert LEARNING["regularity"].default_text == str(DEFAULT_REGULARITY)
    assert set(LEARNERS) == set(LEARNER_NAMES)


@pytest.mark.parametrize("kind", [RegretTracker, Tracker])
def test_a_tracker_has_the_defaults_of_the_command_line(kind: Any) -> None:
    own = signature(kind).parameters
    assert own["memory"].default == RUNNING["regret_memory"].default
    assert own["seconds"].default == RUNNING["regret_seconds"].default


@pytest.mark.parametrize("spec", [StreamSpec, EventSpec, DeviceSpec])
def test_generate_has_the_defaults_of_the_plan_it_makes(spec: Any) -> None:
    options = cli.commands["generate"].make_context("generate", ["lowrank"]).params
    own = {name: parameter.default for name, parameter in signature(spec).parameters.items()}
    # What differs from kind to kind has none on the command line.
    assert all(options[name] in (None, default) for name, default in own.items())
    assert {name for name in own if options[name] is None} <= {"blocks", "drift"}


@pytest.mark.parametrize("command", ["learn", "attach", "regret"])
def test_every_parameter_of_a_learner_is_an_option(command: str) -> None:
    options = {parameter.name: parameter for parameter in cli.commands[command].params}
    names = [each.flag or each.name for each in LEARNING.values()]
    assert names == [name for name in options if name in names]
    # A model file may say what they are: that nothing was said is not that the default was.
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
