"""The process that fits baselines while the stream continues.

It reads requests from standard input, see ``worker_process``. For each request it prints a JSON line when it
is ready, and one for each baseline as soon as it is fitted.
"""

from __future__ import annotations

import json
import time
from typing import Any

from streamkarma.events.reservoir import ReservoirSnapshot
from streamkarma.regret.hindsight import EventTable, evaluate_baseline
from streamkarma.regret.oracle import LearnerProfile
from streamkarma.system import be_nice
from streamkarma.worker_process import read_message, reason_of, requests


def answer(message: bytes, send: Any) -> None:
    """Answer a request: ``send`` is called with one dict at the start and one per baseline, in order."""
    header, arrays = read_message(message)
    snapshot = ReservoirSnapshot(events=header["events"], **arrays)
    send({"ready": True})
    for name in header["names"]:
        began = time.perf_counter()
        send({"name": name, **_evaluate(name, snapshot, header, began)})


def _evaluate(name: str, snapshot: ReservoirSnapshot, header: dict[str, Any], began: float) -> dict[str, Any]:
    learner = LearnerProfile(*header["learner"]) if header["learner"] else None
    try:
        row = evaluate_baseline(name, EventTable.of(snapshot), header["task"], header["loss"], learner)
    except MemoryError:
        return {"events": snapshot.events, "problem": "not enough memory"}
    except Exception as error:
        # A failing baseline must not stop the others or the stream.
        return {"events": snapshot.events, "problem": reason_of(error)}
    return {**row, "seconds": round(time.perf_counter() - began, 3)}


def main() -> None:
    """Answer the requests on standard input."""
    # The stream, which does not wait for the answers, has priority.
    be_nice()

    def send(row: dict[str, Any]) -> None:
        print(json.dumps(row), flush=True)

    for request in requests():
        answer(request, send)
