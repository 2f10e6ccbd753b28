"""A signal interrupts the wait for input, whenever it arrives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest

from streamkarma.connectors.jsonlines.inputs import Input
from streamkarma.runtime.signals import StopSignal

INTERRUPTED = """
import sys

class Interrupts:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupts())
sys.argv = ["streamkarma", "learn"]
"""


@pytest.mark.parametrize("module", ["streamkarma.cli", "click", "streamkarma.cli.regret"])
@pytest.mark.parametrize("start", ["script", "module"])
def test_ctrl_c_while_the_program_is_imported_is_no_traceback(module: str, start: str) -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    place, _, function = project["scripts"]["streamkarma"].partition(":")
    starts = {
        "script": f"from {place} import {function}; {function}()",
        "module": "import runpy; runpy.run_module('streamkarma', run_name='__main__')",
    }
    code = INTERRUPTED.format(module=module) + starts[start]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_a_signal_is_waited_for_as_well_as_input() -> None:
    # It is not the read that is interrupted, which may not have begun yet: it is not called.
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
