"""The process that fits baselines while the stream goes on: ``python -m streamkarma.regret.worker``.

It reads one request from standard input (its length, then arrays as ``numpy.savez`` writes them,
nothing pickled). It prints a line of JSON when it is ready to begin, and one for every baseline as
soon as that is done. When standard input ends, so does the process.
"""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np

from streamkarma.regret.hindsight import Table, judged
from streamkarma.regret.memory import Snapshot
from streamkarma.regret.oracle import Learner
from streamkarma.system import be_nice


def answers(said: bytes, say: Any) -> None:
    """Work a request; ``say`` is given one dict to begin with and one per baseline, in order."""
    with np.load(io.BytesIO(said), allow_pickle=False) as arrays:
        header = json.loads(arrays["header"].tobytes())
        parts = {name: arrays[name] for name in Snapshot._fields if name != "events"}
    snapshot = Snapshot(events=header["events"], **parts)
    say({"ready": True})
    for name in header["names"]:
        began = time.perf_counter()
        say({"name": name, **_tried(name, snapshot, header, began)})


def _tried(name: str, snapshot: Snapshot, header: dict[str, Any], began: float) -> dict[str, Any]:
    learner = Learner(*header["learner"]) if header["learner"] else None
    try:
        row = judged(name, Table.of(snapshot), header["task"], header["loss"], learner)
    except MemoryError:
        return {"events": snapshot.events, "problem": "not enough memory"}
    except Exception as error:
        # Whatever is wrong with a baseline must not stop the others, nor the stream.
        return {"events": snapshot.events, "problem": _in_a_line(error)}
    return {**row, "seconds": round(time.perf_counter() - began, 3)}


def _in_a_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, ValueError) and text else f"{type(error).__name__}: {text}".rstrip(": ")


def main() -> None:
    """Answer the request on standard input."""
    # What a library wants to tell a person about one fit of many is of no use here.
    warnings.simplefilter("ignore")
    # The stream comes first.
    be_nice()

    def say(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), flush=True)

    size = int.from_bytes(sys.stdin.buffer.read(8), "little")
    said = sys.stdin.buffer.read(size)
    threading.Thread(target=_end_with_the_asker, daemon=True).start()
    answers(said, say)


def _end_with_the_asker() -> None:
    """Nobody is left to hear the answer once standard input has ended, however it came to that."""
    sys.stdin.buffer.read(1)
    os._exit(1)


if __name__ == "__main__":
    main()
