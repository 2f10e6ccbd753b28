"""Runs the program and its workers, forked from a process that has imported them, since imports dominate.

Each run is a separate process with its own arguments, folder, environment and streams. Tests for which
Python's own start or the program's imports matter start Python.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext, ForkServerContext
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, Self

from streamkarma.refit import background
from streamkarma.regret import background_fit

#: Modules that most runs import. The program imports its parts lazily, so the larger ones are listed.
_MODULES = [
    "kafka.admin",
    "kafka.coordinator.assignors.cooperative_sticky",
    "streamkarma.baselines.chained",
    "streamkarma.baselines.neighbors",
    "streamkarma.baselines.trees",
    "streamkarma.cli",
    "streamkarma.connectors.jsonlines.source",
    "streamkarma.connectors.kafka.source",
    "streamkarma.connectors.tables.source",
    "streamkarma.estimators",
    "streamkarma.profile.run",
    "streamkarma.refit.worker",
    "streamkarma.regret.worker",
    "streamkarma.runtime.run",
    "streamkarma.runtime.session",
    "tests.forked",
]
_CAN_FORK = "forkserver" in multiprocessing.get_all_start_methods()
#: Seconds after which a run is killed.
_PATIENCE = 120


def run(
    arguments: Sequence[str],
    given: bytes,
    folder: Path,
    env: dict[str, str] | None = None,
    script: Path | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run the program, or another script, to its end, with bytes on its standard input.

    With a different environment a new Python is started, because some variables affect its start.
    """
    if env is not None or not _CAN_FORK:
        command = [sys.executable, *(["-m", "streamkarma"] if script is None else [script]), *arguments]
        whole = {**os.environ, **(env or {})}
        return subprocess.run(
            command, input=given, capture_output=True, cwd=folder, env=whole, timeout=_PATIENCE, check=False
        )
    with TemporaryDirectory() as place:
        said = [Path(place, name) for name in ("out", "err")]
        from_us, to_it = _context().Pipe(duplex=False)
        what = (list(arguments), folder, dict(os.environ), from_us, said, script)
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
    arguments: list[str],
    folder: Path,
    environment: dict[str, str],
    given: Connection,
    said: Sequence[Path | Connection],
    script: str | Path | None = None,
) -> None:
    os.dup2(given.fileno(), 0)
    given.close()
    for number, stream in enumerate(said, start=1):
        with stream.open("wb") if isinstance(stream, Path) else stream as file:
            os.dup2(file.fileno(), number)
    # The objects from the start of the server are closed, or belong to other streams.
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[0] = str(folder)
    sys.argv[1:] = arguments
    # The server knows only the process that started it: this one would start, and fill, a server of its own.
    fork_workers("fork")
    if script is None:
        runpy.run_module("streamkarma", run_name="__main__", alter_sys=True)
    elif isinstance(script, Path):
        sys.path[0], sys.argv[0] = str(script.parent), str(script)
        runpy.run_path(str(script), run_name="__main__")
    else:
        exec(script, {"__name__": "__main__"})


class ForkedProgram:
    """The program, left running, with what tests need of the interface of ``subprocess.Popen``.

    It is killed when the test fails.

    Parameters
    ----------
    arguments
        Its arguments.
    folder
        The folder in which it runs.
    script
        What to run instead, with these arguments; it may change the program first.
    """

    def __init__(self, arguments: Sequence[str], folder: Path, script: str | None = None) -> None:
        context = _context()
        given, to_it = context.Pipe(duplex=False)
        pipes = [context.Pipe(duplex=False) for _ in range(2)]
        said = [end for _, end in pipes]
        what = (list(arguments), folder, dict(os.environ), given, said, script)
        self._process = context.Process(target=_program, args=what)
        self._process.start()
        for end in (given, *said):
            end.close()
        self.stdin, (self.stdout, self.stderr) = _file(to_it, "w"), (_file(end, "r") for end, _ in pipes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is not None:
            self.kill()
        with suppress(BrokenPipeError):
            self.stdin.close()
        for file in (self.stdout, self.stderr):
            file.close()
        self._process.join()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("streamkarma", timeout or 0.0)
        return self._process.exitcode

    def communicate(self, given: str = "", timeout: float | None = None) -> tuple[str, str]:
        """Send it the rest of its input, and wait for its end; returns what it wrote and nobody read."""
        with suppress(BrokenPipeError), self.stdin:
            self.stdin.write(given)
        texts = ["", ""]

        def read(number: int, file: Any) -> None:
            texts[number] = file.read()

        readers = [
            Thread(target=read, args=each, daemon=True) for each in enumerate((self.stdout, self.stderr))
        ]
        for reader in readers:
            reader.start()
        self.wait(timeout)
        for reader in readers:
            reader.join()
        return texts[0], texts[1]

    def send_signal(self, number: int) -> None:
        if self._process.is_alive():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self._process.kill()


class ForkedWorker:
    """A worker with the interface of a process that ``worker_process.start`` has started.

    Parameters
    ----------
    context
        How multiprocessing forks it.
    module
        The module to run.
    """

    def __init__(self, context: BaseContext, module: str) -> None:
        given, to_it = context.Pipe(duplex=False)
        from_it, answers = context.Pipe(duplex=False)
        # A process forked from this one has our ends, too, and sees no end of file unless it closes them.
        ours = (to_it, from_it) if context.get_start_method() == "fork" else ()
        process = context.Process(target=_worker, args=(module, given, answers, ours), daemon=True)  # type: ignore[attr-defined]
        process.start()
        self._process = process
        for end in (given, answers):
            end.close()
        self.stdin, self.stdout = (_file(to_it, "wb"), _file(from_it, "rb"))

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> int | None:
        self._process.join()
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()


def fork_workers(method: str = "forkserver") -> None:
    """Fork the workers of this process from now on, if the platform can."""
    for module in (background, background_fit) if _CAN_FORK else ():
        context = _context() if method == "forkserver" else multiprocessing.get_context(method)
        module.start = partial(ForkedWorker, context)  # type: ignore[assignment, attr-defined]


def _file(end: Connection, mode: str) -> Any:
    with end:
        return open(os.dup(end.fileno()), mode)


def _worker(module: str, given: Connection, answers: Connection, ours: Sequence[Connection]) -> None:
    os.setsid()
    for end in ours:
        end.close()
    for end, number in ((given, 0), (answers, 1)):
        with end:
            os.dup2(end.fileno(), number)
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 2)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    warnings.simplefilter("ignore")
    import_module(module).main()
