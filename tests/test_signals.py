"""A signal interrupts the wait for input, whenever it arrives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from streamkarma.connectors.jsonlines.inputs import Input
from streamkarma.runtime.signals import StopSignal
from tests import forked
from tests.cluster import events, lines, until
from tests.forked import ForkedProgram

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


#: A reader is waited for only a moment, and signals count as one only at the same moment.
IMPATIENT = """
from streamkarma.runtime import signals
signals._ONE_SIGNAL_SECONDS, signals._READER_SECONDS = 0.0, 0.1
from streamkarma.cli import main
main()
"""


def start(folder: Path, *arguments: str, script: str | None = None) -> ForkedProgram:
    """Start the program."""
    return ForkedProgram(arguments, folder, script)


def waits_in(process: ForkedProgram, where: str) -> Callable[[], bool]:
    """Whether the process waits in a function of the kernel with this in its name."""
    if sys.platform != "linux":
        pytest.skip("only Linux tells")
    return lambda: where in Path(f"/proc/{process.pid}/wchan").read_text()


@pytest.mark.parametrize("command", ["learn", "predict"])
def test_a_signal_ends_the_wait_for_a_reader(tmp_path: Path, command: str) -> None:
    (tmp_path / "in").write_bytes(b"\n".join(lines(events(2000))))
    learn = ["learn", "in", "--learner", "explicit", "--model", "m"]
    if command == "predict":
        forked.run([*learn, "--no-predictions"], b"", tmp_path).check_returncode()
    given = learn if command == "learn" else ["predict", "m", "in"]
    with start(tmp_path, *given, "--summary", "s.json", script=IMPATIENT) as process:
        until(waits_in(process, "pipe_write"), process)
        process.terminate()
        assert process.wait(20) == 143
        # The table is printed after the summary was written.
        assert "events" in process.communicate()[1]
    assert json.loads((tmp_path / "s.json").read_text())["events"] > 0
    assert (tmp_path / "m").exists()


def test_after_a_signal_a_slow_reader_gets_all_rows(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"\n".join(lines(events(1000))))
    with start(tmp_path, "learn", "in", "--learner", "explicit", "--summary", "s.json") as process:
        until(waits_in(process, "pipe_write"), process)
        process.terminate()
        rows = process.communicate(timeout=20)[0].splitlines()
    assert process.returncode == 143
    assert len(rows) == json.loads((tmp_path / "s.json").read_text())["events"]
    assert json.loads(rows[-1])["n"] == len(rows)


@pytest.mark.parametrize(
    "arguments",
    [
        ["learn", "fifo"],
        ["learn", "fifo", "--format", "csv"],
        ["learn", "fifo", "--format", "parquet"],
        ["profile", "fifo"],
        ["regret", "fifo", "--regret", "zero"],
        ["learn", "in", "--predictions", "fifo"],
        ["learn", "in", "--dead-letters", "fifo"],
    ],
)
def test_a_signal_ends_the_wait_for_the_other_end_of_a_pipe(tmp_path: Path, arguments: list[str]) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "in").write_bytes(b'{"a": 1, "y": 0}\n')
    with start(tmp_path, *arguments) as process:
        until(waits_in(process, "wait_for_partner"), process)
        process.terminate()
        said = process.communicate(timeout=20)[1]
    assert process.returncode == 143
    assert "Traceback" not in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_the_process_at_once(tmp_path: Path, number: signal.Signals) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "in").write_bytes(b'{"a": 1, "y": 0}\n')
    given = ["learn", "in", "--model", "m", "--summary", "fifo", "--no-predictions"]
    with start(tmp_path, *given, script=IMPATIENT) as process:
        until(waits_in(process, "wait_for_partner"), process)
        process.terminate()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.2)
        process.send_signal(number)
        assert process.wait(20) == 128 + number
    assert (tmp_path / "m").exists()


def test_the_same_signal_sent_twice_is_one() -> None:
    stop = StopSignal()
    with stop.installed():
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.number == signal.SIGTERM
