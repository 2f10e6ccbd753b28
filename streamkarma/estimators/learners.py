"""The classifier and the regressor of each learner, by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from inspect import signature
from typing import Any

from streamkarma.errors import UsageError, meaningless_without
from streamkarma.estimators.bins import BinsClassifier, BinsRegressor
from streamkarma.estimators.boosting import BoostingClassifier, BoostingRegressor
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.estimators.classifier import KARMAClassifier
from streamkarma.estimators.explicit import ExplicitKARMAClassifier, ExplicitKARMARegressor
from streamkarma.estimators.forest import ForestClassifier, ForestRegressor
from streamkarma.estimators.mixture import POINT_LOSSES, KARMAMixtureClassifier, KARMAMixtureRegressor
from streamkarma.estimators.neighbors import NeighborsClassifier, NeighborsRegressor
from streamkarma.estimators.regression import BaseRegressor
from streamkarma.estimators.regressor import KARMARegressor
from streamkarma.estimators.sgd import ConstantStepClassifier, ConstantStepRegressor
from streamkarma.estimators.subspace import SubspaceClassifier, SubspaceRegressor
from streamkarma.parameters.learning import LEARNING, parameters_of

Model = BaseClassifier | BaseRegressor

LEARNERS: dict[str, tuple[type[BaseClassifier], type[BaseRegressor]]] = {
    "karma": (KARMAClassifier, KARMARegressor),
    "explicit": (ExplicitKARMAClassifier, ExplicitKARMARegressor),
    "subspace": (SubspaceClassifier, SubspaceRegressor),
    "bins": (BinsClassifier, BinsRegressor),
    "sgd": (ConstantStepClassifier, ConstantStepRegressor),
    "neighbors": (NeighborsClassifier, NeighborsRegressor),
    "forest": (ForestClassifier, ForestRegressor),
    "boosting": (BoostingClassifier, BoostingRegressor),
    "auto": (KARMAMixtureClassifier, KARMAMixtureRegressor),
}

KINDS: dict[str, type[Model]] = {kind.__name__: kind for pair in LEARNERS.values() for kind in pair}


def learner_of(model: Model) -> str:
    """The name of a model's learner.

    Examples
    --------
    >>> learner_of(KARMAClassifier())
    'karma'
    """
    return next(name for name, kinds in LEARNERS.items() if type(model) in kinds)


def infer_learner(options: Mapping[str, Any]) -> str:
    """The learner to use if none is named, inferred from the given options.

    Raises
    ------
    UsageError
        If no learner has all of them.

    Examples
    --------
    >>> given = [{"scale": False}, {"loss": "absolute"}, {"rho": 1.0, "budget": 9}, {"update": "sgd"}]
    >>> [infer_learner(options) for options in given]
    ['auto', 'auto', 'karma', 'explicit']
    >>> infer_learner({"refit": "trees"}), infer_learner({"budget": 9})
    ('auto', 'karma')
    """
    given = set(options)
    if not distinguishing(options):
        return "auto"
    # If a single learner shares an option with the mixture, the single one is chosen.
    order = sorted(LEARNERS, key="auto".__eq__)
    learner = next((name for name in order if given <= parameters_of(name)), None)
    if learner is None:
        given_names = " and ".join(f"--{LEARNING[name].option}" for name in distinguishing(options))
        raise UsageError(f"no learner has {given_names}; leave one out")
    return learner


def distinguishing(options: Mapping[str, Any]) -> list[str]:
    """The given options that not all learners have.

    Examples
    --------
    >>> distinguishing({"scale": False, "rho": 1.0, "budget": 9}), distinguishing({"loss": "absolute"})
    (['rho', 'budget'], [])
    """
    common = frozenset.intersection(*map(parameters_of, LEARNERS))
    # All regression learners have one of these losses.
    common |= {"loss"} if options.get("loss") in POINT_LOSSES else set()
    return [name for name in options if name not in common]


def create(learner: str, options: Mapping[str, Any], regression: bool) -> Model:
    """Create a classifier or a regressor by the name of its learner.

    Raises
    ------
    UsageError
        If the learner does not have one of the options, or one needs another that is not given.
    """
    kind = LEARNERS[learner][regression]
    for name in options:
        declared = LEARNING.get(name)
        if regression and declared is not None and declared.classification:
            raise UsageError(f"--{name.replace('_', '-')} has no meaning in a regression; leave it out")
        if name not in signature(kind).parameters:
            raise UsageError(
                f"--{name.replace('_', '-')} has no meaning with --learner {learner}; leave one of them out"
            )
        if declared is not None and declared.needs and options.get(declared.needs) is None:
            raise meaningless_without(declared.given(options[name]), f"--{declared.needs}")
    try:
        return kind(**options)
    except UsageError as error:
        raise UsageError(_in_options(str(error))) from error


def _in_options(complaint: str) -> str:
    """An error message about parameters, with these spelled as on the command line.

    Examples
    --------
    >>> _in_options("gamma='auto' needs rho='auto'"), _in_options("max_attributes must be an integer")
    ('--gamma auto needs --rho auto', '--max-attributes must be an integer')
    """
    name, _, rest = re.sub(r"(\w+)='(\w+)'", r"--\1 \2", complaint).partition(" ")
    first = f"--{LEARNING[name].option}" if name in LEARNING and rest[:1].isalpha() else name
    return f"{first} {rest}"
