"""Online learning from event streams whose events arrive incomplete.

The names below are imported on first use, so that ``streamkarma --help`` starts fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamkarma.estimators.bins import BinsClassifier as BinsClassifier
    from streamkarma.estimators.bins import BinsRegressor as BinsRegressor
    from streamkarma.estimators.boosting import BoostingClassifier as BoostingClassifier
    from streamkarma.estimators.boosting import BoostingRegressor as BoostingRegressor
    from streamkarma.estimators.classifier import KARMAClassifier as KARMAClassifier
    from streamkarma.estimators.explicit import ExplicitKARMAClassifier as ExplicitKARMAClassifier
    from streamkarma.estimators.explicit import ExplicitKARMARegressor as ExplicitKARMARegressor
    from streamkarma.estimators.forest import ForestClassifier as ForestClassifier
    from streamkarma.estimators.forest import ForestRegressor as ForestRegressor
    from streamkarma.estimators.merging import merge as merge
    from streamkarma.estimators.mixture import KARMAMixtureClassifier as KARMAMixtureClassifier
    from streamkarma.estimators.mixture import KARMAMixtureRegressor as KARMAMixtureRegressor
    from streamkarma.estimators.neighbors import NeighborsClassifier as NeighborsClassifier
    from streamkarma.estimators.neighbors import NeighborsRegressor as NeighborsRegressor
    from streamkarma.estimators.persistence import load as load
    from streamkarma.estimators.persistence import save as save
    from streamkarma.estimators.regressor import KARMARegressor as KARMARegressor
    from streamkarma.estimators.sgd import ConstantStepClassifier as ConstantStepClassifier
    from streamkarma.estimators.sgd import ConstantStepRegressor as ConstantStepRegressor
    from streamkarma.estimators.subspace import SubspaceClassifier as SubspaceClassifier
    from streamkarma.estimators.subspace import SubspaceImputer as SubspaceImputer
    from streamkarma.estimators.subspace import SubspaceRegressor as SubspaceRegressor

__version__ = "0.1.0"

_MODULES = {
    "KARMAClassifier": "streamkarma.estimators.classifier",
    "KARMARegressor": "streamkarma.estimators.regressor",
    "ExplicitKARMAClassifier": "streamkarma.estimators.explicit",
    "ExplicitKARMARegressor": "streamkarma.estimators.explicit",
    "BoostingClassifier": "streamkarma.estimators.boosting",
    "BoostingRegressor": "streamkarma.estimators.boosting",
    "ForestClassifier": "streamkarma.estimators.forest",
    "ForestRegressor": "streamkarma.estimators.forest",
    "SubspaceClassifier": "streamkarma.estimators.subspace",
    "SubspaceRegressor": "streamkarma.estimators.subspace",
    "SubspaceImputer": "streamkarma.estimators.subspace",
    "BinsClassifier": "streamkarma.estimators.bins",
    "BinsRegressor": "streamkarma.estimators.bins",
    "ConstantStepClassifier": "streamkarma.estimators.sgd",
    "ConstantStepRegressor": "streamkarma.estimators.sgd",
    "KARMAMixtureClassifier": "streamkarma.estimators.mixture",
    "KARMAMixtureRegressor": "streamkarma.estimators.mixture",
    "NeighborsClassifier": "streamkarma.estimators.neighbors",
    "NeighborsRegressor": "streamkarma.estimators.neighbors",
    "load": "streamkarma.estimators.persistence",
    "merge": "streamkarma.estimators.merging",
    "save": "streamkarma.estimators.persistence",
}

__all__ = [
    "BinsClassifier",
    "BinsRegressor",
    "BoostingClassifier",
    "BoostingRegressor",
    "ConstantStepClassifier",
    "ConstantStepRegressor",
    "ExplicitKARMAClassifier",
    "ExplicitKARMARegressor",
    "ForestClassifier",
    "ForestRegressor",
    "KARMAClassifier",
    "KARMAMixtureClassifier",
    "KARMAMixtureRegressor",
    "KARMARegressor",
    "NeighborsClassifier",
    "NeighborsRegressor",
    "SubspaceClassifier",
    "SubspaceImputer",
    "SubspaceRegressor",
    "load",
    "merge",
    "save",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
