"""Running regret: how much better would an offline method have done on the same events?

``RegretTracker`` follows any river model; on the command line, ``--regret`` and ``streamkarma regret`` do the
same. The sample sizes of [H, Thm 1] are here as well. Submodules are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamkarma.regret.metric import RegressionRegretMetric as RegressionRegretMetric
    from streamkarma.regret.metric import RegretMetric as RegretMetric
    from streamkarma.regret.river_tracker import RegretTracker as RegretTracker
    from streamkarma.regret.samples import feature_dimension as feature_dimension
    from streamkarma.regret.samples import sample_size as sample_size
    from streamkarma.regret.samples import sufficient_order as sufficient_order
    from streamkarma.regret.samples import truncation_error as truncation_error

_MODULES = {
    "RegretTracker": "streamkarma.regret.river_tracker",
    "RegretMetric": "streamkarma.regret.metric",
    "RegressionRegretMetric": "streamkarma.regret.metric",
    "feature_dimension": "streamkarma.regret.samples",
    "sample_size": "streamkarma.regret.samples",
    "sufficient_order": "streamkarma.regret.samples",
    "truncation_error": "streamkarma.regret.samples",
}

__all__ = [
    "RegressionRegretMetric",
    "RegretMetric",
    "RegretTracker",
    "feature_dimension",
    "sample_size",
    "sufficient_order",
    "truncation_error",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
