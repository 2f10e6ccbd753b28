"""How the inner loops are compiled, and where the result is kept."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

_config: Any = numba.config  # its names come into being when it reads the environment
_njit: Any = numba.njit  # the stubs do not know all of its options


def _fingerprint() -> str:
    """A digest of all that is compiled.

    numba looks only at a function's own file to tell whether its compiled form is still
    good, and these functions take constants and other functions from their neighbours: those in
    ``core``, those elsewhere that are compiled as well, and the constants of ``events``. An upgrade
    that changed one file would run old code from the cache of another.
    """
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        content = path.read_bytes()
        if path.parent.name in ("core", "events") or b"streamkarma.core.jit" in content:
            digest.update(content)
    return digest.hexdigest()[:16]


def _cache_folder() -> str:
    """NUMBA_CACHE_DIR if that is set, else the user's cache; numba finds another if it must."""
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    root = Path(_config.CACHE_DIR or Path(home, "streamkarma"))
    return str(root / _fingerprint())


_CACHE_FOLDER = _cache_folder()


def is_cold() -> bool:
    """Whether nothing was compiled yet, and the first call of each function will take its time.

    The folder says nothing: it is made when a function is defined, and the index when one is compiled.
    """
    return not any(Path(_CACHE_FOLDER).rglob("*.nbi"))


def compiled(function: Function) -> Function:
    """Compile a function when it is first called, and keep the result for the next time.

    Division by zero gives what IEEE 754 says; fastmath is off, so that sums have one value. Other
    threads may go on meanwhile.
    """
    return _kept(function)


def borrowing(function: Function) -> Function:
    """As ``compiled``, for a function that makes no array and returns none: it does not count references.

    Counting is an atomic addition for every slice, and for every array in a call of any size: with events
    of a few items it took a third of the time. numba refuses to compile what would make an array.
    """
    return _kept(function, _nrt=False)


def locked(function: Function) -> Function:
    """As ``borrowing``, and no other thread goes on meanwhile: for what looks at Python objects.

    To let the others go and to wait for them takes as long as a twentieth of an event.
    """
    return _kept(function, nogil=False, _nrt=False)


def _kept(function: Function, **options: bool) -> Function:
    before = _config.CACHE_DIR
    _config.CACHE_DIR = _CACHE_FOLDER
    try:
        return cast(Function, _njit(cache=True, error_model="numpy", **{"nogil": True, **options})(function))
    finally:
        _config.CACHE_DIR = before


def inlined(function: Function) -> Function:
    """Compile a function into each of those that call it."""
    return cast(Function, _njit(inline="always", error_model="numpy")(function))
