"""The package without what Windows lacks, and with files that behave as on Windows.

Run by ``test_system`` in a separate process. Only the package itself behaves as on Windows; libraries are
imported before.
"""

from __future__ import annotations

import fcntl as posix
import importlib
import os
import pkgutil
import sys
import types
from pathlib import Path
from typing import Any

import click.testing  # noqa: F401  # imported while POSIX is there
import kafka.consumer.group  # noqa: F401  # imported while POSIX is there
import matplotlib.pyplot  # noqa: F401  # imported while POSIX is there
import numpy.testing  # noqa: F401  # imported while POSIX is there
import river.base  # noqa: F401  # imported while POSIX is there
import scipy.optimize  # noqa: F401  # imported while POSIX is there
import sklearn.ensemble
import sklearn.experimental.enable_iterative_imputer  # noqa: F401  # imported while POSIX is there

MISSING = ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "fchmod", "fchown", "nice", "sched_getaffinity",
           "set_blocking")  # fmt: skip


def windows() -> None:
    """Make this process look like one on Windows from now on."""
    for name in MISSING:
        if hasattr(os, name):
            delattr(os, name)
    os.O_BINARY = 0
    sys.modules["msvcrt"] = types.SimpleNamespace(LK_NBLCK=2, locking=_locking)
    sys.modules["fcntl"] = None
    for name in ("replace", "unlink", "remove"):
        setattr(os, name, _refusing_open_files(getattr(os, name)))
    sys.platform = "win32"


def _locking(handle: int, _: int, size: int) -> None:
    assert size == 1
    try:
        posix.flock(handle, posix.LOCK_EX | posix.LOCK_NB)
    except BlockingIOError as error:
        raise PermissionError(13, "Permission denied") from error


def _refusing_open_files(step: Any) -> Any:
    def refusing(path: Any, *others: Any, **more: Any) -> Any:
        for handle in os.listdir("/proc/self/fd"):
            try:
                found = os.readlink(f"/proc/self/fd/{handle}")
            except OSError:
                continue
            if found == os.path.realpath(path):
                raise PermissionError(13, "The process cannot access the file because it is being used")
        return step(path, *others, **more)

    return refusing


def main() -> None:
    """Import everything, learn twice with a model file, and hold its lock."""
    windows()
    package = importlib.import_module("streamkarma")
    for module in pkgutil.walk_packages(package.__path__, "streamkarma."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    from streamkarma.connectors.jsonlines.source import JsonLinesSource
    from streamkarma.errors import RunError
    from streamkarma.lock import ModelLock
    from streamkarma.runtime.plan import Plan
    from streamkarma.runtime.run import Run

    Path("events").write_text('{"a": 1, "y": true}\n{"a": 2, "y": false}\n')
    for _ in range(2):
        plan = Plan(model="model", predictions="rows", quiet=True)
        assert Run(plan, JsonLinesSource("events")).execute() == 0
    lock = ModelLock("model")
    for shared in (False, True):
        try:
            ModelLock("model", shared)
        except RunError as error:
            print(error)
    lock.release()
    ModelLock("model").release()
    print(sorted(os.listdir()))


if __name__ == "__main__":
    main()
