"""What becomes of events whose labels come later: their ids, their times, and what is kept of them."""

from __future__ import annotations

import time
from typing import Any

from streamkarma._engine import parse_value
from streamkarma.connectors.records import Records
from streamkarma.connectors.rows import Column
from streamkarma.errors import RecordError
from streamkarma.events.values import is_missing
from streamkarma.parameters.words import NOW
from streamkarma.plain_json import dumps
from streamkarma.runtime.evaluator import Evaluation
from streamkarma.runtime.event_buffer import EventBatch
from streamkarma.runtime.fields import Fields, RecordFields, seconds_of
from streamkarma.runtime.pending import Pending, PendingEvent, PriorPrediction
from streamkarma.runtime.prediction_rows import rows_at

#: Most bytes of an id that is kept, as JSON.
LONGEST_ID = 1024


def key_of(identity: Any, number: int) -> bytes:
    """The id by which a label finds its event, as JSON; RecordError if it is too long to be kept.

    An event without an id waits under its number, which is no JSON.
    """
    if identity is None:
        return b"#%d" % number
    if type(identity) is float and identity.is_integer():
        # It names the integer that it equals.
        identity = int(identity)
    # A copy of its own size: orjson's has four kilobytes to spare.
    key = bytes(memoryview(dumps(identity)))
    if len(key) > LONGEST_ID:
        raise RecordError(f"an id matched by late labels has at most {LONGEST_ID:,} bytes")
    return key


def id_of(key: bytes) -> Any:
    """The id of an event from its key; None if it has none."""
    return None if key.startswith(b"#") else parse_value(key)


def time_of(
    records: Records, at: int, fields: Fields, taken: RecordFields, pending: Pending, ages: bool
) -> float:
    """When a record happened.

    ``ages`` says whether that is how old the values of entities are as well, where a time that is none does
    not make a bad record: unless a wait is bounded by it, it does not here either.
    """
    if records.time is not None:
        return pending.turn_to(records.time(at))
    if fields.time == NOW:
        return time.time()
    try:
        return pending.tick(None if is_missing(taken.time) else seconds_of(taken.time))
    except RecordError:
        if pending.seconds is None and ages:
            return pending.tick(None)
        raise


def keep_waiting(
    pending: Pending, batch: EventBatch, evaluation: Evaluation, columns: dict[str, Column], first: int
) -> None:
    """Keep the events of a batch that wait, the first of them having this number, until their labels come.

    What a learner has seen is kept as it saw it: encoded anew, an event could show what came after it.
    """
    rows = rows_at(columns, [event.at for event in batch.waiting.values()])
    for (key, (t, record, came, entity)), row in zip(batch.waiting.items(), rows, strict=True):
        prior = PriorPrediction(row, evaluation.scores[t].tolist(), int(evaluation.known[t]))
        event = PendingEvent(float(batch.weights[t]), prior, first + t, record or {}, entity=entity)
        if record is None:
            event = event._replace(encoded=batch.events.one(t), observed=True)
        pending.keep(key, event, came)
