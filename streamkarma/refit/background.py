"""A fit in another process."""

from __future__ import annotations

import subprocess
import threading
import weakref
from contextlib import suppress
from typing import Any

from streamkarma.arrays import part_of
from streamkarma.events.reservoir import ReservoirSnapshot
from streamkarma.refit.ensemble import Ensemble
from streamkarma.worker_process import message_of, read_message, start, stop

#: Time limit of a fit in seconds: many times what one takes on the largest possible table.
LONGEST = 1800.0


class BackgroundRefit:
    """The fits of several learners on the same events, in a worker process.

    Parameters
    ----------
    snapshot
        The events.
    names
        The learners to fit.
    regression
        Whether labels are numbers.
    """

    def __init__(self, snapshot: ReservoirSnapshot, names: list[str], regression: bool) -> None:
        self._names = names
        arrays = snapshot._asdict()
        header = {"names": names, "events": arrays.pop("events"), "regression": regression}
        self._message = message_of(header, arrays)
        self._answer: list[bytes] = []
        self._begin()

    def _begin(self) -> None:
        """Start the process, and a thread that communicates with it."""
        process = start("streamkarma.refit.worker")
        self._thread = threading.Thread(
            target=_talk, args=(process, self._message, self._answer), daemon=True
        )
        self._thread.start()
        #: Ends the process when this object is deleted or the program exits.
        self.close = weakref.finalize(self, stop, process)

    def wait(self) -> tuple[dict[str, Ensemble], dict[str, str]]:
        """Wait for the fits; returns results and problems by name."""
        self._thread.join(LONGEST)
        if self.close.alive and not (self._answer or self._thread.is_alive()):
            # The process was killed from outside, which must not affect predictions: try once more.
            self.close()
            self._begin()
            self._thread.join(LONGEST)
        header: dict[str, Any] = {"problems": dict.fromkeys(self._names, "its process ended early")}
        found: dict[str, Ensemble] = {}
        if self._answer:
            header, arrays = read_message(self._answer[0])
            for name in self._names:
                if own := part_of(arrays, f"{name}."):
                    found[name] = Ensemble.restored(own)
        self.close()
        return found, {name: problem for name, problem in header["problems"].items() if problem}


def _talk(process: subprocess.Popen[bytes], message: bytes, answer: list[bytes]) -> None:
    """Send the request and keep the answer, if it is complete."""
    assert process.stdin is not None
    assert process.stdout is not None
    # A process that was killed, or could not start, has no answer.
    with suppress(OSError, ValueError):
        # Stays open: it closes when this process ends, and then the worker ends too.
        process.stdin.write(message)
        process.stdin.flush()
        size = int.from_bytes(process.stdout.read(8), "little")
        content = process.stdout.read(size)
        if size and len(content) == size:
            answer.append(content)
    for pipe in (process.stdout, process.stdin):
        with suppress(OSError):
            pipe.close()
