"""Baselines fitted in a separate process, each with a time limit."""

from __future__ import annotations

import json
import subprocess
import threading
import time
import weakref
from contextlib import suppress
from queue import Empty, SimpleQueue

from streamkarma.events.reservoir import ReservoirSnapshot
from streamkarma.regret.competitor import LearnerProfile
from streamkarma.regret.rows import Row, failed
from streamkarma.worker_process import message_of, start, stop

#: Seconds allowed for a process to start: far more than Python and scikit-learn need on a busy machine.
START = 60.0


def request(
    snapshot: ReservoirSnapshot, names: list[str], task: str, loss: str, learner: LearnerProfile | None
) -> bytes:
    """The request for a worker."""
    header = {"names": names, "task": task, "loss": loss, "events": snapshot.events, "learner": learner}
    arrays = snapshot._asdict()
    del arrays["events"]
    return message_of(header, arrays)


class Worker:
    """A process that answers one request after another, and the lines of its answers."""

    def __init__(self) -> None:
        self.process = start("streamkarma.regret.worker")
        #: None at the end.
        self.lines: SimpleQueue[bytes | None] = SimpleQueue()
        threading.Thread(target=_listen, args=(self.process, self.lines), daemon=True).start()
        #: Kills the process, at the latest together with this object or the program.
        self.end = weakref.finalize(self, stop, self.process)

    def ask(self, message: bytes) -> None:
        """Send a request; does not wait until it is read."""
        threading.Thread(target=_send, args=(self.process, message), daemon=True).start()

    @property
    def is_alive(self) -> bool:
        """Whether the process is still alive."""
        return self.process.poll() is None


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
    worker
        An idle worker to reuse; otherwise a new one is started.
    """

    def __init__(
        self,
        snapshot: ReservoirSnapshot,
        names: list[str],
        task: str,
        loss: str,
        seconds: float,
        learner: LearnerProfile | None = None,
        worker: Worker | None = None,
    ) -> None:
        self._snapshot, self._task, self._loss, self._seconds = snapshot, task, loss, seconds
        self._learner = learner
        self._left = list(names)
        self._deadline = 0.0
        self._ready = False
        #: The result in hindsight of the baseline being fitted.
        self._in_hindsight: Row | None = None
        #: It is idle once all results are in.
        self.worker = worker or Worker()
        self._ask()

    def poll(self) -> list[tuple[str, Row]]:
        """New results since the last call, as pairs of a name and a row, without waiting."""
        found: list[tuple[str, Row]] = []
        while self._left:
            try:
                line = self.worker.lines.get_nowait()
            except Empty:
                if time.monotonic() < self._deadline:
                    return found
                late = f"exceeded its {self._seconds:g} seconds" if self._ready else "could not be started"
                found.append(self._give_up(late))
                continue
            if line is None:
                found.append(self._give_up(f"its process ended with status {self.worker.process.wait()}"))
                continue
            row = json.loads(line)
            # The first line only reports that the process is ready, and starts the time limit.
            name, done = row.pop("name", None), row.pop("done", True)
            if not done:
                self._in_hindsight = row
                continue
            self._ready, self._deadline = True, time.monotonic() + self._seconds
            self._in_hindsight = None
            if name is not None:
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
        self.worker.end()

    def _give_up(self, reason: str) -> tuple[str, Row]:
        """Stop evaluating the baseline being fitted and continue with the next."""
        name, row = self._left.pop(0), failed(self._in_hindsight, self._snapshot.events, reason)
        self._in_hindsight = None
        self.worker.end()
        if self._left:
            self.worker = Worker()
            self._ask()
        return name, row

    def _ask(self) -> None:
        self._ready = False
        self._deadline = time.monotonic() + START
        self.worker.ask(request(self._snapshot, self._left, self._task, self._loss, self._learner))


def _send(process: subprocess.Popen[bytes], message: bytes) -> None:
    assert process.stdin is not None
    # A process that was killed or never started cannot read, which its exit status shows. Its input stays
    # open until this process ends, and then the worker ends too.
    with suppress(OSError, ValueError):
        process.stdin.write(message)
        process.stdin.flush()


def _listen(process: subprocess.Popen[bytes], lines: SimpleQueue[bytes | None]) -> None:
    assert process.stdout is not None
    with suppress(OSError, ValueError), process.stdout:
        for line in process.stdout:
            lines.put(line)
    lines.put(None)
