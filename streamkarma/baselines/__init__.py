"""The offline methods of the papers, as scikit-learn estimators that accept NaN for missing values.

All have ``fit`` and ``predict``, classifiers also ``decision_function``; ``REGISTRY`` lists them by short
names. They are imported on first use, because importing scikit-learn is slow. ``tuning`` has the papers'
grids of C and of widths, ``masks`` their ways of removing values.

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.
[D] Dick, Haider, Scheffer: Learning from Incomplete Data with Infinite Imputations, ICML 2008.
[S] Śmieja, Struski, Tabor: Generalized RBF kernel for incomplete data, arXiv 1612.01480.
[M] Mackey: STATS 306B, lecture 16.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from streamkarma.baselines.registry import REGISTRY as REGISTRY
from streamkarma.baselines.registry import Entry as Entry
from streamkarma.baselines.registry import named as named

_MODULES = {
    name: home
    for home, names in {
        "class_mean": ("ClassMeanImputer",),
        "coding": ("EventCoder",),
        "chained": ("ChainedEquationsClassifier", "ChainedEquationsRegressor"),
        "completion": ("MC1Classifier", "MC1Regressor", "MCBClassifier", "MCBRegressor"),
        "feature_mean": ("MeanFeatImputer",),
        "genrbf": ("GenRBFClassifier",),
        "geom": ("GeometricMarginClassifier",),
        "imputed": (
            "DeletedClassifier",
            "DeletedRegressor",
            "FullDataClassifier",
            "FullDataRegressor",
            "ImputedClassifier",
            "ImputedRegressor",
        ),
        "imputers": ("GaussImputer", "MixtureImputer", "RegressionImputer"),
        "interpolation": ("InterpolationImputer",),
        "iterated_svd": ("SVDImputer",),
        "karma": ("BatchKARMAClassifier", "BatchKARMARegressor"),
        "mcar": ("MCARTest", "mcar_test"),
        "meanfeat": ("MeanFeatClassifier", "MeanFeatRegressor"),
        "neighbors": ("PairwiseNeighborsClassifier", "PairwiseNeighborsRegressor"),
        "projection": ("ProjectionClassifier", "ProjectionRegressor"),
        "trees": ("MissingValueTreesClassifier", "MissingValueTreesRegressor"),
        "wii": ("InfiniteImputationsClassifier", "InfiniteImputationsRegressor"),
    }.items()
    for name in names
}

__all__ = ["REGISTRY", "Entry", "named", *sorted(_MODULES)]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
