"""SIGINT, SIGTERM and SIGHUP end a run gracefully: after the current block, everything is saved.

A second signal ends it at once, whatever it waits for: files are consistent at any moment.
"""

from __future__ import annotations

import io
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import IO, ParamSpec, TypeVar

Given = ParamSpec("Given")
Got = TypeVar("Got")

#: Signals within this time count as one: `timeout` and some terminals send the same one twice.
_ONE_SIGNAL_SECONDS = 1.0
#: After a signal, a reader that takes nothing for this long is not waited for.
_READER_SECONDS = 2.0


class StopSignal:
    """Records a signal to stop, and interrupts a wait for input or for the reader of the output.

    Parameters
    ----------
    grace
        Seconds after which the process exits immediately in any state, or None for no limit. For runs whose
        files are consistent at any moment.
    """

    def __init__(self, grace: float | None = None) -> None:
        self.number: int | None = None
        self._grace = grace
        self._waiting = False
        #: When the first signal arrived.
        self._came_at = 0.0
        #: Becomes readable when a signal arrives.
        self._alarm: int | None = None

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Handle the signals within the block; does nothing outside the main thread."""
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
        """Make signals interrupt a read, except on Windows, whose ``select`` works only on sockets."""
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
        """``wait``, wrapped so that it raises InterruptedError once a signal has arrived.

        This is not an end of input: an incomplete line that was read is not a record.

        Parameters
        ----------
        wait
            A function that may block.
        waits_for
            The descriptor that it blocks on, or None. Without it, a signal that arrives after Python's last
            check and before the system call would not interrupt a read.
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

    def until_writable(self, file: IO[bytes]) -> None:
        """Wait until a pipe takes more.

        A write that then has to wait for the reader returns at a signal, with what was written so far.

        Raises
        ------
        InterruptedError
            If a signal has arrived, and the reader takes nothing.
        """
        if self._alarm is None or not _has_descriptor(file):
            return
        if not self.has_come() and select.select([self._alarm], [file], [])[1]:
            return
        if not select.select([], [file], [], _READER_SECONDS)[1]:
            raise InterruptedError

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.number is None:
            self._came_at = now
        elif now - self._came_at > _ONE_SIGNAL_SECONDS:
            # Without a message, since even stderr may have a reader that takes nothing.
            os._exit(128 + number)
        self.number = number
        if self._grace is not None:
            timer = threading.Timer(self._grace, _give_up, [self._grace, 128 + number])
            timer.daemon = True
            timer.start()
        if self._waiting:
            raise InterruptedError


def _has_descriptor(file: IO[bytes]) -> bool:
    """Whether a file is one of the system's, as standard output is not where another program replaces it."""
    try:
        file.fileno()
    except io.UnsupportedOperation:
        return False
    return True


def _signals() -> list[signal.Signals]:
    """The signals that end a run; SIGHUP is not one if it is ignored, as under ``nohup``."""
    found = [signal.SIGINT, signal.SIGTERM]
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        found.append(signal.SIGHUP)
    return found


def _give_up(seconds: float, code: int) -> None:
    os.write(
        2, b"streamkarma: still running %g s after the signal; exiting with the last saved state\n" % seconds
    )
    os._exit(code)
