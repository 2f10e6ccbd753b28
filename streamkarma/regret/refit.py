"""Baselines fitted in a process of their own, each within its time."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from streamkarma.regret.memory import Snapshot
from streamkarma.regret.oracle import Learner

#: One thread each, unless said otherwise: the other cores belong to the stream.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

#: Seconds that a process has to start: far more than Python and scikit-learn take on a busy machine.
START = 60.0


def request(snapshot: Snapshot, names: list[str], task: str, loss: str, learner: Learner | None) -> bytes:
    """What to send to a worker."""
    said = {"names": names, "task": task, "loss": loss, "events": snapshot.events, "learner": learner}
    header = json.dumps(said)
    arrays = snapshot._asdict()
    del arrays["events"]
    buffer = io.BytesIO()
    np.savez(buffer, header=np.frombuffer(header.encode(), np.uint8), **arrays)
    return buffer.getvalue()


class Refit:
    """The baselines of one moment, on their way.

    Parameters
    ----------
    snapshot
        The events.
    names, task, loss
        As of ``hindsight.judged``.
    seconds
        What each baseline may take.
    learner
        As of ``hindsight.judged``.
    """

    def __init__(self, snapshot: Snapshot, names: list[str], task: str, loss: str, seconds: float,
                 learner: Learner | None = None) -> None:  # fmt: skip
        self._snapshot, self._task, self._loss, self._seconds = snapshot, task, loss, seconds
        self._learner = learner
        self._left = list(names)
        self._deadline = 0.0
        self._ready = False
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._start()

    def poll(self) -> list[tuple[str, dict[str, Any]]]:
        """What has become known since last asked: pairs of a name and a row. Does not wait."""
        found: list[tuple[str, dict[str, Any]]] = []
        while self._left:
            try:
                line = self._lines.get_nowait()
            except Empty:
                if time.monotonic() < self._deadline:
                    return found
                late = f"ran out of its {self._seconds:g} seconds" if self._ready else "could not be started"
                found.append(self._given_up(late))
                continue
            if line is None:
                assert self._process is not None
                found.append(self._given_up(f"its process ended with status {self._process.wait()}"))
                continue
            row = json.loads(line)
            self._ready, self._deadline = True, time.monotonic() + self._seconds
            # The first line says that the process is ready, and the time begins to count.
            if (name := row.pop("name", None)) is not None:
                self._left.remove(name)
                found.append((name, row))
        return found

    @property
    def done(self) -> bool:
        """Whether nothing is on its way any more."""
        return not self._left

    def close(self) -> None:
        """End the process, whatever it is at."""
        self._left = []
        self._stop()

    def _given_up(self, reason: str) -> tuple[str, dict[str, Any]]:
        """Leave the baseline that is worked on, and go on with the next."""
        name = self._left.pop(0)
        self._stop()
        if self._left:
            self._start()
        return name, {"events": self._snapshot.events, "problem": reason}

    def _start(self) -> None:
        environment = {**dict.fromkeys(THREADS, "1"), **os.environ}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "streamkarma.regret.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
            # Ctrl-C is for the stream, which ends its helper itself.
            start_new_session=True,
        )  # fmt: skip
        self._lines = SimpleQueue()
        self._ready = False
        self._deadline = time.monotonic() + START
        said = request(self._snapshot, self._left, self._task, self._loss, self._learner)
        threading.Thread(target=_talk, args=(self._process, said, self._lines), daemon=True).start()

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _talk(process: subprocess.Popen[bytes], said: bytes, lines: SimpleQueue[bytes | None]) -> None:
    """Hand over the request and pass on what comes back; None at the end."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        # Left open afterwards: when it ends, whoever asked has gone, and so does the worker.
        process.stdin.write(len(said).to_bytes(8, "little") + said)
        process.stdin.flush()
        for line in process.stdout:
            lines.put(line)
    except (OSError, ValueError):
        # The process was ended, or never began: its status says so.
        pass
    finally:
        process.stdout.close()
        with suppress(OSError):
            process.stdin.close()
        lines.put(None)
