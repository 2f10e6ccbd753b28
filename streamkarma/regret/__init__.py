"""Running regret: how much better would offline have done on the same events?

``RegretTracker`` goes beside any river model; the command line has it as ``--regret`` and
``streamkarma regret``. Its parts are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamkarma.regret.beside import RegretTracker as RegretTracker
    from streamkarma.regret.metric import RegressionRegretMetric as RegressionRegretMetric
    from streamkarma.regret.metric import RegretMetric as RegretMetric

_HOMES = {
    "RegretTracker": "streamkarma.regret.beside",
    "RegretMetric": "streamkarma.regret.metric",
    "RegressionRegretMetric": "streamkarma.regret.metric",
}

__all__ = ["RegressionRegretMetric", "RegretMetric", "RegretTracker"]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
