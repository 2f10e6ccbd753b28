"""The process that refits while the stream goes on: ``python -m streamkarma.refit.worker``.

It reads one request from standard input (its length, then arrays as ``numpy.savez`` writes them, nothing
pickled), and writes one answer of the same form. When standard input closes, the process ends.
"""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.events.reservoir import Snapshot
from streamkarma.refit.ensemble import Ensemble
from streamkarma.refit.fits import fit
from streamkarma.system import be_nice

Arrays = dict[str, NDArray[Any]]


def message_of(header: dict[str, Any], arrays: Arrays) -> bytes:
    """JSON and arrays as one message, its length first."""
    buffer = io.BytesIO()
    np.savez(buffer, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)  # type: ignore[arg-type]
    content = buffer.getvalue()
    return len(content).to_bytes(8, "little") + content


def read_message(content: bytes) -> tuple[dict[str, Any], Arrays]:
    """The message, from what came behind its length."""
    with np.load(io.BytesIO(content), allow_pickle=False) as found:
        arrays = {name: found[name] for name in found.files}
    return json.loads(arrays.pop("header").tobytes()), arrays


def answer(content: bytes) -> bytes:
    """Fit all that a request asks for; of what fails the answer says why."""
    header, arrays = read_message(content)
    snapshot = Snapshot(events=header["events"], **arrays)
    problems: dict[str, str | None] = {}
    found: Arrays = {}
    for name in header["names"]:
        fitted, problems[name] = _fitted(name, snapshot, header["regression"])
        if fitted is not None:
            found |= {f"{name}.{part}": array for part, array in fitted.state().items()}
    return message_of({"problems": problems}, found)


def _fitted(name: str, snapshot: Snapshot, regression: bool) -> tuple[Ensemble | None, str | None]:
    try:
        fitted = fit(name, snapshot, regression)
    except Exception as error:
        # A fit that fails must not stop the stream, which goes on with the one before.
        return None, f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
    return fitted, None if fitted is not None else "the sample has but one class"


def main() -> None:
    """Answer the request on standard input."""
    warnings.simplefilter("ignore")
    be_nice()
    # Libraries may print; the answer has the output to itself.
    output = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    size = int.from_bytes(sys.stdin.buffer.read(8), "little")
    content = sys.stdin.buffer.read(size)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    with os.fdopen(output, "wb") as out:
        out.write(answer(content))


def _exit_with_parent() -> None:
    sys.stdin.buffer.read(1)
    os._exit(1)


if __name__ == "__main__":
    main()
