"""Long randomised tests, one module each.

A module has four constants and a function:

``TRIES``, ``PROMISE``
    What one try does, and what must hold in each; both appear in ``docs/robustness.md``.
``SHORT``, ``LONG``
    The number of tries in the test suite, and in ``python -m tests.campaigns``.
``run(tries, seed, folder)``
    Makes this many tries in an empty folder; raises AssertionError at the first that fails, with
    what is needed to repeat it.
"""

from __future__ import annotations

import pkgutil
import random
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType


def campaigns() -> dict[str, ModuleType]:
    """All modules of this folder, by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {name: import_module(f"{__name__}.{name}") for name in names if not name.startswith("_")}


def row_of(name: str, module: ModuleType) -> str:
    """The campaign's row in the table of ``docs/robustness.md``."""
    return f"| `{name}` | {module.TRIES} | {module.PROMISE} | {module.SHORT:,} | {module.LONG:,} |"


def repeat(attempt: Callable[[random.Random, Path], None], tries: int, seed: int, folder: Path) -> None:
    """Make independent tries: try ``i`` has the seed ``seed + i``.

    Parameters
    ----------
    attempt
        Makes one try, in an empty folder; raises anything if it fails.
    tries, seed, folder
        As given to ``run``.

    Raises
    ------
    AssertionError
        At the first try that fails, with the seed that repeats it.
    """
    for own_seed in range(seed, seed + tries):
        own_folder = folder / str(own_seed)
        own_folder.mkdir()
        try:
            attempt(random.Random(own_seed), own_folder)
        except Exception as error:
            raise AssertionError(f"{error!r}; repeat it with --tries 1 --seed {own_seed}") from error
