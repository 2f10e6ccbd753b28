"""Online learning from event streams whose events arrive incomplete.

The names below are imported when first used, so that ``streamkarma --help`` need not wait
for the compiler.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamkarma.estimators.classifier import KARMAClassifier as KARMAClassifier
    from streamkarma.estimators.regressor import KARMARegressor as KARMARegressor
    from streamkarma.estimators.store import load as load
    from streamkarma.estimators.store import save as save

__version__ = "0.1.0"

_HOMES = {
    "KARMAClassifier": "streamkarma.estimators.classifier",
    "KARMARegressor": "streamkarma.estimators.regressor",
    "load": "streamkarma.estimators.store",
    "save": "streamkarma.estimators.store",
}

__all__ = ["KARMAClassifier", "KARMARegressor", "load", "save"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
