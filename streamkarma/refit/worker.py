"""The process that refits while the stream continues.

It reads one request from standard input and writes one answer of the same form, see ``worker_process``.
"""

from __future__ import annotations

import os
import sys

from streamkarma.arrays import Arrays, with_prefix
from streamkarma.events.reservoir import ReservoirSnapshot
from streamkarma.refit.ensemble import Ensemble
from streamkarma.refit.fits import fit
from streamkarma.worker_process import message_of, read_message, reason_of, requests

#: Reasons are part of the model file, and may quote values of any length.
LONGEST_REASON = 200


def answer(content: bytes) -> bytes:
    """Fit everything a request asks for; the answer includes the reasons for failures."""
    header, arrays = read_message(content)
    snapshot = ReservoirSnapshot(events=header["events"], **arrays)
    problems: dict[str, str | None] = {}
    found: Arrays = {}
    for name in header["names"]:
        fitted, problems[name] = _fitted(name, snapshot, header["regression"])
        if fitted is not None:
            found |= with_prefix(f"{name}.", fitted.state())
    return message_of({"problems": problems}, found)


def _fitted(name: str, snapshot: ReservoirSnapshot, regression: bool) -> tuple[Ensemble | None, str | None]:
    try:
        fitted = fit(name, snapshot, regression)
    except Exception as error:
        # A fit that fails must not stop the stream, which continues with the previous one.
        return None, reason_of(error)[:LONGEST_REASON]
    return fitted, None if fitted is not None else "the sample has only one class"


def main() -> None:
    """Answer the request on standard input."""
    # Libraries may print; the output is reserved for the answer.
    output = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    content = next(requests())
    with os.fdopen(output, "wb") as out:
        out.write(answer(content))
