"""A signal wakes whoever waits for input, whenever it comes."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from streamkarma.connectors.jsonlines.inputs import Input
from streamkarma.runtime.signals import StopSignal


def test_a_signal_is_waited_for_as_well_as_input() -> None:
    # Not the read is interrupted, which may not have begun yet: it is not called.
    stop, (end, begin) = StopSignal(), os.pipe()
    calls: list[int] = []
    with stop.installed():
        threading.Timer(0.05, os.kill, [os.getpid(), signal.SIGTERM]).start()
        with pytest.raises(InterruptedError):
            stop.unless(calls.append, lambda: end)(1)
    assert stop.number == signal.SIGTERM
    assert calls == []
    os.close(end)
    os.close(begin)


def test_input_that_is_there_is_read() -> None:
    stop, (end, begin) = StopSignal(), os.pipe()
    os.write(begin, b"{}")
    with stop.installed():
        assert stop.unless(lambda: os.read(end, 9), lambda: end)() == b"{}"
    os.close(end)
    os.close(begin)


def test_only_what_may_wait_has_a_descriptor_to_wait_for(tmp_path: Path) -> None:
    path, pipe = tmp_path / "lines", tmp_path / "pipe"
    path.write_bytes(b"{}\n")
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[b"{}\n"])
    writer.start()
    with Input(str(path)) as file, Input(str(pipe)) as fifo:
        assert file.waits_for() is None
        assert fifo.waits_for() is not None
        fifo.unread(b"x")
        assert fifo.waits_for() is None
        assert (fifo.read(1), fifo.read(9)) == (b"x", b"{}\n")
    writer.join()
