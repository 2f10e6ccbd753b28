"""Data beside a batch of events stay aligned with it."""

from __future__ import annotations

from streamkarma.runtime.event_buffer import EventBuffer
from streamkarma.runtime.fields import RecordFields


def test_complete_vectors_stay_beside_their_events() -> None:
    g = EventBuffer()
    for at, full in enumerate([None, {"a": 2.0}, None, {"a": 5.0}]):
        assert g.full == ([] if at < 2 else [None, {"a": 2.0}, None][:at])
        g.append(None, None, RecordFields(None, 1.0, full), at, None)
    assert g.full == [None, {"a": 2.0}, None, {"a": 5.0}]
