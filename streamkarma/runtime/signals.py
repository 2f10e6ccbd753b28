"""SIGINT, SIGTERM and SIGHUP end a run in order: the block in hand is finished, then all is saved."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Got = TypeVar("Got")


class StopSignal:
    """Knows whether to stop, and wakes a read that waits for input when it is time.

    Parameters
    ----------
    grace
        Seconds after which the process ends at once, in whatever state it is, or None to
        let it take its time. For runs whose files are right at any moment.
    """

    def __init__(self, grace: float | None = None) -> None:
        self.number: int | None = None
        self._grace = grace
        self._waiting = False
        #: Becomes readable when a signal comes.
        self._alarm: int | None = None

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Handle the signals within the block; outside of the main thread, do not."""
        try:
            old = {s: signal.signal(s, self._handle) for s in _signals()}
        except ValueError:
            yield
            return
        try:
            with self._alarm_set():
                yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)

    @contextmanager
    def _alarm_set(self) -> Iterator[None]:
        """Have signals wake a read; on Windows, which selects among sockets only, they wait for its end."""
        if sys.platform == "win32":
            yield
            return
        self._alarm, rung = os.pipe()
        os.set_blocking(rung, False)
        before = signal.set_wakeup_fd(rung, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            os.close(rung)
            os.close(self._alarm)
            self._alarm = None

    def has_come(self) -> bool:
        """Whether to stop."""
        return self.number is not None

    def unless(
        self, wait: Callable[Given, Got], waits_for: Callable[[], int | None] = lambda: None
    ) -> Callable[Given, Got]:
        """``wait``, which raises InterruptedError once a signal has come.

        That is no end of input: what was read of a line that is not whole yet is no record.

        Parameters
        ----------
        wait
            What may wait.
        waits_for
            The descriptor that it will wait for, or None if that is none. A signal that comes when Python
            has looked for one last, and before the system waits, would not wake a read.
        """

        def wait_unless_stopped(*args: Given.args, **kwargs: Given.kwargs) -> Got:
            try:
                self._waiting = True
                if self.has_come():
                    raise InterruptedError
                descriptor = waits_for()
                if descriptor is not None and self._alarm is not None:
                    select.select([descriptor, self._alarm], [], [])
                return wait(*args, **kwargs)
            finally:
                self._waiting = False

        return wait_unless_stopped

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        if self._grace is not None:
            timer = threading.Timer(self._grace, _give_up, [self._grace, 128 + number])
            timer.daemon = True
            timer.start()
        if self._waiting:
            raise InterruptedError


def _signals() -> list[signal.Signals]:
    """Those that end a run: that a terminal is closed does not if ``nohup`` has it ignored."""
    found = [signal.SIGINT, signal.SIGTERM]
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        found.append(signal.SIGHUP)
    return found


def _give_up(seconds: float, code: int) -> None:
    os.write(
        2, b"streamkarma: still running %g s after the signal; exiting with the last saved state\n" % seconds
    )
    os._exit(code)
