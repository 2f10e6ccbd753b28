"""Runs the program, forked from a process that has imported it, since imports dominate short runs.

Each run is a separate process with its own arguments, folder, environment and streams. Tests for which
Python's own start or the program's imports matter start Python.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from tempfile import TemporaryDirectory

#: Modules that most runs import. The program imports its parts lazily, so the larger ones are listed.
_MODULES = [
    "kafka.admin",
    "streamkarma.cli",
    "streamkarma.connectors.tables",
    "streamkarma.estimators",
    "streamkarma.runtime.run",
    "streamkarma.runtime.session",
    "tests.forked",
]
#: Seconds after which a run is killed.
_PATIENCE = 120


def run(
    arguments: Sequence[str], given: bytes, folder: Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the program to its end, with bytes on its standard input.

    With a different environment a new Python is started, because some variables affect its start.
    """
    if env is not None or "forkserver" not in multiprocessing.get_all_start_methods():
        command = [sys.executable, "-m", "streamkarma", *arguments]
        whole = {**os.environ, **(env or {})}
        return subprocess.run(
            command, input=given, capture_output=True, cwd=folder, env=whole, timeout=_PATIENCE, check=False
        )
    with TemporaryDirectory() as place:
        said = [Path(place, name) for name in ("out", "err")]
        from_us, to_it = _context().Pipe(duplex=False)
        what = (list(arguments), folder, dict(os.environ), from_us, said)
        process = _context().Process(target=_program, args=what)
        process.start()
        from_us.close()
        with suppress(BrokenPipeError), open(to_it.fileno(), "wb", closefd=False) as file:
            file.write(given)
        to_it.close()
        process.join(_PATIENCE)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(list(arguments), _PATIENCE, stderr=said[1].read_bytes())
        return subprocess.CompletedProcess(arguments, process.exitcode, *[each.read_bytes() for each in said])


@cache
def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_MODULES)
    return context


def _program(
    arguments: list[str], folder: Path, environment: dict[str, str], given: Connection, said: list[Path]
) -> None:
    os.dup2(given.fileno(), 0)
    given.close()
    for number, stream in enumerate(said, start=1):
        with stream.open("wb") as file:
            os.dup2(file.fileno(), number)
    # The objects from the start of the server are closed, or belong to other streams.
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[0] = str(folder)
    sys.argv[1:] = arguments
    runpy.run_module("streamkarma", run_name="__main__", alter_sys=True)
