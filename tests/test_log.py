"""Messages on standard error, as JSON."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from tests.conftest import Program


def test_all_that_is_said_is_json(streamkarma: Program, tmp_path: Path) -> None:
    records = [{"a": t % 7, "y": t % 2} for t in range(60)]
    result = streamkarma(
        "learn", "--learner", "explicit", "--no-predictions", "--log-format", "json", "--report-every", "20",
        "--weight", "w", "--model", "m.karma", records=[*records, [1]],
        env={"STREAMKARMA_LEARN_REPORT_EVRY": "3"},
    )  # fmt: skip
    lines = [json.loads(line) for line in result.stderr.splitlines()]
    assert all({"time", "level", "event"} <= line.keys() for line in lines)
    assert all(datetime.fromisoformat(line["time"]).tzinfo is not None for line in lines)
    assert [line["level"] for line in lines if "REPORT_EVRY" in line["event"]] == ["warning"]
    assert [line["event"].split()[0] for line in lines if " events  " in line["event"]] == ["20", "40", "60"]
    [summary] = [line["summary"] for line in lines if line["event"] == "summary"]
    assert (summary["events"], summary["rejected"]) == (60, 1)


def test_an_error_is_json_too(streamkarma: Program) -> None:
    result = streamkarma("learn", "nowhere.jsonl", "--log-format", "json")
    assert result.code == 1
    [line] = [json.loads(line) for line in result.stderr.splitlines()]
    assert line["level"] == "error"
    assert "nowhere.jsonl" in line["event"]
