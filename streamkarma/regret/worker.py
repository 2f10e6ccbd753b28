"""The process that fits baselines while the stream continues.

It reads requests from standard input, see ``worker_process``. For each request it prints a JSON line when it
is ready, and two for each baseline: one, not yet ``done``, as soon as it is fitted in hindsight, so that this
is not lost if the held-out fits take too long; and one with everything.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from streamkarma.events.reservoir import ReservoirSnapshot
from streamkarma.regret.competitor import LearnerProfile
from streamkarma.regret.hindsight import EventTable, rows_in_turn
from streamkarma.regret.rows import Row, failed
from streamkarma.system import be_nice
from streamkarma.worker_process import read_message, reason_of, requests


def answer(message: bytes, send: Any) -> None:
    """Answer a request: ``send`` is called with a dict at the start and one or two per baseline, in order."""
    header, arrays = read_message(message)
    snapshot = ReservoirSnapshot(events=header["events"], **arrays)
    send({"ready": True})
    for name in header["names"]:
        for row in _evaluate(name, snapshot, header):
            send({"name": name, **row})


def _evaluate(name: str, snapshot: ReservoirSnapshot, header: dict[str, Any]) -> Iterator[Row]:
    began = time.perf_counter()
    learner = LearnerProfile(*header["learner"]) if header["learner"] else None
    row: Row | None = None
    try:
        rows = rows_in_turn(name, EventTable.of(snapshot), header["task"], header["loss"], learner)
        row = next(rows)
        yield {"done": False, **row}
        row = {**next(rows), "seconds": round(time.perf_counter() - began, 3)}
    except MemoryError:
        row = failed(row, snapshot.events, "not enough memory")
    except Exception as error:
        # A failing baseline must not stop the others or the stream.
        row = failed(row, snapshot.events, reason_of(error))
    yield {"done": True, **row}


def main() -> None:
    """Answer the requests on standard input."""
    # The stream, which does not wait for the answers, has priority.
    be_nice()

    def send(row: dict[str, Any]) -> None:
        print(json.dumps(row), flush=True)

    for request in requests():
        answer(request, send)
