"""Kills Spark processes at points named by a test; Python runs this at startup if it is on the path.

A file in the folder STREAMKARMA_TEST_KILLS names a point; the first process to reach it removes the file and
kills. ``Survey-3`` and ``Learn-3``: the executor that has finished part 3, before it returns the result.
``before-PATH`` and ``after-PATH``, with the end of a path and colons for slashes: the driver, before or after
it writes a file with that path; ``model`` is the model file.

It also makes workers import pyspark from where it is installed.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_FOLDER = os.environ.get("STREAMKARMA_TEST_KILLS")


def _is_time(place: str) -> bool:
    assert _FOLDER is not None
    try:
        (Path(_FOLDER) / place).unlink()
    except FileNotFoundError:
        return False
    return True


def _kill_executor() -> None:
    """Kill the Java process that started the Python process which forked this one."""
    daemon = os.getppid()
    status = Path(f"/proc/{daemon}/status").read_text()
    os.kill(int(status.split("PPid:")[1].split()[0]), signal.SIGKILL)


def _maybe_kill_driver(place: str) -> None:
    assert _FOLDER is not None
    if _is_time(place):
        os.kill(int((Path(_FOLDER) / "driver").read_text()), signal.SIGKILL)


def _install() -> None:
    from streamkarma.spark import files, partitions, scoring, store, streaming, work

    def deadly(kind: Any) -> None:
        call = kind.__call__

        def working(self: Any, part: int, chunks: Any) -> Iterator[Any]:
            rows = list(call(self, part, chunks))
            if _is_time(f"{kind.__name__}-{part}"):
                _kill_executor()
            yield from rows

        kind.__call__ = working

    for kind in (work.Survey, work.Learn):
        deadly(kind)

    written, save = files.written, streaming.save

    @contextmanager
    def deadly_written(path: str) -> Iterator[Callable[[bytes], object]]:
        place = ":".join(path.split("/")[-3:])
        _maybe_kill_driver(f"before-{place}")
        with written(path) as write:
            yield write
        _maybe_kill_driver(f"after-{place}")

    def deadly_save(*arguments: Any) -> None:
        _maybe_kill_driver("before-model")
        save(*arguments)
        _maybe_kill_driver("after-model")

    for module in (files, partitions, scoring, store, work):
        if hasattr(module, "written"):
            module.written = deadly_written
    streaming.save = deadly_save


def _leave_out_archives() -> None:
    """Remove Spark's own archives from the path, whose directories Python would read for each task."""
    for path in [path for path in sys.path if "pyspark" in path and path.endswith((".zip", ".jar"))]:
        sys.path.remove(path)
        sys.path_importer_cache.pop(path, None)


if _FOLDER is not None:
    _leave_out_archives()
    _install()
