"""The learners by name, and a classifier and a regressor for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import signature
from typing import Any

from streamkarma.errors import UsageError
from streamkarma.estimators.classification import CoreClassifier
from streamkarma.estimators.classifier import KARMAClassifier
from streamkarma.estimators.explicit import ExplicitKARMAClassifier, ExplicitKARMARegressor
from streamkarma.estimators.mixture import KARMAMixtureClassifier, KARMAMixtureRegressor
from streamkarma.estimators.regression import CoreRegressor
from streamkarma.estimators.regressor import KARMARegressor
from streamkarma.estimators.subspace import SubspaceClassifier, SubspaceRegressor
from streamkarma.parameters import parameters_of

Model = CoreClassifier | CoreRegressor

LEARNERS: dict[str, tuple[type[CoreClassifier], type[CoreRegressor]]] = {
    "karma": (KARMAClassifier, KARMARegressor),
    "explicit": (ExplicitKARMAClassifier, ExplicitKARMARegressor),
    "subspace": (SubspaceClassifier, SubspaceRegressor),
    "auto": (KARMAMixtureClassifier, KARMAMixtureRegressor),
}

KINDS: dict[str, type[Model]] = {kind.__name__: kind for pair in LEARNERS.values() for kind in pair}


def learner_of(model: Model) -> str:
    """The name of the learner that a model is of.

    Examples
    --------
    >>> learner_of(KARMAClassifier())
    'karma'
    """
    return next(name for name, kinds in LEARNERS.items() if type(model) in kinds)


def chosen(options: Iterable[str]) -> str:
    """The learner that a user who names none means, by the options that were given.

    Examples
    --------
    >>> chosen(["scale"]), chosen(["rho", "budget"]), chosen(["update"]), chosen(["indicators"])
    ('auto', 'karma', 'explicit', 'subspace')
    """
    given = set(options)
    if given <= frozenset.intersection(*map(parameters_of, LEARNERS)):
        return "auto"
    return next((name for name in LEARNERS if name != "auto" and given <= parameters_of(name)), "karma")


def made(learner: str, options: Mapping[str, Any], regression: bool) -> Model:
    """A classifier or a regressor by the name of its learner.

    Raises
    ------
    UsageError
        For an option that this learner does not have.
    """
    kind = LEARNERS[learner][regression]
    for name in options:
        if name not in signature(kind).parameters:
            raise UsageError(f"--{name.replace('_', '-')} has no meaning with --learner {learner}")
    return kind(**options)
