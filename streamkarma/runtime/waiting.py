"""Events whose labels arrive later: their ids, their times, and what is stored."""

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

#: Maximum length of a stored id, in bytes of JSON.
LONGEST_ID = 1024


def key_of(identity: Any, number: int) -> bytes:
    """The id by which a label finds its event, as JSON; RecordError if it is too long.

    An event without an id waits under its number, in a form that is not JSON.
    """
    if identity is None:
        return b"#%d" % number
    if type(identity) is float and identity.is_integer():
        # A whole float is the same id as the integer.
        identity = int(identity)
    # A copy of the exact size: orjson's result has four spare kilobytes.
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
    """The time of a record.

    ``ages`` indicates whether the time also determines the age of entities' values. If so, an invalid time is
    tolerated, as it is for the age, unless the time limits the wait for labels.
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
    """Store the waiting events of a batch; ``first`` is the number of its first event.

    Events that a learner has seen are stored as encoded: encoding them again could leak later information.
    """
    rows = rows_at(columns, [event.at for event in batch.waiting.values()])
    for (key, (t, record, came, entity)), row in zip(batch.waiting.items(), rows, strict=True):
        prior = PriorPrediction(row, evaluation.scores[t].tolist(), int(evaluation.known[t]))
        event = PendingEvent(float(batch.weights[t]), prior, first + t, record or {}, entity=entity)
        if record is None:
            event = event._replace(encoded=batch.events.one(t), observed=True)
        pending.keep(key, event, came)
