"""A worker process beside the stream that answers requests: its start and the message format.

``python -m streamkarma.worker_process MODULE`` runs ``main`` of a module of this package as such a process.

A message is its length, followed by JSON and arrays in the format of ``numpy.savez``, without pickling. When
the worker's standard input closes, its parent has ended, and so it exits.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from importlib.abc import MetaPathFinder
from queue import SimpleQueue
from typing import Any

import numpy as np

from streamkarma.arrays import Arrays

#: One thread each unless these are set: the other cores are for the stream.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def message_of(header: dict[str, Any], arrays: Arrays) -> bytes:
    """JSON and arrays as one message."""
    buffer = io.BytesIO()
    np.savez(buffer, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)  # type: ignore[arg-type]  # mypy takes arrays for the flag
    content = buffer.getvalue()
    return len(content).to_bytes(8, "little") + content


def read_message(content: bytes) -> tuple[dict[str, Any], Arrays]:
    """JSON and arrays of a message, given without its length."""
    with np.load(io.BytesIO(content), allow_pickle=False) as found:
        arrays = {name: found[name] for name in found.files}
    return json.loads(arrays.pop("header").tobytes()), arrays


def start(module: str) -> subprocess.Popen[bytes]:
    """Start a module of this package as a worker."""
    return subprocess.Popen(
        [sys.executable, "-m", "streamkarma.worker_process", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**dict.fromkeys(THREADS, "1"), **os.environ},
        # Ctrl-C is for the stream.
        start_new_session=True,
    )


def stop(process: subprocess.Popen[bytes]) -> None:
    """Kill a worker, whatever it is doing."""
    process.kill()
    process.wait()
    assert process.stdin is not None
    # What it has not read is lost.
    with suppress(OSError):
        process.stdin.close()


def reason_of(error: Exception) -> str:
    """Why a fit failed, in one line: the message of a ValueError, and else the type of the error too."""
    text = " ".join(str(error).split())
    if isinstance(error, ValueError) and text:
        return text
    return f"{type(error).__name__}: {text}".rstrip(": ")


def requests() -> Iterator[bytes]:
    """In a worker: the requests on standard input. The process ends with its parent, whatever it is doing."""
    found: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(found,), daemon=True).start()
    while True:
        yield found.get()


def _receive(found: SimpleQueue[bytes]) -> None:
    while size := sys.stdin.buffer.read(8):
        found.put(sys.stdin.buffer.read(int.from_bytes(size, "little")))
    os._exit(1)


class _WithoutPandas(MetaPathFinder):
    """Makes libraries behave as if pandas were not installed.

    scikit-learn and LightGBM import it if it is installed, in case callers use it. Workers only have arrays,
    and this import would take a quarter of their start-up time and a third of their memory.
    """

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("workers do without pandas", name=fullname)


if __name__ == "__main__":
    sys.meta_path.insert(0, _WithoutPandas())
    module = import_module(sys.argv[1])
    # Warnings of libraries about single fits are useless here.
    warnings.simplefilter("ignore")
    module.main()
