"""Running regret: how much better would offline have done on the same events?

``RegretTracker`` goes beside any river model; the command line has it as ``--regret`` and
``streamkarma regret``. Its parts are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamkarma.regret.beside import RegretMetric as RegretMetric
    from streamkarma.regret.beside import RegretTracker as RegretTracker

__all__ = ["RegretMetric", "RegretTracker"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("streamkarma.regret.beside"), name)
