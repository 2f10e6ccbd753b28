"""Silence of the brokers is reported once, and only if it is one."""

from __future__ import annotations

import pytest

from streamkarma.connectors.kafka.connection import LogCapture, Silence


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which only the test changes."""
    now = [100.0]
    monkeypatch.setattr("streamkarma.connectors.kafka.connection.time.monotonic", lambda: now[0])
    return now


def silence() -> tuple[Silence, LogCapture, list[str]]:
    said: list[str] = []
    log = LogCapture()
    return Silence(["a:1", "b:2"], log, said.append), log, said


def test_silence_after_a_failure_is_reported_however_long_ago_that_was(clock: list[float]) -> None:
    watched, log, said = silence()
    log.connection, log.at = "refused", 100.5
    for clock[0] in (103.6, 107.2, 110.8):
        watched.check()
    assert said == ["no response from a:1, b:2 (refused); waiting"]
    assert watched.problem == "no response from a:1, b:2"
    watched.heard()
    watched.heard()
    assert said[1:] == ["the brokers are back"]
    assert watched.problem is None


def test_a_quiet_topic_is_not_a_silence(clock: list[float]) -> None:
    watched, log, said = silence()
    log.connection, log.at = "an idle connection was closed", 101.0
    for clock[0] in map(float, range(102, 200)):
        if clock[0] % 3 == 0:
            # Commits are answered.
            watched.heard()
        watched.check()
    clock[0] = 300.0
    watched.check()
    assert not said
