"""Baselines fitted in a separate process, each with a time limit."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from streamkarma.events.reservoir import Snapshot
from streamkarma.regret.oracle import LearnerProfile
from streamkarma.worker_process import message_of, start

#: Seconds allowed for a process to start: far more than Python and scikit-learn take on a busy machine.
START = 60.0


def request(
    snapshot: Snapshot, names: list[str], task: str, loss: str, learner: LearnerProfile | None
) -> bytes:
    """The request for a worker."""
    header = {"names": names, "task": task, "loss": loss, "events": snapshot.events, "learner": learner}
    arrays = snapshot._asdict()
    del arrays["events"]
    return message_of(header, arrays)


class BackgroundFit:
    """The fits of several baselines on the same events, in a worker process.

    Parameters
    ----------
    snapshot
        The events.
    names, task, loss
        As in ``hindsight.evaluate_baseline``.
    seconds
        Time limit for each baseline.
    learner
        As in ``hindsight.evaluate_baseline``.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        names: list[str],
        task: str,
        loss: str,
        seconds: float,
        learner: LearnerProfile | None = None,
    ) -> None:
        self._snapshot, self._task, self._loss, self._seconds = snapshot, task, loss, seconds
        self._learner = learner
        self._left = list(names)
        self._deadline = 0.0
        self._ready = False
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._start()

    def poll(self) -> list[tuple[str, dict[str, Any]]]:
        """New results since the last call, as pairs of a name and a row; does not wait."""
        found: list[tuple[str, dict[str, Any]]] = []
        while self._left:
            try:
                line = self._lines.get_nowait()
            except Empty:
                if time.monotonic() < self._deadline:
                    return found
                late = f"ran out of its {self._seconds:g} seconds" if self._ready else "could not be started"
                found.append(self._give_up(late))
                continue
            if line is None:
                assert self._process is not None
                found.append(self._give_up(f"its process ended with status {self._process.wait()}"))
                continue
            row = json.loads(line)
            self._ready, self._deadline = True, time.monotonic() + self._seconds
            # The first line only says that the process is ready, and starts the time limit.
            if (name := row.pop("name", None)) is not None:
                self._left.remove(name)
                found.append((name, row))
        return found

    @property
    def done(self) -> bool:
        """Whether all results are in."""
        return not self._left

    def close(self) -> None:
        """Kill the process, whatever it is doing."""
        self._left = []
        self._stop()

    def _give_up(self, reason: str) -> tuple[str, dict[str, Any]]:
        """Skip the baseline being fitted and continue with the next."""
        name = self._left.pop(0)
        self._stop()
        if self._left:
            self._start()
        return name, {"events": self._snapshot.events, "problem": reason}

    def _start(self) -> None:
        self._process = start("streamkarma.regret.worker")
        self._lines = SimpleQueue()
        self._ready = False
        self._deadline = time.monotonic() + START
        message = request(self._snapshot, self._left, self._task, self._loss, self._learner)
        threading.Thread(target=_talk, args=(self._process, message, self._lines), daemon=True).start()

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _talk(process: subprocess.Popen[bytes], message: bytes, lines: SimpleQueue[bytes | None]) -> None:
    """Send the request and pass on the answers; None at the end."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        # Stays open: it closes when this process ends, and then the worker ends too.
        process.stdin.write(message)
        process.stdin.flush()
        for line in process.stdout:
            lines.put(line)
    except (OSError, ValueError):
        # The process was killed or never started; its exit status tells.
        pass
    finally:
        process.stdout.close()
        with suppress(OSError):
            process.stdin.close()
        lines.put(None)
